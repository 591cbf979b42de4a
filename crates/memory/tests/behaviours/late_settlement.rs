//! Late settlement: pending bytes, and what becomes of them and of everything that read them.

use crate::support::{
    buffer, enters, fails, failure, is_empty_when_swept, memory, part, pends, reads, refused,
    roots, skips, spans, writes,
};
use std::slice::from_ref;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    Failure, FailureKind, HandleError, ReadRefusal, SubmissionId, TaintState, UnwrittenRange,
    Watched,
};

#[test]
fn pending_bytes_read_neither_as_trusted_nor_as_failed() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    pends(&mut memory, "kernel", &[], &[part(&field, 0, 32)], 1);
    let state = |memory: &crate::support::Memory, at: usize| {
        memory.spans(&field.binding()).expect("live")[at].state
    };
    assert_eq!(state(&memory, 0), TaintState::Pending);
    assert_eq!(state(&memory, 1), TaintState::Trusted);
    let read = memory
        .watch(&field.binding())
        .expect("pending bytes may be asked for");
    assert_eq!(
        memory.resolve(&read),
        Ok(Watched::Pending(vec![SubmissionId(1)]))
    );
    assert!(memory.settle(SubmissionId(1), Ok(())));
    assert_eq!(memory.resolve(&read), Ok(Watched::Trusted));
    assert_eq!(state(&memory, 0), TaintState::Trusted);
    assert!(memory.graph().is_empty());
}

#[test]
fn a_late_failure_reaches_everything_that_read_it() {
    let mut memory = memory();
    let handles = ["a", "b", "c", "d"].map(|name| buffer(&mut memory, name));
    let [a, b, c, d] = [0, 1, 2, 3].map(|index: usize| handles[index].binding());
    pends(&mut memory, "kernel a", &[], from_ref(&a), 1);
    pends(&mut memory, "kernel b", from_ref(&a), from_ref(&b), 2);
    let clean = enters(&mut memory, "kernel c", from_ref(&b), from_ref(&c));
    memory.finish_clean(clean);
    pends(&mut memory, "kernel d", from_ref(&c), from_ref(&d), 3);
    // b is written again before anything settles: it is nobody's victim.
    writes(&mut memory, &part(&handles[1], 0, 32));
    assert!(memory.settle(SubmissionId(2), Ok(())));
    assert!(memory.settle(SubmissionId(1), Err(failure("late"))));
    reads(&mut memory, &part(&handles[1], 0, 32));
    assert_eq!(roots(&refused(&mut memory, &b)), ["late"]);
    let report = refused(&mut memory, &d);
    let path = report.path(&report.ranges[0]).into_iter();
    let works: Vec<&str> = path.map(|step| step.work.as_str()).collect();
    assert_eq!(works, ["kernel b", "kernel c", "kernel d"]);
    assert_eq!(report.failures[0].work, "kernel a");
    assert_eq!(memory.graph().len(), 1, "all under one root");
    let settled = memory.settle(SubmissionId(3), Ok(()));
    assert!(settled, "its unit was failed already: no effect");
    assert_eq!(roots(&refused(&mut memory, &d)), ["late"]);
    drop(handles);
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_read_in_flight_keeps_what_it_saw() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    pends(&mut memory, "kernel a", &[], &[field.binding()], 1);
    pends(
        &mut memory,
        "kernel b",
        &[field.binding()],
        &[view.binding()],
        2,
    );
    let read = memory
        .watch(&view.binding())
        .expect("pending bytes may be asked for");
    let waits = |numbers: &[u64]| {
        Ok(Watched::Pending(
            numbers.iter().copied().map(SubmissionId).collect(),
        ))
    };
    assert_eq!(
        memory.resolve(&read),
        waits(&[1, 2]),
        "its inputs' included"
    );
    memory.settle(SubmissionId(2), Ok(()));
    assert_eq!(memory.resolve(&read), waits(&[1]));
    memory.settle(SubmissionId(1), Err(failure("late")));
    for written in [&field, &view] {
        writes(&mut memory, &written.binding());
        reads(&mut memory, &written.binding());
    }
    let Ok(Watched::Unwritten(report)) = memory.resolve(&read) else {
        panic!("it was trusted")
    };
    assert_eq!((report.ranges[0].start, report.ranges[0].end), (0, 64));
    assert_eq!(roots(&report), ["late"]);
    assert_eq!(memory.graph().len(), 1, "the read carries it");
    drop(read);
    memory.cleanup(false);
    assert!(memory.graph().is_empty() && memory.graph().steps() == 0);
}

#[test]
fn a_rewrite_before_settlement_takes_the_bytes_away() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    pends(&mut memory, "kernel", &[], &[field.binding()], 1);
    writes(&mut memory, &field.binding());
    memory.settle(SubmissionId(1), Err(failure("too late to matter")));
    assert!(memory.graph().is_empty());
    reads(&mut memory, &field.binding());
}

#[test]
fn a_clean_settlement_releases_only_what_its_unit_still_owns() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    pends(&mut memory, "kernel", &[], &[field.binding()], 1);
    fails(&mut memory, "kernel", &[part(&field, 8, 16)], "since");
    pends(&mut memory, "kernel", &[], &[part(&field, 32, 40)], 2);
    memory.settle(SubmissionId(1), Ok(()));
    let expected = [
        "0..8 trusted",
        "8..16 since",
        "16..32 trusted",
        "32..40 pending",
        "40..64 trusted",
    ];
    assert_eq!(spans(&memory, &field), expected);
    let read = memory.watch(&part(&field, 16, 64)).expect("not failed");
    assert_eq!(
        memory.resolve(&read),
        Ok(Watched::Pending(vec![SubmissionId(2)]))
    );
}

