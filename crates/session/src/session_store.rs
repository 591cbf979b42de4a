//! The [`SessionStore`] trait: the store as a session sees it, whatever medium it is on.

use std::rc::Rc;

use async_trait::async_trait;
use futures::lock::Mutex;
use wellwritten_envelope::Id;
use wellwritten_store::{
    Certainty, CommitError, Committed, GenerationBytes, Resolution, SelectError, Selected,
    Selection, Store, StoreMedium,
};

/// What a session asks of its store.
#[async_trait(?Send)]
pub trait SessionStore {
    /// Commits a generation.
    async fn commit(&self, generation: GenerationBytes<'_>) -> Result<Committed, CommitError>;

    /// What became of a save.
    async fn resolve(&self, checkpoint_id: &Id) -> Result<Resolution, CommitError>;

    /// Chooses a generation to restore.
    async fn select(&self, selection: &Selection) -> Result<Selected, SelectError>;

    /// Whether a generation of that episode is stored.
    async fn is_episode_used(&self, session_id: &Id, episode_id: &Id) -> bool;

    /// Whether an epoch's name must be taken as used.
    async fn is_epoch_used(&self, epoch: &Id) -> bool;

    /// The next unused epoch name after `epoch`.
    async fn next_epoch_after(&self, epoch: &Id) -> Option<Id>;

    /// Records that an epoch begins.
    async fn claim_epoch(&self, epoch: &Id) -> Result<Certainty, CommitError>;

    /// Records that the session goes on from a checkpoint.
    async fn mark_resumed(&self, checkpoint_id: &Id) -> Result<Certainty, CommitError>;
}

/// A store shared between a session and whoever lists its generations.
pub type SharedStore<M> = Rc<Mutex<Store<M>>>;

#[async_trait(?Send)]
impl<M: StoreMedium> SessionStore for Mutex<Store<M>> {
    async fn commit(&self, generation: GenerationBytes<'_>) -> Result<Committed, CommitError> {
        self.lock().await.commit(generation).await
    }

    async fn resolve(&self, checkpoint_id: &Id) -> Result<Resolution, CommitError> {
        self.lock().await.resolve(checkpoint_id).await
    }

    async fn select(&self, selection: &Selection) -> Result<Selected, SelectError> {
        self.lock().await.select(selection).await
    }

    async fn is_episode_used(&self, session_id: &Id, episode_id: &Id) -> bool {
        let store = self.lock().await;
        store
            .generations()
            .any(|one| (&one.session_id, &one.episode_id) == (session_id, episode_id))
    }

    async fn is_epoch_used(&self, epoch: &Id) -> bool {
        self.lock().await.epochs().is_used(epoch)
    }

    async fn next_epoch_after(&self, epoch: &Id) -> Option<Id> {
        self.lock().await.epochs().next_after(epoch)
    }

    async fn claim_epoch(&self, epoch: &Id) -> Result<Certainty, CommitError> {
        self.lock().await.claim_epoch(epoch).await
    }

    async fn mark_resumed(&self, checkpoint_id: &Id) -> Result<Certainty, CommitError> {
        self.lock().await.mark_resumed(checkpoint_id).await
    }
}
