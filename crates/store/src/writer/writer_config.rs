//! How much a writer takes on.

/// Choices a writer is made with; checked by [`Writer::new`](crate::Writer::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterConfig {
    /// How many captures may be outstanding: being taken, waiting, or being saved. At least 1.
    pub queue_capacity: usize,
    /// How many bytes of payloads may wait or be saved. At least 1.
    pub queued_bytes_max: u64,
}

impl Default for WriterConfig {
    fn default() -> Self {
        Self {
            queue_capacity: 2,
            queued_bytes_max: 64 << 20,
        }
    }
}

impl WriterConfig {
    pub(super) const fn check(&self) -> Result<(), WriterConfigError> {
        if self.queue_capacity == 0 {
            Err(WriterConfigError::NoCapacity)
        } else if self.queued_bytes_max == 0 {
            Err(WriterConfigError::NoBytes)
        } else {
            Ok(())
        }
    }
}

/// The configuration makes no sense; the caller is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriterConfigError {
    /// Nothing could ever be saved.
    #[error("a writer has room for at least 1 capture, queue_capacity is 0")]
    NoCapacity,
    /// Nothing could ever be saved.
    #[error("a writer has room for at least 1 byte, queued_bytes_max is 0")]
    NoBytes,
}
