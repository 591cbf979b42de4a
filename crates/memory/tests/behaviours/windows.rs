//! Capture windows: what dooms one, what it records, and how it opens and closes.

use crate::support::{
    Broken, Server, buffer, enters, fails, failure, is_empty_when_swept, memory, part, reads,
    refused, roots, scope_on, server, writes,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    BufferBinding, CaptureEnd, CaptureError, CapturePhase, EnterError, ExecuteScope, Failure,
    FailureKind, FailureStore, HandleError, Recording, ScopedOutcome, StreamId, SubmissionId,
    WriteScoped,
};

const OWNER: StreamId = StreamId(0);

fn opens(server: &mut Server) {
    let window = server.memory.capture(OWNER);
    assert_eq!(window.prepare(OWNER), Ok(()));
    assert_eq!(window.begin(OWNER), Ok(()));
}

fn closes(server: &mut Server, expected: &CaptureEnd) -> Recording {
    let window = server.memory.capture(OWNER);
    assert_eq!(window.end(OWNER).as_ref(), Ok(expected));
    assert_eq!(window.phase(), CapturePhase::Idle);
    window.take_recorded()
}

fn succeeds(server: &mut Server, reads: &[BufferBinding], writes: &[BufferBinding]) {
    let outcome = scope_on(server, "kernel", OWNER, reads, writes).execute(|_| Ok::<_, Broken>(()));
    assert_eq!(outcome, ScopedOutcome::Executed(()));
}

/// In words: `field 0..16`.
fn named(server: &Server, bindings: &[BufferBinding]) -> Vec<String> {
    let buffers = server.memory.buffers();
    let in_words = |binding: &BufferBinding| {
        let mut buffers = buffers.iter();
        let buffer = buffers.find(|buffer| buffer.buffer_id == binding.buffer());
        let label = buffer.map_or("freed", |buffer| buffer.label.as_str());
        let range = binding.range();
        format!("{label} {}..{}", range.start, range.end)
    };
    let mut words: Vec<String> = bindings.iter().map(in_words).collect();
    words.sort();
    words
}

#[test]
fn a_failed_scope_dooms_the_open_window_which_names_it() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    let body = scope_on(&mut server, "kernel", OWNER, &[], &[field.binding()]);
    let outcome = body.execute(|_| Err::<(), _>(Broken("first")));
    assert_eq!(outcome, ScopedOutcome::Failed(Broken("first")));
    let later = scope_on(&mut server, "later", OWNER, &[], &[field.binding()]);
    let _ = later.execute(|_| Err::<(), _>(Broken("second")));
    closes(&mut server, &CaptureEnd::Doomed);
    let doom = server.memory.capture(OWNER).take_failure().expect("doomed");
    assert_eq!(doom.work, "kernel");
    assert_eq!(doom.failure.message, "first", "the first failure wins");
    assert!(doom.id.is_some());
    assert_eq!(server.memory.capture(OWNER).take_failure(), None, "once");
}

#[test]
fn a_skipped_scope_dooms_the_open_window_with_the_root() {
    let mut server = server();
    let (field, view) = (
        buffer(&mut server.memory, "field"),
        buffer(&mut server.memory, "view"),
    );
    fails(&mut server.memory, "before", &[field.binding()], "root");
    let root = server.memory.graph().ids()[0];
    opens(&mut server);
    let body = scope_on(
        &mut server,
        "kernel",
        OWNER,
        &[field.binding()],
        &[view.binding()],
    );
    let outcome = body.execute(|_| -> Result<(), Broken> { panic!("it ran") });
    assert_eq!(outcome, ScopedOutcome::Skipped(root));
    let recorded = closes(&mut server, &CaptureEnd::Doomed);
    assert!(recorded.is_empty());
    let doom = server.memory.capture(OWNER).take_failure().expect("doomed");
    assert_eq!((doom.id, doom.work.as_str()), (Some(root), "kernel"));
    assert_eq!(doom.failure.message, "root");
}

