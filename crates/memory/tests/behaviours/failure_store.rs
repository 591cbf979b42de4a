//! The surface that a driver of several streams gives over its failures.

use crate::support::{
    Memory, buffer, fails, failure, is_empty_when_swept, memory, part, pends, reads, refused,
    roots, spans,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BufferBinding, EnsureError, Failure, FailureKind, FailureStore, HandleError, SubmissionId,
    UnwrittenReads, Written,
};

fn unwritten(memory: &Memory, reads: &[BufferBinding]) -> UnwrittenReads {
    match memory.ensure_written(reads) {
        Err(EnsureError::Unwritten(report)) => *report,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn several_reads_are_told_together_and_each_failure_once() {
    let mut memory = memory();
    let names = ["field", "view", "clean"];
    let [field, view, clean] = names.map(|name| buffer(&mut memory, name));
    let both = [part(&field, 0, 8), part(&view, 8, 16)];
    fails(&mut memory, "kernel", &both, "both");
    fails(&mut memory, "kernel", &[part(&view, 0, 4)], "view alone");
    let all = [clean.binding(), field.binding(), view.binding()];
    let report = unwritten(&memory, &all);
    let messages: Vec<&str> = report
        .failures
        .iter()
        .map(|failure| failure.message.as_str())
        .collect();
    assert_eq!(messages, ["both", "view alone"]);
    let ranges: Vec<(&str, usize)> = report
        .reads
        .iter()
        .map(|read| (read.region.label.as_str(), read.ranges.len()))
        .collect();
    assert_eq!(ranges, [("field", 1), ("view", 2)]);
    assert_eq!(memory.ensure_written(&all[..1]), Ok(Written::Trusted));
    assert_eq!(memory.ensure_written(&[]), Ok(Written::Trusted));
    assert_eq!(
        memory.ensure_written(&[part(&view, 4, 8)]),
        Ok(Written::Trusted)
    );
}

#[test]
fn pending_reads_say_what_they_wait_for_and_unallocated_ones_never_read() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    pends(&mut memory, "kernel", &[], &[field.binding()], 7);
    pends(
        &mut memory,
        "kernel",
        &[field.binding()],
        &[view.binding()],
        3,
    );
    let pending = memory.ensure_written(&[view.binding()]);
    let both = vec![SubmissionId(3), SubmissionId(7)];
    assert_eq!(pending, Ok(Written::Pending(both)));
    let no_room = Failure::new(FailureKind::OutOfMemory, "no room");
    let missing = memory.reserve_failed(64, "missing", no_room);
    let report = unwritten(&memory, &[view.binding(), missing.binding()]);
    let [read] = &report.reads[..] else {
        panic!("one of them is refused")
    };
    assert!(read.unallocated && report.failures[0].message == "no room");
}

#[test]
fn a_driver_claims_and_releases_exactly_the_bytes_it_names() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let id = memory.taint("copy", &[part(&field, 0, 32)], failure("lost on the way"));
    let id = id.expect("usable").expect("something was claimed");
    assert_eq!(
        memory
            .graph()
            .error(id)
            .map(|failure| failure.message.as_str()),
        Some("lost on the way")
    );
    assert_eq!(memory.graph().work(id), Some("copy"));
    assert_eq!(memory.failure(&field.binding()), Ok(Some(id)));
    assert_eq!(memory.failure(&part(&field, 32, 64)), Ok(None));
    memory.written(&[part(&field, 8, 16)]).expect("usable");
    assert_eq!(
        spans(&memory, &field),
        [
            "0..8 lost on the way",
            "8..16 trusted",
            "16..32 lost on the way",
            "32..64 trusted"
        ]
    );
    memory.written(&[field.binding()]).expect("usable");
    assert!(memory.graph().is_empty());
    let nothing = memory.taint("copy", &[part(&field, 3, 3)], failure("nothing"));
    assert_eq!(nothing, Ok(None), "an empty range claims nothing");
    assert!(memory.graph().is_empty());
}

