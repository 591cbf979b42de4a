//! Reads in flight, on the [`Ledger`].

use crate::byte_range::ByteRange;
use crate::error_graph::Provenance;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, SubmissionId, UnitId};
use crate::ledger::{Ledger, Standing};
use crate::report::UnwrittenReport;
use crate::sorted_map::SortedSet;
use crate::taint::Claim;
use crate::unit::{PendingPiece, Progress};
use crate::watch::{ReadRefusal, Watch, WatchEntry, Watched};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec::Vec;

impl Ledger {
    /// Why the bytes of `binding` may not be read at this moment, if any of them is known to be stale.
    pub(crate) fn refusal(&self, binding: &BufferBinding) -> Result<(), ReadRefusal> {
        let buffer = self.buffer(binding)?;
        let range = binding.range();
        let named = (binding.buffer(), &buffer.label, range);
        if let Standing::Unallocated(failure) = buffer.standing {
            let report =
                UnwrittenReport::new(&self.graph, named, [(range, Claim::Failed(failure))]);
            return Err(ReadRefusal::Unallocated {
                buffer: binding.buffer(),
                label: buffer.label.to_string(),
                report: Box::new(report),
            });
        }
        let stale = buffer
            .taint
            .within(range)
            .map(|(range, claim)| (range, self.as_read(claim)));
        let report = UnwrittenReport::new(&self.graph, named, stale);
        if report.ranges.is_empty() {
            Ok(())
        } else {
            Err(ReadRefusal::Unwritten(Box::new(report)))
        }
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
            if let Some(unit) = self.units.get_mut(&piece.unit)
                && unit.watches.last() != Some(&number)
            {
                unit.watches.push(number);
            }
        }
        let entry = WatchEntry {
            buffer: binding.buffer(),
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
            return Ok(Watched::Pending(self.awaited(&entry.pending)));
        }
        if entry.stale.is_empty() {
            return Ok(Watched::Trusted);
        }
        let mut stale = entry.stale.clone();
        stale.sort_unstable_by_key(|(range, _)| range.start);
        let named = (entry.buffer, &entry.label, entry.range);
        Ok(Watched::Unwritten(Box::new(UnwrittenReport::new(
            &self.graph,
            named,
            stale,
        ))))
    }

    /// Every submission that must settle before these pieces are known.
    fn awaited(&self, pieces: &[PendingPiece]) -> Vec<SubmissionId> {
        let mut submissions = SortedSet::new();
        let mut seen = SortedSet::new();
        let mut open: Vec<UnitId> = pieces.iter().map(|piece| piece.unit).collect();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(unit) = self.units.get(&id) else {
                continue;
            };
            if let Progress::Submitted(submission) = unit.progress {
                submissions.insert(submission);
            }
            open.extend(unit.inputs.iter());
        }
        submissions.into_iter().collect()
    }

    /// Forgets a read: nothing waits for it any more, and it holds no failure.
    pub(crate) fn forget_watch(&mut self, number: u64) {
        let Some(entry) = self.watches.remove(&number) else {
            return;
        };
        for piece in entry.pending {
            if let Some(unit) = self.units.get_mut(&piece.unit) {
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
