//! The end of a participant that nobody wanted ends the epoch under its name, and says how it ended.

use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPlan, FaultPoint};
use wellwritten_native::ReapOutcome;
use wellwritten_session::{
    Coordinator, ErrorCode, FailureRecord, MutationCertainty, Phase, ResetRequest, SessionError,
};

use crate::counter_host::{Way, id, launcher, session};
use crate::processes::{is_gone, send};
use crate::runtime::{host, settle};

fn faulty(fault: Fault) -> CounterComposition {
    CounterComposition {
        faults: FaultPlan::new(vec![fault]),
        ..CounterComposition::default()
    }
}

fn failure(session: &Coordinator) -> FailureRecord {
    session.status().failure.expect("the epoch has failed")
}

async fn has_failed(session: &Rc<Coordinator>, within: Duration) -> bool {
    let began = Instant::now();
    while session.phase() != Phase::Failed && began.elapsed() < within {
        settle().await;
    }
    session.phase() == Phase::Failed
}

#[test]
fn a_participant_that_panics_is_named_with_its_message_wherever_it_runs() {
    for way in Way::ALL {
        for (participant, point) in [
            ("fly-b", FaultPoint::Prepare),
            ("world", FaultPoint::Advance),
        ] {
            let fault = Fault::new(id(participant), point, FaultKind::Panic).at_boundary(2);
            let counter = faulty(fault);
            host(async {
                let launcher = launcher(way, &counter);
                let session = session(&launcher, &counter).await.unwrap();
                session.step().await.unwrap();
                session.step().await.unwrap();
                let error = session.step().await.unwrap_err();
                let SessionError::EpochFailed(record) = error else {
                    panic!("{way:?}: {error}");
                };
                assert_eq!(
                    record.participant,
                    Some(id(participant)),
                    "{way:?}: {record}"
                );
                let message = &record.error.message;
                let expected = if way == Way::Process {
                    "exited with status 101"
                } else {
                    "panicked: "
                };
                assert!(message.contains(expected), "{way:?}: {message}");
                assert!(message.contains("planned panic"), "{way:?}: {message}");
                assert_ne!(record.error.mutation, MutationCertainty::Applied);
                // The others live, and are told to stop.
                let reaped = launcher.shutdown().await;
                for reaped in reaped {
                    let expected = if reaped.participant_id == id(participant) {
                        ReapOutcome::AlreadyGone
                    } else {
                        ReapOutcome::Stopped
                    };
                    assert_eq!(reaped.outcome, expected, "{way:?}: {reaped:?}");
                }
            });
        }
    }
}

#[test]
fn a_participant_that_is_killed_while_the_session_rests_fails_the_epoch_at_once() {
    for way in [Way::SocketPair, Way::Thread, Way::Process] {
        let counter = CounterComposition::default();
        host(async {
            let launcher = launcher(way, &counter);
            let session = session(&launcher, &counter).await.unwrap();
            session.step().await.unwrap();
            settle().await;
            assert_eq!(session.phase(), Phase::Ready { boundary: 1 }, "the canary");
            launcher.kill(&id("fly-a")).unwrap();
            assert!(
                has_failed(&session, Duration::from_secs(5)).await,
                "{way:?}"
            );
            let record = failure(&session);
            assert_eq!(record.participant, Some(id("fly-a")), "{way:?}: {record}");
            let how = if way == Way::Process {
                "signal 9"
            } else {
                "was ended"
            };
            assert!(record.error.message.contains(how), "{way:?}: {record}");
            assert!(launcher.ending(&id("fly-a")).unwrap().contains(how));
            assert!(launcher.ending(&id("fly-b")).is_none());
            assert_eq!(launcher.free_threads(), 1, "what it had is free again");
            assert!(
                launcher.kill(&id("fly-a")).is_err(),
                "there is nobody to kill"
            );
        });
    }
}

