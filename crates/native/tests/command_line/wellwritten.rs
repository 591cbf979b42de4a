//! The program under test as a process, and what it answered.

use std::ffi::OsStr;
use std::fs::File;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A process that has ended.
pub struct Answer {
    /// Exit status; a process that a signal ended has none, and fails the test.
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// The one JSON object on standard output, with nothing on standard error. Its `exitCode` is the process's.
    pub fn json(&self) -> Value {
        assert_eq!(self.stderr, "", "with --json nothing is on standard error");
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not one JSON value: {error}\n{}", self.stdout));
        assert_eq!(value["exitCode"], self.exit, "{value:#}");
        value
    }
}

/// The program with arguments, its streams not yet set.
pub fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wellwritten"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program with `wellwritten envelope` before the arguments.
pub fn envelope<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Answer {
    let subject = OsStr::new("envelope").to_owned();
    let arguments = arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned());
    answer(&mut command(std::iter::once(subject).chain(arguments)))
}

/// Runs the program with these arguments.
pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Answer {
    answer(&mut command(arguments))
}

/// The same with a file as standard input.
pub fn envelope_with_input(arguments: &[&str], input: File) -> Answer {
    answer(command(arguments).stdin(input))
}

/// Runs a prepared process to its end.
pub fn answer(command: &mut Command) -> Answer {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the answer is UTF-8");
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    Answer {
        exit: status
            .code()
            .unwrap_or_else(|| panic!("{status}\n{stderr}")),
        stdout,
        stderr,
    }
}
