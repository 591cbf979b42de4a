//! [`Unit`]: one unit of work between entering its write scope and settling; [`Units`]: all of them.

use crate::buffers::BufferKey;
use crate::byte_range::ByteRange;
use crate::handle::BufferBinding;
use crate::identity::{FailureId, StreamId, SubmissionId, UnitKey};
use crate::region::Place;
use crate::stream_capture::WindowKey;
use crate::watch::WatchKey;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::num::NonZeroU32;

/// Where a unit of work stands. A unit that settled is gone from the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its body runs, or was torn down. Its bytes read as failed under the provisional failure, which
    /// the unit holds once; work that writes no byte has none.
    Running { provisional: Option<FailureId> },
    /// Its own outcome is open, until this submission settles.
    Submitted(SubmissionId),
    /// It succeeded; what it read has not settled.
    Awaiting,
}

/// Another unit that read this unit's bytes while they were pending.
#[derive(Clone, Debug)]
pub(crate) struct Dependent {
    pub(crate) unit: UnitKey,
    /// What the other unit declared that it reads.
    pub(crate) needed: Place,
    /// A byte of this unit's that the other one read: tells which of its write places was read.
    pub(crate) at: (BufferKey, u64),
}

/// One unit of work that has not settled.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) work: Rc<str>,
    pub(crate) stream: StreamId,
    pub(crate) progress: Progress,
    /// Its write set, as declared.
    pub(crate) writes: Vec<Place>,
    /// How many spans of claims it still owns.
    pub(crate) spans: u64,
    /// Units whose pending bytes it read, each once. Those that settled clean are gone from the table.
    pub(crate) inputs: Vec<UnitKey>,
    /// How many of its inputs have not settled.
    pub(crate) awaiting: usize,
    pub(crate) dependents: Vec<Dependent>,
    /// Reads in flight over its bytes.
    pub(crate) watches: Vec<WatchKey>,
    /// What the capture window that it was entered in will record, if it was entered in one.
    pub(crate) window: Option<Box<Windowed>>,
}

/// A unit of work as its capture window sees it.
#[derive(Debug)]
pub(crate) struct Windowed {
    pub(crate) key: WindowKey,
    /// What it reads that nothing recorded had written when it was entered.
    pub(crate) reads: Vec<BufferBinding>,
    pub(crate) writes: Vec<BufferBinding>,
}

impl Unit {
    fn empty() -> Self {
        Self {
            work: Rc::from(""),
            stream: StreamId(0),
            progress: Progress::Awaiting,
            writes: Vec::new(),
            spans: 0,
            inputs: Vec::new(),
            awaiting: 0,
            dependents: Vec::new(),
            watches: Vec::new(),
            window: None,
        }
    }

    fn empty_lists(&mut self) {
        self.window = None;
        self.inputs.clear();
        self.awaiting = 0;
        self.watches.clear();
        self.dependents.clear();
        if self.inputs.capacity() > LARGEST_SPARE {
            self.inputs = Vec::new();
        }
        if self.dependents.capacity() > LARGEST_SPARE {
            self.dependents = Vec::new();
        }
    }

    /// Whether nothing waits for its outcome.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.dependents.is_empty() && self.watches.is_empty()
    }

    /// Whether nobody can ask for it any more: it owns no byte, nothing waits for it, no window hears it, and it
    /// cannot be the culprit of its submission.
    pub(crate) fn is_done_for(&self) -> bool {
        self.spans == 0
            && self.is_alone()
            && self.window.is_none()
            && !matches!(self.progress, Progress::Submitted(_))
    }

    /// Which of its write places holds a byte it owns: the last that has it.
    pub(crate) fn place_of(&self, at: (BufferKey, u64)) -> usize {
        self.writes
            .iter()
            .rposition(|place| place.key == at.0 && place.range.contains(at.1))
            .unwrap_or(0)
    }
}

/// A piece of a read in flight that waits for a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingPiece {
    pub(crate) range: ByteRange,
    pub(crate) unit: UnitKey,
}

