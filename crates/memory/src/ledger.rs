//! [`Ledger`]: who wrote which byte last, for every buffer of one manager.
//!
//! It knows no storage: buffers are ids, labels and sizes. Settlement lives in `settlement.rs`, reads in
//! `reading.rs`, views for a person in `snapshot.rs`; this file holds the tables and how a claim is set.

use crate::byte_range::ByteRange;
use crate::error_graph::{ErrorGraph, Provenance};
use crate::failure::Failure;
use crate::handle::{BufferBinding, DropList, Dropped, Handle, HandleError, Owner};
use crate::identity::{BufferId, FailureId, SubmissionId, UnitId};
use crate::labels::Labels;
use crate::region::Place;
use crate::sorted_map::SortedMap;
use crate::taint::{Change, Claim, Taint};
use crate::unit::{Progress, Unit};
use crate::watch::WatchEntry;
use alloc::rc::{Rc, Weak};
use alloc::string::ToString;
use alloc::vec::Vec;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// What stands behind a buffer's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A slice of a page.
    Placed,
    /// Nothing: the reservation failed.
    Unallocated(FailureId),
    /// Nothing any more: its device is lost.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) label: Rc<str>,
    pub(crate) size_bytes: u64,
    pub(crate) taint: Taint,
    pub(crate) revision: u64,
    pub(crate) standing: Standing,
    owner: Weak<Owner>,
}

impl Buffer {
    /// Whether some handle still owns it.
    pub(crate) fn is_live(&self) -> bool {
        self.owner.strong_count() > 0
    }
}

