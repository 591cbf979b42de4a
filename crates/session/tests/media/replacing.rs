//! One participant built anew behind the fence.

use futures::executor::block_on;
use wellwritten_session::{ErrorCode, Id, Phase, RestoreRequest, SessionError, Status};

use crate::bench::{Rig, id};

fn incarnations(status: &Status) -> Vec<(Id, Id, bool)> {
    let participants = status.participants.iter();
    participants
        .map(|one| {
            let (who, life) = (one.participant_id.clone(), one.incarnation_id.clone());
            (who, life, one.tainted)
        })
        .collect()
}

/// A session in which the whole group is tainted.
fn tainted() -> Rig {
    let rig = Rig::ready();
    rig.steps(1);
    rig.save("one");
    rig.fail();
    rig.bench.break_at("fly-b.activate");
    block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
    assert_eq!(rig.session.status().tainted.len(), 3);
    rig
}

#[test]
fn it_is_who_it_was_in_another_life_and_only_its_own_taint_is_gone() {
    let rig = tainted();
    let mut left = vec![id("fly-a"), id("fly-b"), id("world")];
    for participant in ["fly-b", "world", "fly-a"] {
        let before = incarnations(&rig.session.status());
        let status = block_on(rig.session.replace_participant(&id(participant))).unwrap();
        left.retain(|one| *one != id(participant));
        assert_eq!(status.tainted, left);
        assert_eq!(status.phase, Phase::Failed);
        for (old, new) in before.iter().zip(incarnations(&status)) {
            let is_replaced = old.0 == id(participant);
            assert_eq!(old.0, new.0);
            assert_eq!(old.1 != new.1, is_replaced, "{old:?} {new:?}");
            assert_eq!(new.2, old.2 && !is_replaced);
        }
        if !left.is_empty() {
            let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
            assert!(
                matches!(error, SessionError::Tainted { participants } if participants == left)
            );
        }
    }
    rig.restore();
    rig.steps(2);
}

#[test]
fn a_refusal_changes_nothing() {
    let rig = tainted();
    let before = rig.session.status();
    let error = block_on(rig.session.replace_participant(&id("fly-z"))).unwrap_err();
    assert!(
        matches!(error, SessionError::UnknownParticipant { .. }),
        "{error}"
    );
    assert_eq!(rig.session.status(), before);
    rig.bench.break_at("factory.fly-a");
    let error = block_on(rig.session.replace_participant(&id("fly-a"))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BackendFailure);
    // Another world than fits the agents' ports.
    *rig.bench.declare.borrow_mut() = Box::new(|world| world.ports[1].port_id = id("p9"));
    let error = block_on(rig.session.replace_participant(&id("world"))).unwrap_err();
    assert!(matches!(error, SessionError::Composition { .. }), "{error}");
    assert_eq!(rig.session.status(), before);
    *rig.bench.declare.borrow_mut() = Box::new(|_| {});
    for participant in ["fly-a", "fly-b", "world"] {
        block_on(rig.session.replace_participant(&id(participant))).unwrap();
    }
    rig.restore();
}

#[test]
fn a_healthy_session_replaces_nobody() {
    let rig = Rig::ready();
    let before = rig.session.status();
    let error = block_on(rig.session.replace_participant(&id("fly-a"))).unwrap_err();
    assert!(
        matches!(error, SessionError::InvalidPhase { .. }),
        "{error}"
    );
    assert_eq!(rig.session.status(), before);
    rig.steps(1);
}
