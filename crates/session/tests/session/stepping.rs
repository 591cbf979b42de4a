//! One transition after the other: order, exact time, pauses, failures.

use std::rc::Rc;

use futures::executor::block_on;
use futures::future::join;
use wellwritten_counter::{FaultKind, FaultPoint};
use wellwritten_session::{
    Answer, Call, DispatchOrder, ErrorCode, Phase, RationalNs, Request, RequestId, RunOptions,
    SessionError, SessionEvent, Transport, TransportError, U64,
};

use wellwritten_store::testing::SimulatedMedium;

use crate::rig::{Bench, Fault, Rig, RigOptions, id, turns_pass};

#[test]
fn all_prepare_then_one_advance_one_judgement_then_all_commit() {
    let rig = Rig::ready();
    rig.bench.logged();
    for _ in 0..3 {
        block_on(rig.session.step()).unwrap();
        assert_eq!(
            rig.bench.logged(),
            [
                "world.verify",
                "fly-a.verify",
                "fly-b.verify",
                "fly-a.prepare",
                "fly-b.prepare",
                "world.advance",
                "task.evaluate",
                "fly-a.commit",
                "fly-b.commit",
            ]
        );
    }
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 3 });
}

#[test]
fn sixty_hertz_over_one_millisecond_ticks_is_16_17_17() {
    let rig = Rig::ready();
    rig.steps(3);
    let (trace, forgotten) = rig.session.trace();
    assert_eq!(forgotten, 0);
    for agent in 0..2 {
        let ticks: Vec<u64> = trace
            .iter()
            .map(|record| record.behaviour.agents[agent].ticks_advanced.0)
            .collect();
        assert_eq!(ticks, [16, 17, 17]);
        // 50 of three steps, and the warm-up.
        assert_eq!(trace[2].behaviour.agents[agent].brain_ticks, U64(60));
        assert_eq!(trace[2].behaviour.agents[agent].remainder, RationalNs::ZERO);
    }
    assert_eq!(
        rig.session.status().world_time,
        RationalNs::from_nanoseconds(50_000_000)
    );
}

#[test]
fn bootstrap_moves_nothing_and_a_second_one_does_no_harm() {
    let rig = Rig::starting(RigOptions::default(), Rc::default(), SimulatedMedium::new());
    block_on(rig.session.bootstrap()).unwrap();
    assert_eq!(
        rig.bench.logged(),
        [
            "world.initialize",
            "task.bootstrap",
            "fly-a.initialize",
            "fly-b.initialize"
        ]
    );
    let before = rig.session.status();
    let error = block_on(rig.session.bootstrap()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPhase);
    assert_eq!(rig.session.status(), before);
    assert!(rig.bench.logged().is_empty());
    rig.steps(1);
}

#[test]
fn one_two_and_four_agents() {
    for agents in [1, 2, 3, 4] {
        let rig = Rig::ready_with(
            RigOptions {
                agents,
                ..RigOptions::default()
            },
            Rc::default(),
        );
        rig.steps(3);
        let (trace, _) = rig.session.trace();
        assert!(
            trace
                .iter()
                .all(|record| record.behaviour.agents.len() == agents)
        );
        assert!(
            trace
                .iter()
                .all(|record| record.behaviour.event_ids.len() == agents)
        );
    }
}

#[test]
fn a_pause_in_the_middle_of_a_step_lands_on_the_boundary_just_committed() {
    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Delay(3));
    let session = &rig.session;
    let (stepped, paused) = block_on(join(session.step(), async {
        turns_pass(1).await;
        assert_eq!(session.phase(), Phase::Applying { boundary: 0 });
        session.pause().unwrap()
    }));
    assert_eq!(stepped.unwrap(), 1);
    assert!(paused.pause_requested);
    assert_eq!(session.phase(), Phase::Paused { boundary: 1 });
    assert!(!session.status().pause_requested);
    let labels: Vec<String> = session
        .phase_history()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        labels,
        [
            "Starting -> Ready(0)",
            "Ready(0) -> Preparing(0)",
            "Preparing(0) -> Applying(0)",
            "Applying(0) -> Observing(1)",
            "Observing(1) -> Committing(0)",
            "Committing(0) -> Ready(1)",
            "Ready(1) -> Paused(1)",
        ]
    );
}

