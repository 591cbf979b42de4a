//! Reads in flight, on [`Failures`].

use crate::buffers::{Buffer, Standing};
use crate::byte_range::ByteRange;
use crate::error_graph::Provenance;
use crate::failures::Failures;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, SubmissionId, UnitKey};
use crate::region::Region;
use crate::report::ReportBuilder;
use crate::sorted_map::SortedSet;
use crate::taint::Claim;
use crate::unit::{PendingPiece, Progress};
use crate::watch::{ReadRefusal, Watch, WatchEntry, Watched};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

impl Failures {
    /// Why the bytes of `binding` may not be read at this moment, if any of them is known to be stale.
    pub(crate) fn refusal(&self, binding: &BufferBinding) -> Result<(), ReadRefusal> {
        let buffer = self.buffer(binding)?;
        let read = Region::new(binding.buffer(), &buffer.label, binding.range());
        let mut builder = ReportBuilder::new(&self.graph);
        let ranges = builder.ranges(self.stale(buffer, binding.range()));
        if let Standing::Unallocated(_) = buffer.standing {
            return Err(ReadRefusal::Unallocated {
                buffer: binding.buffer(),
                label: buffer.label.to_string(),
                report: Box::new(builder.report(read, ranges)),
            });
        }
        if ranges.is_empty() {
            // Also a view of no bytes is refused where its device is lost.
            self.usable(binding)?;
            Ok(())
        } else {
            Err(ReadRefusal::Unwritten(Box::new(
                builder.report(read, ranges),
            )))
        }
    }

    /// The claims over bytes of a buffer as a reader meets them. Those of an unallocated buffer have failed,
    /// all of them, whatever else is on the books.
    pub(crate) fn stale<'claims>(
        &'claims self,
        buffer: &'claims Buffer,
        range: ByteRange,
    ) -> impl Iterator<Item = (ByteRange, Claim)> + 'claims {
        let unallocated = match buffer.standing {
            Standing::Unallocated(failure) => Some((range, Claim::Failed(failure))),
            Standing::Placed | Standing::Lost => None,
        };
        let on_the_books = buffer
            .taint
            .within(range)
            .filter(move |_| unallocated.is_none())
            .map(|(range, claim)| (range, self.as_read(claim)));
        unallocated.into_iter().chain(on_the_books)
    }

    /// Begins a read.
    pub(crate) fn watch(&mut self, binding: &BufferBinding) -> Result<Watch, ReadRefusal> {
        self.refusal(binding)?;
        let buffer = self.buffer(binding)?;
        let pending: Vec<PendingPiece> = buffer
            .taint
            .within(binding.range())
            .filter_map(|(range, claim)| match claim {
                Claim::Unit(unit) => Some(PendingPiece { range, unit }),
                _ => None,
            })
            .collect();
        let label = Rc::clone(&buffer.label);
        let number = self.next_watch;
        self.next_watch += 1;
        for piece in &pending {
            if let Some(unit) = self.units.get_mut(piece.unit)
                && unit.watches.last() != Some(&number)
            {
                unit.watches.push(number);
            }
        }
        let entry = WatchEntry {
            key: binding.key(),
            label,
            range: binding.range(),
            pending,
            stale: Vec::new(),
        };
        self.watches.insert(number, entry);
        Ok(Watch {
            manager: Rc::clone(&self.manager),
            number,
        })
    }

    /// How a read stands.
    pub(crate) fn resolve(&self, watch: &Watch) -> Result<Watched, HandleError> {
        let entry = self
            .watches
            .get(&watch.number)
            .filter(|_| Rc::ptr_eq(&watch.manager, &self.manager))
            .ok_or(HandleError::ForeignWatch)?;
        if !entry.pending.is_empty() {
            let units = entry.pending.iter().map(|piece| piece.unit).collect();
            let mut submissions = SortedSet::new();
            self.await_units(units, &mut submissions);
            return Ok(Watched::Pending(submissions.into_iter().collect()));
        }
        if entry.stale.is_empty() {
            return Ok(Watched::Trusted);
        }
        let mut stale = entry.stale.clone();
        stale.sort_unstable_by_key(|(range, _)| range.start);
        let read = Region::new(entry.key.id, &entry.label, entry.range);
        let mut builder = ReportBuilder::new(&self.graph);
        let ranges = builder.ranges(stale);
        Ok(Watched::Unwritten(Box::new(builder.report(read, ranges))))
    }

    /// Every submission that must settle before the outcome of these units is known.
    pub(crate) fn await_units(
        &self,
        mut open: Vec<UnitKey>,
        submissions: &mut SortedSet<SubmissionId>,
    ) {
        let mut is_seen = vec![false; self.units.slots()];
        while let Some(id) = open.pop() {
            let Some(unit) = self.units.get(id) else {
                continue;
            };
            if core::mem::replace(&mut is_seen[id.slot() as usize], true) {
                continue;
            }
            if let Progress::Submitted(submission) = unit.progress {
                submissions.insert(submission);
            }
            open.extend(&unit.inputs);
        }
    }

    /// Forgets a read: nothing waits for it any more, and it holds no failure.
    pub(crate) fn forget_watch(&mut self, number: u64) {
        let Some(entry) = self.watches.remove(&number) else {
            return;
        };
        for piece in entry.pending {
            if let Some(unit) = self.units.get_mut(piece.unit) {
                unit.watches.retain(|watch| *watch != number);
            }
        }
        for (_, claim) in entry.stale {
            if let Some(node) = claim.provenance() {
                self.graph.release(node);
            }
        }
    }

    /// The device went while these reads were in flight: none of them may come back as trusted.
    pub(crate) fn lose_watches(&mut self, root: FailureId) {
        for entry in self.watches.values_mut() {
            let mut gaps = Vec::new();
            let mut at = entry.range.start;
            entry.stale.sort_unstable_by_key(|(range, _)| range.start);
            for (range, _) in &entry.stale {
                gaps.push(ByteRange {
                    start: at,
                    end: range.start.max(at),
                });
                at = at.max(range.end);
            }
            gaps.push(ByteRange {
                start: at,
                end: entry.range.end.max(at),
            });
            for gap in gaps.into_iter().filter(|gap| !gap.is_empty()) {
                self.graph.hold(Provenance::Root(root), 1);
                entry.stale.push((gap, Claim::Failed(root)));
            }
        }
    }
}
