//! Going to a boundary that was there before: what was put in is put in again, and the same comes of it or it is said.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use futures::executor::block_on;
use wellwritten_counter::SPARK;
use wellwritten_session::{
    Behaviour, Coordinator, ErrorCode, MutationCertainty, Phase, SeekCancel, SeekError,
    SeekProgress, SeekReport, SeekRequest, SessionError, SessionEvent,
};
use wellwritten_store::StoreConfig;

use crate::rig::{Fault, Rig, RigOptions, id};

pub fn keeping(generations: usize) -> RigOptions {
    RigOptions {
        store: StoreConfig {
            keep_generations: generations,
        },
        ..RigOptions::default()
    }
}

pub fn to(boundary: u64) -> SeekRequest {
    SeekRequest {
        boundary,
        epoch: None,
    }
}

pub fn seek(session: &Coordinator, boundary: u64) -> Result<SeekReport, SeekError> {
    block_on(session.seek(to(boundary), &|_| {}, &SeekCancel::default()))
}

/// A behaviour under no epoch in particular. How many events there were stays, what they are called does not.
pub fn nameless(behaviour: &Behaviour) -> Behaviour {
    let mut nameless = behaviour.normal();
    nameless.scope.epoch = id("any");
    nameless.batch_id = id("any");
    for name in nameless
        .outcome_ids
        .iter_mut()
        .chain(&mut nameless.event_ids)
    {
        *name = id("any");
    }
    nameless
}

pub fn behaviours(session: &Coordinator) -> Vec<Behaviour> {
    let (records, _) = session.trace();
    let records = records.iter();
    records.map(|record| nameless(&record.behaviour)).collect()
}

/// Seven steps, saved at 2 and 4, with a stimulus before the steps from 1, 3 and 5, and one that waits at 4 already.
pub fn seven() -> Rig {
    let rig = Rig::ready_with(keeping(9), Rc::default());
    for step in 0..7 {
        match step {
            1 | 5 => drop(rig.session.admit(&id("fly-a"), &id(SPARK), 3.0).unwrap()),
            3 => drop(rig.session.admit(&id("fly-b"), &id(SPARK), 7.0).unwrap()),
            4 => drop(rig.session.admit(&id("fly-a"), &id(SPARK), 2.0).unwrap()),
            _ => {}
        }
        if step == 2 || step == 4 {
            rig.save(&format!("at-{step}"));
        }
        if step == 4 {
            rig.session.admit(&id("fly-b"), &id(SPARK), 1.0).unwrap();
        }
        rig.steps(1);
    }
    rig
}

#[test]
fn back_and_forth_everything_is_as_it_was() {
    let rig = seven();
    let straight = behaviours(&rig.session);
    let mut steps = 0;
    for (boundary, restored, repeated) in [
        (5, Some("at-4"), 1),
        (7, None, 2),
        (3, Some("at-2"), 1),
        (6, None, 3),
        (4, Some("at-4"), 0),
        (7, None, 3),
        (2, Some("at-2"), 0),
        (2, None, 0),
    ] {
        let seen = RefCell::new(Vec::new());
        let report = block_on(rig.session.seek(
            to(boundary),
            &|progress| seen.borrow_mut().push(progress),
            &SeekCancel::default(),
        ))
        .unwrap();
        assert_eq!((report.boundary, report.repeated), (boundary, repeated));
        let found = report.restored.map(|restored| restored.checkpoint_id);
        assert_eq!(found, restored.map(id), "to {boundary}");
        assert!(!report.cancelled);
        assert_eq!(rig.session.phase(), Phase::Paused { boundary });
        let length = usize::try_from(boundary).unwrap();
        assert_eq!(behaviours(&rig.session), straight[..length]);
        let from = boundary - repeated;
        let expected: Vec<SeekProgress> = (from..=boundary)
            .map(|at| SeekProgress {
                from,
                at,
                to: boundary,
            })
            .collect();
        assert_eq!(*seen.borrow(), expected);
        steps += repeated;
    }
    assert_eq!(rig.session.status().advances, 7 + steps);
    assert_eq!(rig.session.recorded().to, 7);
    // Each restore left an epoch on purpose, and said so.
    let events = rig.bench.events.borrow();
    let left = events.iter().filter(|event| match event {
        SessionEvent::Failure { record } => {
            assert_eq!(record.error.code, ErrorCode::StaleEpoch);
            true
        }
        _ => false,
    });
    let restored = events
        .iter()
        .filter(|event| matches!(event, SessionEvent::Restored { .. }));
    assert_eq!((left.count(), restored.count()), (4, 4));
}

