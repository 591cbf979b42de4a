//! [`ExitStatus`]: what a script learns without reading a word.

use std::process::ExitCode;

/// How a command ended. The order is the order of precedence where a command judges several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Everything asked for was done; every file is sound, two traces are equal.
    Sound,
    /// A file breaks a rule of the format; a session failed; traces differ.
    NotSound,
    /// The command line asks for something that makes no sense, or that the file does not have.
    Usage,
    /// A file, or standard output, could not be read or written; a participant could not be started.
    Io,
    /// A person interrupted it, and it ended in good order.
    Interrupted,
}

impl ExitStatus {
    /// The number the process exits with.
    pub const fn number(self) -> u8 {
        match self {
            Self::Sound => 0,
            Self::NotSound => 1,
            Self::Usage => 2,
            Self::Io => 3,
            // What a shell reports of a program that the signal ended.
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        status.number().into()
    }
}
