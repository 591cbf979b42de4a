//! What a person sees: spans, carriers, steps, revisions.

use crate::support::{buffer, fails, memory, part, pends, skips, writes};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::TaintState;

#[test]
fn coarse_spans_show_the_worst_of_each_cell() {
    let mut memory = memory();
    let field = memory.reserve(1000, "field").expect("room").handle;
    for start in (0..1000).step_by(10) {
        writes(&mut memory, &part(&field, start, start + 1));
        if start >= 500 {
            fails(
                &mut memory,
                "kernel",
                &[part(&field, start + 3, start + 4)],
                "spot",
            );
        }
    }
    assert_eq!(memory.spans(&field.binding()).expect("live").len(), 101);
    let coarse = memory.spans_limited(&field.binding(), 10).expect("live");
    assert!(coarse.len() <= 10);
    let first = (coarse[0].start, coarse[0].end, coarse[0].state);
    assert_eq!(first, (0, 500, TaintState::Trusted));
    let mut rest = coarse[1..].iter();
    assert!(rest.all(|span| span.state == TaintState::Failed));
    assert_eq!(coarse.last().expect("cells").end, 1000);
    let exact = memory.spans_limited(&field.binding(), 101).expect("live");
    assert_eq!(exact.len(), 101);
}

#[test]
fn a_summary_counts_the_bytes_of_every_state() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[part(&field, 0, 16)], "root");
    pends(&mut memory, "kernel", &[], &[part(&field, 20, 28)], 1);
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    let [first, second] = &memory.buffers()[..] else {
        panic!("two buffers are live")
    };
    assert_eq!((first.label.as_str(), first.size_bytes), ("field", 64));
    assert_eq!(
        (first.failed_bytes, first.pending_bytes, first.trusted_bytes),
        (16, 8, 40)
    );
    assert_eq!(first.state, TaintState::Failed);
    assert_eq!((second.skipped_bytes, second.trusted_bytes), (64, 0));
    assert_eq!(second.state, TaintState::Skipped);
}

#[test]
fn a_graph_names_carriers_and_steps() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[part(&field, 0, 16)], "root");
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    let graph = memory.failure_graph();
    let carriers = graph.failures[0].carriers.iter();
    let carriers: Vec<(&str, u64, u64)> = carriers
        .map(|carrier| (carrier.label.as_str(), carrier.start, carrier.end))
        .collect();
    assert_eq!(carriers, [("field", 0, 16), ("view", 0, 64)]);
    let [step] = &graph.steps[..] else {
        panic!("one step was skipped")
    };
    assert_eq!(
        (step.parent, step.step.work.as_str()),
        (None, "kernel view")
    );
}

#[test]
fn the_revision_moves_with_every_change_and_with_nothing_else() {
    let mut memory = memory();
    let field = buffer(&mut memory, "field");
    let mut last = memory.revision();
    let mut moved = |memory: &crate::support::Memory| {
        let moved = memory.revision() > last;
        last = memory.revision();
        moved
    };
    fails(&mut memory, "kernel", &[part(&field, 0, 16)], "root");
    assert!(moved(&memory), "a claim was set");
    writes(&mut memory, &part(&field, 0, 8));
    assert!(moved(&memory), "a claim was cut");
    memory.cleanup(true);
    let watched = memory.watch(&field.binding());
    assert!(watched.is_err());
    assert!(!moved(&memory), "nothing changed");
    drop(field);
    memory.cleanup(false);
    assert!(moved(&memory), "a buffer went");
}

#[cfg(feature = "serde")]
#[test]
fn reports_serialize_in_camel_case() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[field.binding()], "root");
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    let report = crate::support::refused(&mut memory, &view.binding());
    let report = serde_json::to_value(report).expect("serializable");
    assert_eq!(report["bufferId"], 2);
    assert_eq!(report["ranges"][0]["state"], "skipped");
    assert_eq!(report["ranges"][0]["failureId"], 1);
    assert_eq!(report["ranges"][0]["step"], 0);
    let step = &report["steps"][0];
    assert_eq!(
        (&step["failure"], &step["work"]),
        (&1.into(), &"kernel view".into())
    );
    assert_eq!(step["needed"]["bufferId"], 1);
    assert!(
        step.get("parent").is_none(),
        "it follows the failure itself"
    );
    let graph = serde_json::to_value(memory.failure_graph()).expect("serializable");
    assert_eq!(graph["steps"][0]["work"], "kernel view");
    assert_eq!(graph["failures"][0]["kind"], "validation");
}
