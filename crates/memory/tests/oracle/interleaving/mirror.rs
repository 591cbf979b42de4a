//! [`Mirror`]: what somebody knows who only ever asks for what changed since they last looked.

use super::{Run, Sabotage, Told, same};
use std::collections::BTreeMap;
use wellwritten_memory::{BufferSnapshot, BufferSummary, FailureGraph, TaintSpan};

/// The books as snapshots told them, one after the other.
#[derive(Default)]
pub struct Mirror {
    revision: u64,
    buffers: BTreeMap<u64, BufferSnapshot>,
    graph: FailureGraph,
}

impl Run<'_> {
    /// Looks at what changed, now and then: the mirror must equal the whole.
    pub(super) fn look(&mut self) -> Told<()> {
        if !self.number.is_multiple_of(3) {
            return Ok(());
        }
        let lies = self.lies(Sabotage::ForgottenChange);
        let told = self.memory.snapshot(self.mirror.revision);
        if told.complete {
            self.mirror.buffers.clear();
        }
        for gone in &told.gone {
            self.mirror.buffers.remove(&gone.get());
        }
        for buffer in told.buffers.into_iter().skip(usize::from(lies)) {
            let id = buffer.summary.buffer_id.get();
            self.mirror.buffers.insert(id, buffer);
        }
        if let Some(graph) = told.graph {
            self.mirror.graph = graph;
        }
        self.mirror.revision = told.revision;
        let summaries = self.memory.buffers();
        let mirrored = self.mirror.buffers.values();
        let mirrored: Vec<BufferSummary> = mirrored.map(|buffer| buffer.summary.clone()).collect();
        same!(mirrored, summaries, "the buffers that snapshots told");
        for (id, handle) in &self.handles {
            let spans = self.memory.spans(&handle.binding());
            let spans: Vec<TaintSpan> = spans.map_err(|error| error.to_string())?;
            same!(
                self.mirror.buffers[id].spans,
                spans,
                "the spans of {id} that snapshots told"
            );
        }
        let graph = self.memory.failure_graph();
        same!(self.mirror.graph, graph, "the graph that snapshots told");
        let nothing = self.memory.snapshot(told.revision);
        same!(
            (nothing.buffers.len(), nothing.gone.len()),
            (0, 0),
            "what changed since just now"
        );
        self.mirror.revision = nothing.revision;
        Ok(())
    }
}
