//! Checkpoints on their way to the store: places, bytes, outcomes, and a session that goes on meanwhile.

use std::rc::Rc;

use futures::executor::block_on;
use futures::future::select;
use wellwritten_session::testing::live_artifacts;
use wellwritten_session::{
    Answer, Call, CallBudgets, CheckpointRequest, Coordinator, DispatchOrder, ErrorCode,
    MutationCertainty, Phase, Request, RequestId, ResetRequest, Resolution, RestoreRequest,
    SaveKind, SaveOutcome, SaveTicket, SeekCancel, SeekError, SeekRequest, SessionError,
    SessionEvent, Transport, U64, WriterConfig,
};

use crate::letting_go::polls;
use crate::rig::{Fault, Rig, RigOptions, id, turns_pass};
use crate::seeks::keeping;

/// How far each participant has come.
fn progress(rig: &Rig) -> Vec<U64> {
    let request = Request {
        request_id: RequestId(0),
        scope: None,
        call: Call::Status {},
    };
    let asked = ["world", "fly-a", "fly-b"].map(|participant| {
        match block_on(rig.bench.route(participant).call(&request))
            .unwrap()
            .outcome
            .unwrap()
        {
            Answer::Status(status) => status.progress_counter,
            other => panic!("{other:?}"),
        }
    });
    asked.to_vec()
}

fn capture(rig: &Rig, name: &str, kind: SaveKind) -> Result<SaveTicket, SessionError> {
    block_on(rig.session.capture(CheckpointRequest {
        checkpoint_id: Some(id(name)),
        kind,
    }))
}

