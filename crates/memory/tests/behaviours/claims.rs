//! Claims: set, split, fused and released, byte by byte.

use crate::support::{
    buffer, enters, fails, memory, part, reads, refused, roots, skips, spans, writes,
};
use std::slice::from_ref;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BytesStorage, FailureKind, MemoryConfiguration, MemoryManagement, TaintState, Uninitialized,
};

#[test]
fn a_partial_write_releases_exactly_its_bytes() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    fails(&mut memory, "kernel", &[field.binding()], "first");
    writes(&mut memory, &part(&field, 16, 32));
    reads(&mut memory, &part(&field, 16, 32));
    for (start, end) in [(0, 16), (32, 64), (15, 17), (31, 33), (0, 64)] {
        let report = refused(&mut memory, &part(&field, start, end));
        assert_eq!(roots(&report), ["first"], "[{start}, {end})");
    }
    let expected = ["0..16 first", "16..32 trusted", "32..64 first"];
    assert_eq!(spans(&memory, &field), expected);
}

#[test]
fn two_failures_on_disjoint_ranges_are_each_named() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    fails(&mut memory, "left", &[part(&field, 0, 8)], "left");
    fails(&mut memory, "right", &[part(&field, 16, 24)], "right");
    assert_eq!(roots(&refused(&mut memory, &part(&field, 0, 9))), ["left"]);
    assert_eq!(
        roots(&refused(&mut memory, &part(&field, 8, 17))),
        ["right"]
    );
    let report = refused(&mut memory, &field.binding());
    assert_eq!(roots(&report), ["left", "right"]);
    let ranges: Vec<(u64, u64)> = report
        .ranges
        .iter()
        .map(|range| (range.start, range.end))
        .collect();
    assert_eq!(ranges, [(0, 8), (16, 24)]);
    reads(&mut memory, &part(&field, 8, 16));
}

#[test]
fn a_failure_on_many_ranges_is_named_once() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let apart = [part(&field, 0, 8), part(&field, 16, 24), view.binding()];
    fails(&mut memory, "kernel", &apart, "once");
    let report = refused(&mut memory, &field.binding());
    assert_eq!((roots(&report), report.ranges.len()), (vec!["once"], 2));
    assert_eq!(memory.graph().len(), 1, "however many buffers carry it");
}

#[test]
fn a_new_failure_takes_its_bytes_from_the_old_ones() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    fails(&mut memory, "left", &[part(&field, 0, 8)], "left");
    fails(&mut memory, "right", &[part(&field, 8, 16)], "right");
    fails(&mut memory, "middle", &[part(&field, 4, 12)], "taken");
    let expected = ["0..4 left", "4..12 taken", "12..16 right", "16..64 trusted"];
    assert_eq!(spans(&memory, &field), expected);
}

#[test]
fn an_old_failure_goes_with_its_last_byte() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    fails(&mut memory, "old", &[part(&field, 0, 8)], "old");
    fails(&mut memory, "new", &[part(&field, 0, 7)], "new");
    assert_eq!(memory.graph().len(), 2, "a byte of the old one is left");
    fails(&mut memory, "newest", &[part(&field, 7, 8)], "newest");
    assert_eq!(memory.graph().len(), 2);
    assert_eq!(
        roots(&refused(&mut memory, &field.binding())),
        ["new", "newest"]
    );
    writes(&mut memory, &part(&field, 0, 7));
    assert_eq!(roots(&refused(&mut memory, &field.binding())), ["newest"]);
    assert_eq!(memory.graph().len(), 1);
}

#[test]
fn a_write_set_that_names_bytes_twice_counts_them_once() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let twice = [
        part(&field, 0, 16),
        part(&field, 8, 24),
        part(&field, 0, 16),
    ];
    fails(&mut memory, "kernel", &twice, "twice");
    assert_eq!(spans(&memory, &field), ["0..24 twice", "24..64 trusted"]);
    writes(&mut memory, &part(&field, 0, 24));
    assert!(memory.graph().is_empty(), "counted once, it goes at once");
}

