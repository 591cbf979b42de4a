//! What is compared after every operation and at the end: every byte, and what the graph holds.

use super::byte_model::stretches;
use super::{Run, Sabotage, Told, fate_of, same};
use std::collections::BTreeSet;
use wellwritten_memory::{MemoryUsage, SubmissionId};

impl Run<'_> {
    pub(super) fn compare(&mut self) -> Told<()> {
        // Clears away what was dropped, as any use of the manager does, and has no other effect.
        let settled = self.memory.settle(SubmissionId(u64::MAX), Ok(()));
        same!(settled, false, "a submission that never was");
        let mut carried = BTreeSet::new();
        let mut stale_buffers = 0;
        for (id, handle) in &self.handles {
            let spans = self.memory.spans(&handle.binding());
            let mut at = 0;
            let mut stale = false;
            for span in &spans.map_err(|error| error.to_string())? {
                same!(span.start, at, "spans of {id} leave no gap");
                at = span.end;
                carried.extend(span.failure_id);
                stale |= span.failure_id.is_some();
                let root = span.failure_id.and_then(|id| self.memory.graph().error(id));
                let told = fate_of(span.state, root.map(|failure| failure.message.as_str()));
                let writers = &self.model.buffers[id].writer;
                let writers = &writers[span.start as usize..span.end as usize];
                for (bytes, writer) in stretches(writers) {
                    let expected = self.model.fate(writer);
                    same!(&told, expected, "bytes of {id} in {span:?}");
                    self.compared.bytes += bytes;
                }
            }
            stale_buffers += usize::from(stale);
            same!(at, handle.size_bytes(), "spans of {id} cover it");
        }
        let held: BTreeSet<_> = self.memory.graph().ids().into_iter().collect();
        same!(held.is_superset(&carried), true, "what is carried is held");
        if let Some(in_flight) = self.compare_flights()? {
            // Two failures may share a buffer only where each claims a part of it.
            let most = stale_buffers + in_flight.difference(&carried).count();
            let bounded = !self.plan.whole || held.len() <= most;
            same!(bounded, true, "{} failures, not {most}", held.len());
            carried.extend(in_flight);
            same!(held, carried, "what is held is carried");
        }
        Ok(())
    }

    /// Once every buffer and read is dropped and every pool swept, nothing is left.
    pub(super) fn finish(&mut self) -> Told<()> {
        if self.lies(Sabotage::KeptHandle) {
            self.kept.1.extend(self.handles.values().next().cloned());
        }
        self.flights.clear();
        self.handles.clear();
        self.memory.cleanup(true);
        let (failures, steps) = (self.memory.graph().len(), self.memory.graph().steps());
        same!((failures, steps), (0, 0), "failures and steps at the end");
        same!(self.memory.storage().pages(), 0, "pages at the end");
        let usage = self.memory.memory_usage();
        same!(usage, MemoryUsage::default(), "usage at the end");
        Ok(())
    }
}