#[test]
fn a_process_that_somebody_else_kills_in_the_middle_of_a_step_fails_that_step() {
    let fault = Fault::new(id("fly-b"), FaultPoint::Commit, FaultKind::Hang).at_boundary(1);
    let counter = faulty(fault);
    host(async {
        let launcher = launcher(Way::Process, &counter);
        let session = session(&launcher, &counter).await.unwrap();
        session.step().await.unwrap();
        let stepping = tokio::task::spawn_local({
            let session = session.clone();
            async move { session.step().await.map(drop) }
        });
        while session.phase() != (Phase::Committing { boundary: 1 }) {
            settle().await;
        }
        let process = launcher.process_id(&id("fly-b")).unwrap();
        send(process, Signal::KILL);
        let error = stepping.await.unwrap().unwrap_err();
        assert!(matches!(error, SessionError::EpochFailed(_)), "{error}");
        let record = failure(&session);
        assert_eq!(record.participant, Some(id("fly-b")));
        assert!(record.error.message.contains("signal 9"), "{record}");
        assert!(is_gone(process), "it was reaped");
    });
}

#[test]
fn a_process_that_stands_still_is_found_out_while_the_session_rests() {
    let counter = CounterComposition::default();
    host(async {
        let launcher = launcher(Way::Process, &counter);
        let session = session(&launcher, &counter).await.unwrap();
        let process = launcher.process_id(&id("world")).unwrap();
        send(process, Signal::STOP);
        assert!(has_failed(&session, Duration::from_secs(20)).await);
        let record = failure(&session);
        assert_eq!(record.participant, Some(id("world")), "{record}");
        assert_eq!(record.error.code, ErrorCode::BackendFailure);
        assert_eq!(record.error.mutation, MutationCertainty::Unknown);
        // It can neither be told to stop nor stop by itself.
        let reaped = launcher.reap(&id("world")).await.unwrap();
        assert_eq!(reaped.outcome, ReapOutcome::Terminated, "{reaped:?}");
        assert!(is_gone(process));
    });
}

#[test]
fn participants_of_a_failed_epoch_are_replaced_and_the_old_ones_are_gone() {
    for way in Way::ALL {
        let counter = CounterComposition::default();
        host(async {
            let launcher = launcher(way, &counter);
            let session = session(&launcher, &counter).await.unwrap();
            session.step().await.unwrap();
            let names = [id("world"), id("fly-a"), id("fly-b")];
            let processes = names.each_ref().map(|name| launcher.process_id(name));
            let error = wellwritten_session::ParticipantError::uncertain(
                ErrorCode::BackendFailure,
                "enough",
            );
            session.fail_epoch(None, error).unwrap();
            session.replace_participants().await.unwrap();
            assert_eq!(launcher.free_threads(), 0, "{way:?}: one life each");
            for (name, process) in names.iter().zip(processes) {
                let fresh = launcher.process_id(name);
                assert_eq!(fresh.is_some(), way == Way::Process);
                if let Some(process) = process {
                    assert_ne!(fresh, Some(process));
                    assert!(is_gone(process), "{name}");
                }
            }
            assert_eq!(
                session.phase(),
                Phase::Failed,
                "{way:?}: only a restore goes on"
            );
        });
    }
}

#[test]
fn a_reset_builds_everyone_anew_and_the_end_of_the_old_is_no_failure() {
    for way in Way::ALL {
        let counter = CounterComposition::default();
        host(async {
            let launcher = launcher(way, &counter);
            let session = session(&launcher, &counter).await.unwrap();
            session.step().await.unwrap();
            session.pause().unwrap();
            let old = launcher.process_id(&id("fly-a"));
            let request = ResetRequest {
                episode_id: id("ep2"),
                epoch: None,
            };
            session.reset(request).await.unwrap();
            settle().await;
            assert_eq!(session.phase(), Phase::Ready { boundary: 0 }, "{way:?}");
            session.step().await.unwrap();
            settle().await;
            assert_eq!(session.phase(), Phase::Ready { boundary: 1 }, "{way:?}");
            assert_eq!(launcher.free_threads(), 0, "one life each");
            assert!(old.is_none_or(is_gone));
        });
    }
}
