//! How a unit of work enters its write scope and ends: memory.md's write scope, on [`Failures`].

use crate::buffers::Standing;
use crate::error_graph::Provenance;
use crate::failure::Failure;
use crate::failures::{Failures, Submission};
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, StreamId, SubmissionId, UnitId, UnitKey};
use crate::region::Place;
use crate::settlement::Cause;
use crate::stream_capture::{WindowFailure, WindowKey};
use crate::taint::Claim;
use crate::unit::{Dependent, Progress, Unit, Windowed};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::ToString;
use core::{iter, mem};

/// How a unit of work may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Its write set is claimed; do the work and tell how it ended.
    Entered(UnitId),
    /// Something it reads is known to be stale: do nothing. Its write set carries this failure now.
    Skipped {
        /// The root failure.
        failure: FailureId,
    },
}

/// Why work cannot enter a write scope at all. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnterError {
    /// One of its bindings cannot be used.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// The pooled stream that serves this logical stream is recording another one's capture window. Its
    /// owner ends or aborts the window; then the same work may enter.
    #[error(
        "{stream} shares a pooled stream with {owner}, which is recording a capture window there"
    )]
    WindowOpen {
        /// The logical stream of the work.
        stream: StreamId,
        /// The logical stream that owns the window.
        owner: StreamId,
    },
}

impl Failures {
    /// Enters the write scope of `work`, or skips it.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        stream: StreamId,
        work: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Entry, EnterError> {
        // What nearly every launch is: it reads clean buffers, and nothing records it.
        let is_usual = !(self.windows_used && self.is_window_near(stream))
            && reads.iter().all(|binding| {
                self.placed(binding)
                    .is_some_and(|buffer| buffer.taint.is_clean())
            });
        if is_usual && let Some(unit) = self.prepare(work, writes) {
            let unit = self.open(unit);
            return Ok(Entry::Entered(self.known(unit)));
        }
        self.enter_unusual(stream, work, reads, writes)
    }

    /// A unit of work over a write set, if every binding is of the usual kind. Its list of places is filled
    /// where it will stay: moving it costs more than filling it.
    #[inline]
    fn prepare(&mut self, work: &str, writes: &[BufferBinding]) -> Option<Box<Unit>> {
        let mut unit = self.units.spare();
        for binding in writes {
            let Some(buffer) = self.placed(binding) else {
                self.units.keep(unit);
                return None;
            };
            let range = binding.range();
            if !range.is_empty() {
                // Made in the list: `push` would make it on the stack and copy it, and wait for its own stores.
                unit.writes.extend(iter::once_with(|| Place {
                    key: binding.key(),
                    label: Rc::clone(&buffer.label),
                    range,
                }));
            }
        }
        unit.work = self.labels.intern(work);
        Some(unit)
    }

    #[inline(never)]
    fn enter_unusual(
        &mut self,
        stream: StreamId,
        work: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Entry, EnterError> {
        for binding in reads.iter().chain(writes) {
            self.usable(binding)?;
        }
        let window = self.window_of(stream)?;
        let work = self.labels.intern(work);
        if let Some((needed, parent)) = self.reason_to_skip(reads, writes)? {
            let failure = self.graph.root(parent);
            self.doom(window, failure, &work);
            self.skip(&work, &needed, parent, writes)?;
            return Ok(Entry::Skipped { failure });
        }
        let mut unit = self.units.spare();
        unit.work = work;
        self.depend(&mut unit, reads);
        // No byte of an unallocated buffer is among them: those have been skipped for.
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            unit.writes.push(self.place(binding)?);
        }
        let unit = self.open(unit);
        if let Some(window) = window {
            self.open_in_window(unit, window, reads, writes);
        }
        Ok(Entry::Entered(self.known(unit)))
    }

    /// Puts a unit of work into the table, with its write set claimed.
    #[inline]
    fn open(&mut self, mut unit: Box<Unit>) -> UnitKey {
        let id = self.units.next_id();
        let mut provisional = None;
        if !unit.writes.is_empty() {
            self.open_scopes += 1;
            provisional = Some(self.graph.mint_provisional(Rc::clone(&unit.work)));
        }
        unit.progress = Progress::Running { provisional };
        let mut claimed = 0;
        for place in &unit.writes {
            let buffer = self.buffers.get_mut(place.key);
            if buffer.is_some_and(|buffer| buffer.taint.claim_clean(place.range, Claim::Unit(id))) {
                claimed += 1;
                self.buffers.touch(place.key.slot);
            }
        }
        let is_rest = claimed < unit.writes.len();
        unit.spans = claimed as u64;
        self.units.insert(unit);
        if is_rest {
            self.claim_rest(id);
        }
        id
    }