/// What was told of checkpoints, as words.
fn told(rig: &Rig) -> Vec<String> {
    let events = rig.bench.events.borrow();
    let told = events.iter().filter_map(|event| match event {
        SessionEvent::Captured {
            checkpoint_id: id, ..
        } => Some(format!("captured {id}")),
        SessionEvent::Queued {
            checkpoint_id: id, ..
        } => Some(format!("queued {id}")),
        SessionEvent::Generation { outcome } => {
            let id = outcome.checkpoint_id();
            Some(match outcome {
                SaveOutcome::Committed { .. } => format!("committed {id}"),
                SaveOutcome::Superseded { by, .. } => format!("superseded {id} by {by}"),
                SaveOutcome::ReplyLost { .. } => format!("lost {id}"),
                other => format!("{other:?}"),
            })
        }
        SessionEvent::Durable { mark } => Some(format!("durable {}", mark.boundary)),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_full_queue_refuses_before_anyone_is_asked_and_stepping_goes_on() {
    let rig = Rig::ready();
    rig.steps(1);
    let gate = rig.store.gate.try_lock().unwrap();
    let first = capture(&rig, "first", SaveKind::Durable).unwrap();
    rig.steps(1);
    let second = capture(&rig, "second", SaveKind::Replaceable).unwrap();
    assert!(rig.session.status().saving);
    rig.steps(1);
    let (before, asked) = (rig.session.status(), progress(&rig));
    rig.bench.logged();
    let refused = capture(&rig, "third", SaveKind::Durable).unwrap_err();
    assert!(
        matches!(refused, SessionError::SaveRefused { .. }),
        "{refused}"
    );
    assert_eq!(
        (refused.code(), refused.mutation()),
        (ErrorCode::Busy, MutationCertainty::None)
    );
    assert_eq!((rig.session.status(), progress(&rig)), (before, asked));
    assert!(rig.bench.logged().is_empty(), "nobody was asked");
    rig.steps(1);
    drop(gate);
    assert!(block_on(first.outcome()).is_committed());
    assert!(block_on(second.outcome()).is_committed());
    assert_eq!(rig.session.phase(), Phase::Ready { boundary: 4 });
    assert_eq!(rig.session.status().durable.unwrap().boundary, 2);
    assert!(!rig.session.status().saving);
    let expected = [
        "captured first",
        "queued first",
        "captured second",
        "queued second",
        "committed first",
        "durable 1",
        "committed second",
        "durable 2",
    ];
    assert_eq!(told(&rig), expected);
}

#[test]
fn a_replaceable_capture_takes_the_place_of_one_that_waits_and_of_no_durable_one() {
    let rig = Rig::ready();
    let live = live_artifacts();
    let gate = rig.store.gate.try_lock().unwrap();
    let durable = capture(&rig, "durable", SaveKind::Durable).unwrap();
    let held = live_artifacts() - live;
    let hot = capture(&rig, "hot", SaveKind::Replaceable).unwrap();
    rig.steps(1);
    let hotter = capture(&rig, "hotter", SaveKind::Replaceable).unwrap();
    let superseded = SaveOutcome::Superseded {
        checkpoint_id: id("hot"),
        boundary: 0,
        by: id("hotter"),
    };
    assert_eq!(hot.try_outcome(), Some(superseded));
    // The step's frame is another artifact; of captures, no more than two are held.
    assert!(
        live_artifacts() - live <= 2 * held + 1,
        "{held} for one, {} now",
        live_artifacts() - live
    );
    let refused = capture(&rig, "too-many", SaveKind::Durable).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Busy);
    drop(gate);
    assert!(block_on(durable.outcome()).is_committed());
    assert!(block_on(hotter.outcome()).is_committed());
    let statistics = rig.session.save_statistics().unwrap();
    assert_eq!(
        (
            statistics.queued,
            statistics.committed,
            statistics.superseded,
            statistics.rejected,
            statistics.held_bytes,
            statistics.outstanding
        ),
        (3, 2, 1, 1, 0, 0)
    );
}

/// The reference's trap: too many bytes fence a healthy session.
#[test]
fn a_checkpoint_that_is_too_large_is_refused_and_fences_nothing() {
    let options = RigOptions {
        saves: WriterConfig {
            queued_bytes_max: 1024,
            ..WriterConfig::default()
        },
        ..RigOptions::default()
    };
    let rig = Rig::ready_with(options, Rc::default());
    rig.steps(1);
    for _ in 0..2 {
        let refused = block_on(rig.session.checkpoint(None)).unwrap_err();
        assert_eq!(
            (refused.code(), refused.mutation()),
            (ErrorCode::Busy, MutationCertainty::None)
        );
        assert!(refused.to_string().contains("1024"), "{refused}");
        assert_eq!(rig.session.phase().boundary(), Some(1));
        assert!(!rig.session.status().fenced);
    }
    rig.steps(2);
    assert!(told(&rig).is_empty(), "{:?}", told(&rig));
    assert_eq!(rig.session.save_statistics().unwrap().held_bytes, 0);
}

#[test]
fn a_lost_reply_moves_no_mark_until_the_same_id_is_resolved() {
    let rig = Rig::ready();
    rig.steps(2);
    rig.store.loses_reply.set(true);
    let outcome = block_on(rig.session.checkpoint(Some(id("lost")))).unwrap();
    assert!(
        matches!(outcome, SaveOutcome::ReplyLost { .. }),
        "{outcome:?}"
    );
    assert_eq!(rig.session.status().durable, None);
    // Its name stays taken, since it may be there.
    let again = block_on(rig.session.checkpoint(Some(id("lost")))).unwrap_err();
    assert_eq!(again.code(), ErrorCode::Conflict);
    rig.steps(1);
    let resolution = block_on(rig.session.resolve_save(&id("lost"))).unwrap();
    assert!(matches!(resolution, Resolution::Committed(_)));
    assert_eq!(rig.session.status().durable.unwrap().boundary, 2);
    assert_eq!(block_on(rig.store.lock()).generations().count(), 1);
}

#[test]
fn a_deadline_ends_the_waiting_and_not_the_save() {
    let rig = Rig::ready();
    let gate = rig.store.gate.try_lock().unwrap();
    let ticket = capture(&rig, "slow", SaveKind::Durable).unwrap();
    let outcome = block_on(rig.session.outcome(&ticket, Some(1_000_000)));
    let expired = SaveOutcome::DeadlineExpired {
        checkpoint_id: id("slow"),
        boundary: 0,
    };
    assert_eq!(outcome, expired);
    drop(gate);
    let resolution = block_on(rig.session.resolve_save(&id("slow"))).unwrap();
    assert!(matches!(resolution, Resolution::Committed(_)));
    assert!(block_on(rig.session.outcome(&ticket, Some(0))).is_committed());
}

#[test]
fn closing_waits_so_long_and_tells_what_did_not_end() {
    let rig = Rig::ready();
    let gate = rig.store.gate.try_lock().unwrap();
    capture(&rig, "stuck", SaveKind::Durable).unwrap();
    capture(&rig, "behind", SaveKind::Durable).unwrap();
    let outcomes = block_on(rig.session.close_saves(5_000_000)).unwrap();
    let kinds: Vec<&str> = outcomes
        .iter()
        .map(|outcome| match outcome {
            SaveOutcome::ReplyLost { .. } => "lost",
            SaveOutcome::Failed { .. } => "failed",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["lost", "failed"], "{outcomes:?}");
    drop(gate);
    let refused = block_on(rig.session.checkpoint(None)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Busy);
    rig.steps(2);
}

/// What is watched is written without anybody who waits for it, also when the session has gone.
#[test]
fn a_watched_session_saves_by_itself() {
    let rig = Rig::ready();
    let Rig { session, store, .. } = rig;
    let session = Rc::new(session);
    let watching = Coordinator::watch(&session);
    let stepping = async {
        let gate = store.gate.lock().await;
        let request = |name: &str| CheckpointRequest {
            checkpoint_id: Some(id(name)),
            kind: SaveKind::Durable,
        };
        let ticket = session.capture(request("one")).await.unwrap();
        session.capture(request("two")).await.unwrap();
        drop(gate);
        while ticket.try_outcome().is_none() {
            turns_pass(1).await;
        }
        drop(session);
        while store.lock().await.generations().count() < 2 {
            turns_pass(1).await;
        }
    };
    block_on(select(Box::pin(watching), Box::pin(stepping)));
    assert_eq!(block_on(store.lock()).generations().count(), 2);
}

/// Whoever asks while a save is under way, in the same program, is not kept waiting by it for ever.
#[test]
fn a_restore_during_a_save_lets_it_end_first() {
    let rig = Rig::ready();
    rig.steps(1);
    rig.save("first");
    rig.store.turns.set(3);
    let ticket = capture(&rig, "second", SaveKind::Durable).unwrap();
    assert_eq!(ticket.try_outcome(), None);
    rig.fail();
    let report = block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    assert_eq!(report.checkpoint_id, id("second"));
    assert!(ticket.try_outcome().unwrap().is_committed());
}

#[test]
fn a_save_that_was_rotated_out_is_resolved_as_that() {
    let rig = Rig::ready_with(keeping(1), Rc::default());
    rig.save("first");
    rig.steps(1);
    rig.save("second");
    assert_eq!(
        block_on(rig.session.resolve_save(&id("first"))).unwrap(),
        Resolution::RotatedOut
    );
    assert_eq!(
        block_on(rig.session.resolve_save(&id("never"))).unwrap(),
        Resolution::NotCommitted
    );
    let mark = rig.session.status().durable.unwrap();
    assert_eq!((mark.checkpoint_id, mark.boundary), (id("second"), 1));
}

/// Of three that take twenty turns each, nobody waits for another; in another order of the day they do.
#[test]
fn everyone_is_captured_at_once_and_agents_are_staged_and_activated_at_once() {
    let turns = 20;
    let slow = |rig: &Rig, point: &str| {
        for who in ["world", "fly-a", "fly-b"] {
            rig.bench
                .arm(&format!("{who}.{point}"), Fault::Delay(turns));
        }
    };
    for (order, captured, staged) in [
        (DispatchOrder::Concurrent, 1, 2),
        (DispatchOrder::Sequential, 3, 3),
        (DispatchOrder::Reversed, 3, 3),
    ] {
        let rig = Rig::ready();
        rig.session.set_dispatch(order);
        slow(&rig, "capture");
        let turns = turns as usize;
        let taken = polls(rig.session.checkpoint(Some(id("slow"))));
        assert_eq!(taken / turns, captured, "{order:?}: {taken} polls");
        rig.fail();
        slow(&rig, "stage");
        slow(&rig, "activate");
        let taken = polls(rig.session.restore(RestoreRequest::default()));
        assert_eq!(taken / turns, 2 * staged, "{order:?}: {taken} polls");
    }
}

/// A participant that refuses leaves the session where it was; one that may have changed does not, whoever was first.
#[test]
fn a_fault_counts_before_a_refusal_where_a_refusal_changes_nothing() {
    let rig = Rig::ready();
    rig.bench
        .arm("world.capture", Fault::Refuse(ErrorCode::Busy));
    let error = block_on(rig.session.checkpoint(None)).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    rig.bench
        .arm("world.capture", Fault::Refuse(ErrorCode::Busy));
    rig.bench.arm("fly-b.capture", Fault::Break);
    let error = block_on(rig.session.checkpoint(None)).unwrap_err();
    assert_eq!(error.participant(), Some(&id("fly-b")));
    assert_eq!(rig.session.phase(), Phase::Failed);
    assert_eq!(rig.session.save_statistics().unwrap().outstanding, 0);
}

#[test]
fn a_store_that_stalls_holds_nobody_for_ever() {
    let options = RigOptions::default();
    let budgets = CallBudgets {
        capture_ns: CallBudgets::default().capture_ns,
        ..options.budgets
    };
    let rig = Rig::ready_with(RigOptions { budgets, ..options }, Rc::default());
    rig.steps(1);
    rig.save("good");
    let gate = rig.store.gate.try_lock().unwrap();
    let stuck = capture(&rig, "stuck", SaveKind::Durable).unwrap();
    rig.steps(1);
    rig.session.pause().unwrap();
    let before = rig.session.status();
    let outstanding = |refused: SessionError| {
        assert_eq!(
            (refused.code(), refused.mutation()),
            (ErrorCode::Busy, MutationCertainty::None)
        );
        assert!(
            matches!(&refused, SessionError::SaveOutstanding { checkpoint_id, .. } if *checkpoint_id == id("stuck")),
            "{refused}"
        );
    };
    let reset = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    outstanding(block_on(rig.session.reset(reset)).unwrap_err());
    let back = SeekRequest {
        boundary: 1,
        epoch: None,
    };
    match block_on(rig.session.seek(back, &|_| {}, &SeekCancel::default())).unwrap_err() {
        SeekError::Session(refused) => outstanding(refused),
        other => panic!("{other}"),
    }
    assert_eq!(rig.session.status(), before);
    rig.fail();
    let failed = rig.session.status();
    outstanding(block_on(rig.session.restore(RestoreRequest::default())).unwrap_err());
    assert_eq!(rig.session.status(), failed);
    // The store answers again, and everything goes on.
    drop(gate);
    assert!(block_on(rig.session.outcome(&stuck, None)).is_committed());
    let report = block_on(rig.session.restore(RestoreRequest::default())).unwrap();
    assert_eq!(report.checkpoint_id, id("stuck"));
}
