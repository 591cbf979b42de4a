//! Snapshots: whole, or what changed since an earlier one; and that both say the same.

use crate::support::{Memory, buffer, enters, fails, failure, memory, part, pends, skips, writes};
use std::collections::BTreeMap;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BufferId, BufferSnapshot, FailureGraph, Handle, Snapshot, SubmissionId, TaintState,
};

/// What a viewer keeps, brought up to date by one snapshot after another.
#[derive(Default)]
struct Viewer {
    revision: u64,
    buffers: BTreeMap<BufferId, BufferSnapshot>,
    graph: FailureGraph,
}

impl Viewer {
    fn look(&mut self, memory: &mut Memory) -> Snapshot {
        let snapshot = memory.snapshot(self.revision);
        if snapshot.complete {
            self.buffers.clear();
        }
        for id in &snapshot.gone {
            self.buffers.remove(id);
        }
        for buffer in &snapshot.buffers {
            self.buffers
                .insert(buffer.summary.buffer_id, buffer.clone());
        }
        if let Some(graph) = &snapshot.graph {
            self.graph = graph.clone();
        }
        self.revision = snapshot.revision;
        snapshot
    }

    /// Requires that what was put together piece by piece is what is there.
    fn agrees(&self, memory: &mut Memory) {
        let whole = memory.snapshot(0);
        let kept: Vec<BufferSnapshot> = self.buffers.values().cloned().collect();
        assert_eq!(kept, whole.buffers);
        assert_eq!(Some(&self.graph), whole.graph.as_ref());
        assert!(whole.complete && whole.gone.is_empty());
    }
}

#[test]
fn a_whole_snapshot_shows_every_buffer_with_its_spans_and_the_graph() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[part(&field, 0, 16)], "root");
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    let snapshot = memory.snapshot(0);
    assert!(snapshot.complete);
    let [first, second] = &snapshot.buffers[..] else {
        panic!("two buffers are live")
    };
    assert_eq!((first.summary.failed_bytes, first.spans.len()), (16, 2));
    assert_eq!(first.spans, memory.spans(&field.binding()).expect("live"));
    assert_eq!(
        (second.summary.state, second.spans.len()),
        (TaintState::Skipped, 1)
    );
    let graph = snapshot.graph.expect("the graph is part of a whole one");
    assert_eq!((graph.failures.len(), graph.steps.len()), (1, 1));
    assert_eq!(graph, memory.failure_graph());
}

#[test]
fn a_later_snapshot_holds_only_what_changed() {
    let mut memory = memory();
    let handles = ["a", "b", "c"].map(|name| buffer(&mut memory, name));
    let mut viewer = Viewer::default();
    assert!(viewer.look(&mut memory).complete);
    let nothing = viewer.look(&mut memory);
    assert!(!nothing.complete && nothing.buffers.is_empty() && nothing.gone.is_empty());
    assert_eq!(nothing.graph, None);
    fails(&mut memory, "kernel", &[part(&handles[1], 0, 8)], "root");
    let changed = viewer.look(&mut memory);
    let labels: Vec<&str> = changed
        .buffers
        .iter()
        .map(|buffer| buffer.summary.label.as_str())
        .collect();
    assert_eq!(labels, ["b"]);
    assert!(changed.graph.is_some());
    viewer.agrees(&mut memory);
}

#[test]
fn a_buffer_that_went_is_told_once() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let mut viewer = Viewer::default();
    viewer.look(&mut memory);
    let gone = field.id();
    drop(field);
    assert_eq!(viewer.look(&mut memory).gone, [gone]);
    assert!(viewer.look(&mut memory).gone.is_empty());
    viewer.agrees(&mut memory);
    drop(view);
}

#[test]
fn a_settlement_shows_in_every_buffer_that_it_reached() {
    let mut memory = memory();
    let names = ["field", "view", "bystander"];
    let [field, view, _bystander] = names.map(|name| buffer(&mut memory, name));
    pends(&mut memory, "kernel", &[], &[field.binding()], 1);
    pends(
        &mut memory,
        "kernel",
        &[field.binding()],
        &[view.binding()],
        2,
    );
    let mut viewer = Viewer::default();
    viewer.look(&mut memory);
    memory.settle(SubmissionId(1), Err(failure("late")));
    let changed = viewer.look(&mut memory);
    let states: Vec<TaintState> = changed
        .buffers
        .iter()
        .map(|buffer| buffer.summary.state)
        .collect();
    assert_eq!(states, [TaintState::Failed, TaintState::Skipped]);
    viewer.agrees(&mut memory);
}

#[test]
fn a_viewer_who_looks_now_and_then_sees_what_one_who_looks_at_everything_does() {
    let mut memory = memory();
    let mut viewer = Viewer::default();
    let mut handles: Vec<Handle> = Vec::new();
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as usize % limit
    };
    let (mut looks, mut partial, mut gone) = (0, 0, 0);
    for number in 0..3000 {
        let some = handles.get(below(handles.len().max(1))).cloned();
        match (below(8), some) {
            (0, _) | (_, None) => handles.push(buffer(&mut memory, &format!("{number}"))),
            (1, Some(_)) if handles.len() > 4 => drop(handles.swap_remove(below(handles.len()))),
            (2 | 3, Some(some)) => {
                let start = below(60) as u64;
                fails(
                    &mut memory,
                    "kernel",
                    &[part(&some, start, start + 4)],
                    "failed",
                );
            }
            (4, Some(some)) => {
                pends(&mut memory, "kernel", &[], &[some.binding()], number / 8);
            }
            (5, _) => {
                let outcome = if below(2) == 0 {
                    Ok(())
                } else {
                    Err(failure("late"))
                };
                memory.settle(SubmissionId(number / 8), outcome);
            }
            (_, Some(some)) => writes(&mut memory, &some.binding()),
        }
        if below(5) == 0 {
            let snapshot = viewer.look(&mut memory);
            looks += 1;
            partial += usize::from(!snapshot.complete && snapshot.buffers.len() < handles.len());
            gone += snapshot.gone.len();
            viewer.agrees(&mut memory);
        }
    }
    assert!(
        looks > 300 && partial > 100 && gone > 10,
        "{looks} {partial} {gone}"
    );
}

#[test]
fn a_revision_too_far_back_is_answered_whole_or_with_all_that_went() {
    let mut memory = memory();
    let kept = buffer(&mut memory, "kept");
    let first = memory.snapshot(0).revision;
    for _ in 0..100_000 {
        drop(buffer(&mut memory, "passing"));
    }
    let snapshot = memory.snapshot(first);
    let passing = snapshot.gone.len();
    assert!(
        snapshot.complete || passing == 100_000,
        "{passing} of them are told"
    );
    assert!(!snapshot.complete || snapshot.buffers.len() == 1);
    drop(kept);
}

#[test]
fn nothing_is_told_twice_while_a_scope_stays_torn_down() {
    let mut memory = memory();
    let [torn, other] = ["torn", "other"].map(|label| buffer(&mut memory, label));
    enters(&mut memory, "kernel", &[], &[torn.binding()]);
    let first = memory.snapshot(0);
    assert_eq!(first.graph.expect("whole").failures.len(), 1);
    let idle = memory.snapshot(first.revision);
    assert_eq!((idle.revision, idle.buffers.len()), (first.revision, 0));
    assert_eq!(idle.graph, None);
    // Its bytes shrink: that changes what carries it.
    writes(&mut memory, &part(&torn, 0, 8));
    let shrunk = memory.snapshot(idle.revision);
    let graph = shrunk.graph.expect("it changed");
    assert_eq!(graph.failures[0].carriers[0].start, 8);
    let _ = other;
}
