//! [`StoreClient`]: the store as everyone but its owner sees it.

use std::fmt;
use std::rc::Rc;

use wellwritten_envelope::Id;

use crate::commit::{Certainty, CommitError, Committed, Pruned};
use crate::generation_list::GenerationList;
use crate::local_route::LocalRoute;
use crate::open_store::OpenStore;
use crate::save_request::{PayloadBytes, SaveRequest};
use crate::selection::{SelectError, Selected, Selection};
use crate::store_error::{ImportError, ReadError, UsageError};
use crate::store_medium::{StoreMedium, Usage};
use crate::store_reader::Resolution;
use crate::store_request::{StoreReply, StoreRequest};
use crate::store_route::{StoreGone, StoreRoute};
use crate::verify_report::VerifyReport;

/// A store behind a [`StoreRoute`], wherever its owner is. Clones ask the same owner.
///
/// Each method's error has a `Gone`: the owner ended before it answered. After that of a method that changes something
/// the change may have happened.
#[derive(Clone)]
pub struct StoreClient {
    route: Rc<dyn StoreRoute>,
}

impl fmt::Debug for StoreClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreClient")
            .finish_non_exhaustive()
    }
}

impl StoreClient {
    /// The store at the end of `route`.
    #[must_use]
    pub fn new(route: Rc<dyn StoreRoute>) -> Self {
        Self { route }
    }

    /// A store in this program: whoever waits for an answer does the work.
    #[must_use]
    pub fn local<M: StoreMedium + 'static>(store: impl Into<OpenStore<M>>) -> Self {
        Self::new(Rc::new(LocalRoute::new(store.into())))
    }

    /// Saves a checkpoint ([`Store::save`](crate::Store::save)).
    pub async fn save(&self, request: SaveRequest) -> Result<Committed, CommitError> {
        match self.ask(StoreRequest::Save(request)).await? {
            StoreReply::Saved(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Commits an envelope from elsewhere ([`Store::import`](crate::Store::import)).
    pub async fn import(&self, bytes: PayloadBytes) -> Result<Committed, ImportError> {
        match self.ask(StoreRequest::Import { bytes }).await? {
            StoreReply::Imported(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// What became of a save, by the manifest on the medium ([`Store::resolve`](crate::Store::resolve)).
    pub async fn resolve(&self, checkpoint_id: &Id) -> Result<Resolution, CommitError> {
        match self
            .ask(StoreRequest::Resolve {
                checkpoint_id: checkpoint_id.clone(),
            })
            .await?
        {
            StoreReply::Resolved(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Chooses a generation to restore ([`StoreReader::select`](crate::StoreReader::select)).
    pub async fn select(&self, selection: Selection) -> Result<Selected, SelectError> {
        match self.ask(StoreRequest::Select { selection }).await? {
            StoreReply::Selected(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// What the store holds.
    pub async fn generations(&self) -> Result<GenerationList, ReadError> {
        match self.ask(StoreRequest::Generations).await? {
            StoreReply::Generations(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// The envelope of a generation, verified by every rule: to export it.
    pub async fn read(&self, checkpoint_id: &Id) -> Result<Vec<u8>, ReadError> {
        match self
            .ask(StoreRequest::Read {
                checkpoint_id: checkpoint_id.clone(),
            })
            .await?
        {
            StoreReply::Read(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Whether a generation is whole ([`StoreReader::verify`](crate::StoreReader::verify)).
    pub async fn verify(&self, checkpoint_id: &Id) -> Result<VerifyReport, ReadError> {
        match self
            .ask(StoreRequest::Verify {
                checkpoint_id: checkpoint_id.clone(),
            })
            .await?
        {
            StoreReply::Verified(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Pins a generation, or lets it go ([`Store::set_pinned`](crate::Store::set_pinned)).
    pub async fn set_pinned(
        &self,
        checkpoint_id: &Id,
        pinned: bool,
    ) -> Result<Certainty, CommitError> {
        match self
            .ask(StoreRequest::SetPinned {
                checkpoint_id: checkpoint_id.clone(),
                pinned,
            })
            .await?
        {
            StoreReply::PinnedSet(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Drops the generations that are worth least ([`Store::prune`](crate::Store::prune)).
    pub async fn prune(&self, keep: usize) -> Result<Pruned, CommitError> {
        match self.ask(StoreRequest::Prune { keep }).await? {
            StoreReply::Pruned(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Whether an epoch's name must be taken as used.
    pub async fn is_epoch_used(&self, epoch: &Id) -> Result<bool, ReadError> {
        match self
            .ask(StoreRequest::EpochUsed {
                epoch: epoch.clone(),
            })
            .await?
        {
            StoreReply::EpochUsed(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// The next unused epoch name after `epoch`.
    pub async fn next_epoch_after(&self, epoch: &Id) -> Result<Option<Id>, ReadError> {
        match self
            .ask(StoreRequest::NextEpochAfter {
                epoch: epoch.clone(),
            })
            .await?
        {
            StoreReply::NextEpoch(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Whether a generation of that episode is stored.
    pub async fn is_episode_used(
        &self,
        session_id: &Id,
        episode_id: &Id,
    ) -> Result<bool, ReadError> {
        match self
            .ask(StoreRequest::EpisodeUsed {
                session_id: session_id.clone(),
                episode_id: episode_id.clone(),
            })
            .await?
        {
            StoreReply::EpisodeUsed(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Records that an epoch begins ([`Store::claim_epoch`](crate::Store::claim_epoch)).
    pub async fn claim_epoch(&self, epoch: &Id) -> Result<Certainty, CommitError> {
        match self
            .ask(StoreRequest::ClaimEpoch {
                epoch: epoch.clone(),
            })
            .await?
        {
            StoreReply::EpochClaimed(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// Records that the session goes on from a checkpoint
    /// ([`Store::mark_resumed`](crate::Store::mark_resumed)).
    pub async fn mark_resumed(&self, checkpoint_id: &Id) -> Result<Certainty, CommitError> {
        match self
            .ask(StoreRequest::MarkResumed {
                checkpoint_id: checkpoint_id.clone(),
            })
            .await?
        {
            StoreReply::Resumed(result) => result,
            other => Err(another(&other).into()),
        }
    }

    /// How full the medium is.
    pub async fn usage(&self) -> Result<Usage, UsageError> {
        match self.ask(StoreRequest::Usage).await? {
            StoreReply::Usage(result) => result,
            other => Err(another(&other).into()),
        }
    }

    async fn ask(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        self.route.call(request).await
    }
}

/// An owner that answers another question cannot be relied on: as good as none.
fn another(reply: &StoreReply) -> StoreGone {
    let name = reply.operation();
    StoreGone {
        reason: format!("it answered another question, `{name}`"),
    }
}
