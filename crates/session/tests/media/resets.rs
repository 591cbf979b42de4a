//! A new episode: a session that was reset is a session that begins, and nothing of the old one is taken for the new one's.

use std::rc::Rc;

use futures::FutureExt;
use futures::executor::block_on;
use wellwritten_session::{
    Artifact, Call, Coordinator, ErrorCode, Hello, Id, ParticipantError, Phase, Request, RequestId,
    ResetRequest, RestoreRequest, Role, SessionError, TraceRecord, TraceVerdict, Transport,
    TransportError, U64, compare_traces, rebase_trace,
};

use crate::bench::{Rig, compose, id};

fn into(episode: &str) -> ResetRequest {
    ResetRequest {
        episode_id: id(episode),
        epoch: None,
    }
}

fn paused(steps: usize) -> Rig {
    let rig = Rig::ready();
    rig.bench.told.set(1);
    rig.steps(steps);
    rig.session.pause().unwrap();
    rig
}

#[test]
fn everything_begins_again_but_what_is_retained() {
    let rig = paused(3);
    rig.save("old");
    rig.session.admit(&id("fly-a"), &id("spark"), 1.0).unwrap();
    let before = rig.session.status();
    rig.bench.log.borrow_mut().clear();
    let status = block_on(rig.session.reset(into("ep2"))).unwrap();
    assert_eq!(
        *rig.bench.log.borrow(),
        [
            "factory.world",
            "factory.fly-a",
            "factory.fly-b",
            "world.initialize",
            "fly-a.initialize",
            "fly-b.initialize"
        ]
    );
    assert_eq!(status.phase, Phase::Ready { boundary: 0 });
    assert_eq!((&status.epoch, &status.episode_id), (&id("e2"), &id("ep2")));
    assert!(status.world_time.is_zero());
    assert_eq!(
        (status.boundary, status.terminal, status.durable),
        (0, None, None)
    );
    assert_eq!(status.advances, before.advances);
    assert!(rig.session.admissions().is_empty());
    let (trace, forgotten) = rig.session.trace();
    assert_eq!((trace.len(), forgotten), (0, 0));
    assert_eq!(rig.session.trace_epochs(), [id("e2")]);
    for (old, new) in before.participants.iter().zip(&status.participants) {
        assert_eq!(old.participant_id, new.participant_id);
        assert_ne!(old.incarnation_id, new.incarnation_id);
    }
    assert!(rig.session.rebase_ids(&id("e9")).is_empty());
    // A checkpoint of the new episode is restored; one of the old is of something else.
    rig.steps(1);
    rig.save("new");
    rig.fail();
    let named = RestoreRequest {
        checkpoint_id: Some(id("old")),
        ..RestoreRequest::default()
    };
    let error = block_on(rig.session.restore(named)).unwrap_err();
    assert!(
        matches!(&error, SessionError::Identity { field, .. } if field == "episodeId"),
        "{error}"
    );
    rig.restore();
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 1 });
}

/// The trace of `steps` steps, carried to `e1`.
fn trace_of(rig: &Rig, steps: usize, epoch: &str) -> Vec<TraceRecord> {
    rig.steps(steps);
    let (trace, _) = rig.session.trace();
    let ids = rig.session.rebase_ids(&id("e1"));
    rebase_trace(&trace, &[id(epoch)], &id("e1"), &ids).unwrap()
}

#[test]
fn a_session_that_was_reset_runs_as_one_that_begins() {
    let fresh = Rig::ready();
    fresh.bench.told.set(1);
    fresh
        .session
        .admit(&id("fly-b"), &id("spark"), 1.0)
        .unwrap();
    let expected = trace_of(&fresh, 5, "e1");
    let rig = paused(4);
    block_on(rig.session.reset(into("ep2"))).unwrap();
    rig.bench.seen.borrow_mut().clear();
    rig.session.admit(&id("fly-b"), &id("spark"), 1.0).unwrap();
    let found = trace_of(&rig, 5, "e2");
    assert_eq!(
        compare_traces(&expected, &found).verdict,
        TraceVerdict::Equal
    );
    // Executors count from the beginning too.
    assert_eq!(*rig.bench.seen.borrow(), *fresh.bench.seen.borrow());
    assert_eq!(rig.bench.seen.borrow()[..2], [1, 1]);
}

#[test]
fn a_terminal_episode_is_over_until_a_reset() {
    let rig = Rig::ready();
    rig.bench.terminal_after.set(Some(2));
    for episode in ["ep2", "ep3"] {
        rig.steps(2);
        assert_eq!(rig.session.phase(), Phase::Paused { boundary: 2 });
        let error = rig.session.resume().unwrap_err();
        assert!(matches!(error, SessionError::EpisodeOver { .. }), "{error}");
        block_on(rig.session.reset(into(episode))).unwrap();
        assert_eq!(rig.session.status().terminal, None);
    }
    rig.steps(1);
}

