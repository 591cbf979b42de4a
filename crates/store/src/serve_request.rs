//! [`serve_request`]: what the owner of a store does with a request.

use wellwritten_envelope::Id;

use crate::commit::{Certainty, CommitError, Committed, Pruned};
use crate::open_store::OpenStore;
use crate::save_request::SaveRequest;
use crate::selection::{SelectError, Selected, Selection};
use crate::store_error::{ImportError, ReadError, StoreError, UsageError};
use crate::store_medium::{StoreMedium, Usage};
use crate::store_reader::{Resolution, StoreReader};
use crate::store_request::{StoreReply, StoreRequest};
use crate::verify_report::VerifyReport;

/// How often a read-only view looks again when a file is gone that its manifest lists: the owner may rotate faster than
/// one can read, but not for long.
const LOOKS_AGAIN: usize = 3;

/// Does what `request` asks and answers it. The payloads that came with it are released before the answer is there.
pub async fn serve_request<M: StoreMedium>(
    store: &mut OpenStore<M>,
    request: StoreRequest,
) -> StoreReply {
    match request {
        StoreRequest::Save(request) => StoreReply::Saved(save(store, request).await),
        StoreRequest::Import { bytes } => {
            StoreReply::Imported(import(store, (*bytes).as_ref()).await)
        }
        StoreRequest::Resolve { checkpoint_id } => {
            StoreReply::Resolved(resolve(store, &checkpoint_id).await)
        }
        StoreRequest::Select { selection } => StoreReply::Selected(select(store, &selection).await),
        StoreRequest::Generations => {
            StoreReply::Generations(look(store, StoreReader::generation_list).await)
        }
        StoreRequest::Read { checkpoint_id } => StoreReply::Read(read(store, &checkpoint_id).await),
        StoreRequest::Verify { checkpoint_id } => {
            StoreReply::Verified(verify(store, &checkpoint_id).await)
        }
        StoreRequest::SetPinned {
            checkpoint_id,
            pinned,
        } => StoreReply::PinnedSet(set_pinned(store, &checkpoint_id, pinned).await),
        StoreRequest::Prune { keep } => StoreReply::Pruned(prune(store, keep).await),
        StoreRequest::EpochUsed { epoch } => {
            StoreReply::EpochUsed(look(store, |view| view.epochs().is_used(&epoch)).await)
        }
        StoreRequest::NextEpochAfter { epoch } => {
            StoreReply::NextEpoch(look(store, |view| view.epochs().next_after(&epoch)).await)
        }
        StoreRequest::EpisodeUsed {
            session_id,
            episode_id,
        } => StoreReply::EpisodeUsed(
            look(store, |view| view.is_episode_used(&session_id, &episode_id)).await,
        ),
        StoreRequest::ClaimEpoch { epoch } => {
            StoreReply::EpochClaimed(claim_epoch(store, &epoch).await)
        }
        StoreRequest::MarkResumed { checkpoint_id } => {
            StoreReply::Resumed(mark_resumed(store, &checkpoint_id).await)
        }
        StoreRequest::Usage => StoreReply::Usage(usage(store).await),
    }
}

async fn look<M: StoreMedium, T>(
    store: &mut OpenStore<M>,
    look: impl FnOnce(&StoreReader<M>) -> T,
) -> Result<T, ReadError> {
    store.view().await.map(look)
}

async fn save<M: StoreMedium>(
    store: &mut OpenStore<M>,
    request: SaveRequest,
) -> Result<Committed, CommitError> {
    store.owned()?.save(&request).await
}

async fn import<M: StoreMedium>(
    store: &mut OpenStore<M>,
    bytes: &[u8],
) -> Result<Committed, ImportError> {
    store.owned()?.import(bytes).await
}

async fn resolve<M: StoreMedium>(
    store: &mut OpenStore<M>,
    checkpoint_id: &Id,
) -> Result<Resolution, CommitError> {
    match store {
        OpenStore::Owned(store) => store.resolve(checkpoint_id).await,
        OpenStore::ReadOnly(reader) => {
            reader.refresh().await.map_err(StoreError::settling)?;
            Ok(reader.resolution(checkpoint_id))
        }
    }
}

async fn select<M: StoreMedium>(
    store: &mut OpenStore<M>,
    selection: &Selection,
) -> Result<Selected, SelectError> {
    let mut outcome = store.view().await?.select(selection).await;
    for _ in 0..LOOKS_AGAIN {
        let is_missing = match &outcome {
            Ok(selected) => selected.damaged.iter().any(|one| one.damage.is_missing()),
            Err(SelectError::Damaged { damage, .. }) => damage.is_missing(),
            Err(SelectError::AllDamaged { damaged }) => {
                damaged.iter().any(|one| one.damage.is_missing())
            }
            Err(_) => false,
        };
        if !is_missing || !store.has_changed().await? {
            break;
        }
        outcome = store.view().await?.select(selection).await;
    }
    outcome
}

async fn read<M: StoreMedium>(
    store: &mut OpenStore<M>,
    checkpoint_id: &Id,
) -> Result<Vec<u8>, ReadError> {
    let mut outcome = store.view().await?.read_whole(checkpoint_id).await;
    for _ in 0..LOOKS_AGAIN {
        let is_missing = match &outcome {
            Err(ReadError::Damaged { damage, .. }) => damage.is_missing(),
            _ => false,
        };
        if !is_missing || !store.has_changed().await? {
            break;
        }
        outcome = store.view().await?.read_whole(checkpoint_id).await;
    }
    outcome
}

async fn verify<M: StoreMedium>(
    store: &mut OpenStore<M>,
    checkpoint_id: &Id,
) -> Result<VerifyReport, ReadError> {
    let mut outcome = store.view().await?.verify(checkpoint_id).await;
    for _ in 0..LOOKS_AGAIN {
        let is_missing = match &outcome {
            Ok(report) => report.is_missing(),
            Err(_) => false,
        };
        if !is_missing || !store.has_changed().await? {
            break;
        }
        outcome = store.view().await?.verify(checkpoint_id).await;
    }
    outcome
}

async fn set_pinned<M: StoreMedium>(
    store: &mut OpenStore<M>,
    checkpoint_id: &Id,
    pinned: bool,
) -> Result<Certainty, CommitError> {
    store.owned()?.set_pinned(checkpoint_id, pinned).await
}

async fn prune<M: StoreMedium>(
    store: &mut OpenStore<M>,
    keep: usize,
) -> Result<Pruned, CommitError> {
    store.owned()?.prune(keep).await
}

async fn claim_epoch<M: StoreMedium>(
    store: &mut OpenStore<M>,
    epoch: &Id,
) -> Result<Certainty, CommitError> {
    store.owned()?.claim_epoch(epoch).await
}

async fn mark_resumed<M: StoreMedium>(
    store: &mut OpenStore<M>,
    checkpoint_id: &Id,
) -> Result<Certainty, CommitError> {
    store.owned()?.mark_resumed(checkpoint_id).await
}

async fn usage<M: StoreMedium>(store: &mut OpenStore<M>) -> Result<Usage, UsageError> {
    Ok(match store {
        OpenStore::Owned(store) => store.usage().await?,
        OpenStore::ReadOnly(reader) => reader.usage().await?,
    })
}