#[test]
fn a_skip_found_by_a_driver_is_propagated_under_the_same_root() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    assert_eq!(memory.read_failure(&[field.binding()]), Ok(None));
    fails(&mut memory, "kernel", &[part(&field, 0, 8)], "root");
    let found = memory.read_failure(&[view.binding(), field.binding()]);
    let found = found.expect("usable").expect("a stale input");
    assert_eq!(Some(found.failure()), memory.graph().ids().first().copied());
    assert_eq!(
        (found.needed().label.as_str(), found.needed().end),
        ("field", 64)
    );
    let mut set = memory.write_set();
    let address = set.bindings().as_ptr();
    set.push(part(&view, 0, 16));
    let kept = set.bindings().as_ptr();
    memory
        .propagate("kernel view", &found, set)
        .expect("usable");
    assert_eq!(memory.graph().len(), 1, "nothing is minted");
    let report = refused(&mut memory, &view.binding());
    assert_eq!(roots(&report), ["root"]);
    assert_eq!(report.path(&report.ranges[0])[0].work, "kernel view");
    reads(&mut memory, &part(&view, 16, 64));
    let mut again = memory.write_set();
    again.push(view.binding());
    assert_eq!(
        again.bindings().as_ptr(),
        kept,
        "the set came back; empty, it was at {address:?}"
    );
    // Once something has written the input there is nothing to propagate.
    memory
        .written(&[field.binding(), view.binding()])
        .expect("usable");
    memory
        .propagate("kernel view", &found, again)
        .expect("usable");
    reads(&mut memory, &view.binding());
    drop((field, view));
    is_empty_when_swept(&mut memory);
}

#[test]
fn foreign_and_freed_bindings_are_refused_by_all_of_it_and_change_nothing() {
    let mut memory = memory();
    let mut other = crate::support::memory();
    let (field, foreign) = (buffer(&mut memory, "field"), buffer(&mut other, "foreign"));
    let freed = buffer(&mut memory, "freed").binding();
    fails(&mut memory, "kernel", &[part(&field, 0, 8)], "root");
    let found = memory
        .read_failure(&[field.binding()])
        .expect("usable")
        .expect("stale");
    let (ours, theirs) = (freed.buffer(), foreign.id());
    for (binding, expected) in [
        (freed, HandleError::Freed { buffer: ours }),
        (foreign.binding(), HandleError::Foreign { buffer: theirs }),
    ] {
        let both = [field.binding(), binding.clone()];
        let refused = memory.ensure_written(&both).err();
        assert_eq!(refused, Some(EnsureError::Handle(expected.clone())));
        assert_eq!(memory.read_failure(&both).err(), Some(expected.clone()));
        assert_eq!(
            memory.taint("work", &both, failure("no")).err(),
            Some(expected.clone())
        );
        assert_eq!(memory.written(&both).err(), Some(expected.clone()));
        assert_eq!(memory.failure(&binding).err(), Some(expected.clone()));
        let mut set = memory.write_set();
        set.extend_from_slice(&both);
        assert_eq!(memory.propagate("work", &found, set).err(), Some(expected));
        assert_eq!(spans(&memory, &field), ["0..8 root", "8..64 trusted"]);
        assert_eq!(memory.graph().len(), 1);
    }
}

#[test]
fn a_reason_to_skip_is_good_for_its_manager_and_its_failure_only() {
    let (mut ours, mut theirs) = (memory(), memory());
    let [field, view] = ["field", "view"].map(|label| buffer(&mut ours, label));
    let [other, image] = ["other", "image"].map(|label| buffer(&mut theirs, label));
    fails(&mut ours, "kernel", &[field.binding()], "ours");
    fails(&mut theirs, "kernel", &[other.binding()], "theirs");
    let found = ours
        .read_failure(&[field.binding()])
        .expect("usable")
        .expect("stale");
    let mut writes = theirs.write_set();
    writes.push(image.binding());
    let refused = HandleError::Foreign { buffer: field.id() };
    assert_eq!(theirs.propagate("copy", &found, writes), Err(refused));
    reads(&mut theirs, &image.binding());
    // The bytes fail again, of something else: the reason is not theirs any more.
    fails(&mut ours, "kernel", &[field.binding()], "again");
    let mut writes = ours.write_set();
    writes.push(view.binding());
    assert_eq!(ours.propagate("copy", &found, writes), Ok(()));
    reads(&mut ours, &view.binding());
}