#[test]
fn a_pause_while_nothing_runs_takes_effect_at_once() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.session.pause().unwrap();
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 1 });
    assert!(matches!(
        block_on(rig.session.step()),
        Err(SessionError::InvalidPhase { .. })
    ));
    rig.session.resume().unwrap();
    rig.steps(1);
}

#[test]
fn the_end_of_an_episode_pauses_at_its_own_boundary() {
    let rig = Rig::ready_with(
        RigOptions {
            terminal_after: Some(3),
            ..RigOptions::default()
        },
        Rc::default(),
    );
    let status = block_on(rig.session.run(RunOptions::default())).unwrap();
    assert_eq!(status.phase, Phase::Paused { boundary: 3 });
    assert_eq!(status.terminal.unwrap().reason, id("enough"));
    assert!(matches!(
        rig.session.resume(),
        Err(SessionError::EpisodeOver { .. })
    ));
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 3 });
}

#[test]
fn steps_and_boundary_events_are_as_many() {
    let rig = Rig::ready();
    rig.steps(7);
    let boundaries: Vec<u64> = rig
        .bench
        .events
        .borrow()
        .iter()
        .filter_map(|event| match event {
            SessionEvent::Boundary { boundary, .. } => Some(*boundary),
            _ => None,
        })
        .collect();
    assert_eq!(boundaries, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn status_answers_while_a_participant_computes_and_is_no_progress() {
    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Delay(3));
    let session = &rig.session;
    let route = rig.bench.route("world");
    let ask = || async {
        let request = Request {
            request_id: RequestId(0),
            scope: None,
            call: Call::Status {},
        };
        match route.call(&request).await.unwrap().outcome.unwrap() {
            Answer::Status(status) => status,
            other => panic!("{other:?}"),
        }
    };
    let (stepped, seen) = block_on(join(session.step(), async {
        turns_pass(1).await;
        assert_eq!(session.status().boundary, 0);
        [ask().await, ask().await]
    }));
    stepped.unwrap();
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0].active_request_id.is_some());
    assert_eq!(serde_json::to_value(seen[0].state).unwrap(), "advancing");
    assert!(block_on(ask()).progress_counter > seen[0].progress_counter);
}

#[test]
fn a_declared_delay_repeats_the_first_frame() {
    let bench = Rc::new(Bench::default());
    bench.view_delay.set(2);
    let rig = Rig::ready_with(RigOptions::default(), bench);
    rig.steps(5);
    let (trace, _) = rig.session.trace();
    let produced: Vec<u64> = trace
        .iter()
        .map(|record| record.behaviour.observation_boundaries[0].produced_step.0)
        .collect();
    assert_eq!(produced, [0, 0, 1, 2, 3]);
    let frames: Vec<_> = trace
        .iter()
        .map(|record| record.behaviour.observation_boundaries[0].frame_digest)
        .collect();
    assert_eq!(frames[0], frames[1]);
}

#[test]
fn a_frame_shown_again_must_be_the_same_bytes_and_not_a_second_rendering() {
    let bench = Rc::new(Bench::default());
    bench.view_delay.set(2);
    let rig = Rig::ready_with(RigOptions::default(), bench);
    "viewRerendered".clone_into(&mut rig.bench.lie.borrow_mut());
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(
        (error.code(), error.participant()),
        (ErrorCode::BufferInvalid, Some(&id("world")))
    );
    assert!(error.to_string().contains("as other bytes"), "{error}");
}

#[test]
fn one_shared_image_reaches_every_agent() {
    let rig = Rig::ready();
    rig.steps(2);
    let seen = rig.bench.seen.borrow();
    assert_eq!(seen.len(), 4);
    assert!(seen[0].is_same(&seen[1]) && seen[2].is_same(&seen[3]));
    assert!(!seen[1].is_same(&seen[2]));
}

#[test]
fn another_incarnation_is_never_reached_in_silence() {
    let rig = Rig::ready();
    rig.save("good");
    rig.fail();
    rig.bench.is_impostor.set(true);
    let error = block_on(rig.session.replace_participants()).unwrap_err();
    assert_eq!(
        (error.code(), error.participant()),
        (ErrorCode::IdentityMismatch, Some(&id("fly-a")))
    );
    assert!(error.to_string().contains("incarnation-999"), "{error}");
    // The world that was built for it is cut off, as is the impostor.
    for built in ["world", "fly-a"] {
        let status = status_request();
        let gone = block_on(rig.bench.route(built).call(&status));
        assert!(
            matches!(gone, Err(TransportError::RouteGone { .. })),
            "{built}"
        );
    }
    // Nothing was replaced: what was there still restores.
    rig.bench.is_impostor.set(false);
    block_on(
        rig.session
            .restore(wellwritten_session::RestoreRequest::default()),
    )
    .unwrap();
}

