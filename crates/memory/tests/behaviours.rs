//! One test for each behaviour of the write scope, claims, settlement and pools: each asserts the right
//! value, and would fail if the behaviour were absent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use wellwritten_memory::{
    BufferBinding, BytesStorage, Entry, ExecuteScope, Failure, FailureKind, Handle, HandleError,
    MemoryConfiguration, MemoryManagement, PoolConfiguration, PoolKind, ReadRefusal, ReserveError,
    ScopedOutcome, Storage, SubmissionId, TaintState, Uninitialized, UnwrittenReport, Watched,
    WhenFull, WriteScoped,
};

type Memory = MemoryManagement<BytesStorage>;

struct Server {
    memory: Memory,
    log: Vec<String>,
}

impl WriteScoped for Server {
    type Storage = BytesStorage;

    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn log_failure(&mut self, work: &str, failure: &Failure) {
        self.log.push(format!("{work}: {failure}"));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Broken(&'static str);

impl From<&Broken> for Failure {
    fn from(broken: &Broken) -> Self {
        Failure::new(FailureKind::HostKernel, broken.0)
    }
}

fn memory() -> Memory {
    MemoryManagement::new(
        BytesStorage::new(16, u64::MAX),
        MemoryConfiguration::ExclusivePages,
        Uninitialized::Trust,
    )
}

fn server() -> Server {
    Server {
        memory: memory(),
        log: Vec::new(),
    }
}

fn buffer(memory: &mut Memory, label: &str) -> Handle {
    memory.reserve(64, label).expect("room").handle
}

fn failure(message: &str) -> Failure {
    Failure::new(FailureKind::Validation, message)
}

/// Enters, and requires that it was not skipped.
fn entered(
    memory: &mut Memory,
    work: &str,
    reads: &[BufferBinding],
    writes: &[BufferBinding],
) -> wellwritten_memory::UnitId {
    match memory.enter(work, reads, writes).expect("usable bindings") {
        Entry::Entered(unit) => unit,
        Entry::Skipped { failure } => panic!("{work} was skipped under {failure}"),
    }
}

fn fails(memory: &mut Memory, work: &str, writes: &[BufferBinding], message: &str) {
    let unit = entered(memory, work, &[], writes);
    memory.finish_failed(unit, failure(message));
}

fn writes(memory: &mut Memory, binding: &BufferBinding) {
    let unit = entered(memory, "write", &[], std::slice::from_ref(binding));
    memory.finish_clean(unit);
}

fn pends(
    memory: &mut Memory,
    work: &str,
    reads: &[BufferBinding],
    writes: &[BufferBinding],
    submission: u64,
) -> wellwritten_memory::UnitId {
    let unit = entered(memory, work, reads, writes);
    memory.finish_pending(unit, SubmissionId(submission));
    unit
}

fn refused(memory: &mut Memory, binding: &BufferBinding) -> UnwrittenReport {
    match memory.watch(binding) {
        Err(ReadRefusal::Unwritten(report)) => *report,
        other => panic!("the read was not refused: {other:?}"),
    }
}

fn reads(memory: &mut Memory, binding: &BufferBinding) {
    let watch = memory.watch(binding).expect("a read that begins");
    assert_eq!(memory.resolve(&watch), Ok(Watched::Trusted));
}

fn roots(report: &UnwrittenReport) -> Vec<&str> {
    report
        .failures
        .iter()
        .map(|failure| failure.message.as_str())
        .collect()
}

fn scope<'s>(
    server: &'s mut Server,
    work: &'s str,
    inputs: &[BufferBinding],
    outputs: &[BufferBinding],
) -> ExecuteScope<'s, Server> {
    let mut set = server.memory.write_set();
    for output in outputs {
        set.push(output.clone());
    }
    ExecuteScope::launching(server, work, inputs, set).expect("usable bindings")
}

#[test]
fn a_body_that_succeeds_leaves_no_node() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let outcome =
        scope(&mut server, "kernel", &[], &[field.binding()]).execute(|_| Ok::<_, Broken>(7));
    assert_eq!(outcome, ScopedOutcome::Executed(7));
    assert!(server.memory.graph().is_empty());
    reads(&mut server.memory, &field.binding());
    assert!(server.log.is_empty());
}

