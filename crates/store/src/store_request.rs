//! [`StoreRequest`] and [`StoreReply`]: everything that is asked of a store's owner, and the answers.

use std::fmt;

use wellwritten_envelope::Id;

use crate::commit::{Certainty, CommitError, Committed, Pruned};
use crate::generation_list::GenerationList;
use crate::save_request::{PayloadBytes, SaveRequest};
use crate::selection::{SelectError, Selected, Selection};
use crate::store_error::{ImportError, ReadError, UsageError};
use crate::store_medium::Usage;
use crate::store_reader::Resolution;
use crate::verify_report::VerifyReport;

/// One operation of a store. Each is described at the method of [`Store`](crate::Store) or
/// [`StoreReader`](crate::StoreReader) that does it.
#[expect(
    clippy::large_enum_variant,
    reason = "a save is the request that counts, and one at a time is on its way"
)]
pub enum StoreRequest {
    /// Save a checkpoint.
    Save(SaveRequest),
    /// Commit an envelope from elsewhere.
    Import {
        /// The whole envelope.
        bytes: PayloadBytes,
    },
    /// What became of a save.
    Resolve {
        /// The checkpoint.
        checkpoint_id: Id,
    },
    /// Choose a generation to restore.
    Select {
        /// Which.
        selection: Selection,
    },
    /// List the generations.
    Generations,
    /// The verified bytes of one.
    Read {
        /// The generation.
        checkpoint_id: Id,
    },
    /// Whether one is whole.
    Verify {
        /// The generation.
        checkpoint_id: Id,
    },
    /// Pin one, or let it go.
    SetPinned {
        /// The generation.
        checkpoint_id: Id,
        /// Which of both.
        pinned: bool,
    },
    /// Drop the ones that are worth least.
    Prune {
        /// How many that are not pinned stay; at least 1.
        keep: usize,
    },
    /// Whether an epoch's name must be taken as used.
    EpochUsed {
        /// The name.
        epoch: Id,
    },
    /// The next unused name after one.
    NextEpochAfter {
        /// The name.
        epoch: Id,
    },
    /// Whether a generation of an episode is stored.
    EpisodeUsed {
        /// The session.
        session_id: Id,
        /// The episode.
        episode_id: Id,
    },
    /// Record that an epoch begins.
    ClaimEpoch {
        /// Its name.
        epoch: Id,
    },
    /// Record that the session goes on from a checkpoint.
    MarkResumed {
        /// The generation.
        checkpoint_id: Id,
    },
    /// How full the medium is.
    Usage,
}

/// The name of the operation, and nothing that may be long.
impl fmt::Debug for StoreRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Save(_) => "Save",
            Self::Import { .. } => "Import",
            Self::Resolve { .. } => "Resolve",
            Self::Select { .. } => "Select",
            Self::Generations => "Generations",
            Self::Read { .. } => "Read",
            Self::Verify { .. } => "Verify",
            Self::SetPinned { .. } => "SetPinned",
            Self::Prune { .. } => "Prune",
            Self::EpochUsed { .. } => "EpochUsed",
            Self::NextEpochAfter { .. } => "NextEpochAfter",
            Self::EpisodeUsed { .. } => "EpisodeUsed",
            Self::ClaimEpoch { .. } => "ClaimEpoch",
            Self::MarkResumed { .. } => "MarkResumed",
            Self::Usage => "Usage",
        })
    }
}

/// The answer to the [`StoreRequest`] of the like name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreReply {
    /// To `Save`.
    Saved(Result<Committed, CommitError>),
    /// To `Import`.
    Imported(Result<Committed, ImportError>),
    /// To `Resolve`.
    Resolved(Result<Resolution, CommitError>),
    /// To `Select`.
    Selected(Result<Selected, SelectError>),
    /// To `Generations`.
    Generations(Result<GenerationList, ReadError>),
    /// To `Read`.
    Read(Result<Vec<u8>, ReadError>),
    /// To `Verify`.
    Verified(Result<VerifyReport, ReadError>),
    /// To `SetPinned`.
    PinnedSet(Result<Certainty, CommitError>),
    /// To `Prune`.
    Pruned(Result<Pruned, CommitError>),
    /// To `EpochUsed`.
    EpochUsed(Result<bool, ReadError>),
    /// To `NextEpochAfter`.
    NextEpoch(Result<Option<Id>, ReadError>),
    /// To `EpisodeUsed`.
    EpisodeUsed(Result<bool, ReadError>),
    /// To `ClaimEpoch`.
    EpochClaimed(Result<Certainty, CommitError>),
    /// To `MarkResumed`.
    Resumed(Result<Certainty, CommitError>),
    /// To `Usage`.
    Usage(Result<Usage, UsageError>),
}

impl StoreReply {
    /// The name of the operation that it answers.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        match self {
            Self::Saved(_) => "Save",
            Self::Imported(_) => "Import",
            Self::Resolved(_) => "Resolve",
            Self::Selected(_) => "Select",
            Self::Generations(_) => "Generations",
            Self::Read(_) => "Read",
            Self::Verified(_) => "Verify",
            Self::PinnedSet(_) => "SetPinned",
            Self::Pruned(_) => "Prune",
            Self::EpochUsed(_) => "EpochUsed",
            Self::NextEpoch(_) => "NextEpochAfter",
            Self::EpisodeUsed(_) => "EpisodeUsed",
            Self::EpochClaimed(_) => "ClaimEpoch",
            Self::Resumed(_) => "MarkResumed",
            Self::Usage(_) => "Usage",
        }
    }
}