#[test]
fn a_world_that_moved_without_its_view_fails_before_any_reward() {
    let rig = Rig::ready();
    "viewTruncated".clone_into(&mut rig.bench.lie.borrow_mut());
    rig.bench.logged();
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(
        (error.code(), error.participant()),
        (ErrorCode::BufferInvalid, Some(&id("world")))
    );
    assert!(
        !rig.bench
            .logged()
            .iter()
            .any(|point| point.contains("evaluate") || point.contains("commit"))
    );
    assert_eq!(rig.session.phase(), Phase::Failed);
}

#[test]
fn whatever_the_world_lies_about_fails_the_transition_before_the_task_hears_of_it() {
    let lies = [
        "batchId",
        "appliedFromStep",
        "nextStep",
        "controls",
        "boundary",
        "worldTime",
        "engineFrame",
        "inspectionSchema",
        "viewMissing",
        "viewStale",
        "viewFromTheFuture",
        "viewTwice",
    ];
    for lie in lies {
        let rig = Rig::ready();
        rig.steps(1);
        lie.clone_into(&mut rig.bench.lie.borrow_mut());
        rig.bench.logged();
        let error = block_on(rig.session.step()).unwrap_err();
        assert_eq!(error.participant(), Some(&id("world")), "{lie}: {error}");
        assert!(
            !rig.bench
                .logged()
                .iter()
                .any(|point| point == "task.evaluate"),
            "{lie}"
        );
        assert_eq!(
            (rig.session.phase(), rig.session.status().boundary),
            (Phase::Failed, 1),
            "{lie}"
        );
    }
}

#[test]
fn a_world_that_did_not_move_by_its_batch_fails_the_epoch() {
    let rig = Rig::ready();
    "cheat".clone_into(&mut rig.bench.lie.borrow_mut());
    let error = block_on(rig.session.step()).unwrap_err();
    assert!(
        error.to_string().contains("the batch moves it by"),
        "{error}"
    );
    assert_eq!(rig.session.phase(), Phase::Failed);
}

#[test]
fn a_brain_that_ran_a_tick_too_many_is_named() {
    let rig = Rig::ready();
    rig.bench
        .plan("fly-a", FaultPoint::Prepare, FaultKind::ExtraTicks(1));
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(error.participant(), Some(&id("fly-a")));
    assert!(error.to_string().contains("exactly"), "{error}");
}

#[test]
fn one_failing_commit_after_another_succeeded_fails_the_epoch() {
    for dispatch in [
        DispatchOrder::Concurrent,
        DispatchOrder::Sequential,
        DispatchOrder::Reversed,
    ] {
        let rig = Rig::ready_with(
            RigOptions {
                dispatch,
                ..RigOptions::default()
            },
            Rc::default(),
        );
        rig.steps(1);
        rig.bench.arm("fly-b.commit", Fault::Break);
        let error = block_on(rig.session.step()).unwrap_err();
        assert_eq!(error.participant(), Some(&id("fly-b")));
        assert!(!error.is_refusal());
        let status = rig.session.status();
        assert!(status.fenced);
        assert_eq!((status.boundary, rig.session.trace().0.len()), (1, 1));
        assert_eq!(
            status.failure.unwrap().phase,
            Phase::Committing { boundary: 1 }
        );
    }
}

#[test]
fn a_killed_participant_fails_the_epoch_by_name() {
    let rig = Rig::ready();
    rig.session.kill_participant(&id("fly-b")).unwrap();
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(
        (error.code(), error.participant()),
        (ErrorCode::IdentityMismatch, Some(&id("fly-b")))
    );
    assert!(rig.session.status().fenced);

    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Die);
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(error.participant(), Some(&id("world")));
    assert_eq!(serde_json::to_value(error.mutation()).unwrap(), "unknown");
}

