//! One participant on its own: repetition, conflict, staleness, and tokens that work once.

use std::rc::Rc;

use futures::executor::block_on;
use futures::future::join;
use wellwritten_session::{
    Advance, Answer, Call, ControllerIntent, Digest, Direct, EnvironmentInitialize, ErrorCode, Id,
    ParticipantError, PortBinding, Request, RequestId, Scope, StageRestore, Transport,
    TransportError, U64, WorkerState,
};

use crate::rig::{Bench, Fault, id, turns_pass};
use crate::world::{CounterWorld, controls};

struct Desk {
    bench: Rc<Bench>,
    route: Rc<Direct>,
}

impl Desk {
    fn new() -> Self {
        let bench = Rc::new(Bench::default());
        let world = CounterWorld::new(bench.clone(), &[id("p1")]);
        let route = Direct::environment(id("demo"), id("incarnation-1"), Box::new(world));
        bench
            .routes
            .borrow_mut()
            .insert("world".to_owned(), route.clone());
        Self { bench, route }
    }

    fn initialized() -> Self {
        let desk = Self::new();
        desk.ask(1, "e1", 0, initialize()).unwrap();
        desk
    }

    fn ask(
        &self,
        serial: u64,
        epoch: &str,
        step: u64,
        call: Call,
    ) -> Result<Answer, ParticipantError> {
        block_on(self.route.call(&request(serial, epoch, step, call)))
            .unwrap()
            .outcome
    }

    fn code(&self, serial: u64, epoch: &str, step: u64, call: Call) -> ErrorCode {
        self.ask(serial, epoch, step, call).unwrap_err().code
    }

    fn advances(&self) -> usize {
        self.bench
            .log
            .borrow()
            .iter()
            .filter(|point| *point == "world.advance")
            .count()
    }
}

fn request(serial: u64, epoch: &str, step: u64, call: Call) -> Request {
    Request {
        request_id: RequestId(serial),
        scope: Some(Scope {
            session_id: id("demo"),
            epoch: id(epoch),
            step: U64(step),
        }),
        call,
    }
}

fn initialize() -> Call {
    Call::InitializeEnvironment(EnvironmentInitialize {
        episode_id: id("ep1"),
        port_bindings: vec![PortBinding {
            port_id: id("p1"),
            agent_id: id("fly-a"),
        }],
    })
}

fn advance(epoch: &str, step: u64, inc: bool) -> Call {
    let mut intent: ControllerIntent = controls().neutral();
    intent.buttons[0].down = inc;
    Call::Advance(Advance {
        batch_id: Id::parse(&format!("batch-{epoch}-{step}")).unwrap(),
        controls: vec![intent.on_port(id("p1"))],
    })
}