#[test]
fn a_unit_is_clean_only_when_everything_it_read_is() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    pends(&mut memory, "kernel a", &[], &[field.binding()], 1);
    let unit = enters(
        &mut memory,
        "kernel b",
        &[field.binding()],
        &[view.binding()],
    );
    memory.finish_clean(unit);
    // What it read is gone from the buffer, and matters all the same.
    writes(&mut memory, &field.binding());
    let read = memory.watch(&view.binding()).expect("not failed");
    assert_eq!(
        memory.resolve(&read),
        Ok(Watched::Pending(vec![SubmissionId(1)]))
    );
    memory.settle(SubmissionId(1), Err(failure("late")));
    assert_eq!(roots(&refused(&mut memory, &view.binding())), ["late"]);
    reads(&mut memory, &field.binding());
}

#[test]
fn a_submission_settles_once() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    pends(&mut memory, "kernel", &[], &[field.binding()], 1);
    assert!(!memory.settle(SubmissionId(99), Err(failure("nobody's"))));
    assert!(memory.settle(SubmissionId(1), Ok(())));
    assert!(!memory.settle(SubmissionId(1), Err(failure("again"))));
    reads(&mut memory, &field.binding());
    assert!(memory.graph().is_empty());
}

#[test]
fn a_unit_that_ended_cannot_end_again() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let unit = enters(&mut memory, "kernel", &[], &[field.binding()]);
    memory.finish_clean(unit);
    assert_eq!(memory.finish_failed(unit, failure("again")), None);
    memory.finish_pending(unit, SubmissionId(1));
    assert!(!memory.settle(SubmissionId(1), Err(failure("again"))));
    reads(&mut memory, &field.binding());
    let unit = enters(&mut memory, "kernel", &[], &[field.binding()]);
    assert!(memory.finish_failed(unit, failure("first")).is_some());
    memory.finish_clean(unit);
    assert_eq!(roots(&refused(&mut memory, &field.binding())), ["first"]);
}

#[test]
fn a_culprit_is_the_root_for_its_whole_submission() {
    let mut memory = memory();
    let names = ["field", "view", "bystander"];
    let [field, view, bystander] = names.map(|name| buffer(&mut memory, name));
    let unit = pends(&mut memory, "kernel broken", &[], &[field.binding()], 1);
    pends(&mut memory, "kernel good", &[], &[view.binding()], 1);
    pends(&mut memory, "kernel other", &[], &[bystander.binding()], 2);
    memory.fail_unit(unit, Failure::new(FailureKind::Shader, "line 12"));
    memory.settle(SubmissionId(1), Err(failure("pipeline is invalid")));
    memory.settle(SubmissionId(2), Ok(()));
    let report = refused(&mut memory, &view.binding());
    assert_eq!(roots(&report), ["line 12"]);
    assert_eq!(report.failures[0].work, "kernel broken");
    assert_eq!(memory.graph().len(), 1);
    reads(&mut memory, &bystander.binding());
}

#[test]
fn a_launch_over_a_late_failure_is_skipped_under_its_root() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    pends(&mut memory, "kernel", &[], &[field.binding()], 1);
    memory.settle(SubmissionId(1), Err(failure("late")));
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    let report = refused(&mut memory, &view.binding());
    assert_eq!(
        (roots(&report), report.path(&report.ranges[0]).len()),
        (vec!["late"], 1)
    );
}

#[test]
fn a_read_in_flight_names_the_step_of_each_write_place() {
    let mut memory = memory();
    let (a, b) = (buffer(&mut memory, "a"), buffer(&mut memory, "b"));
    pends(&mut memory, "kernel a", &[], &[a.binding()], 1);
    // Side by side, and the last two overlapping: the later claim is the one that holds.
    let places = [part(&b, 0, 8), part(&b, 8, 20), part(&b, 16, 32)];
    pends(&mut memory, "kernel b", &[a.binding()], &places, 2);
    let read = part(&b, 4, 24);
    let watch = memory.watch(&read).expect("a read that begins");
    memory.settle(SubmissionId(1), Err(failure("late")));
    let Ok(Watched::Unwritten(in_flight)) = memory.resolve(&watch) else {
        panic!("its bytes have failed");
    };
    let begun_now = refused(&mut memory, &read);
    for report in [&*in_flight, &begun_now] {
        let left = |range: &UnwrittenRange| {
            let path = report.path(range);
            let last = &path.last().expect("a skip").produced;
            (range.start, range.end, last.start, last.end)
        };
        let told: Vec<_> = report.ranges.iter().map(left).collect();
        assert_eq!(told, [(4, 8, 0, 8), (8, 16, 8, 20), (16, 24, 16, 32)]);
    }
}

#[test]
fn a_view_of_no_bytes_of_a_lost_buffer_is_refused_by_name() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    memory.lose(failure("destroyed"));
    let refused = memory.watch(&part(&field, 8, 8));
    let by_name = matches!(&refused, Err(ReadRefusal::Handle(HandleError::Lost { label, .. })) if label == "field");
    assert!(by_name, "{refused:?}");
}