/// The units that wait for one submission.
#[derive(Debug, Default)]
pub(crate) struct Submission {
    pub(crate) units: Vec<UnitId>,
    /// The first unit known to be the culprit: its failure and its work.
    pub(crate) blamed: Option<(Failure, Rc<str>, FailureId)>,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) manager: Rc<DropList>,
    pub(crate) graph: ErrorGraph,
    pub(crate) buffers: SortedMap<BufferId, Buffer>,
    pub(crate) units: HashMap<UnitId, Unit>,
    pub(crate) submissions: SortedMap<SubmissionId, Submission>,
    pub(crate) watches: SortedMap<u64, WatchEntry>,
    pub(crate) labels: Labels,
    pub(crate) revision: u64,
    pub(crate) next_buffer: BufferId,
    pub(crate) next_unit: UnitId,
    pub(crate) next_watch: u64,
    /// Emptied vectors of write places, to be used again.
    pub(crate) spare_writes: Vec<Vec<Place>>,
    changes: Vec<Change>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            manager: Rc::default(),
            graph: ErrorGraph::new(),
            buffers: SortedMap::new(),
            units: HashMap::new(),
            submissions: SortedMap::new(),
            watches: SortedMap::new(),
            labels: Labels::default(),
            revision: 0,
            next_buffer: BufferId::FIRST,
            next_unit: UnitId::FIRST,
            next_watch: 0,
            spare_writes: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Enters a new buffer into the books. Its bytes are trusted until claimed.
    pub(crate) fn register(&mut self, size_bytes: u64, label: &str, standing: Standing) -> Handle {
        let id = BufferId::mint(&mut self.next_buffer);
        let label = self.labels.intern(label);
        let handle = Handle::new(&self.manager, id, Rc::clone(&label), size_bytes);
        self.revision += 1;
        let buffer = Buffer {
            label,
            size_bytes,
            taint: Taint::default(),
            revision: self.revision,
            standing,
            owner: Rc::downgrade(handle.owner()),
        };
        self.buffers.insert(id, buffer);
        handle
    }

    /// Clears away what dropped handles and watches left. Tells `freed` of every buffer that went.
    pub(crate) fn sweep(&mut self, mut freed: impl FnMut(BufferId)) {
        let dropped = self.manager.take();
        for &item in &dropped {
            match item {
                Dropped::Buffer(id) => {
                    self.forget(id);
                    freed(id);
                }
                Dropped::Watch(number) => self.forget_watch(number),
            }
        }
        self.manager.reuse(dropped);
    }

    fn forget(&mut self, id: BufferId) {
        let Some(mut buffer) = self.buffers.remove(&id) else {
            return;
        };
        self.revision += 1;
        buffer.taint.clear(&mut self.changes);
        self.apply_changes();
        if let Standing::Unallocated(failure) = buffer.standing {
            self.graph.release(Provenance::Root(failure));
        }
        self.graph.fade(id);
    }

    /// Gives bytes of a buffer to `claim`, or to nothing. No effect on a buffer that is gone.
    pub(crate) fn set(&mut self, buffer: BufferId, range: ByteRange, claim: Option<Claim>) {
        let Some(entry) = self.buffers.get_mut(&buffer) else {
            return;
        };
        entry.taint.set(range, claim, &mut self.changes);
        if self.changes.is_empty() {
            return;
        }
        self.revision += 1;
        entry.revision = self.revision;
        self.apply_changes();
    }

    /// Marks a buffer as changed where its spans mean something else without having moved.
    pub(crate) fn touch(&mut self, buffer: BufferId) {
        if let Some(entry) = self.buffers.get_mut(&buffer) {
            self.revision += 1;
            entry.revision = self.revision;
        }
    }

    /// Gains first, so that a node passed from one span to the next is never without holder.
    fn apply_changes(&mut self) {
        let mut changes = core::mem::take(&mut self.changes);
        for change in &changes {
            let &Change::Gained(claim) = change else {
                continue;
            };
            match claim.provenance() {
                Some(node) => self.graph.hold(node, 1),
                None => self.count_span(claim, true),
            }
        }
        for change in &changes {
            let &Change::Lost(claim) = change else {
                continue;
            };
            match claim.provenance() {
                Some(node) => self.graph.release(node),
                None => self.count_span(claim, false),
            }
        }
        changes.clear();
        self.changes = changes;
    }

    /// A unit that is torn down goes with its last byte: nothing else can ask for it.
    fn count_span(&mut self, claim: Claim, gained: bool) {
        let Claim::Unit(id) = claim else { return };
        let Some(unit) = self.units.get_mut(&id) else {
            return;
        };
        if gained {
            unit.spans += 1;
            return;
        }
        unit.spans -= 1;
        if let (
            0,
            Progress::Running {
                provisional: Some(provisional),
            },
        ) = (unit.spans, unit.progress)
        {
            self.remove_unit(id);
            self.graph.release(Provenance::Root(provisional));
        }
    }

    /// Takes a unit out of the table. Its inputs forget it when they settle.
    pub(crate) fn remove_unit(&mut self, id: UnitId) -> Option<Unit> {
        self.units.remove(&id)
    }

    /// Keeps an emptied vector of write places for the next unit.
    pub(crate) fn spare(&mut self, mut writes: Vec<Place>) {
        writes.clear();
        self.spare_writes.push(writes);
    }

    /// The bytes of `place` that `unit` still owns.
    pub(crate) fn owned(&self, unit: UnitId, place: &Place) -> SmallVec<[ByteRange; 4]> {
        self.buffers
            .get(&place.buffer)
            .map_or_else(SmallVec::new, |buffer| {
                buffer
                    .taint
                    .within(place.range)
                    .filter(|(_, claim)| *claim == Claim::Unit(unit))
                    .map(|(range, _)| range)
                    .collect()
            })
    }

    /// The claim as a reader meets it: the bytes of an open or torn-down scope have failed.
    pub(crate) fn as_read(&self, claim: Claim) -> Claim {
        if let Claim::Unit(id) = claim
            && let Some(Progress::Running {
                provisional: Some(provisional),
            }) = self.units.get(&id).map(|unit| unit.progress)
        {
            return Claim::Failed(provisional);
        }
        claim
    }

    /// The buffer behind a binding: of this manager and not freed.
    pub(crate) fn buffer(&self, binding: &BufferBinding) -> Result<&Buffer, HandleError> {
        let buffer = binding.buffer();
        if !binding.belongs_to(&self.manager) {
            return Err(HandleError::Foreign { buffer });
        }
        self.buffers
            .get(&buffer)
            .filter(|entry| entry.is_live())
            .ok_or(HandleError::Freed { buffer })
    }

    /// The buffer behind a binding, and not of a lost device either. It may be unallocated.
    pub(crate) fn usable(&self, binding: &BufferBinding) -> Result<&Buffer, HandleError> {
        let entry = self.buffer(binding)?;
        if entry.standing == Standing::Lost {
            return Err(HandleError::Lost {
                buffer: binding.buffer(),
                label: entry.label.to_string(),
            });
        }
        Ok(entry)
    }

    pub(crate) fn place(&self, binding: &BufferBinding) -> Result<Place, HandleError> {
        let entry = self.usable(binding)?;
        Ok(Place {
            buffer: binding.buffer(),
            label: Rc::clone(&entry.label),
            range: binding.range(),
        })
    }
}