#[test]
fn a_clean_scope_hands_the_window_exactly_its_write_set_and_a_failed_one_none() {
    let mut server = server();
    let names = ["field", "view", "broken"];
    let [field, view, broken] = names.map(|name| buffer(&mut server.memory, name));
    opens(&mut server);
    succeeds(
        &mut server,
        &[part(&field, 0, 8)],
        &[
            part(&view, 8, 24),
            part(&view, 40, 40),
            part(&field, 60, 64),
        ],
    );
    let body = scope_on(&mut server, "broken", OWNER, &[], &[broken.binding()]);
    let _ = body.execute(|_| Err::<(), _>(Broken("no luck")));
    let recorded = closes(&mut server, &CaptureEnd::Doomed);
    assert_eq!(
        named(&server, recorded.writes()),
        ["field 60..64", "view 8..24"]
    );
    assert_eq!(named(&server, recorded.reads()), ["field 0..8"]);
}

#[test]
fn outside_a_window_nothing_is_recorded_and_nothing_doomed() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let is_untouched = |server: &mut Server| {
        let window = server.memory.capture(OWNER);
        let recorded = window.take_recorded();
        assert!(recorded.is_empty() && window.take_failure().is_none());
    };
    let everything = |server: &mut Server| {
        succeeds(server, &[], &[field.binding()]);
        let body = scope_on(server, "kernel", OWNER, &[], &[field.binding()]);
        let _ = body.execute(|_| Err::<(), _>(Broken("no luck")));
        let body = scope_on(server, "kernel", OWNER, &[field.binding()], &[]);
        let _ = body.execute(|_| Ok::<_, Broken>(()));
        succeeds(server, &[], &[field.binding()]);
    };
    everything(&mut server);
    is_untouched(&mut server);
    assert_eq!(server.memory.capture(OWNER).prepare(OWNER), Ok(()));
    everything(&mut server);
    assert_eq!(server.memory.capture(OWNER).begin(OWNER), Ok(()));
    let recorded = closes(&mut server, &CaptureEnd::Sealable);
    assert!(recorded.is_empty(), "what warms up is not recorded");
    everything(&mut server);
    is_untouched(&mut server);
}

#[test]
fn a_window_of_another_pooled_stream_hears_nothing() {
    let mut server = crate::support::server_of_streams(4);
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    let elsewhere = StreamId(1);
    let body = scope_on(&mut server, "kernel", elsewhere, &[], &[field.binding()]);
    let _ = body.execute(|_| Err::<(), _>(Broken("no luck")));
    let body = scope_on(&mut server, "kernel", elsewhere, &[], &[field.binding()]);
    let _ = body.execute(|_| Ok::<_, Broken>(()));
    assert!(closes(&mut server, &CaptureEnd::Sealable).is_empty());
}

#[test]
fn a_neighbour_on_the_same_pooled_stream_is_refused_while_a_window_records() {
    let mut server = crate::support::server_of_streams(4);
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    let stream = StreamId(4);
    let writes = [field.binding()];
    let refused = server.memory.enter_on(stream, "kernel", &[], &writes);
    let owner = OWNER;
    assert_eq!(refused, Err(EnterError::WindowOpen { stream, owner }));
    let mut set = server.memory.write_set();
    set.push(field.binding());
    let refused = ExecuteScope::over(&mut server, "kernel", stream, set).err();
    assert_eq!(refused, Some(EnterError::WindowOpen { stream, owner }));
    assert!(server.memory.graph().is_empty(), "nothing was claimed");
    assert!(closes(&mut server, &CaptureEnd::Sealable).is_empty());
    let body = scope_on(&mut server, "kernel", stream, &[], &writes);
    let outcome = body.execute(|_| Ok::<_, Broken>(()));
    assert_eq!(outcome, ScopedOutcome::Executed(()));
}