#[test]
fn a_refusal_changes_nothing() {
    let rig = paused(2);
    rig.save("one");
    let refused = |request: ResetRequest, code: ErrorCode| {
        let (status, trace) = (rig.session.status(), rig.session.trace());
        rig.bench.log.borrow_mut().clear();
        rig.bench.events.borrow_mut().clear();
        let error = block_on(rig.session.reset(request)).unwrap_err();
        assert_eq!((error.code(), error.is_refusal()), (code, true), "{error}");
        assert_eq!((rig.session.status(), rig.session.trace()), (status, trace));
        assert!(rig.bench.log.borrow().is_empty());
        assert!(rig.bench.events.borrow().is_empty());
    };
    let under = |epoch: &str| ResetRequest {
        episode_id: id("ep2"),
        epoch: Some(id(epoch)),
    };
    refused(into("ep1"), ErrorCode::Conflict);
    refused(under("e1"), ErrorCode::StaleEpoch);
    refused(under(&"e".repeat(25)), ErrorCode::InvalidArgument);
    rig.session.resume().unwrap();
    refused(into("ep2"), ErrorCode::InvalidPhase);
    rig.fail();
    refused(into("ep2"), ErrorCode::InvalidPhase);
    rig.restore();
    rig.steps(1);
    // Names stay used: the episode that was left, and the epoch it ran under.
    rig.session.pause().unwrap();
    block_on(rig.session.reset(under("x1"))).unwrap();
    rig.session.pause().unwrap();
    refused(into("ep1"), ErrorCode::Conflict);
    refused(into("ep2"), ErrorCode::Conflict);
    refused(
        ResetRequest {
            episode_id: id("ep3"),
            epoch: Some(id("x1")),
        },
        ErrorCode::StaleEpoch,
    );
}

#[test]
fn an_episode_that_only_the_store_remembers_is_not_begun_again() {
    let rig = paused(1);
    block_on(rig.session.reset(into("ep2"))).unwrap();
    rig.save("of-ep2");
    let Rig {
        bench,
        store,
        session,
    } = rig;
    drop(session);
    let session = compose(&bench, Some(store)).unwrap();
    block_on(session.bootstrap()).unwrap();
    session.pause().unwrap();
    let error = block_on(session.reset(into("ep2"))).unwrap_err();
    assert!(matches!(error, SessionError::EpisodeUsed { .. }), "{error}");
    block_on(session.reset(into("ep3"))).unwrap();
}

/// What a participant says to a question that anyone may ask at any time.
fn still_answers(participant: &str, route: &dyn Transport) -> bool {
    let role = if participant == "world" {
        Role::Environment
    } else {
        Role::Agent
    };
    let hello = Hello {
        session_id: id("demo"),
        expected_worker_id: id(participant),
        role,
        supported_majors: vec![1],
    };
    let request = Request {
        request_id: RequestId(1_000_000),
        scope: None,
        call: Call::Hello(hello),
    };
    !matches!(
        block_on(route.call(&request)),
        Err(TransportError::RouteGone { .. })
    )
}

#[test]
fn the_old_participants_are_cut_off() {
    let rig = paused(1);
    let old = rig.bench.routes.borrow().clone();
    assert!(old.iter().all(|(who, route)| still_answers(who, &**route)));
    block_on(rig.session.reset(into("ep2"))).unwrap();
    assert!(!old.iter().any(|(who, route)| still_answers(who, &**route)));
    let new = rig.bench.routes.borrow().clone();
    assert!(new.iter().all(|(who, route)| still_answers(who, &**route)));
}

#[test]
fn a_failure_on_the_way_ends_behind_the_fence_and_the_old_episode_can_be_restored() {
    for point in [
        "factory.world",
        "factory.fly-b",
        "world.initialize",
        "fly-a.initialize",
        "fly-b.initialize",
        "sound",
    ] {
        let rig = paused(2);
        rig.save("two");
        if point == "sound" {
            let silence = Artifact::seal(Vec::new(), Artifact::F32LE);
            rig.bench.tamper_with(move |observation| {
                observation.audio.push(wellwritten_session::AudioRef {
                    stream_id: id("room"),
                    first_sample: U64(1600),
                    sample_frames: 0,
                    samples: silence.clone(),
                    discontinuity: true,
                });
            });
        } else {
            rig.bench.break_at(point);
        }
        let error = block_on(rig.session.reset(into("ep2"))).unwrap_err();
        assert!(!error.is_refusal(), "{point}: {error}");
        let status = rig.session.status();
        assert_eq!(status.phase, Phase::Failed, "{point}");
        assert_eq!(status.tainted.len(), 3, "{point}");
        assert_eq!(status.episode_id, id("ep1"), "{point}");
        let record = status.failure.unwrap();
        assert_eq!(record.epoch, id("e2"));
        assert_eq!(record.phase, Phase::Resetting { boundary: 2 });
        let blamed = point.trim_start_matches("factory.");
        let blamed = blamed.split('.').next().unwrap().replace("sound", "world");
        assert_eq!(record.participant, Some(id(&blamed)), "{point}");
        for refused in [
            block_on(rig.session.step()).map(drop),
            block_on(rig.session.reset(into("ep3"))).map(drop),
            block_on(rig.session.checkpoint(None)).map(drop),
        ] {
            assert_eq!(refused.unwrap_err().code(), ErrorCode::InvalidPhase);
        }
        let error = block_on(rig.session.restore(RestoreRequest::default())).unwrap_err();
        assert!(matches!(error, SessionError::Tainted { .. }), "{error}");
        rig.bench.tamper_with(|_| {});
        rig.restore();
        assert_eq!(rig.session.phase(), Phase::Ready { boundary: 2 });
        assert_eq!(rig.session.status().epoch, id("e3"));
        rig.steps(2);
        // The name of the episode that did not come about stays used.
        rig.session.pause().unwrap();
        let error = block_on(rig.session.reset(into("ep2"))).unwrap_err();
        assert!(matches!(error, SessionError::EpisodeUsed { .. }), "{error}");
        block_on(rig.session.reset(into("ep3"))).unwrap();
        rig.steps(1);
    }
}