#[derive(Debug)]
struct Slot {
    generation: NonZeroU32,
    unit: Option<Box<Unit>>,
}

/// The units that have not settled.
///
/// A launch that succeeds puts one in and takes it out again: units that are gone are kept with the room of
/// their lists, so that neither allocates.
#[derive(Debug)]
pub(crate) struct Units {
    slots: Vec<Slot>,
    free: Vec<u32>,
    #[expect(
        clippy::vec_box,
        reason = "a unit moves between here and its slot at every launch: as one pointer"
    )]
    spare: Vec<Box<Unit>>,
}

/// Whether a list of so many entries is to be looked through for those that are gone, before one more is added: at every
/// power of two from 64 on, so that what has gone does not pile up.
pub(crate) fn is_due(entries: usize) -> bool {
    entries >= 64 && entries.is_power_of_two()
}

/// Lists that grew beyond this many entries are not kept.
const LARGEST_SPARE: usize = 1024;

impl Units {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// An emptied unit, to be filled and entered.
    #[cfg_attr(
        target_pointer_width = "32",
        expect(
            clippy::unnecessary_box_returns,
            reason = "a unit moves between here and its slot at every launch: as one pointer"
        )
    )]
    #[inline]
    pub(crate) fn spare(&mut self) -> Box<Unit> {
        self.spare.pop().unwrap_or_else(|| Box::new(Unit::empty()))
    }

    /// The id that the next unit gets.
    #[inline]
    pub(crate) fn next_id(&mut self) -> UnitKey {
        if self.free.is_empty() {
            self.add_slot();
        }
        let slot = self.free[self.free.len() - 1];
        UnitKey::new(slot, self.slots[slot as usize].generation)
    }

    #[cold]
    fn add_slot(&mut self) {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 units at a time");
        self.free.push(slot);
        self.slots.push(Slot {
            generation: NonZeroU32::MIN,
            unit: None,
        });
    }

    /// Enters a unit under [`Units::next_id`].
    #[inline]
    pub(crate) fn insert(&mut self, unit: Box<Unit>) {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].unit = Some(unit);
        }
    }

    #[inline]
    fn slot_of(&self, id: UnitKey) -> Option<usize> {
        let slot = id.slot() as usize;
        let entry = self.slots.get(slot)?;
        (UnitKey::new(id.slot(), entry.generation) == id).then_some(slot)
    }

    #[inline]
    pub(crate) fn get(&self, id: UnitKey) -> Option<&Unit> {
        self.slots[self.slot_of(id)?].unit.as_deref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: UnitKey) -> Option<&mut Unit> {
        let slot = self.slot_of(id)?;
        self.slots[slot].unit.as_deref_mut()
    }

    /// Takes a unit out. [`Units::keep`] wants it back.
    #[inline]
    pub(crate) fn remove(&mut self, id: UnitKey) -> Option<Box<Unit>> {
        let slot = self.slot_of(id)?;
        let entry = &mut self.slots[slot];
        let unit = entry.unit.take()?;
        // A slot whose generations are used up is never used again.
        if let Some(next) = entry.generation.checked_add(1) {
            entry.generation = next;
            self.free.push(id.slot());
        }
        Some(unit)
    }

    /// Keeps what is left of a unit for the next.
    #[inline]
    pub(crate) fn keep(&mut self, mut unit: Box<Unit>) {
        unit.writes.clear();
        if unit.writes.capacity() > LARGEST_SPARE {
            unit.writes = Vec::new();
        }
        unit.spans = 0;
        if !(unit.is_alone() && unit.inputs.is_empty() && unit.window.is_none()) {
            unit.empty_lists();
        }
        self.spare.push(unit);
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The ids of all units, by slot.
    pub(crate) fn ids(&self) -> Vec<UnitKey> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, entry)| entry.unit.is_some())
            .map(|(slot, entry)| UnitKey::new(slot, entry.generation))
            .collect()
    }
}
