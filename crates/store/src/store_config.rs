//! How a store is kept.

/// Choices a store is opened with; checked by [`Store::open`](crate::Store::open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// How many generations stay after a commit, the new one included. At least 1.
    pub keep_generations: usize,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            keep_generations: 3,
        }
    }
}
