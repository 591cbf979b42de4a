//! [`StoreRoute`]: the way from who asks to who owns the store.

use async_trait::async_trait;

use crate::store_request::{StoreReply, StoreRequest};

/// The way to a store's owner, wherever it is: the same program, a thread, a worker.
#[async_trait(?Send)]
pub trait StoreRoute {
    /// Asks, and waits for the answer. Requests are served one after the other, in the order of the calls. Dropping
    /// the future does not undo the request.
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone>;
}

/// The owner of the store ended before it answered. What was under way may or may not have happened; nothing more
/// will, and asking again is in vain until someone opens the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store is gone: {reason}")]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "wire", serde(deny_unknown_fields))]
pub struct StoreGone {
    /// Why it ended, as far as that is known.
    pub reason: String,
}
