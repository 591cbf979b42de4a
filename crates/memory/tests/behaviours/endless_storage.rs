//! [`EndlessStorage`]: pages of any size, with no bytes behind them, for offsets that no host has.

use std::collections::BTreeMap;
use std::convert::Infallible;
use wellwritten_memory::Storage;

/// Hands out numbers for pages.
#[derive(Debug, Default)]
pub struct EndlessStorage {
    pages: BTreeMap<u64, u64>,
    next: u64,
}

impl Storage for EndlessStorage {
    type Id = u64;
    type Error = Infallible;

    fn alloc(&mut self, size_bytes: u64) -> Result<u64, Infallible> {
        self.next += 1;
        self.pages.insert(self.next, size_bytes);
        Ok(self.next)
    }

    fn dealloc(&mut self, id: u64) {
        assert!(self.pages.remove(&id).is_some(), "page {id} goes once");
    }

    fn alignment(&self) -> u64 {
        256
    }
}
