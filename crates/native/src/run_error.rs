//! [`RunError`]: why a session that the command line ran did not take every step.

use std::io;

use serde::Serialize;
use wellwritten_session::SessionError;

use crate::arguments::ModeArgument;
use crate::command_error::CommandError;
use crate::exit_status::ExitStatus;

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
    pub const fn exit_status(&self) -> ExitStatus {
        match self {
            Self::DirectElsewhere { .. } => ExitStatus::Usage,
            Self::Failed(_) => ExitStatus::NotSound,
            Self::System { .. } | Self::NotStarted(_) | Self::Trace(_) => ExitStatus::Io,
        }
    }

    /// A word for programs; a closed list.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::DirectElsewhere { .. } => "direct-elsewhere",
            Self::System { .. } => "system",
            Self::NotStarted(_) => "not-started",
            Self::Failed(_) => "session-failed",
            Self::Trace(error) => error.code(),
        }
    }

    /// Whether the trace up to there was written all the same.
    pub const fn leaves_trace(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    const fn session_error(&self) -> Option<&SessionError> {
        match self {
            Self::NotStarted(error) | Self::Failed(error) => Some(error),
            _ => None,
        }
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
