//! The errors of sessions and of their stores.

use wellwritten_session::{ErrorCode, SessionError};
use wellwritten_store::{LockError, MediumError, ReadError, StoreError, UsageError};

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

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Lock {
                source: LockError::Held { .. },
            } => WellwrittenErrorCode::StoreLocked,
            StoreError::KeepGenerations { .. } => WellwrittenErrorCode::InvalidArgument,
            _ => WellwrittenErrorCode::StoreFailed,
        };
        let message = match code {
            WellwrittenErrorCode::StoreLocked => {
                "this session's store is open in another tab; close it there, then try again"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Self::new(code, message)
    }
}

impl From<MediumError> for WebError {
    fn from(error: MediumError) -> Self {
        Self::new(WellwrittenErrorCode::StoreFailed, error.to_string())
    }
}

impl From<UsageError> for WebError {
    fn from(error: UsageError) -> Self {
        Self::new(WellwrittenErrorCode::StoreFailed, error.to_string())
    }
}

impl From<ReadError> for WebError {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::Unknown { .. } | ReadError::RotatedOut { .. } => {
                WellwrittenErrorCode::NoGeneration
            }
            _ => WellwrittenErrorCode::StoreFailed,
        };
        Self::new(code, error.to_string())
    }
}
