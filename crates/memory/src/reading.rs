//! Reads in flight, on [`Failures`].

use crate::buffers::{Buffer, BufferKey, Standing};
use crate::byte_range::ByteRange;
use crate::error_graph::Provenance;
use crate::failures::Failures;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, SubmissionId, UnitKey};
use crate::region::Region;
use crate::report::ReportBuilder;
use crate::sort_by_key::sort_by_key;
use crate::taint::Claim;
use crate::unit::{PendingPiece, Progress, is_due};
use crate::watch::{ReadRefusal, Watch, WatchEntry, WatchKey, Watched};
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
        let mut pending: Vec<PendingPiece> = buffer
            .taint
            .within(binding.range())
            .filter_map(|(range, claim)| {
                let unit = claim.unit()?;
                Some(PendingPiece { range, unit })
            })
            .collect();
        sort_by_key(&mut pending, |piece| (piece.unit, piece.range.start));
        let label = Rc::clone(&buffer.label);
        let key = self.watches.mint();
        for pieces in pending.chunk_by(|one, next| one.unit == next.unit) {
            self.watch_unit(pieces[0].unit, key);
        }
        self.watches.insert(WatchEntry {
            number: key.number,
            key: binding.key(),
            label,
            range: binding.range(),
            waiting: pending.len(),
            pending,
            stale: Vec::new(),
        });
        Ok(Watch {
            manager: Rc::clone(&self.manager),
            key,
        })
    }

    /// How a read stands.
    pub(crate) fn resolve(&self, watch: &Watch) -> Result<Watched, HandleError> {
        let entry = self
            .watches
            .get(watch.key)
            .filter(|_| Rc::ptr_eq(&watch.manager, &self.manager))
            .ok_or(HandleError::ForeignWatch)?;
        if entry.waiting > 0 {
            let units = entry.pending.iter().map(|piece| piece.unit);
            return Ok(Watched::Pending(self.awaited(units.collect())));
        }
        if entry.stale.is_empty() {
            return Ok(Watched::Trusted);
        }
        let mut stale = entry.stale.clone();
        sort_by_key(&mut stale, |(range, _)| range.start);
        let read = Region::new(entry.key.id, &entry.label, entry.range);
        let mut builder = ReportBuilder::new(&self.graph);
        let ranges = builder.ranges(stale);
        Ok(Watched::Unwritten(Box::new(builder.report(read, ranges))))
    }

    /// Every submission that must settle before the outcome of these units is known, in ascending order.
    pub(crate) fn awaited(&self, mut open: Vec<UnitKey>) -> Vec<SubmissionId> {
        let mut submissions = Vec::new();
        let mut is_seen = vec![false; self.units.slots()];
        while let Some(id) = open.pop() {
            let Some(unit) = self.units.get(id) else {
                continue;
            };
            if core::mem::replace(&mut is_seen[id.slot() as usize], true) {
                continue;
            }
            if let Progress::Submitted(submission) = unit.progress {
                submissions.push(submission);
            }
            open.extend(&unit.inputs);
        }
        sort_by_key(&mut submissions, |submission| *submission);
        submissions.dedup();
        submissions
    }

    /// Forgets a read: nothing waits for it any more, and it holds no failure.
    pub(crate) fn forget_watch(&mut self, key: WatchKey) {
        let Some(entry) = self.watches.remove(key) else {
            return;
        };
        for (_, claim) in entry.stale {
            if let Some(node) = claim.provenance() {
                self.graph.release(node);
            }
        }
    }

    /// Notes on a unit that a read waits for it. Reads that were forgotten meanwhile leave its list in time.
    fn watch_unit(&mut self, unit: UnitKey, key: WatchKey) {
        let Self { units, watches, .. } = self;
        let Some(unit) = units.get_mut(unit) else {
            return;
        };
        if is_due(unit.watches.len()) {
            unit.watches.retain(|key| watches.get(*key).is_some());
        }
        unit.watches.push(key);
    }

    /// These reads are of bytes that are gone: none of them may come back as trusted.
    pub(crate) fn lose_watches(&mut self, root: FailureId, is_gone: impl Fn(BufferKey) -> bool) {
        let Self { watches, graph, .. } = self;
        for entry in watches.values_mut().filter(|entry| is_gone(entry.key)) {
            entry.waiting = 0;
            entry.pending.clear();
            let mut gaps = Vec::new();
            let mut at = entry.range.start;
            sort_by_key(&mut entry.stale, |(range, _)| range.start);
            for (range, _) in &entry.stale {
                gaps.extend(ByteRange::new(at, range.start.max(at)));
                at = at.max(range.end);
            }
            gaps.extend(ByteRange::new(at, entry.range.end.max(at)));
            for gap in gaps.into_iter().filter(|gap| !gap.is_empty()) {
                graph.hold(Provenance::Root(root), 1);
                entry.stale.push((gap, Claim::Failed(root)));
            }
        }
    }
}