#[test]
fn failing_again_leaves_one_failure() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    for round in 0..100 {
        fails(&mut memory, "kernel", &[field.binding()], "again");
        assert_eq!(memory.graph().len(), 1, "in round {round}");
    }
}

#[test]
fn adjacent_ranges_of_one_failure_fuse() {
    let mut memory = memory();
    let (field, copy) = (buffer(&mut memory, "field"), buffer(&mut memory, "copy"));
    fails(
        &mut memory,
        "kernel",
        &[part(&field, 8, 16), part(&field, 0, 8)],
        "one",
    );
    assert_eq!(spans(&memory, &field), ["0..16 one", "16..64 trusted"]);
    for (start, end) in [(0, 4), (8, 12), (4, 8)] {
        let output = part(&copy, start, end);
        skips(&mut memory, "skip", &[part(&field, 0, 1)], &[output]);
    }
    assert_eq!(spans(&memory, &copy), ["0..12 one", "12..64 trusted"]);
}

#[test]
fn an_empty_range_claims_nothing_and_trips_nothing() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "all", &[part(&field, 0, 16)], "all");
    for at in [0, 5, 16, 64] {
        let empty = part(&field, at, at);
        fails(&mut memory, "nothing", from_ref(&empty), "nothing");
        assert_eq!(memory.graph().len(), 1);
        let unit = enters(&mut memory, "kernel", from_ref(&empty), &[view.binding()]);
        memory.finish_clean(unit);
        reads(&mut memory, &empty);
        writes(&mut memory, &empty);
    }
    assert_eq!(spans(&memory, &field), ["0..16 all", "16..64 trusted"]);
}

#[test]
fn dropping_a_buffer_sheds_its_claims() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(
        &mut memory,
        "kernel",
        &[field.binding(), part(&view, 0, 1)],
        "both",
    );
    drop(field);
    memory.cleanup(false);
    assert_eq!(memory.graph().len(), 1, "the other buffer carries it");
    drop(view);
    memory.cleanup(false);
    assert!(memory.graph().is_empty());
}

#[test]
fn never_written_bytes_are_refused_where_asked_for() {
    let mut memory = MemoryManagement::new(
        BytesStorage::default(),
        MemoryConfiguration::SubSlices,
        Uninitialized::Refuse,
    );
    let field = buffer(&mut memory, "field");
    writes(&mut memory, &part(&field, 0, 8));
    reads(&mut memory, &part(&field, 0, 8));
    let report = refused(&mut memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::NeverWritten);
    assert_eq!(report.ranges[0].state, TaintState::NeverWritten);
    let view = buffer(&mut memory, "view");
    skips(&mut memory, "kernel", &[field.binding()], &[view.binding()]);
    assert_eq!(
        refused(&mut memory, &view.binding()).failures[0].work,
        "field"
    );
    writes(&mut memory, &field.binding());
    reads(&mut memory, &field.binding());
    drop(view);
    memory.cleanup(false);
    assert!(memory.graph().is_empty());
}

#[test]
fn thousands_of_disjoint_claims_are_each_kept() {
    let mut memory = memory();
    let field = memory.reserve(20_000, "field").expect("room").handle;
    for start in (0..20_000).step_by(4) {
        fails(
            &mut memory,
            "kernel",
            &[part(&field, start, start + 2)],
            "spot",
        );
    }
    assert_eq!(
        (memory.graph().len(), spans(&memory, &field).len()),
        (5000, 10_000)
    );
    reads(&mut memory, &part(&field, 9998, 10_000));
    assert_eq!(
        refused(&mut memory, &part(&field, 9998, 10_001))
            .ranges
            .len(),
        1
    );
    writes(&mut memory, &part(&field, 1, 19_999));
    assert_eq!(memory.graph().len(), 1);
    assert_eq!(spans(&memory, &field)[0], "0..1 spot");
}
