//! [`Watch`]: a read in flight, which remembers who owned its bytes when it began.

use crate::buffers::BufferKey;
use crate::byte_range::ByteRange;
use crate::handle::{DropList, Dropped, HandleError};
use crate::identity::{BufferId, SubmissionId, UnitKey};
use crate::report::UnwrittenReport;
use crate::slots::Slots;
use crate::taint::Claim;
use crate::unit::PendingPiece;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

/// A read in flight. Dropping it forgets the read.
#[derive(Debug)]
pub struct Watch {
    pub(crate) manager: Rc<DropList>,
    pub(crate) key: WatchKey,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.manager.push(Dropped::Watch(self.key));
    }
}

/// How a read in flight stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Some of its bytes wait for these submissions, in ascending order.
    Pending(Vec<SubmissionId>),
    /// Every byte was last written by work that succeeded.
    Trusted,
    /// Some byte was not, or the device was lost meanwhile.
    Unwritten(Box<UnwrittenReport>),
}

/// Why a read cannot even begin. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadRefusal {
    /// The binding itself cannot be used.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// The reservation of the buffer failed: it never reads.
    #[error("\"{label}\" ({buffer}) is unallocated\n{report}")]
    Unallocated {
        /// The buffer.
        buffer: BufferId,
        /// Its label.
        label: String,
        /// The failure of the reservation.
        report: Box<UnwrittenReport>,
    },
    /// Some byte was not last written by work that succeeded. Writing the bytes again recovers.
    #[error("{0}")]
    Unwritten(Box<UnwrittenReport>),
}

/// Where a read in flight lies in the table, and which one is meant: a slot has other tenants later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchKey {
    pub(crate) slot: u32,
    pub(crate) number: u64,
}

/// What the manager keeps of a read in flight.
#[derive(Debug)]
pub(crate) struct WatchEntry {
    pub(crate) number: u64,
    pub(crate) key: BufferKey,
    pub(crate) label: Rc<str>,
    pub(crate) range: ByteRange,
    /// The pieces that were pending when it began, by unit; those of units that settled stay in the list.
    pub(crate) pending: Vec<PendingPiece>,
    /// How many of them still wait.
    pub(crate) waiting: usize,
    /// Pieces that turned out failed. The watch holds the node of each once.
    pub(crate) stale: Vec<(ByteRange, Claim)>,
}

/// The reads in flight.
#[derive(Debug)]
pub(crate) struct Watches {
    slots: Slots<WatchEntry>,
    next_number: u64,
}

impl Watches {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Slots::new(),
            next_number: 0,
        }
    }

    /// The key that the next read gets.
    pub(crate) fn mint(&mut self) -> WatchKey {
        let number = self.next_number;
        self.next_number += 1;
        WatchKey {
            slot: self.slots.next(),
            number,
        }
    }

    /// Enters the read of the key that [`Watches::mint`] just gave.
    pub(crate) fn insert(&mut self, entry: WatchEntry) {
        self.slots.insert(entry);
    }

    pub(crate) fn get(&self, key: WatchKey) -> Option<&WatchEntry> {
        let entry = self.slots.get(key.slot);
        entry.filter(|entry| entry.number == key.number)
    }

    pub(crate) fn get_mut(&mut self, key: WatchKey) -> Option<&mut WatchEntry> {
        let entry = self.slots.get_mut(key.slot);
        entry.filter(|entry| entry.number == key.number)
    }

    pub(crate) fn remove(&mut self, key: WatchKey) -> Option<WatchEntry> {
        self.get(key)?;
        self.slots.remove(key.slot)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut WatchEntry> {
        self.slots.values_mut()
    }
}

impl WatchEntry {
    /// The pieces of a unit that has settled. They do not wait any more.
    pub(crate) fn take_pieces(&mut self, unit: UnitKey) -> &[PendingPiece] {
        let from = self.pending.partition_point(|piece| piece.unit < unit);
        let to = self.pending.partition_point(|piece| piece.unit <= unit);
        self.waiting = self.waiting.saturating_sub(to - from);
        &self.pending[from..to]
    }
}
