//! The errors of stores.

use wellwritten_store::{
    CommitError, ImportError, LockError, MediumError, ReadError, StoreError, StoreGone, UsageError,
};

use super::{WebError, WellwrittenErrorCode as Code};

/// The code of what a medium reports: what a program can do something about has one of its own.
fn code_of(error: &MediumError) -> Code {
    match error {
        MediumError::QuotaExceeded { .. } | MediumError::ShortWrite { .. } => Code::StoreFull,
        MediumError::Io { name, .. } if name == "NotSupportedError" => Code::Unsupported,
        _ => Code::StoreFailed,
    }
}

fn code_of_opening(error: &StoreError) -> Code {
    match error {
        StoreError::Lock {
            source: LockError::Held { .. },
        } => Code::StoreLocked,
        StoreError::KeepGenerations { .. } => Code::InvalidArgument,
        StoreError::Medium { source }
        | StoreError::Lock {
            source: LockError::Medium { source },
        } => code_of(source),
        _ => Code::StoreFailed,
    }
}

fn code_of_change(error: &CommitError) -> Code {
    match error {
        CommitError::UnknownGeneration { .. } => Code::NoGeneration,
        CommitError::ReadOnly => Code::StoreReadOnly,
        CommitError::CheckpointIdUsed { .. }
        | CommitError::EpochUsed { .. }
        | CommitError::KeepGenerations { .. }
        | CommitError::TooManyPinned { .. }
        | CommitError::NotEncodable { .. } => Code::InvalidArgument,
        CommitError::Medium { source, .. } => code_of(source),
        _ => Code::StoreFailed,
    }
}

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        let code = code_of_opening(&error);
        let message = match code {
            Code::StoreLocked => {
                "this session's store is open in another tab; close it there, then try again, or \
                 look at it with openStore"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Self::new(code, message)
    }
}

impl From<MediumError> for WebError {
    fn from(error: MediumError) -> Self {
        Self::new(code_of(&error), error.to_string())
    }
}

impl From<StoreGone> for WebError {
    fn from(error: StoreGone) -> Self {
        Self::new(Code::StoreFailed, error.to_string())
    }
}

impl From<ReadError> for WebError {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::Unknown { .. } | ReadError::RotatedOut { .. } => Code::NoGeneration,
            ReadError::View { source } => code_of_opening(source),
            _ => Code::StoreFailed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<UsageError> for WebError {
    fn from(error: UsageError) -> Self {
        Self::new(Code::StoreFailed, error.to_string())
    }
}

impl From<CommitError> for WebError {
    fn from(error: CommitError) -> Self {
        Self::new(code_of_change(&error), error.to_string())
    }
}

impl From<ImportError> for WebError {
    fn from(error: ImportError) -> Self {
        let code = match &error {
            ImportError::Damaged { .. } => Code::EnvelopeInvalid,
            ImportError::OtherSession { .. } => Code::Incompatible,
            ImportError::Commit(error) => code_of_change(error),
            _ => Code::StoreFailed,
        };
        Self::new(code, error.to_string())
    }
}
