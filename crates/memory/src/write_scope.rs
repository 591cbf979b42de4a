//! How a unit of work enters its write scope and ends: memory.md's write scope, on [`Failures`].

use crate::buffers::Standing;
use crate::error_graph::Provenance;
use crate::failure::{Failure, FailureKind};
use crate::failures::{Failures, Submission};
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, StreamId, SubmissionId, UnitId, UnitKey};
use crate::region::Place;
use crate::settlement::Cause;
use crate::stream_capture::{WindowFailure, WindowKey};
use crate::taint::Claim;
use crate::unit::{Dependent, Progress, Unit, Windowed, is_due};
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
        if is_usual && let Some(unit) = self.prepare(stream, work, writes) {
            let unit = self.open(unit);
            return Ok(Entry::Entered(self.known(unit)));
        }
        self.enter_unusual(stream, work, reads, writes)
    }

    /// A unit of work over a write set, if every binding is of the usual kind. Its list of places is filled
    /// where it will stay: moving it costs more than filling it.
    #[inline]
    fn prepare(
        &mut self,
        stream: StreamId,
        work: &str,
        writes: &[BufferBinding],
    ) -> Option<Box<Unit>> {
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
        unit.stream = stream;
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
        unit.stream = stream;
        // No byte of an unallocated buffer is among them: those have been skipped for.
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            unit.writes.push(self.place(binding)?);
        }
        if let Some(key) = window
            && let Some(window) = self.windows.try_get_mut(stream)
        {
            unit.window = Some(Box::new(Windowed {
                key,
                reads: window.external(reads),
                writes: writes.to_vec(),
            }));
            window.opened(self.units.next_id(), &unit.work);
        }
        self.depend(&mut unit, reads);
        let unit = self.open(unit);
        Ok(Entry::Entered(self.known(unit)))
    }

    /// Puts a unit of work into the table, with its write set claimed.
    #[inline]
    fn open(&mut self, mut unit: Box<Unit>) -> UnitKey {
        let id = self.units.next_id();
        let mut provisional = None;
        if !unit.writes.is_empty() {
            provisional = Some(self.graph.mint_provisional(Rc::clone(&unit.work)));
            self.graph.is_entering = true;
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
        self.graph.is_entering = false;
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
                let Some(key) = claim.unit() else {
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
                let mut dependents = mem::take(&mut input.dependents);
                if is_due(dependents.len()) {
                    dependents.retain(|dependent| units.get(dependent.unit).is_some());
                }
                dependents.push(Dependent {
                    unit: id,
                    needed: Place {
                        key: binding.key(),
                        label: Rc::clone(&buffer.label),
                        range: binding.range(),
                    },
                    at: (binding.key(), range.start),
                });
                if let Some(input) = units.get_mut(key) {
                    input.dependents = dependents;
                }
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
        self.end_scope(provisional);
        if self.windows_used {
            self.record(id);
        }
        if is_alone {
            self.settle_alone(id);
        } else if is_settled {
            self.settle_clean(id);
        } else {
            self.touch_writes(id);
            self.let_go(id);
        }
    }

    /// A unit that nobody can ask for any more goes before it settles.
    fn let_go(&mut self, id: UnitKey) {
        if self.units.get(id).is_some_and(Unit::is_done_for) {
            self.remove_unit(id);
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
        self.end_scope(provisional);
        if self.windows_used {
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
        let was_running = matches!(unit.progress, Progress::Running { .. });
        let (stream, is_windowed) = (unit.stream, unit.window.is_some());
        let work = Rc::clone(&unit.work);
        let root = match unit.progress {
            Progress::Running {
                provisional: Some(provisional),
            } => {
                // The unit's hold on the provisional node passes to this function.
                unit.progress = Progress::Awaiting;
                self.graph.replace(provisional, failure);
                provisional
            }
            Progress::Submitted(submission) => {
                let root = self.graph.mint(failure.clone(), Rc::clone(&work));
                if let Some(entry) = self.submissions.get_mut(&submission) {
                    entry
                        .blamed
                        .get_or_insert((failure, Rc::clone(&work), root));
                }
                root
            }
            Progress::Awaiting | Progress::Running { provisional: None } => {
                self.graph.mint(failure, Rc::clone(&work))
            }
        };
        if was_running && !is_windowed && self.windows_used {
            self.doom(self.recording_on(stream), root, &work);
        }
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
            manager: self.manager.number(),
        }
    }

    /// The unit of this manager that is known by an identity.
    #[inline]
    pub(crate) fn own(&self, unit: UnitId) -> Option<UnitKey> {
        (unit.manager == self.manager.number()).then_some(unit.key)
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

    /// Work ended clean, as far as is known: the window that it was entered in, if it still records, records it. A
    /// window that began while it was open is doomed: the recording would lack its beginning.
    #[inline(never)]
    fn record(&mut self, id: UnitKey) {
        let Some(unit) = self.units.get(id) else {
            return;
        };
        let Some(window) = self.windows.try_get_mut(unit.stream) else {
            return;
        };
        let Some(number) = window.recording() else {
            return;
        };
        match &unit.window {
            Some(windowed) if windowed.key.number == number => {
                window.closed(id);
                window.record_unit(&windowed.reads, &windowed.writes);
            }
            _ => window.doom(WindowFailure {
                id: None,
                work: unit.work.to_string(),
                failure: Failure::new(
                    FailureKind::Validation,
                    "this work began before the window did, so the recording would lack its beginning",
                ),
            }),
        }
    }

    /// The window that records on the pooled stream of `stream`, whoever owns it.
    fn recording_on(&self, stream: StreamId) -> Option<WindowKey> {
        let number = self.windows.try_get(stream)?.recording()?;
        Some(WindowKey { stream, number })
    }

    /// Work in a window failed or was skipped: it dooms the window, if that is still the one.
    pub(crate) fn doom(&mut self, key: Option<WindowKey>, root: FailureId, work: &str) {
        let Some(key) = key else { return };
        if let Some(failure) = self.graph.error(root)
            && let Some(window) = self.windows.try_get_mut(key.stream)
            && window.hears(key.number)
        {
            window.doom(WindowFailure {
                id: Some(root),
                work: work.to_string(),
                failure: failure.clone(),
            });
        }
    }
}
