//! The path from a byte back to its root failure: complete, and bounded by what still needs it.

use crate::support::{
    buffer, fails, is_empty_when_swept, memory, part, refused, repeats, roots, skips, writes,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{Handle, UnwrittenReport};

/// The steps to the first failure: what was skipped, what it needed, what it left.
fn steps(report: &UnwrittenReport) -> Vec<(&str, &str, &str)> {
    let path = report.path(&report.ranges[0]).into_iter();
    path.map(|step| {
        let (needed, produced) = (&step.needed.label, &step.produced.label);
        (step.work.as_str(), needed.as_str(), produced.as_str())
    })
    .collect()
}

#[test]
fn a_read_three_launches_downstream_names_every_step() {
    let mut memory = memory();
    let buffers = ["a", "b", "c", "d"].map(|name| buffer(&mut memory, name));
    fails(&mut memory, "kernel root", &[buffers[0].binding()], "root");
    for (index, pair) in buffers.windows(2).enumerate() {
        let work = format!("kernel {index}");
        skips(
            &mut memory,
            &work,
            &[pair[0].binding()],
            &[pair[1].binding()],
        );
    }
    let report = refused(&mut memory, &part(&buffers[3], 8, 24));
    let expected = [
        ("kernel 0", "a", "b"),
        ("kernel 1", "b", "c"),
        ("kernel 2", "c", "d"),
    ];
    assert_eq!(steps(&report), expected);
    let text = report.to_string();
    let expected = "kernel root: root
  failure 1, validation
  skipped kernel 0: needed \"a\" (buffer 1) bytes [0, 64), left \"b\" (buffer 2) bytes [0, 64)
  skipped kernel 1: needed \"b\" (buffer 2) bytes [0, 64), left \"c\" (buffer 3) bytes [0, 64)
  skipped kernel 2: needed \"c\" (buffer 3) bytes [0, 64), left \"d\" (buffer 4) bytes [0, 64)
so bytes [8, 24) of \"d\" (buffer 4) may not be read:
  [8, 24) skipped (failure 1)";
    assert_eq!(text, expected);
}

#[test]
fn a_path_stays_as_long_as_a_live_claim_needs_it_and_no_longer() {
    let mut memory = memory();
    let buffers = ["a", "b", "c", "d"].map(|name| buffer(&mut memory, name));
    fails(&mut memory, "kernel root", &[buffers[0].binding()], "root");
    for pair in buffers.windows(2) {
        skips(
            &mut memory,
            "kernel",
            &[pair[0].binding()],
            &[pair[1].binding()],
        );
    }
    for written in [0, 1] {
        writes(&mut memory, &buffers[written].binding());
        let report = refused(&mut memory, &buffers[3].binding());
        assert_eq!((roots(&report), steps(&report).len()), (vec!["root"], 3));
    }
    writes(&mut memory, &buffers[3].binding());
    let report = refused(&mut memory, &buffers[2].binding());
    assert_eq!(steps(&report).len(), 2);
    assert_eq!(memory.graph().steps(), 2);
    writes(&mut memory, &buffers[2].binding());
    assert_eq!((memory.graph().len(), memory.graph().steps()), (0, 0));
}

#[test]
fn a_path_of_a_thousand_steps_is_told_in_full() {
    let mut memory = memory();
    let first = buffer(&mut memory, "state 0");
    fails(&mut memory, "kernel root", &[first.binding()], "root");
    let mut buffers = vec![first];
    for number in 1..=1000 {
        let next = buffer(&mut memory, &format!("state {number}"));
        let work = format!("kernel {number}");
        skips(
            &mut memory,
            &work,
            &[buffers[number - 1].binding()],
            &[next.binding()],
        );
        buffers.push(next);
    }
    let report = refused(&mut memory, &buffers[1000].binding());
    let steps = steps(&report);
    assert_eq!(steps.len(), 1000);
    for (index, step) in steps.iter().enumerate() {
        let names = [
            format!("kernel {}", index + 1),
            format!("state {index}"),
            format!("state {}", index + 1),
        ];
        assert_eq!(names, [step.0, step.1, step.2]);
    }
    assert_eq!(report.to_string().lines().count(), 1 + 1 + 1000 + 2);
    drop(buffers);
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_loop_that_skips_forever_does_not_grow_the_graph() {
    let mut memory = memory();
    let (front, back) = (buffer(&mut memory, "front"), buffer(&mut memory, "back"));
    fails(&mut memory, "kernel root", &[front.binding()], "root");
    for round in 0..repeats() {
        let (from, to) = if round % 2 == 0 {
            (&front, &back)
        } else {
            (&back, &front)
        };
        skips(
            &mut memory,
            "kernel swap",
            &[from.binding()],
            &[to.binding()],
        );
        assert!(memory.graph().steps() <= 2, "in round {round}");
    }
    assert_eq!((memory.graph().len(), memory.graph().steps()), (1, 2));
    let report = refused(&mut memory, &front.binding());
    assert_eq!(roots(&report), ["root"]);
    let expected = [
        ("kernel swap", "front", "back"),
        ("kernel swap", "back", "front"),
    ];
    assert_eq!(steps(&report), expected);
    writes(&mut memory, &front.binding());
    writes(&mut memory, &back.binding());
    assert_eq!((memory.graph().len(), memory.graph().steps()), (0, 0));
}

#[test]
fn a_loop_that_skips_into_new_buffers_does_not_grow_the_graph() {
    let mut memory = memory();
    let first = buffer(&mut memory, "state");
    fails(&mut memory, "kernel root", &[first.binding()], "root");
    let mut last: Handle = first.clone();
    for round in 0..repeats() / 5 {
        let next = buffer(&mut memory, "state");
        skips(
            &mut memory,
            "kernel step",
            &[last.binding()],
            &[next.binding()],
        );
        last = next;
        let steps = memory.graph().steps();
        assert!(steps <= 6, "{steps} steps in round {round}");
    }
    let report = refused(&mut memory, &last.binding());
    assert_eq!(roots(&report), ["root"]);
    let path = report.path(&report.ranges[0]);
    assert_eq!(path[0].needed.buffer_id, first.id());
    assert_eq!(path.last().expect("a skip").produced.buffer_id, last.id());
    assert!(memory.failure_graph().steps[1].parent.is_some());
    drop((first, last));
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_path_names_the_way_its_bytes_went_and_no_other() {
    // Two ways alike but for one step, through buffers of the same label that are freed.
    let mut memory = memory();
    let root = buffer(&mut memory, "root");
    fails(&mut memory, "kernel", &[root.binding()], "root");
    let mut ends = Vec::new();
    for way in ["first way", "second way"] {
        let middle = buffer(&mut memory, "middle");
        let late = buffer(&mut memory, "late");
        let end = buffer(&mut memory, "end");
        let whole = [&root, &middle, &late, &end].map(Handle::binding);
        skips(&mut memory, way, &whole[..1], &whole[1..2]);
        skips(&mut memory, "common", &whole[1..2], &whole[2..3]);
        skips(&mut memory, "last", &whole[2..3], &whole[3..]);
        ends.push((way, end));
    }
    memory.cleanup(false);
    for (way, end) in &ends {
        let report = refused(&mut memory, &end.binding());
        let works: Vec<&str> = steps(&report).iter().map(|step| step.0).collect();
        assert_eq!(works, [way, "common", "last"]);
    }
    drop((root, ends));
    is_empty_when_swept(&mut memory);
}

#[test]
fn a_step_that_is_repeated_after_another_way_is_told_after_that_way() {
    let mut memory = memory();
    let [root, a, b] = ["root", "a", "b"].map(|label| buffer(&mut memory, label));
    fails(&mut memory, "kernel", &[root.binding()], "root");
    for way in ["first way", "second way"] {
        skips(&mut memory, way, &[root.binding()], &[a.binding()]);
        skips(&mut memory, "copy", &[a.binding()], &[b.binding()]);
        let report = refused(&mut memory, &b.binding());
        let works: Vec<&str> = steps(&report).iter().map(|step| step.0).collect();
        assert_eq!(works, [way, "copy"]);
    }
    assert_eq!(
        memory.graph().steps(),
        2,
        "the first way is gone with its claims"
    );
}

#[test]
fn a_way_that_goes_in_circles_is_told_without_the_circle() {
    let mut memory = memory();
    let [x, y] = ["x", "y"].map(|label| buffer(&mut memory, label));
    fails(&mut memory, "kernel", &[x.binding()], "root");
    for _ in 0..1000 {
        skips(&mut memory, "there", &[x.binding()], &[y.binding()]);
        skips(&mut memory, "back", &[y.binding()], &[x.binding()]);
    }
    let report = refused(&mut memory, &x.binding());
    let works: Vec<&str> = steps(&report).iter().map(|step| step.0).collect();
    assert_eq!(works, ["there", "back"]);
    assert_eq!(memory.graph().steps(), 2);
}
