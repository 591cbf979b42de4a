//! How units of work settle: memory.md's late failures, on [`Failures`].

use crate::buffers::{BufferKey, Standing};
use crate::byte_range::ByteRange;
use crate::byte_set::ByteSet;
use crate::error_graph::{Provenance, StepId};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::identity::{FailureId, SubmissionId, UnitKey};
use crate::region::Place;
use crate::stream_capture::WindowFailure;
use crate::taint::Claim;
use crate::unit::{Progress, Unit};
use crate::watch::WatchKey;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use smallvec::SmallVec;

/// How a failure reaches a unit that has not settled.
pub(crate) enum Cause {
    /// The unit itself failed.
    Own,
    /// It read bytes that turned out failed, which came to them by `parent`.
    Read { needed: Place, parent: Provenance },
}

/// How many kinds of work the failure of a whole submission names.
const MOST_NAMED: usize = 8;

/// What a failure still has to reach, and what is held until it has.
#[derive(Default)]
struct Failing {
    /// Units that read bytes of units that failed.
    readers: VecDeque<(UnitKey, Cause)>,
    held: Vec<StepId>,
    /// Buffers that are freed but were to be written.
    freed: Vec<BufferKey>,
}

impl Failures {
    /// The outcome of a submission is known. False, and no effect, where nothing waits for it.
    pub(crate) fn settle(
        &mut self,
        submission: SubmissionId,
        outcome: Result<(), Failure>,
    ) -> bool {
        let Some(entry) = self.submissions.remove(&submission) else {
            return false;
        };
        let mut units = entry.units;
        units.retain(|id| {
            let unit = self.units.get(*id);
            unit.is_some_and(|unit| unit.progress == Progress::Submitted(submission))
        });
        match outcome {
            Ok(()) => {
                for id in &units {
                    if let Some(unit) = self.units.get_mut(*id) {
                        unit.progress = Progress::Awaiting;
                        if unit.awaiting == 0 {
                            self.settle_clean(*id);
                        }
                    }
                }
            }
            Err(failure) if !units.is_empty() => {
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
                self.settle_failed(units.iter().map(|id| (*id, Cause::Own)), root);
                self.graph.release(Provenance::Root(root));
            }
            Err(_) => {}
        }
        units.clear();
        self.spare_units.push(units);
        true
    }

    /// The name of the work in which a failure of a whole submission arose.
    fn work_of(&mut self, submission: SubmissionId, units: &[UnitKey]) -> Rc<str> {
        let mut works: Vec<&str> = Vec::new();
        let mut has_more = false;
        for unit in units.iter().filter_map(|id| self.units.get(*id)) {
            let is_known = works.contains(&&*unit.work);
            if !is_known && works.len() < MOST_NAMED {
                works.push(&unit.work);
            } else if !is_known {
                has_more = true;
            }
        }
        let name = match works.as_slice() {
            [only] => String::from(*only),
            several if !has_more => format!("{submission} ({})", several.join(", ")),
            several => format!("{submission} ({} and more)", several.join(", ")),
        };
        self.labels.intern(&name)
    }

    /// A unit whose own work and inputs have settled clean: releases the bytes it still owns, and goes on with
    /// the units that only waited for it.
    pub(crate) fn settle_clean(&mut self, first: UnitKey) {
        let mut clean = core::mem::take(&mut self.spare_clean);
        clean.push(first);
        while let Some(id) = clean.pop() {
            let Some(unit) = self.units.remove(id) else {
                continue;
            };
            for place in &unit.writes {
                self.release_owned(id, place);
            }
            for key in &unit.watches {
                if let Some(watch) = self.watches.get_mut(*key) {
                    watch.take_pieces(id);
                }
            }
            for dependent in &unit.dependents {
                let Some(reader) = self.units.get_mut(dependent.unit) else {
                    continue;
                };
                reader.awaiting -= 1;
                if reader.awaiting == 0 && reader.progress == Progress::Awaiting {
                    clean.push(dependent.unit);
                }
            }
            self.units.keep(unit);
        }
        self.spare_clean = clean;
    }

    /// The same for a unit that nothing waits for.
    #[inline]
    pub(crate) fn settle_alone(&mut self, id: UnitKey) {
        let Some(unit) = self.units.remove(id) else {
            return;
        };
        for place in &unit.writes {
            let buffer = self.buffers.get_mut(place.key);
            if buffer.is_some_and(|buffer| buffer.taint.release_sole(place.range, Claim::Unit(id)))
            {
                self.buffers.touch(place.key.slot);
            } else {
                self.release_owned(id, place);
            }
        }
        self.units.keep(unit);
    }

    /// Releases the bytes of `place` that `unit` still owns.
    fn release_owned(&mut self, unit: UnitKey, place: &Place) {
        let Some(buffer) = self.buffers.get(place.key) else {
            return;
        };
        if buffer.taint.is_solely(Claim::Unit(unit)) {
            self.set(place.key, place.range, None);
            return;
        }
        for range in self.owned(unit, place) {
            self.set(place.key, range, None);
        }
    }