#[test]
fn steps_out_of_order_are_refused_and_change_nothing() {
    let mut server = server();
    let caller = StreamId(8);
    let owner = OWNER;
    let window = server.memory.capture(OWNER);
    assert_eq!(window.begin(OWNER), Err(CaptureError::NotPrepared));
    assert_eq!(window.end(OWNER), Err(CaptureError::NotRecording));
    assert_eq!((window.phase(), window.owner()), (CapturePhase::Idle, None));

    assert_eq!(window.prepare(OWNER), Ok(()));
    assert_eq!(window.prepare(caller), Err(CaptureError::Open { owner }));
    assert_eq!(window.end(OWNER), Err(CaptureError::NotRecording));
    assert_eq!(
        window.begin(caller),
        Err(CaptureError::Foreign { owner, caller })
    );
    assert_eq!(window.phase(), CapturePhase::Prepared { owner });

    assert_eq!(window.begin(OWNER), Ok(()));
    assert_eq!(window.prepare(OWNER), Err(CaptureError::Open { owner }));
    assert_eq!(window.begin(OWNER), Err(CaptureError::Open { owner }));
    assert_eq!(window.phase(), CapturePhase::Recording { owner });

    assert_eq!(window.end(OWNER), Ok(CaptureEnd::Sealable));
    assert_eq!(window.end(OWNER), Err(CaptureError::NotRecording));
    assert_eq!(window.begin(OWNER), Err(CaptureError::NotPrepared));
}

#[test]
fn a_foreign_end_abandons_the_window_and_names_its_owner() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    succeeds(&mut server, &[], &[field.binding()]);
    let window = server.memory.capture(OWNER);
    let end = window.end(StreamId(8));
    assert_eq!(end, Ok(CaptureEnd::Abandoned { owner: OWNER }));
    assert_eq!(window.phase(), CapturePhase::Idle);
    assert_eq!(window.end(OWNER), Err(CaptureError::NotRecording));
    assert_eq!(
        window.prepare(StreamId(8)),
        Ok(()),
        "the next may be anyone's"
    );
}

#[test]
fn an_abort_clears_what_was_recorded_and_what_doomed_it() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    succeeds(&mut server, &[], &[part(&field, 0, 8)]);
    let body = scope_on(&mut server, "kernel", OWNER, &[], &[part(&field, 8, 16)]);
    let _ = body.execute(|_| Err::<(), _>(Broken("no luck")));
    let window = server.memory.capture(OWNER);
    window.abort();
    assert_eq!((window.phase(), window.owner()), (CapturePhase::Idle, None));
    assert!(window.take_recorded().is_empty() && window.take_failure().is_none());
    // The claims of the failed scope are the memory's and stay.
    assert_eq!(
        roots(&refused(&mut server.memory, &field.binding())),
        ["no luck"]
    );
    opens(&mut server);
    assert!(closes(&mut server, &CaptureEnd::Sealable).is_empty());
}

#[test]
fn what_a_window_records_is_there_once_for_each_range_of_bytes() {
    let mut server = server();
    let (field, view) = (
        buffer(&mut server.memory, "field"),
        buffer(&mut server.memory, "view"),
    );
    opens(&mut server);
    for _ in 0..3 {
        let output = part(&view, 0, 32);
        succeeds(&mut server, &[field.binding()], &[output.clone(), output]);
    }
    succeeds(&mut server, &[], &[view.binding()]);
    let recorded = closes(&mut server, &CaptureEnd::Sealable);
    assert_eq!(
        named(&server, recorded.writes()),
        ["view 0..32", "view 0..64"]
    );
    assert_eq!(named(&server, recorded.reads()), ["field 0..64"]);
    let again = server.memory.capture(OWNER).take_recorded();
    assert!(again.is_empty(), "it is taken once");
}

#[test]
fn a_recording_reads_only_what_nothing_in_it_wrote_before() {
    let mut server = server();
    let (field, view) = (
        buffer(&mut server.memory, "field"),
        buffer(&mut server.memory, "view"),
    );
    opens(&mut server);
    succeeds(&mut server, &[], &[part(&field, 16, 32)]);
    succeeds(&mut server, &[field.binding()], &[view.binding()]);
    succeeds(&mut server, &[view.binding()], &[field.binding()]);
    let recorded = closes(&mut server, &CaptureEnd::Sealable);
    assert_eq!(
        named(&server, recorded.reads()),
        ["field 0..16", "field 32..64"]
    );
}

