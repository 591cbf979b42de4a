//! [`LaunchError`]: why no participant was started.

use std::io;
use std::path::PathBuf;

use wellwritten_session::{ErrorCode, Id, ParticipantError};

/// Why no participant was started. Nothing of it is left, neither a process nor an allocation; only a thread that was not ready
/// in time goes on until it waits for something, and keeps its allocation for as long.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// More threads are kept for the coordinator than there are. Name others.
    #[error("{coordinator} threads are reserved for the coordinator, and there are {total} in all")]
    Reservation {
        /// Reserved.
        coordinator: usize,
        /// In all.
        total: usize,
    },
    /// The participant would take more threads than are free, or none. Possible again when others have ended.
    #[error(
        "{participant} asks for {threads} threads, and {free} are free; it must have at least 1"
    )]
    OverBudget {
        /// Who asks.
        participant: Id,
        /// For how many.
        threads: usize,
        /// How many are free.
        free: usize,
    },
    /// The participant runs already. Possible again when it has ended, or when its epoch has failed.
    #[error("{participant} has its threads already: one life of it runs")]
    AllocatedTwice {
        /// Who.
        participant: Id,
    },
    /// Nobody said how to start it.
    #[error("there is no recipe for {participant}")]
    NoRecipe {
        /// Who.
        participant: Id,
    },
    /// It runs nowhere.
    #[error("{participant} is not running")]
    NotRunning {
        /// Who.
        participant: Id,
    },
    /// The recipe itself refused.
    #[error("{0}")]
    Refused(#[from] ParticipantError),
    /// The system would not give what a participant needs. May succeed later.
    #[error("{participant}: {what}: {source}")]
    System {
        /// Who was to be started.
        participant: Id,
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The program could not be started: it is not there, or may not be executed.
    #[error("{participant}: {} cannot be started: {source}", program.display())]
    Spawn {
        /// Who was to be started.
        participant: Id,
        /// Its program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It ended before it was ready.
    #[error("{participant} {ending} before it was ready")]
    EndedInBoot {
        /// Who.
        participant: Id,
        /// How.
        ending: String,
    },
    /// It was not ready in time, and was ended.
    #[error("{participant} was not ready within {milliseconds} ms, and was ended")]
    BootDeadline {
        /// Who.
        participant: Id,
        /// The deadline.
        milliseconds: u128,
    },
}

impl LaunchError {
    /// The code under which the session hears of it.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::OverBudget { .. } => ErrorCode::Busy,
            Self::AllocatedTwice { .. } => ErrorCode::Conflict,
            Self::Reservation { .. } => ErrorCode::InvalidArgument,
            Self::NoRecipe { .. } | Self::NotRunning { .. } => ErrorCode::IdentityMismatch,
            Self::Refused(error) => error.code,
            Self::System { .. }
            | Self::Spawn { .. }
            | Self::EndedInBoot { .. }
            | Self::BootDeadline { .. } => ErrorCode::BackendFailure,
        }
    }
}

impl From<LaunchError> for ParticipantError {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Refused(error) => error,
            // A participant that was not started has changed nothing.
            error => Self::refused(error.code(), error.to_string()),
        }
    }
}