#[test]
fn a_body_that_fails_is_named_and_logged() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let outcome = scope(&mut server, "kernel diffuse", &[], &[field.binding()])
        .execute(|_| Err::<(), _>(Broken("no luck")));
    assert_eq!(outcome, ScopedOutcome::Failed(Broken("no luck")));
    let report = refused(&mut server.memory, &field.binding());
    assert_eq!(roots(&report), ["no luck"]);
    assert_eq!(report.failures[0].kind, FailureKind::HostKernel);
    assert_eq!(server.log, ["kernel diffuse: host kernel: no luck"]);
    assert_eq!(server.memory.graph().len(), 1);
}

#[test]
fn a_panic_leaves_the_write_set_torn_down_until_written_again() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let body = scope(&mut server, "kernel", &[], &[field.binding()]);
    let result = catch_unwind(AssertUnwindSafe(|| {
        body.execute(|_| -> Result<(), Broken> { panic!("in the body") })
    }));
    assert!(result.is_err());
    let report = refused(&mut server.memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::TornDown);
    assert_eq!(report.failures[0].work, "kernel");
    writes(&mut server.memory, &field.slice(0, 10).expect("in bounds"));
    assert_eq!(server.memory.graph().len(), 1);
    writes(&mut server.memory, &field.binding());
    reads(&mut server.memory, &field.binding());
    assert!(server.memory.graph().is_empty());
}

#[test]
fn every_ending_hands_the_write_set_back() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let mut addresses = Vec::new();
    for ending in ["prime", "fail", "skip"] {
        let mut set = server.memory.write_set();
        set.push(field.binding());
        addresses.push(set.bindings().as_ptr());
        let inputs = [field.binding()];
        let inputs = if ending == "skip" { &inputs[..] } else { &[] };
        let scope =
            ExecuteScope::launching(&mut server, ending, inputs, set).expect("usable bindings");
        let outcome = scope.execute(|_| {
            if ending == "fail" {
                Err(Broken("fail"))
            } else {
                Ok(())
            }
        });
        assert_eq!(
            matches!(outcome, ScopedOutcome::Skipped(_)),
            ending == "skip"
        );
    }
    assert_eq!(addresses[0], addresses[1]);
    assert_eq!(addresses[1], addresses[2]);
}

#[test]
fn a_skip_mints_nothing_and_a_read_names_the_root() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel diffuse", &[field.binding()], "root");
    let Ok(Entry::Skipped { failure }) =
        memory.enter("kernel view", &[field.binding()], &[view.binding()])
    else {
        panic!("it was not skipped")
    };
    assert_eq!(memory.graph().len(), 1);
    assert_eq!(memory.graph().work(failure), Some("kernel diffuse"));
    let report = refused(&mut memory, &view.binding());
    assert_eq!(roots(&report), ["root"]);
    assert_eq!(report.ranges[0].state, TaintState::Skipped);
}

#[test]
fn a_partial_write_releases_exactly_its_bytes() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let part = |start, end| field.slice(start, end).expect("in bounds");
    fails(&mut memory, "kernel", &[field.binding()], "first");
    writes(&mut memory, &part(16, 32));
    reads(&mut memory, &part(16, 32));
    for (start, end) in [(0, 16), (32, 64), (15, 17), (31, 33), (0, 64)] {
        assert_eq!(
            roots(&refused(&mut memory, &part(start, end))),
            ["first"],
            "[{start}, {end})"
        );
    }
    let spans = memory.spans(&field.binding()).expect("live");
    let edges: Vec<(u64, u64)> = spans.iter().map(|span| (span.start, span.end)).collect();
    assert_eq!(edges, [(0, 16), (16, 32), (32, 64)]);
}