    /// Units that failed, and everything that read from them while they were pending: claims the bytes
    /// that each still owns under `root`, which the caller holds. The first cause of a unit wins.
    pub(crate) fn settle_failed(
        &mut self,
        first: impl IntoIterator<Item = (UnitKey, Cause)>,
        root: FailureId,
    ) {
        let mut failing = Failing::default();
        for (id, cause) in first {
            self.fail_unit(id, &cause, root, &mut failing);
        }
        while let Some((id, cause)) = failing.readers.pop_front() {
            self.fail_unit(id, &cause, root, &mut failing);
        }
        for buffer in failing.freed {
            self.graph.fade(buffer);
        }
        for step in failing.held {
            self.graph.release(Provenance::Step(step));
        }
    }

    fn fail_unit(&mut self, id: UnitKey, cause: &Cause, root: FailureId, failing: &mut Failing) {
        let Some(unit) = self.units.remove(id) else {
            return;
        };
        self.graph.note_change();
        if let Progress::Running { provisional } = unit.progress {
            self.end_scope(provisional);
        }
        self.doom_late(id, &unit, root);
        // One claim for each of its write places, in their order.
        let claims: SmallVec<[Claim; 4]> = match cause {
            Cause::Own => unit.writes.iter().map(|_| Claim::Failed(root)).collect(),
            Cause::Read { needed, parent } => unit
                .writes
                .iter()
                .map(|place| {
                    let step = self.graph.step(*parent, &unit.work, needed, place);
                    failing.held.push(step);
                    if self.buffers.get(place.key).is_none() {
                        failing.freed.push(place.key);
                    }
                    Claim::Skipped(step)
                })
                .collect(),
        };
        // The last place first: where places overlap the last one holds, as when a write set is claimed.
        for (place, claim) in unit.writes.iter().zip(&claims).rev() {
            for range in self.owned(id, place) {
                self.set(place.key, range, Some(*claim));
            }
        }
        for &watch in &unit.watches {
            self.fail_pieces(watch, id, &unit, &claims);
        }
        for dependent in &unit.dependents {
            let Some(parent) = claims[unit.place_of(dependent.at)].provenance() else {
                continue;
            };
            let needed = dependent.needed.clone();
            failing
                .readers
                .push_back((dependent.unit, Cause::Read { needed, parent }));
        }
        self.units.keep(unit);
    }

    /// Work that was entered in a capture window failed after all.
    fn doom_late(&mut self, id: UnitKey, unit: &Unit, root: FailureId) {
        let Some(windowed) = &unit.window else {
            return;
        };
        if let Some(window) = self.windows.try_get_mut(windowed.key.stream)
            && window.hears(windowed.key.number)
        {
            window.closed(id);
        }
        self.doom(Some(windowed.key), root, &unit.work);
    }

    /// The pieces of a read in flight that wait for a unit are stale now, each under the claim of the write place
    /// that it lies in: the last, where places overlap.
    fn fail_pieces(&mut self, watch: WatchKey, id: UnitKey, unit: &Unit, claims: &[Claim]) {
        let Self { watches, graph, .. } = self;
        let Some(watch) = watches.get_mut(watch) else {
            return;
        };
        let (key, mut stale) = (watch.key, Vec::new());
        let mut told = ByteSet::default();
        for piece in watch.take_pieces(id) {
            let places = unit.writes.iter().zip(claims).rev();
            for (place, claim) in places.filter(|(place, _)| place.key == key) {
                let part = place.range.intersection(piece.range);
                for range in told.missing(key, part) {
                    stale.push((range, *claim));
                }
                told.insert(key, part);
            }
        }
        for (_, claim) in &stale {
            if let Some(node) = claim.provenance() {
                graph.hold(node, 1);
            }
        }
        watch.stale.extend(stale);
    }

    /// The device is gone: everything pending failed, every live byte is claimed, every read in flight is
    /// stale, and every window that records is doomed.
    pub(crate) fn lose(&mut self, failure: Failure) -> Option<FailureId> {
        let work = self.labels.intern("device");
        let root = self.graph.mint(failure, work);
        self.submissions.clear();
        let units = self.units.ids();
        self.settle_failed(units.into_iter().map(|id| (id, Cause::Own)), root);
        for key in self.buffers.keys() {
            let Some(buffer) = self.buffers.get_mut(key) else {
                continue;
            };
            if buffer.standing == Standing::Lost {
                continue;
            }
            let standing = core::mem::replace(&mut buffer.standing, Standing::Lost);
            let range = ByteRange::whole(buffer.size_bytes);
            self.set(key, range, Some(Claim::Failed(root)));
            if let Standing::Unallocated(failure) = standing {
                self.graph.release(Provenance::Root(failure));
            }
        }
        let lost = self.graph.error(root).cloned();
        for (_, window) in self.windows.iter_mut() {
            if let Some(failure) = lost.clone() {
                window.fail(WindowFailure {
                    id: Some(root),
                    work: String::from("device"),
                    failure,
                });
            }
        }
        self.lose_watches(root, |_| true);
        self.graph.release(Provenance::Root(root));
        self.graph.error(root).map(|_| root)
    }
}
