//! [`MemoryConfiguration`]: which pools a manager keeps, and [`Uninitialized`].

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Size of a page that many allocations share, unless configured otherwise: 4 MiB.
pub const DEFAULT_PAGE_SIZE_BYTES: u64 = 4 << 20;

/// How a manager lays allocations out over the pages of its storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryConfiguration {
    /// One allocation a page; a freed page is used again for the next allocation of its size class.
    /// What WebGPU needs, where one buffer cannot be bound read-only and read-write in one dispatch.
    #[default]
    ExclusivePages,
    /// Many allocations share a page of [`DEFAULT_PAGE_SIZE_BYTES`]; freed neighbours coalesce.
    SubSlices,
    /// These pools, tried in order.
    Custom(Vec<PoolConfiguration>),
}

impl MemoryConfiguration {
    pub(crate) fn pools(self) -> Vec<PoolConfiguration> {
        match self {
            Self::ExclusivePages => vec![PoolConfiguration::new(PoolKind::ExclusivePages)],
            Self::SubSlices => vec![PoolConfiguration::new(PoolKind::SubSlices {
                page_size_bytes: DEFAULT_PAGE_SIZE_BYTES,
            })],
            Self::Custom(pools) => pools,
        }
    }
}

/// One pool of a custom list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfiguration {
    /// How it lays allocations out.
    pub kind: PoolKind,
    /// The largest allocation it takes; larger ones go to the next pool.
    pub largest_bytes: u64,
    /// How many bytes of pages it may hold.
    pub cap_bytes: u64,
    /// What happens to an allocation that would pass the cap.
    pub when_full: WhenFull,
}

impl PoolConfiguration {
    /// A pool of `kind` without limits.
    #[must_use]
    pub fn new(kind: PoolKind) -> Self {
        Self {
            kind,
            largest_bytes: u64::MAX,
            cap_bytes: u64::MAX,
            when_full: WhenFull::Spill,
        }
    }
}

/// How one pool lays allocations out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// One allocation a page, reuse by size class.
    ExclusivePages,
    /// Many allocations share a page.
    SubSlices {
        /// Size of a page. A larger allocation gets a page of its own size.
        page_size_bytes: u64,
    },
}

impl fmt::Display for PoolKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExclusivePages => formatter.write_str("exclusive pages"),
            Self::SubSlices { page_size_bytes } => {
                write!(formatter, "sub-slices of pages of {page_size_bytes} bytes")
            }
        }
    }
}

/// What a pool at its cap does with the next allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Leaves it to the next pool.
    Spill,
    /// Refuses it.
    Refuse,
}

/// How the bytes of a new allocation read before anything wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uninitialized {
    /// As trusted: the storage zero-fills, and the caller fills what is recycled.
    #[default]
    Trust,
    /// Not at all: they are claimed with a `NeverWritten` failure until something writes them.
    Refuse,
}
