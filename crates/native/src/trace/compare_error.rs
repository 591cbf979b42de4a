//! [`CompareError`]: why two traces could not be compared.

use std::io;
use std::path::PathBuf;

use wellwritten_session::{Id, RebaseError, TraceReadError};

use crate::exit_status::ExitStatus;
use crate::file_name::shown;

/// Why two traces could not be compared. What was compared before is not told: it would say nothing about the runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A file could not be opened.
    #[error("{}: cannot be opened: {source}", shown(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be read to its end.
    #[error("{}: cannot be read: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is no trace, from a line on.
    #[error("{}: {problem}", shown(path))]
    NoTrace {
        /// The file.
        path: PathBuf,
        /// Which line, and what is wrong with it.
        problem: TraceReadError,
    },
    /// An event's name under another epoch can be derived only where its rule is known.
    #[error(
        "step {step}: {event} is no event of a known rule under {epoch}, so it has no name under {to}"
    )]
    UnknownEvent {
        /// The step.
        step: u64,
        /// The event.
        event: Id,
        /// The epoch it ran under.
        epoch: Id,
        /// The epoch to carry it to.
        to: Id,
    },
    /// Standard input can be read once.
    #[error("both traces are `-`, but standard input can be only one of them")]
    SameInput,
    /// An epoch to carry from in which nothing of either trace ran.
    #[error("nothing in either trace ran under {epoch}")]
    UnusedEpoch {
        /// The epoch.
        epoch: Id,
    },
    /// A record cannot be carried to another epoch.
    #[error("{0}")]
    Rebase(#[from] RebaseError),
}

impl CompareError {
    /// What the process exits with.
    pub const fn exit_status(&self) -> ExitStatus {
        match self {
            Self::NoTrace { .. } => ExitStatus::NotSound,
            Self::UnknownEvent { .. }
            | Self::Rebase(_)
            | Self::SameInput
            | Self::UnusedEpoch { .. } => ExitStatus::Usage,
            Self::Open { .. } | Self::Read { .. } => ExitStatus::Io,
        }
    }

    /// A word for programs; a closed list.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Read { .. } => "read",
            Self::NoTrace { .. } => "no-trace",
            Self::UnknownEvent { .. } => "unknown-event",
            Self::Rebase(_) => "rebase",
            Self::SameInput => "same-input",
            Self::UnusedEpoch { .. } => "unused-epoch",
        }
    }
}