    /// Claims the places of a unit that something held.
    #[inline(never)]
    fn claim_rest(&mut self, id: UnitKey) {
        let places = self
            .units
            .get_mut(id)
            .map(|unit| mem::take(&mut unit.writes));
        let places = places.unwrap_or_default();
        for place in &places {
            self.set(place.key, place.range, Some(Claim::Unit(id)));
        }
        if let Some(unit) = self.units.get_mut(id) {
            unit.writes = places;
        }
    }

    /// The first stale byte that the work would read, or an unallocated buffer among its bindings.
    pub(crate) fn reason_to_skip(
        &self,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Option<(Place, Provenance)>, HandleError> {
        for binding in reads.iter().filter(|binding| binding.size_bytes() > 0) {
            let buffer = self.usable(binding)?;
            if let Standing::Unallocated(failure) = buffer.standing {
                return Ok(Some((self.place(binding)?, Provenance::Root(failure))));
            }
            for (_, claim) in buffer.taint.within(binding.range()) {
                if let Some(provenance) = self.as_read(claim).provenance() {
                    return Ok(Some((self.place(binding)?, provenance)));
                }
            }
        }
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            if let Standing::Unallocated(failure) = self.usable(binding)?.standing {
                return Ok(Some((self.place(binding)?, Provenance::Root(failure))));
            }
        }
        Ok(None)
    }

