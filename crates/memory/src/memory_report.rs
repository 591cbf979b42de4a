//! [`MemoryUsage`] and [`MemoryReport`]: what a manager holds, in all and pool by pool.

use crate::configuration::PoolKind;
use alloc::vec::Vec;
use core::fmt;

/// What a manager holds at a moment. Sums that pass 64 bits stay at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct MemoryUsage {
    /// Live buffers with bytes behind them.
    pub buffers: u64,
    /// The bytes that were asked for.
    pub live_bytes: u64,
    /// The bytes they take up, with rounding.
    pub taken_bytes: u64,
    /// The bytes of all pages, free ones included.
    pub page_bytes: u64,
    /// How many pages there are.
    pub pages: u64,
}

/// What one pool of one pooled stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReport {
    /// The pooled stream.
    pub stream: u32,
    /// How the pool lays allocations out.
    pub kind: PoolKind,
    /// The largest allocation it takes.
    pub largest_bytes: u64,
    /// How many bytes of pages it may hold.
    pub cap_bytes: u64,
    /// How many bytes of pages it holds.
    pub page_bytes: u64,
    /// How many pages.
    pub pages: u64,
    /// How many of those bytes no allocation takes up.
    pub free_bytes: u64,
    /// The largest allocation that fits without a new page. For exclusive pages, the largest free page.
    pub largest_free_bytes: u64,
}

/// What a manager holds, in all and pool by pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// In all.
    pub usage: MemoryUsage,
    /// Every pool that was used, by pooled stream and in the order they are tried.
    pub pools: Vec<PoolReport>,
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryUsage {
            buffers,
            live_bytes,
            taken_bytes,
            page_bytes,
            pages,
        } = self.usage;
        write!(
            formatter,
            "{buffers} buffers of {live_bytes} bytes take up {taken_bytes} of {page_bytes} bytes in {pages} pages"
        )?;
        for pool in &self.pools {
            write!(
                formatter,
                "\n  pooled stream {}, {}: {} bytes in {} pages, {} free, at most {} in one piece",
                pool.stream,
                pool.kind,
                pool.page_bytes,
                pool.pages,
                pool.free_bytes,
                pool.largest_free_bytes
            )?;
            if pool.cap_bytes < u64::MAX {
                write!(formatter, ", cap {}", pool.cap_bytes)?;
            }
        }
        Ok(())
    }
}