#[test]
fn claims_are_set_not_added() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let part = |start, end| field.slice(start, end).expect("in bounds");
    fails(&mut memory, "left", &[part(0, 8)], "left");
    fails(&mut memory, "right", &[part(8, 16)], "right");
    assert_eq!(
        roots(&refused(&mut memory, &part(0, 16))),
        ["left", "right"]
    );
    fails(&mut memory, "right again", &[part(4, 12)], "taken");
    assert_eq!(
        roots(&refused(&mut memory, &part(0, 16))),
        ["left", "taken", "right"]
    );
    fails(&mut memory, "all", &[part(0, 16)], "all");
    assert_eq!(
        memory.graph().len(),
        1,
        "an old node goes with its last byte"
    );
    fails(&mut memory, "nothing", &[part(5, 5)], "nothing");
    assert_eq!(memory.graph().len(), 1, "an empty range claims nothing");
    let empty = part(5, 5);
    let unit = entered(&mut memory, "trips nothing", &[empty], &[]);
    memory.finish_clean(unit);
    let copy = buffer(&mut memory, "copy");
    for (start, end) in [(0, 4), (4, 8)] {
        let output = copy.slice(start, end).expect("in bounds");
        assert!(matches!(
            memory.enter("skip", &[part(0, 1)], &[output]),
            Ok(Entry::Skipped { .. })
        ));
    }
    let spans = memory.spans(&copy.binding()).expect("live");
    assert_eq!(
        (spans.len(), spans[0].end),
        (2, 8),
        "adjacent ranges of one failure fuse"
    );
}

