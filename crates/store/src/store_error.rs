//! Why a store did not open, or a generation was not read.

use wellwritten_envelope::Id;

use crate::damage::Damage;
use crate::medium_error::{LockError, MediumError};
use crate::store_manifest::ManifestFault;

/// A store did not open. Nothing in it changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The configuration makes no sense; the caller is at fault.
    #[error("a store keeps at least 1 generation, keep_generations is {keep_generations}")]
    KeepGenerations {
        /// The refused number.
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
         stay whole and can be imported one by one"
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
        count: usize,
        /// [`UNLISTED_IDS`](crate::UNLISTED_IDS).
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

/// A generation was not read. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
}
