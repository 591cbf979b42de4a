//! [`Failures`]: who wrote which byte last, for every buffer of one manager.
//!
//! It knows no storage: buffers are ids, labels and sizes. How a unit of work enters and ends lives in
//! `write_scope.rs`, settlement in `settlement.rs`, reads in `reading.rs`, views for a person in `views.rs`;
//! this file holds the tables and how a claim is set.

use crate::buffers::{Buffer, BufferKey, Buffers, Standing};
use crate::byte_range::ByteRange;
use crate::error_graph::{ErrorGraph, Provenance};
use crate::execute_scope::WriteSet;
use crate::failure::{Failure, FailureKind};
use crate::handle::{BufferBinding, DropList, Dropped, Handle, HandleError};
use crate::identity::{FailureId, StreamId, SubmissionId, UnitKey};
use crate::labels::Labels;
use crate::region::Place;
use crate::settlement::Cause;
use crate::sorted_map::{SortedMap, SortedSet};
use crate::stream_capture::{StreamCapture, Windows};
use crate::stream_pool::StreamPool;
use crate::taint::{Change, Claim, Inline, Moved};
use crate::unit::{Progress, Units};
use crate::watch::Watches;
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use smallvec::SmallVec;

/// The units that wait for one submission.
#[derive(Debug, Default)]
pub(crate) struct Submission {
    pub(crate) units: Vec<UnitKey>,
    /// The first unit known to be the culprit: its failure and its work.
    pub(crate) blamed: Option<(Failure, Rc<str>, FailureId)>,
}

/// The books on every byte of one manager: its last writer, the failures that bytes carry, and the capture
/// windows that hear how work ends. Reached through [`FailureStore`](crate::FailureStore).
#[derive(Debug)]
pub struct Failures {
    pub(crate) manager: Rc<DropList>,
    pub(crate) graph: ErrorGraph,
    pub(crate) buffers: Buffers,
    pub(crate) units: Units,
    pub(crate) submissions: SortedMap<SubmissionId, Submission>,
    pub(crate) watches: Watches,
    pub(crate) labels: Labels,
    pub(crate) windows: StreamPool<Windows>,
    /// Whether anybody ever asked for a window. If not, no launch has to look for one.
    pub(crate) windows_used: bool,
    /// What the last snapshot saw of the graph: how often it had changed, and which scopes were open.
    pub(crate) graph_noted: (u64, (usize, u64)),
    /// The revision at which a snapshot last found the graph changed.
    pub(crate) graph_revision: u64,
    /// Emptied lists of units, and write sets, to be used again.
    pub(crate) spare_units: Vec<Vec<UnitKey>>,
    pub(crate) spare_write_sets: Vec<WriteSet>,
    pub(crate) spare_clean: Vec<UnitKey>,
    changes: Vec<Change>,
}

