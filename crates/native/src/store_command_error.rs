//! [`StoreCommandError`]: why a command on a store failed.

use std::path::PathBuf;

use serde::Serialize;
use wellwritten_envelope::EnvelopeRule;
use wellwritten_native::FolderError;
use wellwritten_store::{
    CommitError, EnvelopeFault, ImportError, LockError, ReadError, StoreError,
};

use crate::command_error::CommandError;
use crate::exit_status::ExitStatus;

/// Why a command on a store failed. The store is what it was, unless the error says that it may not be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreCommandError {
    /// The folder cannot be had.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The store in it does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A generation was not read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A change did not happen, or may have.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// An envelope was not imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// An export into the folder of a store, where files are its own: the next opening would take it for a leftover, and a
    /// name that is taken is a generation's.
    #[error("{}: is in the folder of a store; export to another", path.display())]
    OutputInStore {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The file to be imported could not be read, or the file to be exported not written.
    #[error(transparent)]
    File(Box<CommandError>),
}

impl From<CommandError> for StoreCommandError {
    fn from(error: CommandError) -> Self {
        Self::File(Box::new(error))
    }
}

impl StoreCommandError {
    /// What the process exits with.
    pub fn exit_status(&self) -> ExitStatus {
        match self.code() {
            "damaged" | "manifest-unreadable" | "not-sound" => ExitStatus::NotSound,
            "no-such-generation" | "id-used" | "other-session" | "too-many-pinned"
            | "output-in-store" => ExitStatus::Usage,
            _ => match self {
                Self::File(error) => error.exit_status(),
                _ => ExitStatus::Io,
            },
        }
    }

    /// A word for programs; a closed list.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Folder(_) => "open",
            Self::OutputInStore { .. } => "output-in-store",
            Self::Store(error) => store_code(error),
            Self::Read(error) => match error {
                ReadError::Damaged { .. } => "damaged",
                ReadError::View { source } => store_code(source),
                ReadError::Unknown { .. } | ReadError::RotatedOut { .. } => "no-such-generation",
                _ => "read",
            },
            Self::Commit(error) | Self::Import(ImportError::Commit(error)) => commit_code(error),
            Self::Import(ImportError::Damaged { .. }) => "not-sound",
            Self::Import(_) => "other-session",
            Self::File(error) => error.code(),
        }
    }

    fn broken(&self) -> Option<&EnvelopeFault> {
        match self {
            Self::Import(ImportError::Damaged { source }) => Some(source),
            _ => None,
        }
    }
}

/// A word for programs; a closed list.
pub fn store_code(error: &StoreError) -> &'static str {
    match error {
        StoreError::Lock {
            source: LockError::Held { .. },
        } => "locked",
        StoreError::Lock { .. } => "lock",
        StoreError::ManifestUnreadable { .. }
        | StoreError::ManifestVanished
        | StoreError::TooManyUnlisted { .. } => "manifest-unreadable",
        _ => "open",
    }
}

/// What the process exits with.
pub fn store_exit_status(error: &StoreError) -> ExitStatus {
    match store_code(error) {
        "manifest-unreadable" => ExitStatus::NotSound,
        _ => ExitStatus::Io,
    }
}

fn commit_code(error: &CommitError) -> &'static str {
    match error {
        CommitError::CheckpointIdUsed { .. } => "id-used",
        CommitError::UnknownGeneration { .. } => "no-such-generation",
        CommitError::TooManyPinned { .. } => "too-many-pinned",
        CommitError::ManifestUnreadable { .. } | CommitError::ManifestVanished => {
            "manifest-unreadable"
        }
        CommitError::OutcomeUnknown { .. } | CommitError::Gone(_) => "outcome-unknown",
        _ => "not-committed",
    }
}

/// A [`StoreCommandError`] for a program.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreErrorReport {
    code: &'static str,
    message: String,
    /// Of a file that is no envelope: the rule that it breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<EnvelopeRule>,
}

impl From<&StoreCommandError> for StoreErrorReport {
    fn from(error: &StoreCommandError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            rule: error.broken().map(|fault| fault.rule),
        }
    }
}
