//! [`RunError`]: why a session that the command line ran did not take every step.

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use wellwritten_native::OpenStoreError;
use wellwritten_session::SessionError;
use wellwritten_store::SelectError;

use crate::arguments::ModeArgument;
use crate::command_error::CommandError;
use crate::exit_status::ExitStatus;
use crate::store_command_error::{store_code, store_exit_status};

/// Why a session did not take every step it was asked to, or its trace is not where it was to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What is not on the coordinator's thread cannot be reached without a copy. Name the other transport.
    #[error("--mode {} goes with --transport unix; direct reaches the coordinator's own thread only", .mode.name())]
    DirectElsewhere {
        /// The mode asked for.
        mode: ModeArgument,
    },
    /// The system would not give what a host needs.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The session did not come to its first boundary.
    #[error("the session did not start: {0}")]
    NotStarted(SessionError),
    /// The session did not go on.
    #[error("{0}")]
    Failed(SessionError),
    /// The store did not open.
    #[error("{}: {source}", folder.display())]
    Store {
        /// Its folder.
        folder: PathBuf,
        /// Why.
        source: OpenStoreError,
    },
    /// The store holds checkpoints, and nobody said to go on from them.
    #[error(
        "{} holds {count} checkpoints, which a new session would rotate out one by one: \
         --resume goes on from the newest, or name another folder", folder.display()
    )]
    StoreNotEmpty {
        /// Its folder.
        folder: PathBuf,
        /// How many.
        count: usize,
    },
    /// There are checkpoints and no list of them: a new session would begin among them as if there were none.
    #[error(
        "{} holds {count} checkpoints, but not their list, manifest.json: put back a copy of it, or \
         `wellwritten store import` them into another folder, the newest first", folder.display()
    )]
    StoreWithoutList {
        /// The store's folder.
        folder: PathBuf,
        /// How many.
        count: usize,
    },
    /// The session could not go on from a checkpoint.
    #[error("{} cannot be resumed from: {source}{}", folder.display(), advice(source))]
    NotResumed {
        /// The store's folder.
        folder: PathBuf,
        /// Why.
        source: Box<SessionError>,
    },
    /// Every step was taken, and checkpoints are missing.
    #[error("{count} checkpoints were not saved; of the last: {message}")]
    NotSaved {
        /// How many.
        count: u64,
        /// What was said of the last.
        message: String,
    },
    /// The trace could not be written.
    #[error("the trace: {0}")]
    Trace(Box<CommandError>),
}

impl From<CommandError> for RunError {
    fn from(error: CommandError) -> Self {
        Self::Trace(Box::new(error))
    }
}

impl RunError {
    /// What the process exits with.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::DirectElsewhere { .. } | Self::StoreNotEmpty { .. } => ExitStatus::Usage,
            Self::StoreWithoutList { .. } | Self::Failed(_) => ExitStatus::NotSound,
            Self::Store {
                source: OpenStoreError::Store(error),
                ..
            } => store_exit_status(error),
            Self::NotResumed { source, .. } => resume_exit_status(source),
            Self::System { .. }
            | Self::NotStarted(_)
            | Self::Store { .. }
            | Self::NotSaved { .. }
            | Self::Trace(_) => ExitStatus::Io,
        }
    }

    /// A word for programs; a closed list.
    pub fn code(&self) -> &'static str {
        match self {
            Self::DirectElsewhere { .. } => "direct-elsewhere",
            Self::System { .. } => "system",
            Self::NotStarted(_) => "not-started",
            Self::Failed(_) => "session-failed",
            Self::Store { source, .. } => match source {
                OpenStoreError::Store(error) => store_code(error),
                OpenStoreError::Looking(_) => "read",
                _ => "open",
            },
            Self::StoreNotEmpty { .. } => "store-not-empty",
            Self::StoreWithoutList { .. } => "store-without-list",
            Self::NotResumed { source, .. } => match &**source {
                SessionError::Select {
                    source: SelectError::Empty,
                } => "nothing-to-resume",
                _ => "not-resumed",
            },
            Self::NotSaved { .. } => "not-saved",
            Self::Trace(error) => error.code(),
        }
    }

    /// Whether the trace up to there was written all the same.
    pub const fn leaves_trace(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotSaved { .. })
    }

    fn session_error(&self) -> Option<&SessionError> {
        match self {
            Self::NotStarted(error) | Self::Failed(error) => Some(error),
            Self::NotResumed { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What to do where there is something to do.
fn advice(error: &SessionError) -> &'static str {
    match error {
        SessionError::Select {
            source: SelectError::Empty,
        } => "; without --resume, or with --or-begin too, a session begins in it",
        _ => "",
    }
}

/// What is damaged is no mistake of whoever asks; what does not fit is.
fn resume_exit_status(error: &SessionError) -> ExitStatus {
    match error {
        SessionError::Select {
            source:
                SelectError::Empty
                | SelectError::Incompatible { .. }
                | SelectError::Unknown { .. }
                | SelectError::RotatedOut { .. },
        }
        | SessionError::Incompatible { .. }
        | SessionError::Identity { .. } => ExitStatus::Usage,
        _ => ExitStatus::NotSound,
    }
}

/// A [`RunError`] for a program.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunErrorReport {
    code: &'static str,
    message: String,
    /// Who is to blame, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    participant: Option<String>,
    /// What the participant had to say beyond the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<serde_json::Value>,
}

impl From<&RunError> for RunErrorReport {
    fn from(error: &RunError) -> Self {
        let session = error.session_error();
        let participant = session.and_then(SessionError::participant);
        Self {
            code: error.code(),
            message: error.to_string(),
            participant: participant.map(|id| id.as_str().to_owned()),
            detail: session.and_then(SessionError::detail).cloned(),
        }
    }
}