impl Failures {
    pub(crate) fn new(max_streams: NonZeroU32) -> Self {
        let manager = Rc::new(DropList::new());
        Self {
            windows: StreamPool::new(Windows::new(&manager), max_streams),
            manager,
            graph: ErrorGraph::new(),
            buffers: Buffers::new(),
            units: Units::new(),
            submissions: SortedMap::new(),
            watches: Watches::new(),
            labels: Labels::default(),
            windows_used: false,
            graph_noted: (0, (0, 0)),
            graph_revision: 0,
            spare_units: Vec::new(),
            spare_write_sets: Vec::new(),
            spare_clean: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The failures held.
    #[must_use]
    pub fn graph(&self) -> &ErrorGraph {
        &self.graph
    }

    /// The capture window of the pooled stream that serves `stream`.
    pub fn capture(&mut self, stream: StreamId) -> &mut StreamCapture {
        self.windows_used = true;
        let Ok(window) = self.windows.get(stream);
        for unit in window.take_left_open() {
            self.close_window_of(unit);
        }
        let Ok(window) = self.windows.get(stream);
        window
    }

    /// The window of a unit that has not ended is closed.
    fn close_window_of(&mut self, id: UnitKey) {
        let Some(unit) = self.units.get_mut(id) else {
            return;
        };
        unit.window = None;
        if unit.is_done_for() {
            self.remove_unit(id);
        }
    }

    /// Enters a new buffer into the books. Its bytes are trusted until claimed.
    pub(crate) fn register(&mut self, size_bytes: u64, label: &str, standing: Standing) -> Handle {
        let key = self.buffers.mint();
        let label = self.labels.intern(label);
        let handle = Handle::new(&self.manager, key, Rc::clone(&label), size_bytes);
        let owner = Rc::downgrade(handle.owner());
        self.buffers.insert(key, label, size_bytes, standing, owner);
        handle
    }

    /// Enters a buffer whose reservation failed into the books.
    pub(crate) fn register_failed(
        &mut self,
        size_bytes: u64,
        label: &str,
        failure: Failure,
    ) -> Handle {
        let work = self.labels.intern(label);
        let id = self.graph.mint(failure, work);
        let handle = self.register(size_bytes, label, Standing::Unallocated(id));
        let range = ByteRange::whole(size_bytes);
        self.set(handle.owner().key(), range, Some(Claim::Failed(id)));
        handle
    }

    /// Claims the bytes of a new allocation until something writes them.
    pub(crate) fn claim_never_written(&mut self, key: BufferKey, size_bytes: u64) {
        let Some(buffer) = self.buffers.get(key) else {
            return;
        };
        let work = Rc::clone(&buffer.label);
        let message = "nothing has written these bytes since they were allocated";
        let failure = Failure::new(FailureKind::NeverWritten, message);
        let id = self.graph.mint(failure, work);
        let range = ByteRange::whole(size_bytes);
        self.set(key, range, Some(Claim::NeverWritten(id)));
        self.graph.release(Provenance::Root(id));
    }

    /// A buffer has a new allocation: nothing is known of its bytes, and nothing that was holds any more.
    pub(crate) fn allocate(&mut self, key: BufferKey) {
        self.shed(key);
        let Some(buffer) = self.buffers.get_mut(key) else {
            return;
        };
        let standing = core::mem::replace(&mut buffer.standing, Standing::Placed);
        self.buffers.touch(key.slot);
        if let Standing::Unallocated(failure) = standing {
            self.graph.release(Provenance::Root(failure));
        }
    }

    /// Takes the allocations from under the buffers in these slots, under one failure: work that was to write them
    /// and has not settled fails, with what read from it, and reads of them in flight are stale. The failure's id,
    /// unless no live buffer was there.
    pub(crate) fn unallocate(
        &mut self,
        slots: impl IntoIterator<Item = u32>,
        label: &str,
        failure: Failure,
    ) -> Option<FailureId> {
        let work = self.labels.intern(label);
        let root = self.graph.mint(failure, work);
        let mut keys = SortedSet::new();
        for key in slots.into_iter().filter_map(|slot| self.buffers.key(slot)) {
            keys.insert(key);
        }
        let mut writers: Vec<UnitKey> = Vec::new();
        for key in keys.iter() {
            let Some(buffer) = self.buffers.get_mut(*key) else {
                continue;
            };
            buffer.standing = Standing::Unallocated(root);
            self.graph.hold(Provenance::Root(root), 1);
            let claims = buffer.taint.within(ByteRange::whole(buffer.size_bytes));
            writers.extend(claims.filter_map(|(_, claim)| claim.unit()));
        }
        self.settle_failed(writers.into_iter().map(|unit| (unit, Cause::Own)), root);
        for key in keys.iter() {
            let size_bytes = self.buffers.get(*key).map(|buffer| buffer.size_bytes);
            let range = ByteRange::whole(size_bytes.unwrap_or_default());
            self.set(*key, range, Some(Claim::Failed(root)));
        }
        self.lose_watches(root, |key| keys.contains(&key));
        self.graph.release(Provenance::Root(root));
        self.graph.error(root).map(|_| root)
    }

    /// Clears away what dropped handles and watches left. Tells `freed` of every buffer that went.
    pub(crate) fn sweep(&mut self, mut freed: impl FnMut(BufferKey)) {
        let dropped = self.manager.take();
        for &item in &dropped {
            match item {
                Dropped::Buffer(key) => {
                    self.forget(key);
                    freed(key);
                }
                Dropped::Watch(key) => self.forget_watch(key),
            }
        }
        self.manager.reuse(dropped);
    }

    fn forget(&mut self, key: BufferKey) {
        self.shed(key);
        if let Some(buffer) = self.buffers.remove(key)
            && let Standing::Unallocated(failure) = buffer.standing
        {
            self.graph.release(Provenance::Root(failure));
        }
        self.graph.fade(key);
    }

    /// Drops every claim on a buffer: the allocation behind it stops existing.
    pub(crate) fn shed(&mut self, key: BufferKey) {
        let Some(buffer) = self.buffers.get_mut(key) else {
            return;
        };
        if buffer.taint.is_clean() {
            return;
        }
        buffer.taint.clear(&mut self.changes);
        self.buffers.touch(key.slot);
        self.graph.note_change();
        self.apply_changes();
    }

    /// Gives bytes of a buffer to `claim`, or to nothing. No effect on a buffer that is gone.
    pub(crate) fn set(&mut self, key: BufferKey, range: ByteRange, claim: Option<Claim>) {
        let Some(entry) = self.buffers.get_mut(key) else {
            return;
        };
        let Some(inline) = entry.taint.set_inline(range, claim) else {
            return self.set_many(key, range, claim);
        };
        let Inline {
            moved,
            gained,
            lost,
        } = inline;
        if !moved.any {
            return;
        }
        self.buffers.touch(key.slot);
        self.note_moved(moved);
        // Gains first, so that a node passed from one span to the next is never without holder.
        if let Some(claim) = gained {
            self.gain(claim);
        }
        if let Some(claim) = lost {
            self.lose_span(claim);
        }
    }

    fn set_many(&mut self, key: BufferKey, range: ByteRange, claim: Option<Claim>) {
        let Some(entry) = self.buffers.get_mut(key) else {
            return;
        };
        let moved = entry.taint.set(range, claim, &mut self.changes);
        if moved.any {
            self.buffers.touch(key.slot);
            self.note_moved(moved);
            self.apply_changes();
        }
    }

    /// What carries the failures changed, if it did. The bytes of a unit carry one while its scope is open: they count
    /// where there are scopes besides the one that is being entered or left.
    fn note_moved(&mut self, moved: Moved) {
        if moved.of_failures || (moved.of_units && self.graph.has_others_open()) {
            self.graph.note_change();
        }
    }

    /// Gains first, so that a node passed from one span to the next is never without holder.
    fn apply_changes(&mut self) {
        let mut changes = core::mem::take(&mut self.changes);
        for change in &changes {
            if let Change::Gained(claim) = *change {
                self.gain(claim);
            }
        }
        for change in &changes {
            if let Change::Lost(claim) = *change {
                self.lose_span(claim);
            }
        }
        changes.clear();
        self.changes = changes;
    }

    fn gain(&mut self, claim: Claim) {
        match claim {
            Claim::Unit(id) => {
                if let Some(unit) = self.units.get_mut(id) {
                    unit.spans += 1;
                }
            }
            Claim::Failed(_) | Claim::Skipped(_) | Claim::NeverWritten(_) => {
                if let Some(node) = claim.provenance() {
                    self.graph.hold(node, 1);
                }
            }
        }
    }

    /// A unit goes with its last byte, whether it is torn down or will settle, unless something may still ask.
    fn lose_span(&mut self, claim: Claim) {
        let Claim::Unit(id) = claim else {
            if let Some(node) = claim.provenance() {
                self.graph.release(node);
            }
            return;
        };
        let Some(unit) = self.units.get_mut(id) else {
            return;
        };
        unit.spans -= 1;
        if unit.spans > 0 {
            return;
        }
        let is_done_for = unit.is_done_for();
        if let Progress::Running { provisional } = unit.progress {
            // No byte carries its failure any more. It may still tell a window how it ended.
            unit.progress = Progress::Running { provisional: None };
            self.end_scope(provisional);
        }
        if is_done_for {
            self.remove_unit(id);
        }
    }

    /// Takes a unit out of the table that nobody can ask for.
    pub(crate) fn remove_unit(&mut self, id: UnitKey) {
        if let Some(unit) = self.units.remove(id) {
            self.units.keep(unit);
        }
    }

    /// A scope is over: its provisional failure goes, unless something else holds it by now.
    #[inline]
    pub(crate) fn end_scope(&mut self, provisional: Option<FailureId>) {
        if let Some(provisional) = provisional {
            self.graph.release_provisional(provisional);
        }
    }

    /// The bytes of `place` that `unit` still owns.
    pub(crate) fn owned(&self, unit: UnitKey, place: &Place) -> SmallVec<[ByteRange; 4]> {
        self.buffers
            .get(place.key)
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
            }) = self.units.get(id).map(|unit| unit.progress)
        {
            return Claim::Failed(provisional);
        }
        claim
    }

