//! Why a store did not open, or a generation was not read or not imported.

use wellwritten_envelope::Id;

use crate::commit::{CommitError, CommitStep};
use crate::damage::Damage;
use crate::envelope_fault::EnvelopeFault;
use crate::medium_error::{LockError, MediumError};
use crate::store_manifest::ManifestFault;
use crate::store_route::StoreGone;

/// A store did not open. Nothing in it changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum StoreError {
    /// The configuration makes no sense; the caller is at fault.
    #[error("a store keeps at least 1 generation, keep_generations is {keep_generations}")]
    KeepGenerations {
        /// The refused number.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        keep_generations: usize,
    },
    /// Someone else owns the store, or it cannot be locked. Retry when they close it, or open read-only.
    #[error(transparent)]
    Lock {
        /// Who, or why.
        #[from]
        source: LockError,
    },
    /// The manifest is there and cannot be used. The store is *not* taken as empty: that would give up
    /// the generations in it. Retrying makes sense only after a person did what the text says.
    #[error(
        "the store manifest `manifest.json` cannot be used: {fault}. Nothing was changed. Put back a copy \
         of `manifest.json`, or move this store's folder away to begin an empty one; its `.flysess` files \
         stay whole and can be imported into another store, the newest first: the rest are restored by name"
    )]
    ManifestUnreadable {
        /// The rule it breaks.
        #[from]
        fault: ManifestFault,
    },
    /// There is no manifest, and there are more generation files than can be kept aside.
    #[error(
        "there is no store manifest `manifest.json` and {count} generations, more than the {limit} that can be \
         kept aside. Nothing was changed. Put back a copy of `manifest.json`, or move this store's folder away"
    )]
    TooManyUnlisted {
        /// How many there are.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        count: usize,
        /// [`UNLISTED_IDS`](crate::UNLISTED_IDS).
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        limit: usize,
    },
    /// The manifest was there when it was last read and is gone. The store is not taken as empty.
    #[error(
        "the store manifest `manifest.json` has vanished; put back a copy of it. Opening the store anew \
         without it begins an empty one, beside the generations that are there, which stay"
    )]
    ManifestVanished,
    /// The medium failed. Retrying makes sense when the cause is gone.
    #[error("the store cannot be opened: {source}")]
    Medium {
        /// What the medium reported.
        #[from]
        source: MediumError,
    },
}

impl StoreError {
    /// The same of a manifest that was to be read again, as a change of the store reports it.
    pub(crate) fn settling(self) -> CommitError {
        match self {
            Self::ManifestUnreadable { fault } => CommitError::ManifestUnreadable { fault },
            Self::ManifestVanished => CommitError::ManifestVanished,
            Self::Medium { source } => CommitError::Medium {
                step: CommitStep::Settle,
                source,
            },
            Self::Lock { .. } | Self::KeepGenerations { .. } | Self::TooManyUnlisted { .. } => {
                unreachable!("reading a manifest takes no lock, configuration or list of files")
            }
        }
    }
}

/// A generation was not read. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum ReadError {
    /// The store lists no such generation.
    #[error("the store has no generation `{checkpoint_id}`")]
    Unknown {
        /// The id asked for.
        checkpoint_id: Id,
    },
    /// It was committed and has since been rotated out; its bytes are gone.
    #[error("generation `{checkpoint_id}` was committed and has since been rotated out")]
    RotatedOut {
        /// The id asked for.
        checkpoint_id: Id,
    },
    /// It is listed and its bytes are not what was committed. Another generation may be whole.
    #[error("generation `{checkpoint_id}` is damaged: {damage}")]
    Damaged {
        /// The generation.
        checkpoint_id: Id,
        /// What is wrong with it.
        damage: Damage,
    },
    /// This view is read-only, and the manifest could not be read again. Retrying makes sense when the cause
    /// is gone.
    #[error("the store cannot be looked at: {source}")]
    View {
        /// Why.
        source: StoreError,
    },
    /// The owner of the store ended. Retry when it is open again.
    #[error(transparent)]
    Gone(#[from] StoreGone),
}

/// It is unknown how full the medium is. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum UsageError {
    /// The medium could not say.
    #[error(transparent)]
    Medium(#[from] MediumError),
    /// The owner of the store ended. Retry when it is open again.
    #[error(transparent)]
    Gone(#[from] StoreGone),
}

/// An envelope was not imported. Nothing is in the store that was not, unless
/// [`CommitError::OutcomeUnknown`] or [`CommitError::Gone`] says that it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum ImportError {
    /// The bytes are not a whole envelope. Importing the same bytes fails again.
    #[error("what was to be imported is not a whole envelope: {source}")]
    Damaged {
        /// The rule of the format that it breaks.
        source: EnvelopeFault,
    },
    /// It is a checkpoint of another session than those in this store, which could never restore it. Import it
    /// into a store of its own.
    #[error("it is a checkpoint of session `{found}`, this store holds session `{stored}`")]
    OtherSession {
        /// The session of the newest generation here.
        stored: Id,
        /// The envelope's.
        found: Id,
    },
    /// It is whole, and could not be committed: its id is used here, or the medium failed, or as many
    /// generations are pinned as may be.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<StoreGone> for ImportError {
    fn from(gone: StoreGone) -> Self {
        Self::Commit(gone.into())
    }
}
