//! The errors of sessions.

use wellwritten_session::{ErrorCode, SessionError};

use super::{WebError, WellwrittenErrorCode};

impl From<SessionError> for WebError {
    fn from(error: SessionError) -> Self {
        use WellwrittenErrorCode as Code;
        let message = match &error {
            // The protocol's code and certainty are for programs; a person gets the participant's words.
            SessionError::Refused { participant, error } => {
                format!("{participant} refused: {}", error.message)
            }
            other => other.to_string(),
        };
        let code = match &error {
            // State bytes that do not read cleanly: the detail is the report.
            SessionError::Refused { error, .. }
                if error.code == ErrorCode::BufferInvalid && error.detail.is_some() =>
            {
                Code::Unwritten
            }
            SessionError::EpochFailed(record) => {
                return Self::new(Code::EpochFailed, message).with_context(record.as_ref());
            }
            SessionError::Store { .. } | SessionError::StoreRead { .. } => Code::StoreFailed,
            SessionError::Select { .. }
            | SessionError::EpisodeNotSaved { .. }
            | SessionError::NoStore => Code::NoGeneration,
            SessionError::Incompatible { .. }
            | SessionError::Identity { .. }
            | SessionError::CoordinatorPayload { .. }
            | SessionError::Envelope { .. } => Code::Incompatible,
            other => match other.code() {
                ErrorCode::InvalidPhase => Code::InvalidPhase,
                ErrorCode::Busy => Code::Busy,
                ErrorCode::Unsupported => Code::Unsupported,
                _ => Code::InvalidArgument,
            },
        };
        let web = Self::new(code, message);
        match error.detail() {
            Some(detail) => web.with_context(detail),
            None => web,
        }
    }
}