#[test]
fn work_that_fails_late_dooms_the_window_that_recorded_it() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    let body = scope_on(&mut server, "kernel", OWNER, &[], &[field.binding()]);
    let outcome = body.execute_pending(SubmissionId(1), |_| Ok::<_, Broken>(()));
    assert_eq!(outcome, ScopedOutcome::Executed(()));
    server.memory.settle(SubmissionId(1), Err(failure("late")));
    closes(&mut server, &CaptureEnd::Doomed);
    let doom = server.memory.capture(OWNER).take_failure().expect("doomed");
    assert_eq!(
        (doom.work.as_str(), doom.failure.message.as_str()),
        ("kernel", "late")
    );
}

#[test]
fn a_scope_that_never_ends_dooms_the_window_when_it_closes() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    drop(scope_on(
        &mut server,
        "torn",
        OWNER,
        &[],
        &[field.binding()],
    ));
    closes(&mut server, &CaptureEnd::Doomed);
    let doom = server.memory.capture(OWNER).take_failure().expect("doomed");
    assert_eq!(
        (doom.work.as_str(), doom.failure.kind),
        ("torn", FailureKind::TornDown)
    );
}

#[test]
fn a_lost_device_dooms_every_open_window() {
    let mut server = server();
    opens(&mut server);
    server
        .memory
        .lose(Failure::new(FailureKind::DeviceLost, "destroyed"));
    closes(&mut server, &CaptureEnd::Doomed);
    let doom = server.memory.capture(OWNER).take_failure().expect("doomed");
    assert_eq!(doom.failure.kind, FailureKind::DeviceLost);
}

#[test]
fn work_that_began_before_a_window_dooms_it_when_it_ends_in_it() {
    // Entered in an earlier window, and outside of any.
    for earlier in [true, false] {
        for fails in [false, true] {
            let mut server = server();
            let field = buffer(&mut server.memory, "field");
            if earlier {
                opens(&mut server);
            }
            let late = enters(server.streams(), "late", &[], &[field.binding()]);
            if earlier {
                server.memory.capture(OWNER).abort();
            }
            opens(&mut server);
            if fails {
                server.memory.finish_failed(late, failure("broken"));
            } else {
                server.memory.finish_clean(late);
            }
            assert!(closes(&mut server, &CaptureEnd::Doomed).is_empty());
            let doomed = server.memory.capture(OWNER).take_failure();
            let doomed = doomed.expect("a failure");
            assert_eq!(doomed.work, "late");
            if fails {
                assert_eq!(doomed.failure, failure("broken"));
            } else {
                assert!(doomed.failure.message.contains("began before"));
            }
        }
    }
}

#[test]
fn a_window_hears_the_end_of_work_whose_bytes_went_while_it_ran() {
    for broken in [false, true] {
        let mut server = server();
        let field = buffer(&mut server.memory, "field");
        opens(&mut server);
        let outer = enters(server.streams(), "outer", &[], &[field.binding()]);
        // Inside its body something else writes the same bytes.
        writes(&mut server.memory, &field.binding());
        if broken {
            server.memory.finish_failed(outer, failure("broken"));
            assert!(closes(&mut server, &CaptureEnd::Doomed).writes().len() == 1);
            let doomed = server.memory.capture(OWNER).take_failure();
            let doomed = doomed.expect("a failure");
            assert_eq!(
                (doomed.work.as_str(), doomed.failure),
                ("outer", failure("broken"))
            );
        } else {
            server.memory.finish_clean(outer);
            let recorded = closes(&mut server, &CaptureEnd::Sealable);
            assert_eq!(recorded.writes().len(), 1, "the same bytes, once");
        }
        reads(&mut server.memory, &field.binding());
        drop(field);
        is_empty_when_swept(&mut server.memory);
    }
}

