//! [`Console`]: the two streams a command answers on.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Write};
use std::rc::Rc;

use serde::Serialize;

use crate::arguments::OutputArguments;
use crate::exit_status::ExitStatus;
use crate::printable::printable;

/// Standard output for the answer, standard error for complaints.
///
/// A reader that closes its end early (`... | head -1`) is not an error: what is left is dropped, and the
/// exit status still tells the verdict. Any other failure of standard output, such as a full disk, is
/// [`ExitStatus::Io`]. Clones speak on the same streams.
#[derive(Clone)]
pub struct Console {
    form: OutputArguments,
    /// The first failure of standard output that matters.
    failure: Rc<RefCell<Option<io::Error>>>,
}

impl Console {
    pub fn new(form: OutputArguments) -> Self {
        Self {
            form,
            failure: Rc::default(),
        }
    }

    /// Whether progress may be shown.
    pub fn is_quiet(&self) -> bool {
        self.form.quiet
    }

    /// A line of the answer for a person; nothing with `--json` or `--quiet`.
    pub fn say(&mut self, line: &str) {
        if !self.form.json && !self.form.quiet {
            self.write(&printable(line));
        }
    }

    /// A complaint for a person; nothing with `--json`, whose object holds it.
    pub fn complain(&self, line: &str) {
        if !self.form.json {
            let text = format!("wellwritten: {}\n", printable(line));
            // If that stream is gone, there is nobody left to tell.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// The answer for a program; nothing without `--json`.
    pub fn report<R: Serialize>(&mut self, report: &R) {
        if self.form.json {
            let text = serde_json::to_string_pretty(report)
                .expect("a report holds strings, lists and objects with string keys");
            self.write(&text);
        }
    }

    /// The exit status: the command's, unless its answer could not be written.
    pub fn finish(self, status: ExitStatus) -> ExitStatus {
        match &*self.failure.borrow() {
            Some(error) => {
                let text = format!("wellwritten: standard output: {error}\n");
                let _ = io::stderr().write_all(text.as_bytes());
                ExitStatus::Io
            }
            None => status,
        }
    }

    fn write(&mut self, text: &str) {
        let mut failure = self.failure.borrow_mut();
        if failure.is_some() {
            return;
        }
        let mut stream = io::stdout().lock();
        let line = format!("{text}\n");
        let written = stream
            .write_all(line.as_bytes())
            .and_then(|()| stream.flush());
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            *failure = Some(error);
        }
    }
}
