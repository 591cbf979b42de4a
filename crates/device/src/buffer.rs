//! A buffer of a guarded device.

use wellwritten_memory::{BufferBinding, BufferId, Handle, RangeError};

/// Owner of a range of device memory. Clones share it; dropping the last one frees it.
#[derive(Clone, Debug)]
pub struct GuardedBuffer {
    handle: Handle,
}

impl GuardedBuffer {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// The buffer's identity, never used again for another.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.handle.id()
    }

    /// How reports name the buffer.
    #[must_use]
    pub fn label(&self) -> &str {
        self.handle.label()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.handle.size_bytes()
    }

    /// The whole buffer, to bind, read or write.
    #[must_use]
    pub fn binding(&self) -> BufferBinding {
        self.handle.binding()
    }

    /// The bytes from `start` up to, not including, `end`.
    ///
    /// # Errors
    /// When the range is reversed or reaches past the end of the buffer.
    pub fn slice(&self, start: u64, end: u64) -> Result<BufferBinding, RangeError> {
        self.handle.slice(start, end)
    }
}
