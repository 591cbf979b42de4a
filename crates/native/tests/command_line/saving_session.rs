//! A session that saves while it runs, as a process whose words can be waited for.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::wellwritten::command;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// On standard output: the answer.
    Answer(String),
    /// On standard error: a complaint.
    Complaint(String),
}

impl Said {
    pub fn text(&self) -> &str {
        let (Self::Answer(text) | Self::Complaint(text)) = self;
        text
    }
}

/// A checkpoint that was told to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub checkpoint_id: String,
    pub boundary: u64,
}

impl Saved {
    /// What a line says was saved.
    pub fn in_line(said: &Said) -> Option<Self> {
        let Said::Answer(line) = said else {
            return None;
        };
        let (checkpoint_id, rest) = line.strip_prefix("saved ")?.split_once(": boundary ")?;
        let (boundary, _) = rest.split_once(" of epoch ")?;
        Some(Self {
            checkpoint_id: checkpoint_id.to_owned(),
            boundary: boundary.parse().unwrap(),
        })
    }
}

/// A session of the counter composition over a store. It is killed when it is dropped.
pub struct SavingSession {
    child: Child,
    lines: Receiver<Said>,
    /// What it said so far.
    pub said: Vec<Said>,
}

impl SavingSession {
    pub fn start(store: &Path, arguments: &[&str]) -> Self {
        let fixed = ["session", "run", "--composition", "counter", "--store"];
        let mut command = command(fixed);
        command.arg(store).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, lines) = channel();
        let answers = tell.clone();
        let output = child.stdout.take().unwrap();
        thread::spawn(move || read_lines(output, &|line| answers.send(Said::Answer(line)).is_ok()));
        let output = child.stderr.take().unwrap();
        thread::spawn(move || read_lines(output, &|line| tell.send(Said::Complaint(line)).is_ok()));
        Self {
            child,
            lines,
            said: Vec::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that this picks, of those that come from now on.
    pub fn wait_for<T>(&mut self, pick: impl Fn(&Said) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(began.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(said) => {
                    let picked = pick(&said);
                    self.said.push(said);
                    if let Some(picked) = picked {
                        return picked;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("it never said that; it said {:#?}", self.said)
                }
            }
        }
    }

    /// Waits until it says that a checkpoint is saved.
    pub fn wait_for_save(&mut self) -> Saved {
        self.wait_for(Saved::in_line)
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }

    /// Hears it out, and how it ended: the exit status, or none where a signal ended it.
    pub fn end(&mut self) -> Option<i32> {
        let status = self.child.wait().unwrap();
        // The lines end when both streams do.
        self.said.extend(self.lines.iter());
        let panicked = self
            .said
            .iter()
            .find(|said| said.text().contains("panicked"));
        assert_eq!(panicked, None);
        status.code()
    }
}

impl Drop for SavingSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line that has no end was not said: its process was killed before it.
fn read_lines(stream: impl Read, tell: &dyn Fn(String) -> bool) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while let Ok(1..) = stream.read_line(&mut line) {
        let Some(whole) = line.strip_suffix('\n') else {
            return;
        };
        if !tell(whole.to_owned()) {
            return;
        }
        line.clear();
    }
}