#[test]
fn a_read_three_launches_downstream_names_every_step() {
    let mut memory = memory();
    let names = ["a", "b", "c", "d"];
    let buffers: Vec<Handle> = names.iter().map(|name| buffer(&mut memory, name)).collect();
    fails(&mut memory, "kernel root", &[buffers[0].binding()], "root");
    for (index, pair) in buffers.windows(2).enumerate() {
        let entry = memory.enter(
            &format!("kernel {index}"),
            &[pair[0].binding()],
            &[pair[1].binding()],
        );
        assert!(matches!(entry, Ok(Entry::Skipped { .. })));
    }
    let report = refused(&mut memory, &buffers[3].slice(8, 24).expect("in bounds"));
    let path = &report.failures[0].path;
    let steps: Vec<(&str, &str, &str)> = path
        .iter()
        .map(|step| {
            (
                step.work.as_str(),
                step.needed.label.as_str(),
                step.produced.label.as_str(),
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            ("kernel 0", "a", "b"),
            ("kernel 1", "b", "c"),
            ("kernel 2", "c", "d")
        ]
    );
    let text = report.to_string();
    let expected = "kernel root: root
  failure 1, validation
  skipped kernel 0: needed \"a\" (buffer 1) bytes [0, 64), left \"b\" (buffer 2) bytes [0, 64)
  skipped kernel 1: needed \"b\" (buffer 2) bytes [0, 64), left \"c\" (buffer 3) bytes [0, 64)
  skipped kernel 2: needed \"c\" (buffer 3) bytes [0, 64), left \"d\" (buffer 4) bytes [0, 64)
so bytes [8, 24) of \"d\" (buffer 4) may not be read:
  [8, 24) skipped (failure 1)";
    assert_eq!(text, expected);
    // The path stays as long as a live claim needs it, and no longer.
    writes(&mut memory, &buffers[1].binding());
    assert_eq!(
        refused(&mut memory, &buffers[3].binding()).failures[0]
            .path
            .len(),
        3
    );
    writes(&mut memory, &buffers[3].binding());
    writes(&mut memory, &buffers[2].binding());
    assert_eq!(memory.graph().steps(), 0);
    assert_eq!(memory.graph().len(), 1);
}

#[test]
fn a_loop_that_skips_forever_does_not_grow_the_graph() {
    let mut memory = memory();
    let (front, back) = (buffer(&mut memory, "front"), buffer(&mut memory, "back"));
    fails(&mut memory, "kernel root", &[front.binding()], "root");
    for round in 0..100_000 {
        let (from, to) = if round % 2 == 0 {
            (&front, &back)
        } else {
            (&back, &front)
        };
        let entry = memory.enter("kernel swap", &[from.binding()], &[to.binding()]);
        assert!(matches!(entry, Ok(Entry::Skipped { .. })));
    }
    assert_eq!((memory.graph().len(), memory.graph().steps()), (1, 2));
    let report = refused(&mut memory, &front.binding());
    assert_eq!(roots(&report), ["root"]);
    assert_eq!(
        report.failures[0]
            .path
            .last()
            .expect("a skip")
            .produced
            .label,
        "front"
    );
}

#[test]
fn a_loop_that_skips_into_new_buffers_does_not_grow_the_graph() {
    let mut memory = memory();
    let first = buffer(&mut memory, "state");
    fails(&mut memory, "kernel root", &[first.binding()], "root");
    let mut last = first.clone();
    for round in 0..20_000 {
        let next = buffer(&mut memory, "state");
        let entry = memory.enter("kernel step", &[last.binding()], &[next.binding()]);
        assert!(matches!(entry, Ok(Entry::Skipped { .. })));
        last = next;
        assert!(
            memory.graph().steps() <= 6,
            "{} steps in round {round}",
            memory.graph().steps()
        );
    }
    let report = refused(&mut memory, &last.binding());
    assert_eq!(roots(&report), ["root"]);
    let path = &report.failures[0].path;
    assert_eq!(path[0].needed.buffer_id, first.id());
    assert_eq!(path.last().expect("a skip").produced.buffer_id, last.id());
    assert!(memory.failure_graph().steps[1].parent.is_some());
    drop((first, last));
    memory.cleanup(false);
    assert_eq!((memory.graph().len(), memory.graph().steps()), (0, 0));
}

#[test]
fn a_failed_reservation_reads_as_unallocated() {
    let mut memory = memory();
    let view = buffer(&mut memory, "view");
    let missing = memory.reserve_failed(
        64,
        "field",
        Failure::new(FailureKind::OutOfMemory, "no 64 bytes"),
    );
    let Err(refusal @ ReadRefusal::Unallocated { .. }) = memory.watch(&missing.binding()) else {
        panic!("it was read")
    };
    assert!(
        refusal
            .to_string()
            .starts_with("\"field\" (buffer 2) is unallocated\nfield: no 64 bytes")
    );
    assert!(matches!(
        memory.locate(&missing.binding()),
        Err(HandleError::Unallocated { .. })
    ));
    // Neither reading nor writing it runs, and what depends on it names it.
    for reading in [true, false] {
        let (inputs, outputs) = if reading {
            (vec![missing.binding()], vec![view.binding()])
        } else {
            (vec![], vec![missing.binding(), view.binding()])
        };
        assert!(matches!(
            memory.enter("kernel", &inputs, &outputs),
            Ok(Entry::Skipped { .. })
        ));
        assert_eq!(
            roots(&refused(&mut memory, &view.binding())),
            ["no 64 bytes"]
        );
        writes(&mut memory, &view.binding());
    }
    assert!(matches!(
        memory.watch(&missing.binding()),
        Err(ReadRefusal::Unallocated { .. })
    ));
    drop(missing);
    memory.cleanup(false);
    assert!(memory.graph().is_empty());
}

#[test]
fn foreign_freed_and_lost_handles_are_refused_by_name() {
    let (mut memory, mut other) = (memory(), memory());
    let (field, foreign) = (buffer(&mut memory, "field"), buffer(&mut other, "foreign"));
    let id = foreign.id();
    assert_eq!(
        memory.enter("k", &[foreign.binding()], &[]),
        Err(HandleError::Foreign { buffer: id })
    );
    assert_eq!(
        memory.locate(&foreign.binding()),
        Err(HandleError::Foreign { buffer: id })
    );
    let watch = other.watch(&foreign.binding()).expect("trusted");
    assert_eq!(memory.resolve(&watch), Err(HandleError::ForeignWatch));
    let view = buffer(&mut memory, "view");
    let (binding, id) = (view.binding(), view.id());
    drop(view);
    assert_eq!(
        memory.enter("k", &[], &[binding]),
        Err(HandleError::Freed { buffer: id })
    );
    assert!(memory.binding(id).is_none());

    let watch = memory.watch(&field.binding()).expect("trusted");
    memory.lose(Failure::new(FailureKind::DeviceLost, "destroyed"));
    memory.storage_mut().clear();
    let lost = HandleError::Lost {
        buffer: field.id(),
        label: "field".into(),
    };
    assert_eq!(
        memory.enter("k", &[], &[field.binding()]),
        Err(lost.clone())
    );
    assert_eq!(memory.locate(&field.binding()), Err(lost));
    assert_eq!(
        refused(&mut memory, &field.binding()).failures[0].kind,
        FailureKind::DeviceLost
    );
    assert!(matches!(memory.resolve(&watch), Ok(Watched::Unwritten(_))));
    let fresh = buffer(&mut memory, "fresh");
    reads(&mut memory, &fresh.binding());
    drop((watch, field));
    memory.cleanup(false);
    assert!(memory.graph().is_empty());
}

#[test]
fn a_late_failure_reaches_everything_that_read_it() {
    let mut memory = memory();
    let handles: Vec<Handle> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| buffer(&mut memory, name))
        .collect();
    let [a, b, c, d] = [0, 1, 2, 3].map(|index: usize| handles[index].binding());
    pends(&mut memory, "kernel a", &[], std::slice::from_ref(&a), 1);
    pends(
        &mut memory,
        "kernel b",
        std::slice::from_ref(&a),
        std::slice::from_ref(&b),
        2,
    );
    let clean = entered(
        &mut memory,
        "kernel c",
        std::slice::from_ref(&b),
        std::slice::from_ref(&c),
    );
    memory.finish_clean(clean);
    pends(
        &mut memory,
        "kernel d",
        std::slice::from_ref(&c),
        std::slice::from_ref(&d),
        3,
    );
    let read = memory.watch(&c).expect("pending bytes may be asked for");
    assert_eq!(
        memory.resolve(&read),
        Ok(Watched::Pending(vec![SubmissionId(1), SubmissionId(2)]))
    );
    // b is written again before anything settles: it is nobody's victim.
    writes(&mut memory, &b.slice(0, 32).expect("in bounds"));
    assert!(memory.settle(SubmissionId(2), Ok(())));
    assert_eq!(
        memory.resolve(&read),
        Ok(Watched::Pending(vec![SubmissionId(1)]))
    );
    assert!(memory.settle(SubmissionId(1), Err(failure("late"))));
    assert!(!memory.settle(SubmissionId(1), Ok(())));
    assert!(!memory.settle(SubmissionId(99), Ok(())));
    reads(&mut memory, &b.slice(0, 32).expect("in bounds"));
    assert_eq!(roots(&refused(&mut memory, &b)), ["late"]);
    let report = refused(&mut memory, &d);
    let works: Vec<&str> = report.failures[0]
        .path
        .iter()
        .map(|step| step.work.as_str())
        .collect();
    assert_eq!(works, ["kernel b", "kernel c", "kernel d"]);
    assert_eq!(report.failures[0].work, "kernel a");
    // The read in flight keeps what it saw, whatever is written since.
    for binding in [&a, &b, &c, &d] {
        writes(&mut memory, binding);
    }
    let Ok(Watched::Unwritten(report)) = memory.resolve(&read) else {
        panic!("it was trusted")
    };
    assert_eq!((report.ranges[0].start, report.ranges[0].end), (0, 64));
    assert_eq!(memory.graph().len(), 1);
    drop(read);
    memory.cleanup(false);
    assert!(memory.graph().is_empty() && memory.graph().steps() == 0);
    assert!(
        memory.settle(SubmissionId(3), Ok(())),
        "its unit was failed already: no effect"
    );
    reads(&mut memory, &d);
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
fn a_culprit_is_the_root_for_its_whole_submission() {
    let mut memory = memory();
    let (field, view, bystander) = (
        buffer(&mut memory, "field"),
        buffer(&mut memory, "view"),
        buffer(&mut memory, "bystander"),
    );
    let unit = pends(&mut memory, "kernel broken", &[], &[field.binding()], 1);
    pends(&mut memory, "kernel good", &[], &[view.binding()], 1);
    pends(&mut memory, "kernel other", &[], &[bystander.binding()], 2);
    memory.fail_unit(unit, Failure::new(FailureKind::Shader, "line 12"));
    memory.settle(SubmissionId(1), Err(failure("pipeline is invalid")));
    memory.settle(SubmissionId(2), Ok(()));
    let report = refused(&mut memory, &view.binding());
    assert_eq!(
        (roots(&report), report.failures[0].work.as_str()),
        (vec!["line 12"], "kernel broken")
    );
    assert_eq!(memory.graph().len(), 1);
    reads(&mut memory, &bystander.binding());
}

#[test]
fn never_written_bytes_are_refused_where_asked_for() {
    let mut memory = MemoryManagement::new(
        BytesStorage::default(),
        MemoryConfiguration::SubSlices,
        Uninitialized::Refuse,
    );
    let field = memory.reserve(64, "field").expect("room").handle;
    writes(&mut memory, &field.slice(0, 8).expect("in bounds"));
    reads(&mut memory, &field.slice(0, 8).expect("in bounds"));
    let report = refused(&mut memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::NeverWritten);
    assert_eq!(report.ranges[0].state, TaintState::NeverWritten);
    writes(&mut memory, &field.binding());
    assert!(memory.graph().is_empty());
}

#[test]
fn reservations_refuse_impossible_sizes() {
    let storage = || BytesStorage::new(256, 1 << 20);
    for configuration in [
        MemoryConfiguration::ExclusivePages,
        MemoryConfiguration::SubSlices,
    ] {
        let mut memory = MemoryManagement::new(storage(), configuration, Uninitialized::Trust);
        assert_eq!(
            memory.reserve(0, "none").err(),
            Some(ReserveError::ZeroSize)
        );
        for size in [u64::MAX, u64::MAX - 1, u64::MAX - 256, 1 << 63] {
            let refused = memory.reserve(size, "all").err();
            let typed = matches!(
                refused,
                Some(ReserveError::TooLarge { .. } | ReserveError::Storage { .. })
            );
            assert!(typed, "{size}: {refused:?}");
        }
        assert_eq!(memory.buffers(), []);
    }
}

#[test]
fn caps_spill_or_refuse_as_configured() {
    let pool = |cap_bytes, when_full| PoolConfiguration {
        cap_bytes,
        when_full,
        ..PoolConfiguration::new(PoolKind::ExclusivePages)
    };
    let manager = |when_full| {
        let pools = vec![pool(256, when_full), pool(512, WhenFull::Refuse)];
        MemoryManagement::new(
            BytesStorage::new(256, u64::MAX),
            MemoryConfiguration::Custom(pools),
            Uninitialized::Trust,
        )
    };
    let mut spills = manager(WhenFull::Spill);
    let held: Vec<_> = (0..3)
        .map(|_| spills.reserve(100, "spilled").expect("room"))
        .collect();
    let full = ReserveError::PoolFull {
        requested_bytes: 100,
        page_bytes: 512,
        cap_bytes: 512,
    };
    assert_eq!(spills.reserve(100, "over").err(), Some(full));
    drop(held);
    assert!(spills.reserve(100, "again").expect("freed").recycled);
    let mut refuses = manager(WhenFull::Refuse);
    let _held = refuses.reserve(100, "first").expect("room");
    let full = ReserveError::PoolFull {
        requested_bytes: 100,
        page_bytes: 256,
        cap_bytes: 256,
    };
    assert_eq!(refuses.reserve(100, "second").err(), Some(full));
}

#[test]
fn freed_neighbours_coalesce_and_old_bytes_are_told() {
    let pools = vec![PoolConfiguration::new(PoolKind::SubSlices {
        page_size_bytes: 1024,
    })];
    let mut memory = MemoryManagement::new(
        BytesStorage::new(256, u64::MAX),
        MemoryConfiguration::Custom(pools),
        Uninitialized::Trust,
    );
    let slices: Vec<_> = (0..4)
        .map(|_| memory.reserve(256, "slice").expect("room"))
        .collect();
    assert!(slices.iter().all(|slice| !slice.recycled));
    assert_eq!(memory.storage().pages(), 1);
    drop(slices);
    let whole = memory
        .reserve(1024, "whole")
        .expect("the four slices are one again");
    assert!(whole.recycled);
    assert_eq!(memory.storage().pages(), 1);
    drop(whole);
    for _ in 0..2 {
        memory.cleanup(false);
        assert_eq!(memory.storage().pages(), 1);
    }
    memory.cleanup(false);
    assert_eq!(memory.storage().pages(), 0);
}

#[test]
fn coarse_spans_show_the_worst_of_each_cell() {
    let mut memory = memory();
    let field = memory.reserve(1000, "field").expect("room").handle;
    for start in (0..1000).step_by(10) {
        writes(
            &mut memory,
            &field.slice(start, start + 1).expect("in bounds"),
        );
        if start >= 500 {
            fails(
                &mut memory,
                "kernel",
                &[field.slice(start + 3, start + 4).expect("in bounds")],
                "spot",
            );
        }
    }
    assert_eq!(memory.spans(&field.binding()).expect("live").len(), 101);
    let coarse = memory.spans_limited(&field.binding(), 10).expect("live");
    assert!(coarse.len() <= 10);
    assert_eq!(
        (coarse[0].start, coarse[0].end, coarse[0].state),
        (0, 500, TaintState::Trusted)
    );
    assert!(
        coarse[1..]
            .iter()
            .all(|span| span.state == TaintState::Failed)
    );
    assert_eq!(coarse.last().expect("cells").end, 1000);
    assert_eq!(
        memory
            .spans_limited(&field.binding(), 101)
            .expect("live")
            .len(),
        101
    );
}

#[test]
fn views_name_carriers_steps_and_revisions() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    let before = memory.revision();
    fails(
        &mut memory,
        "kernel",
        &[field.slice(0, 16).expect("in bounds")],
        "root",
    );
    assert!(memory.revision() > before);
    assert!(matches!(
        memory.enter("kernel view", &[field.binding()], &[view.binding()]),
        Ok(Entry::Skipped { .. })
    ));
    let buffers = memory.buffers();
    assert_eq!(
        (
            buffers[0].failed_bytes,
            buffers[0].trusted_bytes,
            buffers[0].state
        ),
        (16, 48, TaintState::Failed)
    );
    assert_eq!(
        (buffers[1].skipped_bytes, buffers[1].state),
        (64, TaintState::Skipped)
    );
    let graph = memory.failure_graph();
    let carriers: Vec<(&str, u64, u64)> = graph.failures[0]
        .carriers
        .iter()
        .map(|carrier| (carrier.label.as_str(), carrier.start, carrier.end))
        .collect();
    assert_eq!(carriers, [("field", 0, 16), ("view", 0, 64)]);
    assert_eq!(
        (
            graph.steps.len(),
            graph.steps[0].parent,
            graph.steps[0].step.work.as_str()
        ),
        (1, None, "kernel view")
    );
    let unmoved = memory.revision();
    memory.cleanup(false);
    assert_eq!(memory.revision(), unmoved, "nothing changed");
}

