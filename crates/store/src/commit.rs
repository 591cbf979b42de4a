//! The words of a commit: what comes out, and every way it can go wrong.

use std::fmt;

use wellwritten_envelope::{Digest, Id};

use crate::generation_info::GenerationInfo;
use crate::medium_error::MediumError;
use crate::store_manifest::ManifestFault;
use crate::store_route::StoreGone;

/// How sure it is that a commit survives a crash of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum Certainty {
    /// It does.
    Durable,
    /// The manifest that lists it is in place and every reader sees it, but the medium could not
    /// confirm that the manifest's *name* is on disk: a crash now may bring back the manifest before
    /// it. Nothing that older manifest lists is deleted until a later commit is durable.
    NameUncertain {
        /// What the medium reported.
        cause: MediumError,
    },
}

impl Certainty {
    /// Whether nothing is uncertain.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        matches!(self, Self::Durable)
    }
}

/// A generation is committed: the store manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct Committed {
    /// Its record.
    pub generation: GenerationInfo,
    /// Whether it survives a crash.
    pub certainty: Certainty,
    /// The generations that the manifest dropped for it: abandoned ones, then those of the timeline, each
    /// oldest first. Pinned ones never are.
    pub rotated_out: Vec<Id>,
}

/// What [`Store::prune`](crate::Store::prune) did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct Pruned {
    /// The generations that are no longer there: abandoned ones, then those of the timeline, each oldest first.
    pub dropped: Vec<Id>,
    /// Whether that survives a crash. Where it is uncertain, the files stay until a later change is durable.
    pub certainty: Certainty,
}

/// The step of the commit order at which something failed, in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase")
)]
pub enum CommitStep {
    /// Settling what an earlier failure left open.
    Settle,
    /// Writing the generation's temporary.
    WriteGeneration,
    /// Reading it back.
    ReadBackGeneration,
    /// Syncing it.
    SyncGeneration,
    /// Renaming it to its final name.
    NameGeneration,
    /// Syncing the directory, so that the final name is durable before the manifest says it.
    SyncGenerationName,
    /// Writing the manifest's temporary.
    WriteManifest,
    /// Reading it back.
    ReadBackManifest,
    /// Syncing it.
    SyncManifest,
    /// Renaming it to `manifest.json`: the durable commit point.
    NameManifest,
}

impl fmt::Display for CommitStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Settle => "settling an earlier failure",
            Self::WriteGeneration => "writing the generation",
            Self::SyncGeneration => "syncing the generation",
            Self::ReadBackGeneration => "reading the generation back",
            Self::NameGeneration => "naming the generation",
            Self::SyncGenerationName => "syncing the generation's name",
            Self::WriteManifest => "writing the store manifest",
            Self::SyncManifest => "syncing the store manifest",
            Self::ReadBackManifest => "reading the store manifest back",
            Self::NameManifest => "naming the store manifest",
        })
    }
}

/// A change of the store that did not happen; in one case, may have.
///
/// In every variant but [`CommitError::OutcomeUnknown`] and [`CommitError::Gone`] the store manifest is what it was, no
/// generation is lost, and the next commit works as soon as the cause is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum CommitError {
    /// A generation of that id is committed, or its file was found without a manifest and is kept. Nothing
    /// was written. Retry under a new id.
    #[error("checkpoint id `{checkpoint_id}` is already used in this store")]
    CheckpointIdUsed {
        /// The id.
        checkpoint_id: Id,
    },
    /// An epoch of that name has been used. Nothing was written. Retry with
    /// [`EpochHistory::next_after`](crate::EpochHistory::next_after).
    #[error("epoch `{epoch}` has been used in this store")]
    EpochUsed {
        /// The epoch.
        epoch: Id,
    },
    /// The store lists no such generation. Nothing was written.
    #[error("the store has no generation `{checkpoint_id}`")]
    UnknownGeneration {
        /// The id.
        checkpoint_id: Id,
    },
    /// The manifest and payloads given make no envelope. Nothing was written; the caller is at fault.
    #[error("what was to be saved cannot be written as an envelope: {reason}")]
    NotEncodable {
        /// The rule of the format that it would break.
        reason: String,
    },
    /// The store was opened read-only. Nothing was written. Open it as its owner.
    #[error("this store is open read-only")]
    ReadOnly,
    /// Nothing would be kept: the caller is at fault. Nothing was written.
    #[error("a store keeps at least 1 generation, {keep_generations} were to be kept")]
    KeepGenerations {
        /// The refused number.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        keep_generations: usize,
    },
    /// As many generations are pinned as may be. Nothing was written. Unpin one first.
    #[error("{limit} generations are pinned, and no more can be")]
    TooManyPinned {
        /// [`PINNED_GENERATIONS`](crate::PINNED_GENERATIONS).
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        limit: usize,
    },
    /// The medium failed before the commit point: not committed.
    #[error("not committed: {step} failed: {source}")]
    Medium {
        /// Where.
        step: CommitStep,
        /// What the medium reported.
        source: MediumError,
    },
    /// The medium reported success and holds something else: not committed.
    #[error(
        "not committed: {step} gave {found_bytes} bytes digesting to {found}, \
         where {written_bytes} bytes digesting to {written} were written"
    )]
    ReadBack {
        /// Where.
        step: CommitStep,
        /// How many bytes were written.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        written_bytes: u64,
        /// Their digest.
        written: Digest,
        /// How many were read.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        found_bytes: u64,
        /// Their digest.
        found: Digest,
    },
    /// Files that earlier failures left cannot be removed, and more are not piled on them. Nothing was
    /// written. Retry when the medium lets files be removed.
    #[error("{count} leftover files cannot be removed (at most {limit} may wait): {source}")]
    LeftoversRemain {
        /// How many there are.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        count: usize,
        /// How many there may be.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        limit: usize,
        /// Why the last of them stayed.
        source: MediumError,
    },
    /// An earlier failure left it open what the manifest says, and it cannot be used now. Nothing was
    /// written by this commit.
    #[error("the store manifest `manifest.json` cannot be used: {fault}. Nothing was changed")]
    ManifestUnreadable {
        /// The rule it breaks.
        fault: ManifestFault,
    },
    /// The manifest was there when it was last read and is gone. Nothing was written by this commit.
    #[error("the store manifest `manifest.json` has vanished; put back a copy of it")]
    ManifestVanished,
    /// The owner of the store ended before it answered: the change happened, or not. As for
    /// [`CommitError::OutcomeUnknown`], ask about the same id when the store is open again.
    #[error(transparent)]
    Gone(#[from] StoreGone),
    /// The commit point failed and the manifest could not be read afterwards: committed, or not. Ask
    /// [`Store::resolve`](crate::Store::resolve) about the same id when the medium works again; do not
    /// save it again.
    #[error("it is unknown whether the commit happened: {source}")]
    OutcomeUnknown {
        /// What the medium reported when the manifest was read.
        source: MediumError,
    },
}
