//! A way to a store that is broken in one way.

use std::rc::Rc;

use async_trait::async_trait;
use futures::FutureExt;
use wellwritten_store::{CommitError, Resolution, StoreGone, StoreReply, StoreRequest, StoreRoute};

use super::Break;

pub struct BrokenStore {
    pub inner: Rc<dyn StoreRoute>,
    pub what: Break,
}

impl BrokenStore {
    /// The request as it arrives.
    fn altered(&self, request: StoreRequest) -> StoreRequest {
        match (request, self.what) {
            (StoreRequest::Select { mut selection }, Break::StoreHushesUpDamage) => {
                selection.fallback = true;
                StoreRequest::Select { selection }
            }
            (StoreRequest::Select { mut selection }, Break::StoreTakesTheNewest) => {
                selection.checkpoint_id = None;
                StoreRequest::Select { selection }
            }
            (request, _) => request,
        }
    }

    /// The reply as it arrives.
    fn distorted(&self, reply: StoreReply) -> StoreReply {
        match (reply, self.what) {
            (StoreReply::Resolved(_), Break::StoreFindsNothing) => {
                StoreReply::Resolved(Ok(Resolution::NotCommitted))
            }
            (StoreReply::EpochUsed(_), Break::StoreForgetsEpochs) => {
                StoreReply::EpochUsed(Ok(false))
            }
            (reply, _) => reply,
        }
    }
}

#[async_trait(?Send)]
impl StoreRoute for BrokenStore {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let request = self.altered(request);
        let failed = || Ok(StoreReply::Saved(Err(CommitError::ReadOnly)));
        let StoreRequest::Save(save) = request else {
            return Ok(self.distorted(self.inner.call(request).await?));
        };
        if self.what == Break::StoreSavesTwice {
            // Whatever became of the first.
            let _ = self.inner.call(StoreRequest::Save(save.clone())).await;
        }
        let saving = self.inner.call(StoreRequest::Save(save));
        match self.what {
            Break::StoreAnswersAtOnce => saving.now_or_never().unwrap_or_else(failed),
            Break::StoreDeniesLosses => saving.await.or_else(|_| failed()),
            _ => saving.await,
        }
    }
}
