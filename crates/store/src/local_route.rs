//! [`LocalRoute`]: the way to a store in the same program.

use async_trait::async_trait;
use futures::lock::Mutex;

use crate::open_store::OpenStore;
use crate::serve_request::serve_request;
use crate::store_medium::StoreMedium;
use crate::store_request::{StoreReply, StoreRequest};
use crate::store_route::{StoreGone, StoreRoute};

/// A store that whoever waits for an answer runs: for tests and for a store in memory. It never is gone. A future that
/// is dropped halfway stops the operation where it is, as a failure would; the next call settles that.
pub(crate) struct LocalRoute<M: StoreMedium> {
    store: Mutex<OpenStore<M>>,
}

impl<M: StoreMedium> LocalRoute<M> {
    pub(crate) fn new(store: OpenStore<M>) -> Self {
        Self {
            store: Mutex::new(store),
        }
    }
}

#[async_trait(?Send)]
impl<M: StoreMedium> StoreRoute for LocalRoute<M> {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let mut store = self.store.lock().await;
        Ok(serve_request(&mut store, request).await)
    }
}
