//! A caller's mistake changes nothing; the fence lets nothing through but a restore.

use std::rc::Rc;

use futures::executor::block_on;
use wellwritten_session::{
    AgentBinding, Composition, Coordinator, DispatchOrder, ErrorCode, Host, IdentityExecutor,
    ParticipantError, Phase, RestoreRequest, RunOptions, SessionError, WriterConfig,
};

use crate::rig::{Bench, Factory, ManualClock, Rig, RigOptions, id};
use crate::task::CounterTask;

#[test]
fn mistakes_on_a_healthy_session_change_nothing() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.session.pause().unwrap();
    let before = rig.session.status();
    rig.bench.logged();
    let codes = [
        block_on(rig.session.restore(RestoreRequest::default()))
            .map(drop)
            .unwrap_err()
            .code(),
        block_on(rig.session.step()).map(drop).unwrap_err().code(),
        block_on(rig.session.replace_participants())
            .map(drop)
            .unwrap_err()
            .code(),
        block_on(rig.session.bootstrap())
            .map(drop)
            .unwrap_err()
            .code(),
        block_on(rig.session.run(RunOptions::default()))
            .map(drop)
            .unwrap_err()
            .code(),
    ];
    assert_eq!(codes, [ErrorCode::InvalidPhase; 5]);
    let error = rig.session.kill_participant(&id("nobody")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::IdentityMismatch);
    assert_eq!(rig.session.status(), before);
    assert!(rig.bench.logged().is_empty());
    rig.session.resume().unwrap();
    let error = rig.session.resume().unwrap_err();
    assert_eq!(
        (error.code(), error.is_refusal()),
        (ErrorCode::InvalidPhase, true)
    );
    rig.steps(1);
}

#[test]
fn the_fence_lets_nothing_through_but_a_coherent_restore() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.save("good");
    rig.fail();
    let reason = rig.session.status().failure;
    for error in [
        block_on(rig.session.step()).map(drop).unwrap_err(),
        block_on(rig.session.bootstrap()).map(drop).unwrap_err(),
        block_on(rig.session.checkpoint(None))
            .map(drop)
            .unwrap_err(),
        rig.session.resume().map(drop).unwrap_err(),
        rig.session.pause().map(drop).unwrap_err(),
        block_on(rig.session.rewrite(&id("world"), "field")).unwrap_err(),
        rig.session
            .fail_epoch(
                None,
                ParticipantError::refused(ErrorCode::Internal, "again"),
            )
            .unwrap_err(),
    ] {
        assert!(
            matches!(error, SessionError::InvalidPhase { .. }),
            "{error}"
        );
    }
    assert_eq!(
        rig.session.status().failure,
        reason,
        "the first reason stays"
    );
    let stale = RestoreRequest {
        epoch: Some(id("e1")),
        ..RestoreRequest::default()
    };
    assert_eq!(
        block_on(rig.session.restore(stale)).unwrap_err().code(),
        ErrorCode::StaleEpoch
    );
    assert_eq!(rig.session.phase(), Phase::Failed);
    block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    let status = rig.session.status();
    assert_eq!(
        (status.phase, status.fenced, status.failure),
        (Phase::Paused { boundary: 1 }, false, None)
    );
}

#[test]
fn a_session_without_a_store_says_so() {
    let session = compose(&[("fly-a", "p1")], None).unwrap();
    block_on(session.bootstrap()).unwrap();
    assert_eq!(session.status().epoch, id("e1"));
    assert!(matches!(
        block_on(session.checkpoint(None)),
        Err(SessionError::NoStore)
    ));
    assert_eq!(session.phase(), Phase::Ready { boundary: 0 });
}

#[test]
fn a_composition_that_cannot_run_is_refused_before_anything_is_built() {
    for agents in [
        vec![],
        vec![("fly-a", "p1"), ("fly-a", "p2")],
        vec![("fly-a", "p1"), ("fly-b", "p1")],
        vec![("world", "p1")],
    ] {
        assert!(matches!(
            compose(&agents, None),
            Err(SessionError::Composition { .. })
        ));
    }
    let long = "a".repeat(Composition::MAX_AGENT_ID + 1);
    assert!(matches!(
        compose(&[(&long, "p1")], None),
        Err(SessionError::Composition { .. })
    ));
    // The world has port p1; nobody drives it.
    assert!(matches!(
        compose(&[("fly-a", "p9")], None),
        Err(SessionError::Composition { .. })
    ));
    let session = compose(
        &[("fly-a", "p1")],
        Some(&"e".repeat(Composition::MAX_EPOCH + 1)),
    )
    .unwrap();
    assert!(matches!(
        block_on(session.bootstrap()),
        Err(SessionError::EpochName { .. })
    ));
    assert_eq!(session.phase(), Phase::Starting);
}

fn compose(agents: &[(&str, &str)], epoch: Option<&str>) -> Result<Coordinator, SessionError> {
    let bench = Rc::new(Bench::default());
    let composition = Composition {
        session_id: id("demo"),
        episode_id: id("ep1"),
        epoch: epoch.map(id),
        environment_id: id("world"),
        agents: agents
            .iter()
            .map(|(agent, port)| AgentBinding {
                agent_id: id(agent),
                port_id: id(port),
                executor: Box::new(IdentityExecutor),
            })
            .collect(),
        task: Box::new(CounterTask::new(bench.clone(), None)),
        dispatch: DispatchOrder::Concurrent,
    };
    let host = Host {
        budgets: wellwritten_session::CallBudgets::default(),
        factory: Rc::new(Factory {
            bench,
            agents: agents.len(),
        }),
        clock: Rc::new(ManualClock::default()),
        store: None,
        saves: WriterConfig::default(),
        observer: None,
    };
    block_on(Coordinator::new(composition, host))
}

#[test]
fn an_epoch_that_began_is_never_begun_again() {
    let rig = Rig::ready();
    let Rig {
        bench,
        medium,
        store,
        session,
        ..
    } = rig;
    drop(session);
    drop(store);
    let options = RigOptions {
        epoch: Some(id("e1")),
        ..RigOptions::default()
    };
    let rig = Rig::starting(options, bench.clone(), medium.clone());
    let error = block_on(rig.session.bootstrap()).unwrap_err();
    assert_eq!(
        (error.code(), rig.session.phase()),
        (ErrorCode::StaleEpoch, Phase::Starting)
    );
    let Rig { store, session, .. } = rig;
    drop(session);
    drop(store);
    let rig = Rig::starting(RigOptions::default(), bench, medium);
    block_on(rig.session.bootstrap()).unwrap();
    assert_eq!(rig.session.status().epoch, id("e2"));
}