/// Canary: what makes the seven steps what they are.
#[test]
fn the_stimuli_change_what_the_flies_do() {
    let quiet = Rig::ready();
    quiet.steps(7);
    assert_ne!(behaviours(&seven().session), behaviours(&quiet.session));
}

#[test]
fn going_on_in_another_way_is_a_branch_and_going_on_as_recorded_is_none() {
    let rig = seven();
    seek(&rig.session, 2).unwrap();
    rig.session.resume().unwrap();
    rig.steps(1);
    assert_eq!(rig.session.recorded().to, 7, "as recorded");
    // At 3 a stimulus was put in, which is not this time.
    rig.steps(1);
    assert_eq!(rig.session.recorded().to, 4);
    let error = seek(&rig.session, 6).unwrap_err();
    assert!(
        matches!(
            error,
            SeekError::NotRecorded {
                boundary: 6,
                recorded_from: 0,
                recorded_to: 4
            }
        ),
        "{error}"
    );
    let names: Vec<String> = rig
        .session
        .recorded()
        .checkpoints
        .iter()
        .map(|it| it.checkpoint_id.to_string())
        .collect();
    assert_eq!(names, ["at-2"], "the one at 4 is of the abandoned future");
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 4 });
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let rig = seven();
    let refused = |boundary: u64| {
        let before = rig.session.status();
        rig.bench.logged();
        let error = seek(&rig.session, boundary).unwrap_err();
        assert_eq!(rig.session.status(), before, "{error}");
        assert_eq!(error.mutation(), MutationCertainty::None, "{error}");
        assert!(rig.bench.logged().is_empty(), "nobody was asked: {error}");
        error
    };
    let error = refused(1);
    assert!(
        matches!(
            error,
            SeekError::NoGeneration {
                boundary: 1,
                oldest: Some(2),
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(refused(8), SeekError::NotRecorded { .. }));
    // A stimulus that the recorded run did not have.
    seek(&rig.session, 5).unwrap();
    rig.session.admit(&id("fly-b"), &id(SPARK), 9.0).unwrap();
    assert!(matches!(refused(6), SeekError::InputsWait { waiting: 1 }));
    seek(&rig.session, 4).unwrap();
    seek(&rig.session, 7).unwrap();

    let cancelled = SeekCancel::default();
    cancelled.cancel();
    let before = rig.session.status();
    let error = block_on(rig.session.seek(to(2), &|_| {}, &cancelled)).unwrap_err();
    assert!(matches!(error, SeekError::Cancelled), "{error}");
    assert_eq!(rig.session.status(), before);
}

#[test]
fn an_epoch_that_was_used_and_participants_that_hold_half_a_restore_are_refused_by_name() {
    let rig = seven();
    let request = SeekRequest {
        epoch: Some(id("e1")),
        ..to(2)
    };
    let error = block_on(rig.session.seek(request, &|_| {}, &SeekCancel::default())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StaleEpoch);
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 7 });
    rig.bench.arm("fly-b.activate", Fault::Break);
    let error = seek(&rig.session, 3).unwrap_err();
    assert!(!matches!(
        error,
        SeekError::Session(SessionError::Refused { .. })
    ));
    assert_eq!(rig.session.phase(), Phase::Failed);
    let error = seek(&rig.session, 3).unwrap_err();
    assert!(
        matches!(error, SeekError::Session(SessionError::Tainted { .. })),
        "{error}"
    );
    block_on(rig.session.replace_participants()).unwrap();
    // What was recorded outlives the failure.
    assert_eq!(seek(&rig.session, 6).unwrap().repeated, 2);
}