#[test]
fn a_failed_page_takes_every_buffer_on_it() {
    let mut memory = MemoryManagement::new(
        BytesStorage::default(),
        MemoryConfiguration::SubSlices,
        Uninitialized::Trust,
    );
    let (left, right) = (buffer(&mut memory, "left"), buffer(&mut memory, "right"));
    let page = memory.locate(&left.binding()).expect("placed").storage;
    memory.fail_page(
        page,
        "page",
        Failure::new(FailureKind::OutOfMemory, "4 MiB"),
    );
    for handle in [&left, &right] {
        assert!(matches!(
            memory.watch(&handle.binding()),
            Err(ReadRefusal::Unallocated { .. })
        ));
    }
    assert_eq!((memory.graph().len(), memory.storage().pages()), (1, 0));
    drop((left, right));
    memory.cleanup(true);
    assert!(memory.graph().is_empty());
    assert_eq!(memory.storage().alignment(), 256);
}

#[cfg(feature = "serde")]
#[test]
fn reports_serialize_in_camel_case() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[field.binding()], "root");
    assert!(matches!(
        memory.enter("kernel view", &[field.binding()], &[view.binding()]),
        Ok(Entry::Skipped { .. })
    ));
    let report = serde_json::to_value(refused(&mut memory, &view.binding())).expect("serializable");
    assert_eq!(report["bufferId"], 2);
    assert_eq!(report["ranges"][0]["state"], "skipped");
    assert_eq!(report["ranges"][0]["failureId"], 1);
    assert_eq!(report["failures"][0]["path"][0]["needed"]["bufferId"], 1);
    let graph = serde_json::to_value(memory.failure_graph()).expect("serializable");
    assert_eq!(graph["steps"][0]["work"], "kernel view");
    assert_eq!(graph["failures"][0]["kind"], "validation");
}
