//! [`Storage`]: where pages come from.

use core::fmt;

/// What a pool asks for pages: a device's buffers, or host memory.
pub trait Storage {
    /// Identity of one page.
    type Id: Copy + Eq + fmt::Debug;
    /// Why a page could not be had.
    type Error: fmt::Display;

    /// A new page of `size_bytes` zeroed bytes.
    fn alloc(&mut self, size_bytes: u64) -> Result<Self::Id, Self::Error>;

    /// Gives a page back. Its id is not used again.
    fn dealloc(&mut self, id: Self::Id);

    /// What offsets and sizes inside a page must be multiples of; a power of two.
    fn alignment(&self) -> u64;
}