#[test]
fn without_a_store_it_goes_ahead_only() {
    let rig = seven();
    seek(&rig.session, 4).unwrap();
    drop(rig);
    let bare = Rig::ready();
    bare.steps(3);
    let error = seek(&bare.session, 1).unwrap_err();
    assert!(
        matches!(error, SeekError::NoGeneration { oldest: None, .. }),
        "{error}"
    );
    assert_eq!(seek(&bare.session, 3).unwrap().repeated, 0);
    assert_eq!(bare.session.phase(), Phase::Paused { boundary: 3 });
}

#[test]
fn a_recording_that_was_tampered_with_is_noticed() {
    let rig = seven();
    assert!(rig.session.tamper_with_recording(5));
    let error = seek(&rig.session, 5).and_then(|_| seek(&rig.session, 7));
    match error.unwrap_err() {
        SeekError::Diverged { step, fields } => {
            assert_eq!((step, fields), (5, vec!["step".into()]));
        }
        other => panic!("{other}"),
    }
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 6 });
    assert_eq!(rig.session.recorded().to, 6, "a branch of its own");
    rig.session.resume().unwrap();
    rig.steps(1);
}

#[test]
fn participants_that_do_something_else_are_noticed_field_by_field() {
    let rig = seven();
    seek(&rig.session, 4).unwrap();
    rig.bench.wavers.set(true);
    let error = seek(&rig.session, 7).unwrap_err();
    assert_eq!(error.mutation(), MutationCertainty::Applied);
    let SeekError::Diverged { step: 4, fields } = error else {
        panic!("{error}");
    };
    for expected in [
        "agents[fly-a].decisionDigest",
        "agents[fly-a].stateDigest",
        "agents[fly-b].stateDigest",
    ] {
        assert!(fields.iter().any(|field| field == expected), "{fields:?}");
    }
    // What it was given is what was recorded.
    assert!(
        !fields.iter().any(|field| field.contains("preStep")),
        "{fields:?}"
    );
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 5 });
}

#[test]
fn it_can_be_stopped_at_every_boundary() {
    for stop in 2..7 {
        let rig = seven();
        let cancel = SeekCancel::default();
        let stopping = |progress: SeekProgress| {
            if progress.at == stop {
                cancel.cancel();
            }
        };
        // Not beyond 3, so that the restore is of the checkpoint at 2.
        seek(&rig.session, 3).unwrap();
        let report = block_on(rig.session.seek(to(2), &|_| {}, &SeekCancel::default())).unwrap();
        assert_eq!(report.repeated, 0);
        let report = block_on(rig.session.seek(to(7), &stopping, &cancel)).unwrap();
        assert_eq!((report.boundary, report.cancelled), (stop, true));
        assert_eq!(rig.session.phase(), Phase::Paused { boundary: stop });
        assert_eq!(rig.session.recorded().to, 7);
        assert_eq!(seek(&rig.session, 7).unwrap().repeated, 7 - stop);
    }
}

#[test]
fn a_pause_stops_it_and_nothing_is_admitted_meanwhile() {
    let rig = seven();
    let refused = RefCell::new(Vec::new());
    let meddling = |progress: SeekProgress| {
        let admitted = rig.session.admit(&id("fly-a"), &id(SPARK), 1.0);
        refused.borrow_mut().push(admitted.unwrap_err().code());
        if progress.at == 5 {
            rig.session.pause().unwrap();
        }
    };
    let report = block_on(rig.session.seek(to(6), &meddling, &SeekCancel::default())).unwrap();
    assert_eq!((report.boundary, report.cancelled), (5, true));
    assert_eq!(*refused.borrow(), [ErrorCode::Busy, ErrorCode::Busy]);
    assert_eq!(rig.session.phase(), Phase::Paused { boundary: 5 });
}

#[test]
fn a_damaged_checkpoint_is_passed_over_for_an_older_one() {
    let rig = seven();
    let file = block_on(rig.store.lock())
        .find(&id("at-4"))
        .unwrap()
        .file
        .clone();
    rig.medium.tamper(&file, Some(b"rubbish".to_vec()));
    let report = seek(&rig.session, 5).unwrap();
    let restored = report.restored.unwrap();
    assert_eq!((restored.checkpoint_id, report.repeated), (id("at-2"), 3));
    let skipped: Vec<_> = restored
        .skipped
        .iter()
        .map(|it| &it.checkpoint_id)
        .collect();
    assert_eq!(skipped, [&id("at-4")]);
}

