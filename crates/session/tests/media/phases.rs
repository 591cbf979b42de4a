//! Every public operation in every phase: where it is not legal it is refused and changes nothing, wherever it is called
//! from, a listener that is told of the phase included.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use futures::FutureExt;
use futures::executor::block_on;
use wellwritten_session::{
    Coordinator, ErrorCode, ParticipantError, PhaseKind, ResetRequest, RestoreRequest, RunOptions,
    SessionError, SessionEvent,
};

use crate::bench::{Rig, id};

type Outcome = Option<Result<(), SessionError>>;

/// Polls an operation once: what it says, or nothing where it waits; then it is dropped.
struct Operation {
    name: &'static str,
    call: fn(&Coordinator) -> Outcome,
    /// Where it is legal.
    legal: &'static [PhaseKind],
}

use PhaseKind::{
    Applying, Capturing, Committing, Failed, Observing, Paused, Preparing, Ready, Starting,
};

const MOVING: [PhaseKind; 7] = [
    Ready, Preparing, Applying, Observing, Committing, Capturing, Paused,
];

fn reset(session: &Coordinator) -> Outcome {
    let request = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    let polled = session.reset(request).now_or_never();
    polled.map(|it| it.map(drop))
}

fn run(session: &Coordinator) -> Outcome {
    let options = RunOptions {
        until: Some(1),
        ..RunOptions::default()
    };
    let polled = session.run(options).now_or_never();
    polled.map(|it| it.map(drop))
}

fn restore(session: &Coordinator) -> Outcome {
    let polled = session.restore(RestoreRequest::default()).now_or_never();
    polled.map(|it| it.map(drop))
}

fn fail_epoch(session: &Coordinator) -> Result<(), SessionError> {
    let error = ParticipantError::uncertain(ErrorCode::BackendFailure, "from outside");
    session.fail_epoch(None, error)
}

fn operations() -> Vec<Operation> {
    let one = |name, call, legal| Operation { name, call, legal };
    vec![
        one(
            "bootstrap",
            |it| it.bootstrap().now_or_never().map(|it| it.map(drop)),
            &[Starting],
        ),
        one(
            "step",
            |it| it.step().now_or_never().map(|it| it.map(drop)),
            &[Ready],
        ),
        one("run", run, &[Ready]),
        one(
            "checkpoint",
            |it| it.checkpoint(None).now_or_never().map(|it| it.map(drop)),
            &[Ready, Paused],
        ),
        one("restore", restore, &[Starting, Failed]),
        one("reset", reset, &[Paused]),
        one(
            "replace_participants",
            |it| {
                it.replace_participants()
                    .now_or_never()
                    .map(|it| it.map(drop))
            },
            &[Failed],
        ),
        one(
            "replace_participant",
            |it| {
                let replaced = it.replace_participant(&id("fly-a")).now_or_never();
                replaced.map(|it| it.map(drop))
            },
            &[Failed],
        ),
        one(
            "rewrite",
            |it| it.rewrite(&id("world"), "field").now_or_never(),
            &[Ready, Paused],
        ),
        one("resume", |it| Some(it.resume().map(drop)), &[Paused]),
        one("pause", |it| Some(it.pause().map(drop)), &MOVING),
        one(
            "admit",
            |it| Some(it.admit(&id("fly-a"), &id("spark"), 1.0).map(drop)),
            &MOVING,
        ),
        one(
            "fail_epoch",
            |it| Some(fail_epoch(it)),
            &[
                Ready,
                Preparing,
                Applying,
                Observing,
                Committing,
                Capturing,
                Paused,
                PhaseKind::Restoring,
                PhaseKind::Resetting,
            ],
        ),
    ]
}

/// All that can be seen of a session from outside, but the events of what was refused.
fn seen(rig: &Rig) -> String {
    let session = &rig.session;
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        session.status(),
        session.trace(),
        session.trace_epochs(),
        session.phase_history(),
        session.admissions(),
        rig.bench.log.borrow()
    )
}