#[test]
fn a_step_that_is_abandoned_ends_the_epoch() {
    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Delay(100));
    {
        let mut step = Box::pin(rig.session.step());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(step.as_mut().poll(&mut context).is_pending());
        assert!(matches!(
            block_on(rig.session.step()),
            Err(SessionError::Busy { .. })
        ));
    }
    assert_eq!(rig.session.phase(), Phase::Failed);
    assert!(
        rig.session
            .status()
            .failure
            .unwrap()
            .error
            .message
            .contains("abandoned")
    );
}

#[test]
fn an_epoch_failed_from_outside_stops_the_step_in_progress() {
    let rig = Rig::ready();
    rig.bench.arm("world.advance", Fault::Delay(3));
    let (stepped, ()) = block_on(join(rig.session.step(), async {
        turns_pass(1).await;
        rig.fail();
    }));
    assert!(
        stepped
            .unwrap_err()
            .to_string()
            .contains("the device was lost")
    );
    assert!(rig.session.trace().0.is_empty());
}

#[test]
fn a_run_keeps_absolute_deadlines_and_stops_where_told() {
    let rig = Rig::ready();
    let options = RunOptions {
        steps_per_second: Some(60.0),
        until: Some(6),
    };
    let status = block_on(rig.session.run(options)).unwrap();
    assert_eq!(status.phase, Phase::Ready { boundary: 6 });
    // Five intervals between six steps, each cut down to whole nanoseconds.
    assert!(
        rig.clock.now_ns.get().abs_diff(83_333_333) <= 5,
        "{}",
        rig.clock.now_ns.get()
    );
    assert_eq!(status.late_steps, 0);
}

/// What others do at the same time is waited for; only a pause, a boundary or a failure ends a run.
#[test]
fn a_run_is_not_stopped_by_checkpoints_and_steps_of_others() {
    let rig = Rig::ready();
    let run = rig.session.run(RunOptions {
        steps_per_second: None,
        until: Some(12),
    });
    let others = async {
        let (mut saved, mut stepped) = (0, 0);
        while rig.session.status().boundary < 10 {
            // Long enough that the run wakes in the middle of a capture, and of a step that is not its own.
            rig.bench.arm("world.capture", Fault::Delay(5));
            rig.bench.arm("world.advance", Fault::Delay(3));
            match rig.session.checkpoint(None).await {
                Ok(_) => saved += 1,
                Err(error) => assert!(
                    matches!(
                        error,
                        SessionError::Busy { .. } | SessionError::CheckpointIdUsed { .. }
                    ),
                    "{error}"
                ),
            }
            match rig.session.step().await {
                Ok(_) => stepped += 1,
                Err(error) => assert!(matches!(error, SessionError::Busy { .. }), "{error}"),
            }
            turns_pass(1).await;
        }
        (saved, stepped)
    };
    let (status, (saved, _)) = block_on(join(run, others));
    assert_eq!(status.unwrap().phase, Phase::Ready { boundary: 12 });
    assert!(saved > 0, "a checkpoint fell into the run");
}

#[test]
fn a_pause_of_a_slow_run_is_heard_at_once() {
    let rig = Rig::ready();
    let run = rig.session.run(RunOptions {
        steps_per_second: Some(0.001),
        until: None,
    });
    let pause = async {
        while rig.session.status().boundary < 1 {
            turns_pass(1).await;
        }
        turns_pass(5).await;
        rig.session.pause().unwrap();
    };
    let (status, ()) = block_on(join(run, pause));
    assert_eq!(status.unwrap().phase, Phase::Paused { boundary: 1 });
    assert!(
        rig.clock.now_ns.get() < 1_000_000_000,
        "long before the next step was due"
    );
}

#[test]
fn a_run_whose_epoch_fails_between_two_steps_has_failed() {
    let rig = Rig::ready();
    let run = rig.session.run(RunOptions {
        steps_per_second: Some(0.001),
        until: None,
    });
    let lose = async {
        while rig.session.status().boundary < 1 {
            turns_pass(1).await;
        }
        turns_pass(5).await;
        rig.fail();
    };
    let (outcome, ()) = block_on(join(run, lose));
    let error = outcome.unwrap_err();
    assert!(matches!(error, SessionError::EpochFailed(_)), "{error}");
    assert!(error.to_string().contains("the device was lost"), "{error}");
}

fn status_request() -> Request {
    Request {
        request_id: RequestId(9_999),
        scope: None,
        call: Call::Status {},
    }
}
