//! The write scope and its endings.

use crate::support::{
    Broken, buffer, fails, memory, part, reads, refused, roots, scope, server, skips, writes,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use wellwritten_memory::{
    Entry, ExecuteScope, FailureKind, FailureStore, ScopedOutcome, StreamId, TaintState,
};

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
fn a_body_sees_its_own_write_set_torn_down() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let outcome = scope(&mut server, "kernel", &[], &[field.binding()]).execute(|server| {
        let report = refused(&mut server.memory, &field.binding());
        Ok::<_, Broken>(report.failures[0].kind)
    });
    assert_eq!(outcome, ScopedOutcome::Executed(FailureKind::TornDown));
    reads(&mut server.memory, &field.binding());
}

/// Without unwinding there is nobody left to look at the memory afterwards.
#[cfg(panic = "unwind")]
#[test]
fn a_panic_leaves_the_write_set_torn_down_until_written_again() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let body = scope(&mut server, "kernel", &[], &[field.binding()]);
    let result = catch_unwind(AssertUnwindSafe(|| {
        body.execute(|_| -> Result<(), Broken> { panic!("in the body") })
    }));
    let cause = result.expect_err("a panic");
    assert_eq!(cause.downcast_ref(), Some(&"in the body"));
    is_torn_down_until_written_again(server, &field);
}

#[test]
#[should_panic(expected = "in the body")]
fn a_panic_in_the_body_propagates() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let body = scope(&mut server, "kernel", &[], &[field.binding()]);
    body.execute(|_| -> Result<(), Broken> { panic!("in the body") });
}

#[test]
fn a_scope_left_early_leaves_the_write_set_torn_down_until_written_again() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    drop(scope(&mut server, "kernel", &[], &[field.binding()]));
    is_torn_down_until_written_again(server, &field);
}

fn is_torn_down_until_written_again(
    mut server: crate::support::Server,
    field: &wellwritten_memory::Handle,
) {
    let report = refused(&mut server.memory, &field.binding());
    assert_eq!(report.failures[0].kind, FailureKind::TornDown);
    assert_eq!(report.failures[0].work, "kernel");
    writes(&mut server.memory, &part(field, 0, 10));
    assert_eq!(server.memory.graph().len(), 1);
    writes(&mut server.memory, &field.binding());
    reads(&mut server.memory, &field.binding());
    assert!(server.memory.graph().is_empty());
    assert!(server.log.is_empty(), "nobody told of a failure");
}

#[test]
fn every_ending_hands_the_write_set_back() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    let mut addresses = Vec::new();
    for ending in ["prime", "fail", "skip", "refused", "prime again"] {
        let mut set = server.memory.write_set();
        set.push(field.binding());
        addresses.push(set.bindings().as_ptr());
        let gone = buffer(&mut server.memory, "gone").binding();
        let inputs = match ending {
            "skip" => vec![field.binding()],
            "refused" => vec![gone],
            _ => vec![],
        };
        let Ok(scope) =
            ExecuteScope::launching(&mut server, ending, StreamId::default(), &inputs, set)
        else {
            assert_eq!(ending, "refused");
            continue;
        };
        let outcome = scope.execute(|_| match ending {
            "fail" => Err(Broken("fail")),
            _ => Ok(()),
        });
        match ending {
            "skip" => assert!(matches!(outcome, ScopedOutcome::Skipped(_))),
            "fail" => assert_eq!(outcome, ScopedOutcome::Failed(Broken("fail"))),
            _ => assert_eq!(outcome, ScopedOutcome::Executed(())),
        }
    }
    assert_eq!(addresses, [addresses[0]; 5]);
}

#[test]
fn an_empty_write_set_mints_nothing() {
    let mut server = server();
    let field = buffer(&mut server.memory, "field");
    for outputs in [vec![], vec![part(&field, 7, 7)]] {
        let scope = scope(&mut server, "kernel", &[field.binding()], &outputs);
        let outcome = scope.execute(|server| {
            assert!(server.memory.graph().is_empty());
            Err::<(), _>(Broken("for nobody"))
        });
        assert_eq!(outcome, ScopedOutcome::Failed(Broken("for nobody")));
        assert!(server.memory.graph().is_empty());
        reads(&mut server.memory, &field.binding());
    }
}

#[test]
fn a_skip_does_not_run_the_body_and_names_the_root() {
    let mut server = server();
    let (field, view) = (
        buffer(&mut server.memory, "field"),
        buffer(&mut server.memory, "view"),
    );
    fails(
        &mut server.memory,
        "kernel diffuse",
        &[field.binding()],
        "root",
    );
    let root = server.memory.graph().ids()[0];
    let scope = scope(
        &mut server,
        "kernel view",
        &[field.binding()],
        &[view.binding()],
    );
    assert_eq!(scope.skips(), Some(root));
    let outcome = scope.execute(|_| -> Result<(), Broken> { panic!("it ran") });
    assert_eq!(outcome, ScopedOutcome::Skipped(root));
    assert!(server.log.is_empty(), "a skip is nobody's failure");
    assert_eq!(
        roots(&refused(&mut server.memory, &view.binding())),
        ["root"]
    );
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
fn a_skip_claims_only_what_it_would_have_written() {
    let mut memory = memory();
    let (field, view) = (buffer(&mut memory, "field"), buffer(&mut memory, "view"));
    fails(&mut memory, "kernel", &[part(&field, 0, 1)], "root");
    skips(
        &mut memory,
        "kernel view",
        &[field.binding()],
        &[part(&view, 8, 16)],
    );
    reads(&mut memory, &part(&view, 0, 8));
    reads(&mut memory, &part(&view, 16, 64));
    assert_eq!(roots(&refused(&mut memory, &part(&view, 15, 16))), ["root"]);
    // The stale byte is not among those that this one reads.
    let unit = crate::support::enters(&mut memory, "kernel", &[part(&field, 1, 64)], &[]);
    memory.finish_clean(unit);
}