    /// Points the write set at the failure that the input carries.
    pub(crate) fn skip(
        &mut self,
        work: &Rc<str>,
        needed: &Place,
        parent: Provenance,
        writes: &[BufferBinding],
    ) -> Result<(), HandleError> {
        // Held for the while: the first claim set may be what the parent hangs on.
        self.graph.hold(parent, 1);
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            let produced = self.place(binding)?;
            if let Standing::Unallocated(_) = self.usable(binding)?.standing {
                continue;
            }
            let step = self.graph.step(parent, work, needed, &produced);
            self.set(produced.key, produced.range, Some(Claim::Skipped(step)));
            self.graph.release(Provenance::Step(step));
        }
        self.graph.release(parent);
        Ok(())
    }

    /// Notes which pending units the unit that is entered next reads from, each once, and tells them. Every
    /// binding is usable.
    fn depend(&mut self, reader: &mut Unit, reads: &[BufferBinding]) {
        let id = self.units.next_id();
        let Self { buffers, units, .. } = self;
        for binding in reads {
            let Some(buffer) = buffers.get(binding.key()) else {
                continue;
            };
            for (range, claim) in buffer.taint.within(binding.range()) {
                let Claim::Unit(key) = claim else {
                    continue;
                };
                let Some(input) = units.get_mut(key) else {
                    continue;
                };
                // Only this reader adds to the lists now: it is the last on those it is on.
                if input.dependents.last().map(|last| last.unit) == Some(id) {
                    continue;
                }
                reader.inputs.push(key);
                reader.awaiting += 1;
                input.dependents.push(Dependent {
                    unit: id,
                    needed: Place {
                        key: binding.key(),
                        label: Rc::clone(&buffer.label),
                        range: binding.range(),
                    },
                    at: (binding.key(), range.start),
                });
            }
        }
    }

    /// The unit's own work succeeded.
    #[inline]
    pub(crate) fn finish_clean(&mut self, id: UnitKey) {
        let Some(unit) = self.units.get_mut(id) else {
            return;
        };
        let Progress::Running { provisional } = unit.progress else {
            return;
        };
        unit.progress = Progress::Awaiting;
        let is_settled = unit.awaiting == 0;
        let is_alone = is_settled && unit.is_alone();
        let is_windowed = unit.window.is_some();
        self.end_scope(provisional);
        if is_windowed {
            self.record(id);
        }
        if is_alone {
            self.settle_alone(id);
        } else if is_settled {
            self.settle_clean(id);
        } else {
            self.touch_writes(id);
        }
    }

    /// The unit's own work is encoded; its outcome comes with `submission`.
    pub(crate) fn finish_pending(&mut self, id: UnitKey, submission: SubmissionId) {
        let Some(unit) = self.units.get_mut(id) else {
            return;
        };
        let Progress::Running { provisional } = unit.progress else {
            return;
        };
        unit.progress = Progress::Submitted(submission);
        let is_windowed = unit.window.is_some();
        self.end_scope(provisional);
        if is_windowed {
            self.record(id);
        }
        let Self {
            submissions,
            spare_units,
            ..
        } = self;
        let waiting = submissions.get_or_insert_with(submission, || Submission {
            units: spare_units.pop().unwrap_or_default(),
            blamed: None,
        });
        waiting.units.push(id);
        self.touch_writes(id);
    }

    /// The unit failed, before or after it was submitted. The failure under which its bytes are claimed,
    /// unless nothing is left to claim.
    pub(crate) fn fail(&mut self, id: UnitKey, failure: Failure) -> Option<FailureId> {
        let unit = self.units.get_mut(id)?;
        let root = match unit.progress {
            Progress::Running {
                provisional: Some(provisional),
            } => {
                // The unit's hold on the provisional node passes to this function.
                unit.progress = Progress::Awaiting;
                self.open_scopes -= 1;
                self.graph.replace(provisional, failure);
                provisional
            }
            Progress::Submitted(submission) => {
                let work = Rc::clone(&unit.work);
                let root = self.graph.mint(failure.clone(), Rc::clone(&work));
                if let Some(entry) = self.submissions.get_mut(&submission) {
                    entry.blamed.get_or_insert((failure, work, root));
                }
                root
            }
            Progress::Awaiting | Progress::Running { provisional: None } => {
                let work = Rc::clone(&unit.work);
                self.graph.mint(failure, work)
            }
        };
        self.settle_failed([(id, Cause::Own)], root);
        self.graph.release(Provenance::Root(root));
        self.graph.error(root).map(|_| root)
    }

    fn touch_writes(&mut self, id: UnitKey) {
        let Self { units, buffers, .. } = self;
        let Some(unit) = units.get(id) else {
            return;
        };
        for place in &unit.writes {
            if buffers.get(place.key).is_some() {
                buffers.touch(place.key.slot);
            }
        }
    }

    /// The identity under which a unit is known outside.
    #[inline]
    fn known(&self, key: UnitKey) -> UnitId {
        UnitId {
            key,
            manager: self.address(),
        }
    }

    /// The unit of this manager that is known by an identity.
    #[inline]
    pub(crate) fn own(&self, unit: UnitId) -> Option<UnitKey> {
        (unit.manager == self.address()).then_some(unit.key)
    }

    #[inline]
    fn address(&self) -> usize {
        Rc::as_ptr(&self.manager).addr()
    }

    /// Whether any window is prepared or recording on the pooled stream of `stream`.
    #[inline(never)]
    fn is_window_near(&self, stream: StreamId) -> bool {
        let window = self.windows.try_get(stream);
        window.is_some_and(|window| window.owner().is_some())
    }

    /// The window that records on the pooled stream of `stream`, if one does; refused where it is another's.
    fn window_of(&self, stream: StreamId) -> Result<Option<WindowKey>, EnterError> {
        if !self.windows_used {
            return Ok(None);
        }
        let Some(window) = self.windows.try_get(stream) else {
            return Ok(None);
        };
        let (Some(number), Some(owner)) = (window.recording(), window.owner()) else {
            return Ok(None);
        };
        if owner != stream {
            return Err(EnterError::WindowOpen { stream, owner });
        }
        Ok(Some(WindowKey { stream, number }))
    }

    fn open_in_window(
        &mut self,
        id: UnitKey,
        key: WindowKey,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) {
        let Some(unit) = self.units.get_mut(id) else {
            return;
        };
        unit.window = Some(Box::new(Windowed {
            key,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
        }));
        if let Some(window) = self.windows.try_get_mut(key.stream) {
            window.opened(id, &unit.work);
        }
    }

    /// Work in a window ended clean, as far as is known: the window, if it is still that one, records it.
    fn record(&mut self, id: UnitKey) {
        let Some(entry) = self.units.get(id).and_then(|unit| unit.window.as_ref()) else {
            return;
        };
        if let Some(window) = self.windows.try_get_mut(entry.key.stream)
            && window.recording() == Some(entry.key.number)
        {
            window.closed(id);
            window.record(&entry.reads, &entry.writes);
        }
    }

    /// Work in a window failed or was skipped: it dooms the window, if that is still the one.
    pub(crate) fn doom(&mut self, key: Option<WindowKey>, root: FailureId, work: &str) {
        let Some(key) = key else { return };
        if let Some(failure) = self.graph.error(root)
            && let Some(window) = self.windows.try_get_mut(key.stream)
            && window.recording() == Some(key.number)
        {
            window.fail(WindowFailure {
                id: Some(root),
                work: work.to_string(),
                failure: failure.clone(),
            });
        }
    }
}
