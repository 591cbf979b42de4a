//! [`QueryError`]: why a question about what was published has no answer.

use crate::{ErrorCode, ParticipantError};

/// Why a question about what was published has no answer. Asking changes nothing, ever.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Nothing is published: the session has not begun, or its epoch failed and no restore has followed.
    #[error("nothing is published")]
    NothingPublished,
    /// There never was such a revision.
    #[error("revision {asked} was never published, the last one is {last}")]
    UnknownRevision {
        /// The revision asked for.
        asked: u64,
        /// The last one published.
        last: u64,
    },
    /// The revision was published and is no longer kept.
    #[error("revision {asked} is no longer kept, the oldest one is {oldest}")]
    ForgottenRevision {
        /// The revision asked for.
        asked: u64,
        /// The oldest one kept.
        oldest: u64,
    },
    /// No such method here.
    #[error("a session is asked Session.GetDescriptor and Session.GetSnapshot, not {method:?}")]
    UnknownMethod {
        /// The method, cut to 64 characters.
        method: String,
    },
    /// Parameters that are not the method's.
    #[error("the parameters of {method}: {reason}")]
    Parameters {
        /// The method.
        method: &'static str,
        /// What is wrong with them.
        reason: String,
    },
}

impl QueryError {
    /// What it is on the wire.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NothingPublished => ErrorCode::InvalidPhase,
            Self::UnknownRevision { .. } => ErrorCode::IdentityMismatch,
            Self::ForgottenRevision { .. } => ErrorCode::ResultExpired,
            Self::UnknownMethod { .. } => ErrorCode::Unsupported,
            Self::Parameters { .. } => ErrorCode::InvalidArgument,
        }
    }
}

impl From<QueryError> for ParticipantError {
    fn from(error: QueryError) -> Self {
        Self::refused(error.code(), error.to_string())
    }
}
