//! Whoever lets go of a restore or a seek halfway, at whatever moment, finds a session that is fenced, or whole and told of.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures::executor::block_on;
use wellwritten_session::{Phase, RestoreRequest, SeekCancel, SessionEvent};

use crate::rig::{Bench, Fault, id};
use crate::seeks::{behaviours, seek, seven, to};

/// Polls so many times at most; what has not ended then is dropped.
fn polled<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..times {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return Some(outcome);
        }
    }
    None
}

/// How many times a future is polled until it ends.
pub fn polls<T>(future: impl Future<Output = T>) -> usize {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 1;
    while future.as_mut().poll(&mut context).is_pending() {
        polls += 1;
    }
    polls
}

/// Everyone takes a turn at everything, so that there is a moment at which to let go.
fn slow_down(bench: &Bench) {
    for who in ["world", "fly-a", "fly-b"] {
        let points: &[&str] = match who {
            "world" => &["stage", "activate", "verify", "advance"],
            _ => &["stage", "activate", "verify", "prepare", "commit"],
        };
        for point in points {
            bench.arm(&format!("{who}.{point}"), Fault::Delay(1));
        }
    }
}

/// Whoever lets go of a seek finds the session fenced, or standing at a boundary of which everything was told.
#[test]
fn a_seek_that_is_let_go_of_leaves_a_coherent_session() {
    let straight = behaviours(&seven().session);
    let (mut fenced, mut standing, mut times) = (0, 0, 0);
    loop {
        let rig = seven();
        rig.store.turns.set(1);
        slow_down(&rig.bench);
        let cancel = SeekCancel::default();
        let outcome = polled(rig.session.seek(to(6), &|_| {}, &cancel), times);
        let ended = outcome.is_some();
        rig.store.turns.set(0);
        match rig.session.phase() {
            Phase::Failed => {
                fenced += 1;
                block_on(rig.session.replace_participants()).unwrap();
            }
            Phase::Paused { .. } | Phase::Ready { .. } => standing += 1,
            other => panic!("{other} after {times} polls"),
        }
        let is_new = rig.session.status().epoch != id("e1") && !rig.session.status().fenced;
        let events = rig.bench.events.borrow();
        let told = events
            .iter()
            .filter(|event| matches!(event, SessionEvent::Restored { .. }))
            .count();
        drop(events);
        assert!(!is_new || told == 1, "after {times} polls: {told} told");
        seek(&rig.session, 7).unwrap();
        assert_eq!(behaviours(&rig.session), straight, "after {times} polls");
        if ended {
            break;
        }
        times += 1;
    }
    assert!(
        fenced > 3 && standing > 3,
        "{fenced} fenced, {standing} not"
    );
}

/// The same of a restore.
#[test]
fn a_restore_that_is_let_go_of_is_not_done_or_done_and_told() {
    let (mut fenced, mut done, mut times) = (0, 0, 0);
    loop {
        let rig = seven();
        rig.fail();
        rig.store.turns.set(1);
        slow_down(&rig.bench);
        let ended = polled(rig.session.restore(RestoreRequest::default()), times).is_some();
        rig.store.turns.set(0);
        let events = rig.bench.events.borrow();
        let told = events
            .iter()
            .filter(|event| matches!(event, SessionEvent::Restored { .. }))
            .count();
        drop(events);
        match rig.session.phase() {
            Phase::Failed => {
                fenced += 1;
                assert_eq!(told, 0, "after {times} polls");
                block_on(rig.session.replace_participants()).unwrap();
                block_on(rig.session.restore(RestoreRequest::default())).unwrap();
            }
            Phase::Paused { boundary: 4 } => {
                done += 1;
                assert_eq!(told, 1, "after {times} polls");
            }
            other => panic!("{other} after {times} polls"),
        }
        rig.session.resume().unwrap();
        rig.steps(1);
        if ended {
            break;
        }
        times += 1;
    }
    // Acknowledging and writing it down come after it is done.
    assert!(fenced > 5 && done > 1, "{fenced} fenced, {done} done");
}

/// The same of a checkpoint: until it is captured the session may be halfway, and after that it is saved all the same.
#[test]
fn a_checkpoint_that_is_let_go_of_holds_no_place_and_is_saved_once_it_was_taken() {
    let (mut fenced, mut saved, mut times) = (0, 0, 0);
    loop {
        let rig = seven();
        rig.store.turns.set(2);
        for who in ["world", "fly-a", "fly-b"] {
            rig.bench.arm(&format!("{who}.capture"), Fault::Delay(2));
        }
        let ended = polled(rig.session.checkpoint(Some(id("let-go"))), times).is_some();
        rig.store.turns.set(0);
        let was_taken = rig.session.status().saving || ended;
        match rig.session.phase() {
            Phase::Failed => {
                fenced += 1;
                assert!(!was_taken, "after {times} polls");
                block_on(rig.session.replace_participants()).unwrap();
            }
            Phase::Ready { boundary: 7 } => rig.fail(),
            other => panic!("{other} after {times} polls"),
        }
        block_on(rig.session.restore(RestoreRequest::default())).unwrap();
        let statistics = rig.session.save_statistics().unwrap();
        assert_eq!((statistics.outstanding, statistics.held_bytes), (0, 0));
        let is_there = block_on(rig.store.lock()).find(&id("let-go")).is_some();
        assert_eq!(is_there, was_taken, "after {times} polls");
        saved += usize::from(is_there);
        if ended {
            break;
        }
        times += 1;
    }
    assert!(fenced > 1 && saved > 1, "{fenced} fenced, {saved} saved");
}