/// A coordinator that comes up over a store knows where checkpoints are, and not what lies between.
#[test]
fn a_coordinator_that_came_up_goes_from_checkpoint_to_checkpoint() {
    let Rig {
        bench,
        medium,
        store,
        session,
        ..
    } = seven();
    let straight = behaviours(&session);
    drop((session, store));
    let rig = Rig::starting(keeping(9), bench, medium);
    let error = seek(&rig.session, 3).unwrap_err();
    assert!(
        matches!(error, SeekError::NotRecorded { boundary: 3, .. }),
        "{error}"
    );
    assert_eq!(rig.session.phase(), Phase::Starting);
    for boundary in [2, 4, 2, 4] {
        let report = seek(&rig.session, boundary).unwrap();
        assert_eq!((report.boundary, report.repeated), (boundary, 0));
        assert_eq!(rig.session.phase(), Phase::Paused { boundary });
    }
    // What waited in the checkpoint is put in; what was admitted after it is not known any more.
    rig.session.resume().unwrap();
    rig.steps(2);
    assert_ne!(behaviours(&rig.session), straight[4..6]);
    // That was a branch; of it, everything is known.
    assert_eq!(seek(&rig.session, 5).unwrap().repeated, 1);
}

/// A run that begins anew over a store that holds another one's checkpoints, in the same session and episode.
#[test]
fn the_checkpoints_of_another_run_are_none_of_this_one() {
    let Rig {
        bench,
        medium,
        store,
        session,
        ..
    } = seven();
    drop((session, store));
    let rig = Rig::starting(keeping(9), bench, medium);
    block_on(rig.session.bootstrap()).unwrap();
    rig.steps(6);
    let error = seek(&rig.session, 4).unwrap_err();
    assert!(
        matches!(error, SeekError::NoGeneration { oldest: None, .. }),
        "{error}"
    );
    rig.save("own");
    rig.steps(2);
    assert_eq!(seek(&rig.session, 7).unwrap().repeated, 1);
    assert!(seek(&rig.session, 4).is_err());
}

/// A checkpoint that was imported can be of the same session, episode and epoch, and all the same of another run.
#[test]
fn the_checkpoints_of_a_run_that_was_imported_are_none_of_this_one() {
    let other = Rig::ready_with(keeping(9), Rc::default());
    other.session.admit(&id("fly-a"), &id(SPARK), 9.0).unwrap();
    other.steps(3);
    other.save("other-3");
    let bytes = block_on(other.store.client().read(&id("other-3"))).unwrap();

    let rig = seven();
    let straight = behaviours(&rig.session);
    assert_ne!(behaviours(&other.session), straight[..3], "it is another");
    block_on(rig.store.client().import(Arc::new(bytes))).unwrap();
    let report = seek(&rig.session, 3).unwrap();
    let restored = report.restored.map(|restored| restored.checkpoint_id);
    assert_eq!((restored, report.repeated), (Some(id("at-2")), 1));
    assert_eq!(seek(&rig.session, 7).unwrap().repeated, 4);
    assert_eq!(behaviours(&rig.session), straight);
}

/// The end of an episode is a boundary like others: it can be left, and come back to.
#[test]
fn the_end_of_an_episode_is_come_back_to() {
    let options = RigOptions {
        terminal_after: Some(3),
        ..keeping(9)
    };
    let rig = Rig::ready_with(options, Rc::default());
    rig.steps(1);
    rig.save("at-1");
    rig.steps(2);
    assert!(rig.session.status().terminal.is_some());
    let straight = behaviours(&rig.session);
    assert_eq!(seek(&rig.session, 3).unwrap().repeated, 0);
    assert_eq!(seek(&rig.session, 2).unwrap().repeated, 1);
    assert_eq!(rig.session.status().terminal, None);
    assert_eq!(seek(&rig.session, 3).unwrap().repeated, 1);
    assert!(rig.session.status().terminal.is_some());
    assert_eq!(behaviours(&rig.session), straight);
    assert!(matches!(
        rig.session.resume(),
        Err(SessionError::EpisodeOver { .. })
    ));
}