fn shown(answer: &Answer) -> (u64, Digest) {
    match answer {
        Answer::Stepped(result) => (
            result.observation.boundary.0,
            result.observation.sensory_views[0].pixels.digest(),
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_duplicate_is_answered_again_and_not_done_again() {
    let desk = Desk::initialized();
    let first = desk.ask(2, "e1", 0, advance("e1", 0, true)).unwrap();
    let digest = shown(&first);
    // The first caller's copy is gone; the kept one serves the second.
    drop(first);
    let again = desk.ask(2, "e1", 0, advance("e1", 0, true)).unwrap();
    assert_eq!((shown(&again), desk.advances()), (digest, 1));
    assert_eq!(
        desk.code(3, "e1", 0, advance("e1", 0, true)),
        ErrorCode::Conflict,
        "another id"
    );
    assert_eq!(
        desk.code(2, "e1", 0, advance("e1", 0, false)),
        ErrorCode::Conflict,
        "altered controls"
    );
    assert_eq!(desk.advances(), 1);
}

#[test]
fn answers_are_kept_for_two_steps_and_then_expire() {
    let desk = Desk::initialized();
    for step in 0..4 {
        desk.ask(2 + step, "e1", step, advance("e1", step, true))
            .unwrap();
    }
    assert_eq!(desk.advances(), 4);
    assert!(desk.ask(5, "e1", 3, advance("e1", 3, true)).is_ok());
    assert!(desk.ask(4, "e1", 2, advance("e1", 2, true)).is_ok());
    assert_eq!(
        desk.code(3, "e1", 1, advance("e1", 1, true)),
        ErrorCode::ResultExpired
    );
    assert_eq!(
        desk.code(9, "e1", 1, advance("e1", 1, true)),
        ErrorCode::StaleStep,
        "never asked before"
    );
    assert_eq!(desk.advances(), 4);
}

#[test]
fn a_stray_request_for_a_far_step_poisons_nothing() {
    let desk = Desk::initialized();
    assert_eq!(
        desk.code(2, "e1", u64::MAX, advance("e1", u64::MAX, true)),
        ErrorCode::FutureStep
    );
    assert_eq!(
        desk.code(3, "e1", 70, advance("e1", 70, true)),
        ErrorCode::FutureStep
    );
    desk.ask(4, "e1", 0, advance("e1", 0, true)).unwrap();
    desk.ask(5, "e1", 1, advance("e1", 1, true)).unwrap();
}

#[test]
fn while_an_operation_runs_its_duplicate_is_in_progress_and_others_are_busy() {
    let desk = Desk::initialized();
    desk.bench.arm("world.advance", Fault::Delay(3));
    let (first, codes) = block_on(join(
        desk.route
            .call(&request(2, "e1", 0, advance("e1", 0, true))),
        async {
            turns_pass(1).await;
            let mut codes = Vec::new();
            for other in [
                request(2, "e1", 0, advance("e1", 0, true)),
                request(2, "e1", 0, advance("e1", 0, false)),
                request(3, "e1", 0, Call::Verify {}),
            ] {
                codes.push(
                    desk.route
                        .call(&other)
                        .await
                        .unwrap()
                        .outcome
                        .unwrap_err()
                        .code,
                );
            }
            codes
        },
    ));
    assert_eq!(
        codes,
        [ErrorCode::InProgress, ErrorCode::Conflict, ErrorCode::Busy]
    );
    assert_eq!(shown(&first.unwrap().outcome.unwrap()).0, 1);
    assert_eq!(desk.advances(), 1);
}

#[test]
fn a_lost_reply_resolves_to_one_advance() {
    // The caller goes away; the same operation asked again is answered with what happened.
    let desk = Desk::initialized();
    let reply = block_on(
        desk.route
            .call(&request(2, "e1", 0, advance("e1", 0, true))),
    )
    .unwrap();
    drop(reply);
    let resolved = desk.ask(2, "e1", 0, advance("e1", 0, true)).unwrap();
    assert_eq!((shown(&resolved).0, desk.advances()), (1, 1));
}

#[test]
fn checks_come_in_order() {
    let desk = Desk::new();
    assert_eq!(
        desk.code(1, "e1", 0, advance("e1", 0, true)),
        ErrorCode::InvalidPhase,
        "not initialized"
    );
    assert_eq!(desk.code(2, "e1", 1, initialize()), ErrorCode::FutureStep);
    desk.ask(3, "e1", 0, initialize()).unwrap();
    assert_eq!(desk.code(4, "e1", 0, initialize()), ErrorCode::InvalidPhase);
    assert_eq!(
        desk.code(5, "e2", 0, advance("e2", 0, true)),
        ErrorCode::StaleEpoch
    );
    assert_eq!(
        desk.code(6, "e1", 0, advance("e1", 7, true)),
        ErrorCode::Conflict,
        "another step's batch"
    );
    let mut foreign = request(7, "e1", 0, advance("e1", 0, true));
    foreign.scope.as_mut().unwrap().session_id = id("other");
    assert_eq!(
        block_on(desk.route.call(&foreign))
            .unwrap()
            .outcome
            .unwrap_err()
            .code,
        ErrorCode::IdentityMismatch
    );
    let mut scopeless = request(8, "e1", 0, advance("e1", 0, true));
    scopeless.scope = None;
    assert_eq!(
        block_on(desk.route.call(&scopeless))
            .unwrap()
            .outcome
            .unwrap_err()
            .code,
        ErrorCode::InvalidArgument
    );
    let prepare = Call::Prepare(wellwritten_session::Prepare {
        interval: wellwritten_session::RationalNs::from_nanoseconds(1),
        decision_context_digest: Digest::blake3(b""),
        pre_step_stimulations: Vec::new(),
    });
    assert_eq!(desk.code(9, "e1", 0, prepare), ErrorCode::Unsupported);
    assert_eq!(desk.advances(), 0);
}

#[test]
fn a_restore_token_activates_once() {
    let desk = Desk::initialized();
    let captured = desk
        .ask(
            2,
            "e1",
            0,
            Call::Capture {
                checkpoint_id: id("c"),
            },
        )
        .unwrap();
    let Answer::Captured {
        payload,
        compatibility_digest,
        ..
    } = captured
    else {
        panic!("{captured:?}")
    };
    let stage = |epoch: &str| {
        Call::StageRestore(StageRestore {
            checkpoint_id: id("c"),
            source_scope: request(0, epoch, 0, Call::Verify {}).scope.unwrap(),
            compatibility_digest,
            payload: payload.clone(),
        })
    };
    assert_eq!(
        desk.code(3, "e1", 0, stage("e1")),
        ErrorCode::StaleEpoch,
        "the running epoch"
    );
    assert_eq!(
        desk.code(4, "e2", 0, stage("e7")),
        ErrorCode::IncompatibleState,
        "taken in another epoch"
    );
    let Answer::Staged { restore_token, .. } = desk.ask(5, "e2", 0, stage("e1")).unwrap() else {
        panic!()
    };
    assert_eq!(
        desk.code(6, "e2", 0, stage("e1")),
        ErrorCode::Conflict,
        "one at a time"
    );
    let activate = |token: &str| Call::ActivateRestore {
        restore_token: token.to_owned(),
    };
    assert_eq!(
        desk.code(7, "e2", 0, activate("rt-0")),
        ErrorCode::IdentityMismatch
    );
    assert_eq!(
        desk.code(8, "e3", 0, activate(&restore_token)),
        ErrorCode::IdentityMismatch,
        "another scope"
    );
    assert!(desk.ask(9, "e2", 0, activate(&restore_token)).is_ok());
    assert!(
        desk.ask(9, "e2", 0, activate(&restore_token)).is_ok(),
        "the duplicate is answered again"
    );
    assert_eq!(
        desk.code(10, "e2", 0, activate(&restore_token)),
        ErrorCode::Conflict,
        "a fresh request is not"
    );
    assert_eq!(
        desk.code(11, "e2", 0, activate("rt-0")),
        ErrorCode::InvalidPhase,
        "nothing is staged"
    );
    // A restored participant takes the steps of its new epoch, from a lower boundary too.
    desk.ask(12, "e2", 0, advance("e2", 0, true)).unwrap();
    assert_eq!(
        desk.code(13, "e1", 0, advance("e1", 0, true)),
        ErrorCode::StaleEpoch
    );
}

#[test]
fn a_killed_participant_is_reached_by_nobody() {
    let desk = Desk::initialized();
    desk.bench.arm("world.advance", Fault::Delay(100));
    let (reply, ()) = block_on(join(
        desk.route
            .call(&request(2, "e1", 0, advance("e1", 0, true))),
        async {
            turns_pass(2).await;
            desk.route.kill();
        },
    ));
    assert_eq!(
        reply.unwrap_err(),
        TransportError::ReplyLost { reason: None }
    );
    let later = block_on(desk.route.call(&request(3, "e1", 0, Call::Verify {})));
    assert_eq!(
        later.unwrap_err(),
        TransportError::RouteGone { reason: None }
    );
}

#[test]
fn a_participant_that_stops_while_it_works_is_never_ready_again() {
    let desk = Desk::initialized();
    let batch = request(2, "e1", 0, advance("e1", 0, true));
    desk.bench.arm("world.advance", Fault::Delay(3));
    let stop = Request {
        request_id: RequestId(3),
        scope: None,
        call: Call::Shutdown {
            reason: id("finished"),
        },
    };
    let (moved, stopping) = block_on(join(desk.route.call(&batch), desk.route.call(&stop)));
    assert!(moved.unwrap().outcome.is_ok() && stopping.unwrap().outcome.is_ok());
    let state = match desk.ask(4, "e1", 1, Call::Status {}).unwrap() {
        Answer::Status(status) => status.state,
        other => panic!("{other:?}"),
    };
    assert_eq!(state, WorkerState::Stopping);
    assert_eq!(
        desk.code(5, "e1", 1, Call::Verify {}),
        ErrorCode::InvalidPhase
    );
}