#[test]
fn a_reset_that_is_dropped_halfway_is_a_failure() {
    let rig = paused(1);
    rig.bench.slow_at("fly-a.initialize", 3);
    assert!(rig.session.reset(into("ep2")).now_or_never().is_none());
    let status = rig.session.status();
    assert_eq!((status.phase, status.tainted.len()), (Phase::Failed, 3));
}

#[test]
fn the_old_episodes_sound_is_never_taken_for_the_new_ones() {
    let rig = paused(2);
    assert_eq!(rig.session.snapshot().unwrap().media.audio.len(), 2);
    block_on(rig.session.reset(into("ep2"))).unwrap();
    let snapshot = rig.session.snapshot().unwrap();
    assert_eq!(
        (&snapshot.scope.epoch, snapshot.scope.step),
        (&id("e2"), U64(0))
    );
    assert!(snapshot.media.audio.is_empty());
    // A world that goes on sounding where the old episode was.
    rig.bench.tamper_with(|observation| {
        for chunk in &mut observation.audio {
            chunk.first_sample.0 += 1600;
            chunk.discontinuity = true;
        }
    });
    let record = rig.refused_transition();
    let said = "stream room: the first chunk begins at sample 1600, the stream is at 0";
    assert!(record.error.message.contains(said), "{record}");
}

#[test]
fn a_session_without_a_store_is_reset_too() {
    let session: Coordinator = compose(&Rc::default(), None).unwrap();
    block_on(session.bootstrap()).unwrap();
    let mut epochs: Vec<Id> = vec![session.status().epoch];
    for episode in ["ep2", "ep3"] {
        session.pause().unwrap();
        let status = block_on(session.reset(into(episode))).unwrap();
        epochs.push(status.epoch);
        block_on(session.step()).unwrap();
    }
    assert_eq!(epochs, ["e1", "e2", "e3"].map(id));
}

#[test]
fn a_listener_that_ends_the_epoch_on_the_way_is_obeyed() {
    // At every event of a reset, and of the bootstrap in it: the session is failed, and nothing is left to be seen.
    let events_of_a_reset = {
        let rig = paused(1);
        rig.save("one");
        rig.session.admit(&id("fly-a"), &id("spark"), 1.0).unwrap();
        rig.bench.events.borrow_mut().clear();
        block_on(rig.session.reset(into("ep2"))).unwrap();
        rig.bench.events.borrow().len()
    };
    assert!(events_of_a_reset >= 3, "{events_of_a_reset}");
    for at in 0..events_of_a_reset {
        let rig = paused(1);
        rig.save("one");
        rig.session.admit(&id("fly-a"), &id("spark"), 1.0).unwrap();
        rig.bench.events.borrow_mut().clear();
        let (session, bench) = (Rc::downgrade(&rig.session), Rc::downgrade(&rig.bench));
        *rig.bench.watch.borrow_mut() = Some(Box::new(move |_| {
            if bench.upgrade().unwrap().events.borrow().len() == at + 1 {
                let error = ParticipantError::uncertain(ErrorCode::BackendFailure, "now");
                session.upgrade().unwrap().fail_epoch(None, error).unwrap();
            }
        }));
        let reset = block_on(rig.session.reset(into("ep2")));
        *rig.bench.watch.borrow_mut() = None;
        let status = rig.session.status();
        assert_eq!(status.phase, Phase::Failed, "event {at}");
        assert_eq!(status.failure.unwrap().error.message, "now");
        assert!(rig.session.admissions().is_empty());
        if reset.is_err() {
            assert_eq!((status.episode_id, status.tainted.len()), (id("ep1"), 3));
            rig.restore();
            rig.steps(1);
        }
    }
}