    /// The buffer behind a binding of the usual kind: of this manager, live, and with bytes behind it.
    #[inline]
    pub(crate) fn placed(&self, binding: &BufferBinding) -> Option<&Buffer> {
        let buffer = self.buffers.get(binding.key())?;
        let is_usual = binding.belongs_to(&self.manager)
            && buffer.standing == Standing::Placed
            && buffer.is_live();
        is_usual.then_some(buffer)
    }

    /// The buffer behind a binding: of this manager and not freed.
    pub(crate) fn buffer(&self, binding: &BufferBinding) -> Result<&Buffer, HandleError> {
        let buffer = binding.buffer();
        if !binding.belongs_to(&self.manager) {
            return Err(HandleError::Foreign { buffer });
        }
        self.buffers
            .get(binding.key())
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

    /// The buffer behind a binding, with bytes behind it.
    pub(crate) fn allocated(&self, binding: &BufferBinding) -> Result<&Buffer, HandleError> {
        let entry = self.usable(binding)?;
        let Standing::Unallocated(failure) = entry.standing else {
            return Ok(entry);
        };
        let reason = self.graph.error(failure).map(ToString::to_string);
        Err(HandleError::Unallocated {
            buffer: binding.buffer(),
            label: entry.label.to_string(),
            reason: reason.unwrap_or_default(),
        })
    }

    pub(crate) fn place(&self, binding: &BufferBinding) -> Result<Place, HandleError> {
        let entry = self.usable(binding)?;
        Ok(Place {
            key: binding.key(),
            label: Rc::clone(&entry.label),
            range: binding.range(),
        })
    }
}
