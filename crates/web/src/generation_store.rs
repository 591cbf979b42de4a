//! A session's store as the page sees it, whatever medium it is on.

use async_trait::async_trait;
use futures::lock::Mutex;
use wellwritten_envelope::Id;
use wellwritten_session::SessionStore;
use wellwritten_store::{
    GenerationInfo, MediumError, ReadError, Store, StoreMedium, Usage, VerifyReport,
};

/// What the page asks of a store beyond what the session does.
#[async_trait(?Send)]
pub trait GenerationStore: SessionStore {
    /// Every generation, newest first.
    async fn generations(&self) -> Vec<GenerationInfo>;
    /// Reads a generation's file and says whether it is whole.
    async fn verify(&self, checkpoint_id: &Id) -> Result<VerifyReport, ReadError>;
    /// A generation's file, verified.
    async fn read(&self, checkpoint_id: &Id) -> Result<Vec<u8>, ReadError>;
    /// How full the medium is.
    async fn usage(&self) -> Result<Usage, MediumError>;
}

#[async_trait(?Send)]
impl<M: StoreMedium> GenerationStore for Mutex<Store<M>> {
    async fn generations(&self) -> Vec<GenerationInfo> {
        self.lock().await.generations().cloned().collect()
    }

    async fn verify(&self, checkpoint_id: &Id) -> Result<VerifyReport, ReadError> {
        self.lock().await.verify(checkpoint_id).await
    }

    async fn read(&self, checkpoint_id: &Id) -> Result<Vec<u8>, ReadError> {
        self.lock().await.read(checkpoint_id).await
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        self.lock().await.usage().await
    }
}
