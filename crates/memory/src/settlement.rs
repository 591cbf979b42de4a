//! How a unit of work enters its write scope, ends, and settles: memory.md's write scope and late
//! failures, on the [`Ledger`].

use crate::error_graph::{Provenance, StepId};
use crate::failure::Failure;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{BufferId, FailureId, SubmissionId, UnitId};
use crate::ledger::{Ledger, Standing};
use crate::region::Place;
use crate::sorted_map::SortedSet;
use crate::taint::Claim;
use crate::unit::{Dependent, Progress, Unit};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use smallvec::{SmallVec, smallvec};

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

/// How a failure reaches a unit that has not settled.
enum Cause {
    /// The unit itself failed.
    Own,
    /// It read bytes that turned out failed, which came to them by `parent`.
    Read { needed: Place, parent: Provenance },
}

impl Ledger {
    /// Enters the write scope of `work`, or skips it.
    pub(crate) fn enter(
        &mut self,
        work: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Entry, HandleError> {
        for binding in reads.iter().chain(writes) {
            self.usable(binding)?;
        }
        if let Some((needed, parent)) = self.reason_to_skip(reads, writes)? {
            let failure = self.graph.root(parent);
            self.skip(work, &needed, parent, writes)?;
            return Ok(Entry::Skipped { failure });
        }
        let unit = UnitId::mint(&mut self.next_unit);
        let inputs = self.depend(unit, reads)?;
        let mut places = self.spare_writes.pop().unwrap_or_default();
        for binding in writes {
            places.push(self.place(binding)?);
        }
        let work = self.labels.intern(work);
        let writes_something = places.iter().any(|place| !place.range.is_empty());
        let provisional = writes_something.then(|| self.graph.mint_provisional(Rc::clone(&work)));
        self.units.insert(
            unit,
            Unit {
                work,
                progress: Progress::Running { provisional },
                writes: Vec::new(),
                spans: 0,
                inputs,
                dependents: Vec::new(),
                watches: Vec::new(),
            },
        );
        for place in &places {
            self.set(place.buffer, place.range, Some(Claim::Unit(unit)));
        }
        if let Some(entry) = self.units.get_mut(&unit) {
            entry.writes = places;
        }
        Ok(Entry::Entered(unit))
    }

    /// The first stale byte that the work would read, or an unallocated buffer among its bindings.
    fn reason_to_skip(
        &self,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Option<(Place, Provenance)>, HandleError> {
        for binding in reads.iter().filter(|binding| !binding.range().is_empty()) {
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
        for binding in writes.iter().filter(|binding| !binding.range().is_empty()) {
            if let Standing::Unallocated(failure) = self.usable(binding)?.standing {
                return Ok(Some((self.place(binding)?, Provenance::Root(failure))));
            }
        }
        Ok(None)
    }

    /// Points the write set at the failure that the input carries.
    fn skip(
        &mut self,
        work: &str,
        needed: &Place,
        parent: Provenance,
        writes: &[BufferBinding],
    ) -> Result<(), HandleError> {
        let work = self.labels.intern(work);
        // Held for the while: the first claim set may be what the parent hangs on.
        self.graph.hold(parent, 1);
        for binding in writes.iter().filter(|binding| !binding.range().is_empty()) {
            let produced = self.place(binding)?;
            if let Standing::Unallocated(_) = self.usable(binding)?.standing {
                continue;
            }
            let step = self.graph.step(parent, &work, needed, &produced);
            self.set(produced.buffer, produced.range, Some(Claim::Skipped(step)));
            self.graph.release(Provenance::Step(step));
        }
        self.graph.release(parent);
        Ok(())
    }

    /// Notes which pending units the work reads from, each once, and tells them.
    fn depend(
        &mut self,
        unit: UnitId,
        reads: &[BufferBinding],
    ) -> Result<SortedSet<UnitId>, HandleError> {
        let mut inputs = SortedSet::new();
        for binding in reads {
            let buffer = self.usable(binding)?;
            let mut found: SmallVec<[(UnitId, u64); 4]> = SmallVec::new();
            for (range, claim) in buffer.taint.within(binding.range()) {
                if let Claim::Unit(input) = claim
                    && inputs.insert(input)
                {
                    found.push((input, range.start));
                }
            }
            if found.is_empty() {
                continue;
            }
            let needed = self.place(binding)?;
            for (input, at) in found {
                if let Some(entry) = self.units.get_mut(&input) {
                    let at = (needed.buffer, at);
                    entry.dependents.push(Dependent {
                        unit,
                        needed: needed.clone(),
                        at,
                    });
                }
            }
        }
        Ok(inputs)
    }

    /// The unit's own work succeeded.
    pub(crate) fn finish_clean(&mut self, id: UnitId) {
        let Some(unit) = self.units.get_mut(&id) else {
            return;
        };
        let Progress::Running { provisional } = unit.progress else {
            return;
        };
        unit.progress = Progress::Awaiting;
        let settled = unit.inputs.is_empty();
        self.release_provisional(provisional);
        if settled {
            self.settle_clean(smallvec![id]);
        } else {
            self.touch_writes(id);
        }
    }

    /// The unit's own work is encoded; its outcome comes with `submission`.
    pub(crate) fn finish_pending(&mut self, id: UnitId, submission: SubmissionId) {
        let Some(unit) = self.units.get_mut(&id) else {
            return;
        };
        let Progress::Running { provisional } = unit.progress else {
            return;
        };
        unit.progress = Progress::Submitted(submission);
        self.release_provisional(provisional);
        self.submissions
            .get_or_insert_default(submission)
            .units
            .push(id);
        self.touch_writes(id);
    }

    fn release_provisional(&mut self, provisional: Option<FailureId>) {
        if let Some(provisional) = provisional {
            self.graph.release(Provenance::Root(provisional));
        }
    }

    /// The unit failed, before or after it was submitted. The failure under which its bytes are claimed,
    /// unless nothing is left to claim.
    pub(crate) fn fail(&mut self, id: UnitId, failure: Failure) -> Option<FailureId> {
        let unit = self.units.get_mut(&id)?;
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
        self.settle_failed(VecDeque::from([(id, Cause::Own)]), root);
        self.graph.release(Provenance::Root(root));
        self.graph.error(root).map(|_| root)
    }

    /// The outcome of a submission is known. False, and no effect, where nothing waits for it.
    pub(crate) fn settle(
        &mut self,
        submission: SubmissionId,
        outcome: Result<(), Failure>,
    ) -> bool {
        let Some(entry) = self.submissions.remove(&submission) else {
            return false;
        };
        let waiting = |unit: &Unit| unit.progress == Progress::Submitted(submission);
        let mut units = entry.units;
        units.retain(|id| self.units.get(id).is_some_and(waiting));
        let Err(failure) = outcome else {
            let mut clean = SmallVec::new();
            for id in units {
                let Some(unit) = self.units.get_mut(&id) else {
                    continue;
                };
                unit.progress = Progress::Awaiting;
                if unit.inputs.is_empty() {
                    clean.push(id);
                }
            }
            self.settle_clean(clean);
            return true;
        };
        if units.is_empty() {
            return true;
        }
        let root = match entry.blamed {
            Some((_, _, id)) if self.graph.error(id).is_some() => {
                self.graph.hold(Provenance::Root(id), 1);
                id
            }
            Some((failure, work, _)) => self.graph.mint(failure, work),
            None => {
                let work = self.work_of(submission, &units);
                self.graph.mint(failure, work)
            }
        };
        self.settle_failed(units.into_iter().map(|id| (id, Cause::Own)).collect(), root);
        self.graph.release(Provenance::Root(root));
        true
    }

    /// The name of the work in which a failure of a whole submission arose.
    fn work_of(&mut self, submission: SubmissionId, units: &[UnitId]) -> Rc<str> {
        let mut works: Vec<&str> = units
            .iter()
            .filter_map(|id| self.units.get(id))
            .map(|unit| &*unit.work)
            .collect();
        works.dedup();
        let name = match works.as_slice() {
            [only] => String::from(*only),
            _ => format!("{submission} ({})", works.join(", ")),
        };
        self.labels.intern(&name)
    }

    /// Units whose own work and inputs have settled clean: releases the bytes they still own, and goes on
    /// with the units that only waited for them.
    fn settle_clean(&mut self, mut clean: SmallVec<[UnitId; 4]>) {
        while let Some(id) = clean.pop() {
            let Some(unit) = self.remove_unit(id) else {
                continue;
            };
            for place in &unit.writes {
                for range in self.owned(id, place) {
                    self.set(place.buffer, range, None);
                }
            }
            for number in unit.watches {
                if let Some(watch) = self.watches.get_mut(&number) {
                    watch.pending.retain(|piece| piece.unit != id);
                }
            }
            for dependent in unit.dependents {
                let Some(reader) = self.units.get_mut(&dependent.unit) else {
                    continue;
                };
                reader.inputs.remove(&id);
                if reader.inputs.is_empty() && reader.progress == Progress::Awaiting {
                    clean.push(dependent.unit);
                }
            }
            self.spare(unit.writes);
        }
    }

    /// Units that failed, and everything that read from them while they were pending: claims the bytes
    /// that each still owns under `root`, which the caller holds. The first cause of a unit wins.
    fn settle_failed(&mut self, mut failed: VecDeque<(UnitId, Cause)>, root: FailureId) {
        let mut held: Vec<StepId> = Vec::new();
        let mut freed: Vec<BufferId> = Vec::new();
        while let Some((id, cause)) = failed.pop_front() {
            let Some(unit) = self.remove_unit(id) else {
                continue;
            };
            if let Progress::Running { provisional } = unit.progress {
                self.release_provisional(provisional);
            }
            // One claim for each of its write places, in their order.
            let claims: SmallVec<[Claim; 4]> = match &cause {
                Cause::Own => unit.writes.iter().map(|_| Claim::Failed(root)).collect(),
                Cause::Read { needed, parent } => unit
                    .writes
                    .iter()
                    .map(|place| {
                        let step = self.graph.step(*parent, &unit.work, needed, place);
                        held.push(step);
                        if !self.buffers.contains_key(&place.buffer) {
                            freed.push(place.buffer);
                        }
                        Claim::Skipped(step)
                    })
                    .collect(),
            };
            for (place, claim) in unit.writes.iter().zip(&claims) {
                for range in self.owned(id, place) {
                    self.set(place.buffer, range, Some(*claim));
                }
            }
            for &number in &unit.watches {
                self.fail_pieces(number, id, |at| claims[unit.place_of(at)]);
            }
            for dependent in &unit.dependents {
                let Some(parent) = claims[unit.place_of(dependent.at)].provenance() else {
                    continue;
                };
                let needed = dependent.needed.clone();
                failed.push_back((dependent.unit, Cause::Read { needed, parent }));
            }
            self.spare(unit.writes);
        }
        for buffer in freed {
            self.graph.fade(buffer);
        }
        for step in held {
            self.graph.release(Provenance::Step(step));
        }
    }

    /// The pieces of a read in flight that wait for `unit` are stale now.
    fn fail_pieces(
        &mut self,
        number: u64,
        unit: UnitId,
        claim_of: impl Fn((BufferId, u64)) -> Claim,
    ) {
        let Some(watch) = self.watches.get_mut(&number) else {
            return;
        };
        let buffer = watch.buffer;
        let mut stale = Vec::new();
        watch.pending.retain(|piece| {
            if piece.unit == unit {
                stale.push((piece.range, claim_of((buffer, piece.range.start))));
            }
            piece.unit != unit
        });
        for (range, claim) in stale {
            if let Some(node) = claim.provenance() {
                self.graph.hold(node, 1);
            }
            watch.stale.push((range, claim));
        }
    }

    /// The device is gone: everything pending failed, every live byte is claimed, and every read in
    /// flight is stale.
    pub(crate) fn lose(&mut self, failure: Failure) -> Option<FailureId> {
        let work = self.labels.intern("device");
        let root = self.graph.mint(failure, work);
        self.submissions.clear();
        let mut units: Vec<UnitId> = self.units.keys().copied().collect();
        units.sort_unstable();
        self.settle_failed(units.into_iter().map(|id| (id, Cause::Own)).collect(), root);
        let placed: Vec<(BufferId, u64)> = self
            .buffers
            .iter_mut()
            .filter(|(_, buffer)| buffer.standing == Standing::Placed)
            .map(|(id, buffer)| {
                buffer.standing = Standing::Lost;
                (*id, buffer.size_bytes)
            })
            .collect();
        for (id, size_bytes) in placed {
            self.set(
                id,
                crate::ByteRange::whole(size_bytes),
                Some(Claim::Failed(root)),
            );
        }
        self.lose_watches(root);
        self.graph.release(Provenance::Root(root));
        self.graph.error(root).map(|_| root)
    }

    fn touch_writes(&mut self, id: UnitId) {
        let buffers: SmallVec<[BufferId; 4]> = self
            .units
            .get(&id)
            .map(|unit| unit.writes.iter().map(|place| place.buffer).collect())
            .unwrap_or_default();
        for buffer in buffers {
            self.touch(buffer);
        }
    }
}