/// A session in `kind`, while `then` runs; whether the operation that led there ended well.
fn while_in(kind: PhaseKind, then: impl Fn(&Rig) + 'static) -> bool {
    let starting = Rc::new(Rig::starting_on(Rc::default()));
    let rig = starting.clone();
    if kind == Starting {
        then(&rig);
        return true;
    }
    block_on(rig.session.bootstrap()).unwrap();
    rig.steps(1);
    rig.save("one");
    match kind {
        Ready => {}
        Paused => drop(rig.session.pause().unwrap()),
        Failed | PhaseKind::Restoring => rig.fail(),
        _ => {
            if kind == PhaseKind::Resetting {
                rig.session.pause().unwrap();
            }
        }
    }
    if matches!(kind, Ready | Paused | Failed) {
        then(&rig);
        return true;
    }
    let (weak, has_run) = (Rc::downgrade(&rig), Cell::new(false));
    *rig.bench.watch.borrow_mut() = Some(Box::new(move |event| {
        let SessionEvent::Phase { change } = event else {
            return;
        };
        if change.to.kind() == kind && !has_run.replace(true) {
            then(&weak.upgrade().unwrap());
        }
    }));
    let session = &rig.session;
    let ended = match kind {
        Capturing => block_on(session.checkpoint(None)).map(drop),
        PhaseKind::Restoring => block_on(session.restore(RestoreRequest::default())).map(drop),
        PhaseKind::Resetting => block_on(session.reset(ResetRequest {
            episode_id: id("ep9"),
            epoch: None,
        }))
        .map(drop),
        _ => block_on(session.step()).map(drop),
    };
    *rig.bench.watch.borrow_mut() = None;
    ended.is_ok()
}

#[test]
fn what_is_not_legal_is_refused_and_changes_nothing() {
    let refusals = Rc::new(RefCell::new(BTreeSet::new()));
    for kind in PhaseKind::ALL {
        for (index, operation) in operations().iter().enumerate() {
            if operation.legal.contains(&kind) {
                continue;
            }
            let name = operation.name;
            let refused = refusals.clone();
            let ended_well = while_in(kind, move |rig| {
                assert_eq!(rig.session.phase().kind(), kind);
                let before = seen(rig);
                let outcome = (operations()[index].call)(&rig.session);
                match &outcome {
                    Some(Err(error)) => {
                        assert!(error.is_refusal(), "{name} in {kind:?}: {error}");
                        let code = error.code();
                        let is_place = matches!(code, ErrorCode::InvalidPhase | ErrorCode::Busy);
                        assert!(is_place, "{name} in {kind:?}: {error}");
                    }
                    // It waits for its turn.
                    None => assert_eq!(name, "run", "in {kind:?}"),
                    Some(Ok(())) => panic!("{name} was possible in {kind:?}"),
                }
                assert_eq!(seen(rig), before, "{name} in {kind:?}");
                refused.borrow_mut().insert(format!("{name} {kind:?}"));
            });
            assert!(ended_well, "{name} in {kind:?} broke what was going on");
        }
    }
    let legal: usize = operations().iter().map(|one| one.legal.len()).sum();
    let pairs = operations().len() * PhaseKind::ALL.len();
    assert_eq!(refusals.borrow().len(), pairs - legal);
}

/// The canary: where it is legal it is possible, and the same look at the session notices that it happened.
#[test]
fn what_is_legal_is_possible_and_is_seen() {
    let taken = Rc::new(Cell::new(0));
    for kind in PhaseKind::ALL {
        for (index, operation) in operations().iter().enumerate() {
            if !operation.legal.contains(&kind) {
                continue;
            }
            let name = operation.name;
            // An empty store has nothing to restore; a pause of what is paused is no mistake and no change.
            if (name, kind) == ("restore", Starting) || (name, kind) == ("pause", Paused) {
                taken.set(taken.get() + 1);
                continue;
            }
            let counted = taken.clone();
            while_in(kind, move |rig| {
                let before = seen(rig);
                match (operations()[index].call)(&rig.session) {
                    Some(Ok(())) => {}
                    outcome => panic!("{name} in {kind:?}: {outcome:?}"),
                }
                if !(name == "run" && kind == Ready) {
                    assert_ne!(seen(rig), before, "{name} in {kind:?}");
                }
                counted.set(counted.get() + 1);
            });
        }
    }
    let legal: usize = operations().iter().map(|one| one.legal.len()).sum();
    assert_eq!(taken.get(), legal);
}
