//! [`RawCycle`]: the least that the peer does for a launch, with no binding resolved and no scope around.

use cubecl_server::memory_management::{ErrorGraph, Taint};
use cubecl_server::server::ServerError;
use std::hint::black_box;

/// The claims of some buffers, outside any pool.
pub struct RawCycle {
    taints: Vec<Taint>,
    graph: ErrorGraph,
    size_bytes: u64,
}

impl RawCycle {
    /// That many trusted buffers.
    pub fn new(count: usize, size_bytes: u64) -> Self {
        Self {
            taints: std::iter::repeat_with(Taint::default).take(count).collect(),
            graph: ErrorGraph::default(),
            size_bytes,
        }
    }

    /// Claims every buffer under a failure and releases it again, as a launch that succeeds does.
    pub fn succeed(&mut self) {
        let Self {
            taints,
            graph,
            size_bytes,
        } = self;
        let bytes = 0..black_box(*size_bytes);
        let torn_down = graph.insert(ServerError::TornDown);
        for taint in black_box(&mut *taints) {
            taint.taint(bytes.clone(), torn_down, graph);
        }
        for taint in black_box(taints) {
            taint.written(bytes.clone(), graph);
        }
        graph.prune(torn_down);
    }

    /// Nothing is left to be released: what was measured is a cycle and not a leak.
    pub fn assert_clean(&self) {
        assert!(self.graph.is_empty());
    }
}
