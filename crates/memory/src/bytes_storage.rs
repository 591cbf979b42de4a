//! [`BytesStorage`]: pages in host memory, for tests and the CPU backend.

use crate::storage::Storage;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Identity of one page of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BytesId(u64);

/// Why host memory could not give a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BytesError {
    /// The page would pass the limit of this storage.
    #[error("{requested_bytes} bytes over the {held_bytes} held pass the limit of {limit_bytes}")]
    OverLimit {
        /// How large a page was asked for.
        requested_bytes: u64,
        /// How many bytes the storage holds.
        held_bytes: u64,
        /// How many it may hold.
        limit_bytes: u64,
    },
    /// The host has no room for it.
    #[error("the host has no {requested_bytes} bytes")]
    OutOfMemory {
        /// How large a page was asked for.
        requested_bytes: u64,
    },
}

/// Pages in host memory.
#[derive(Debug)]
pub struct BytesStorage {
    pages: BTreeMap<BytesId, Vec<u8>>,
    next: u64,
    alignment: u64,
    limit_bytes: u64,
    held_bytes: u64,
}

impl Default for BytesStorage {
    fn default() -> Self {
        Self::new(256, u64::MAX)
    }
}

impl BytesStorage {
    /// Storage that aligns to `alignment` bytes (a power of two) and holds at most `limit_bytes`.
    #[must_use]
    pub fn new(alignment: u64, limit_bytes: u64) -> Self {
        Self {
            pages: BTreeMap::new(),
            next: 0,
            alignment,
            limit_bytes,
            held_bytes: 0,
        }
    }

    /// The bytes of a page.
    #[must_use]
    pub fn page(&self, id: BytesId) -> Option<&[u8]> {
        self.pages.get(&id).map(Vec::as_slice)
    }

    /// The bytes of a page, to be written.
    pub fn page_mut(&mut self, id: BytesId) -> Option<&mut [u8]> {
        self.pages.get_mut(&id).map(Vec::as_mut_slice)
    }

    /// How many pages there are.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Drops every page, as losing a device does.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.held_bytes = 0;
    }
}

impl Storage for BytesStorage {
    type Id = BytesId;
    type Error = BytesError;

    fn alloc(&mut self, size_bytes: u64) -> Result<BytesId, BytesError> {
        let held = self
            .held_bytes
            .checked_add(size_bytes)
            .filter(|held| *held <= self.limit_bytes);
        let held = held.ok_or(BytesError::OverLimit {
            requested_bytes: size_bytes,
            held_bytes: self.held_bytes,
            limit_bytes: self.limit_bytes,
        })?;
        let out_of_memory = BytesError::OutOfMemory {
            requested_bytes: size_bytes,
        };
        let len = usize::try_from(size_bytes).map_err(|_| out_of_memory)?;
        let mut page = Vec::new();
        page.try_reserve_exact(len).map_err(|_| out_of_memory)?;
        page.resize(len, 0);
        self.held_bytes = held;
        let id = BytesId(self.next);
        self.next += 1;
        self.pages.insert(id, page);
        Ok(id)
    }

    fn dealloc(&mut self, id: BytesId) {
        if let Some(page) = self.pages.remove(&id) {
            self.held_bytes -= page.len() as u64;
        }
    }

    fn alignment(&self) -> u64 {
        self.alignment
    }
}