#[test]
fn what_a_window_records_of_a_read_is_of_the_moment_the_work_was_entered() {
    let mut server = server();
    let (y, z) = (
        buffer(&mut server.memory, "y"),
        buffer(&mut server.memory, "z"),
    );
    opens(&mut server);
    let reader = enters(server.streams(), "reader", &[y.binding()], &[z.binding()]);
    let writer = enters(server.streams(), "writer", &[], &[y.binding()]);
    server.memory.finish_clean(writer);
    server.memory.finish_clean(reader);
    let graph = closes(&mut server, &CaptureEnd::Sealable);
    assert_eq!(graph.reads().len(), 1, "y was read before it was written");
    fails(&mut server.memory, "kernel", &[y.binding()], "stale");
    let replay = ExecuteScope::replaying(&mut server, "replay", OWNER, &graph);
    assert!(replay.expect("its buffers live").skips().is_some());
}

#[test]
fn a_submission_that_fails_after_the_window_closed_dooms_it_until_the_next_is_prepared() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    opens(&mut server);
    let late = enters(server.streams(), "late", &[], &[field.binding()]);
    server.memory.finish_pending(late, SubmissionId(1));
    closes(&mut server, &CaptureEnd::Sealable);
    assert_eq!(server.memory.capture(OWNER).take_failure(), None);
    server.memory.settle(SubmissionId(1), Err(failure("late")));
    let doomed = server.memory.capture(OWNER).take_failure();
    assert_eq!(doomed.map(|doomed| doomed.failure), Some(failure("late")));
}

#[test]
fn a_window_records_no_binding_of_another_manager() {
    let mut server = server();
    let mut other = memory();
    let (ours, foreign) = (
        buffer(&mut server.memory, "ours"),
        buffer(&mut other, "foreign"),
    );
    opens(&mut server);
    let refused = HandleError::Foreign {
        buffer: foreign.id(),
    };
    let window = server.memory.capture(OWNER);
    let both = [ours.binding(), foreign.binding()];
    assert_eq!(window.record(&[], &both), Err(refused.clone()));
    assert_eq!(window.record(&both, &[]), Err(refused));
    assert!(closes(&mut server, &CaptureEnd::Sealable).is_empty());
}

#[test]
fn a_replay_is_skipped_where_an_outside_byte_is_stale_and_claims_all_it_writes() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let mut server = Server {
        memory,
        log: Vec::new(),
    };
    opens(&mut server);
    succeeds(&mut server, &[part(&field, 0, 8)], &[part(&view, 0, 8)]);
    succeeds(&mut server, &[part(&view, 0, 8)], &[part(&view, 8, 16)]);
    let graph = closes(&mut server, &CaptureEnd::Sealable);
    // The reads inside the graph are its own: only the outside byte counts.
    fails(&mut server.memory, "kernel", &[part(&view, 0, 8)], "inside");
    let replay = ExecuteScope::replaying(&mut server, "replay", OWNER, &graph);
    let outcome = replay.expect("usable").execute(|_| Ok::<_, Broken>(()));
    assert_eq!(outcome, ScopedOutcome::Executed(()));
    crate::support::reads(&mut server.memory, &part(&view, 0, 16));
    fails(
        &mut server.memory,
        "kernel",
        &[part(&field, 7, 8)],
        "outside",
    );
    let replay = ExecuteScope::replaying(&mut server, "replay", OWNER, &graph);
    let outcome = replay.expect("usable").execute(|_| Ok::<_, Broken>(()));
    assert!(matches!(outcome, ScopedOutcome::Skipped(_)));
    for (start, end) in [(0, 8), (8, 16)] {
        let report = refused(&mut server.memory, &part(&view, start, end));
        assert_eq!(roots(&report), ["outside"]);
    }
    drop(field);
    let refused = ExecuteScope::replaying(&mut server, "replay", OWNER, &graph).err();
    assert!(
        matches!(refused, Some(EnterError::Handle(_))),
        "{refused:?}"
    );
}
