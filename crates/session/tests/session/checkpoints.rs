//! What a checkpoint refuses, what its failures are, and that stepping goes on meanwhile.

use std::rc::Rc;

use futures::executor::block_on;
use futures::future::join;
use wellwritten_session::{
    ErrorCode, Phase, Resolution, RestoreRequest, SaveOutcome, SessionError, SessionEvent,
};
use wellwritten_store::MediumError;
use wellwritten_store::testing::{Fault as MediumFault, SimulatedMedium};

use crate::rig::{Fault, Rig, RigOptions, id, turns_pass};

#[test]
fn it_goes_back_to_where_it_came_from() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.save("ready");
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 1 });
    rig.session.pause().unwrap();
    rig.save("paused");
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 1 });
    rig.session.resume().unwrap();
    rig.steps(1);
}

#[test]
fn it_is_refused_anywhere_but_a_committed_boundary() {
    let starting = Rig::starting(RigOptions::default(), Rc::default(), SimulatedMedium::new());
    assert!(matches!(
        block_on(starting.session.checkpoint(None)),
        Err(SessionError::InvalidPhase { .. })
    ));
    assert_eq!(starting.session.phase(), Phase::Starting);

    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Delay(2));
    let (stepped, refused) = block_on(join(rig.session.step(), async {
        turns_pass(1).await;
        rig.session.checkpoint(None).await
    }));
    assert!(matches!(refused, Err(SessionError::Busy { .. })));
    assert_eq!(stepped.unwrap(), 1);
    rig.fail();
    assert!(matches!(
        block_on(rig.session.checkpoint(None)),
        Err(SessionError::InvalidPhase { .. })
    ));
}

#[test]
fn bytes_that_do_not_read_cleanly_refuse_checkpoint_and_step_with_the_report() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.bench.dirty_the_world();
    let before = rig.session.status();
    let report =
        serde_json::json!({"buffer": "field", "start": 0, "end": 8, "root": "a planned fault"});
    rig.bench.logged();

    let error = block_on(rig.session.checkpoint(None)).unwrap_err();
    assert_eq!(
        (error.code(), error.participant(), error.detail()),
        (ErrorCode::BufferInvalid, Some(&id("world")), Some(&report))
    );
    let error = block_on(rig.session.step()).unwrap_err();
    assert!(error.is_refusal());
    assert_eq!(
        (error.code(), error.detail()),
        (ErrorCode::BufferInvalid, Some(&report))
    );
    assert!(
        !rig.bench
            .logged()
            .iter()
            .any(|point| point.contains("prepare") || point.contains("advance"))
    );
    assert_eq!(rig.session.status(), before);

    let error = block_on(rig.session.rewrite(&id("fly-a"), "field")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    block_on(rig.session.rewrite(&id("world"), "field")).unwrap();
    rig.steps(1);
    rig.save("clean-again");
}

#[test]
fn an_id_names_one_checkpoint_for_ever() {
    let rig = Rig::ready();
    rig.save("once");
    rig.bench.logged();
    let error = block_on(rig.session.checkpoint(Some(id("once")))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(rig.bench.logged().is_empty(), "nobody was asked to capture");
    // Without a name, each gets its own.
    let first = block_on(rig.session.checkpoint(None)).unwrap();
    let second = block_on(rig.session.checkpoint(None)).unwrap();
    assert_eq!(
        (first.checkpoint_id(), second.checkpoint_id()),
        (&id("ckpt-e1-0"), &id("ckpt-e1-0-2"))
    );
}

#[test]
fn a_commit_that_fails_is_an_outcome_and_the_session_goes_on() {
    let rig = Rig::ready();
    rig.steps(1);
    let full = MediumError::QuotaExceeded {
        file: "generation".to_owned(),
        requested_bytes: 1,
        available_bytes: Some(0),
    };
    let next_operation = rig.medium.operations().len();
    rig.medium
        .inject(next_operation + 1, MediumFault::Fails(full.clone()));
    let outcome = block_on(rig.session.checkpoint(Some(id("lost")))).unwrap();
    assert!(matches!(outcome, SaveOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(
        (rig.session.phase(), rig.session.status().durable),
        (Phase::Ready { boundary: 1 }, None)
    );
    assert_eq!(
        block_on(rig.session.resolve_save(&id("lost"))).unwrap(),
        Resolution::NotCommitted
    );
    rig.medium.heal();
    rig.steps(1);
    rig.save("kept");
    assert_eq!(rig.session.status().durable.unwrap().boundary, 2);
}

/// A full store takes nothing new, and gives what it has.
#[test]
fn a_full_store_still_restores_and_says_what_it_could_not_write_down() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("kept");
    rig.steps(1);
    rig.fail();
    block_on(rig.session.replace_participants()).unwrap();
    rig.medium.set_quota(Some(0));
    let report = block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    assert_eq!(report.boundary, 2);
    let warning = rig.session.status().store_warning.unwrap();
    assert!(
        warning.contains("e2") && warning.contains("no room"),
        "{warning}"
    );
    rig.session.resume().unwrap();
    rig.steps(1);
    let outcome = block_on(rig.session.checkpoint(None)).unwrap();
    assert!(matches!(outcome, SaveOutcome::Failed { .. }), "{outcome:?}");
    assert!(rig.session.status().store_warning.is_some());
    rig.medium.set_quota(None);
    rig.save("again");
    assert_eq!(rig.session.status().store_warning, None);
}

#[test]
fn the_durable_mark_only_moves_forward_and_only_on_the_running_timeline() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.save("at-2");
    rig.steps(2);
    rig.save("at-4");
    let mark = || rig.session.status().durable.unwrap();
    assert_eq!((mark().epoch, mark().boundary), (id("e1"), 4));
    rig.fail();
    let request = RestoreRequest {
        checkpoint_id: Some(id("at-2")),
        ..RestoreRequest::default()
    };
    block_on(rig.session.restore(request)).unwrap();
    assert_eq!((mark().checkpoint_id, mark().boundary), (id("at-2"), 2));
    // Asking about a save of the abandoned future moves nothing.
    let resolution = block_on(rig.session.resolve_save(&id("at-4"))).unwrap();
    assert!(matches!(resolution, Resolution::Committed(_)));
    assert_eq!(mark().boundary, 2);
    rig.session.resume().unwrap();
    rig.steps(1);
    rig.save("at-3");
    assert_eq!((mark().epoch, mark().boundary), (id("e2"), 3));
    let marks: Vec<u64> = rig
        .bench
        .events
        .borrow()
        .iter()
        .filter_map(|event| match event {
            SessionEvent::Durable { mark } => Some(mark.boundary),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [2, 4, 3]);
}
