//! [`SaveRequest`]: a captured checkpoint on its way to the store.

use std::fmt;
use std::sync::Arc;

use wellwritten_envelope::{Id, Manifest};

/// Immutable payload bytes with an owner; whoever holds the last clone frees them. They can go to another thread,
/// because the store may be there.
pub type PayloadBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// What is to be saved: the manifest of an envelope, without payload rows or with those of these payloads, and the
/// payloads, which nobody has copied. The store encodes them.
#[derive(Clone)]
pub struct SaveRequest {
    /// What the checkpoint says of itself; the store's record is made of it.
    pub manifest: Manifest,
    /// Every payload that the manifest names.
    pub payloads: Vec<(Id, PayloadBytes)>,
}

impl SaveRequest {
    /// The length of all payloads together, in bytes: what the request keeps in memory.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        let lengths = self.payloads.iter().map(|(_, bytes)| length(bytes));
        lengths.fold(0, u64::saturating_add)
    }

    pub(crate) fn views(&self) -> Vec<(Id, &[u8])> {
        let views = self.payloads.iter();
        views
            .map(|(name, bytes)| (name.clone(), (**bytes).as_ref()))
            .collect()
    }
}

fn length(bytes: &PayloadBytes) -> u64 {
    (**bytes).as_ref().len() as u64
}

/// With the payloads' lengths instead of their bytes.
impl fmt::Debug for SaveRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payloads = self.payloads.iter();
        let lengths: Vec<_> = payloads
            .map(|(name, bytes)| (name, length(bytes)))
            .collect();
        formatter
            .debug_struct("SaveRequest")
            .field("checkpoint_id", &self.manifest.checkpoint_id)
            .field("payloads", &lengths)
            .finish_non_exhaustive()
    }
}
