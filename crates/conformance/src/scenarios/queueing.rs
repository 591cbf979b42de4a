//! Captures that wait for the store, and those for which there is no place.

use std::rc::Rc;

use wellwritten_session::{
    Call, CheckpointRequest, ErrorCode, Id, MutationCertainty, Phase, SaveKind, SaveOutcome,
    SaveTicket, SessionEvent,
};
use wellwritten_store::Resolution;

use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::store_tap::SaveMishap;
use crate::{ScenarioFailure, Stage, Verdict};

use super::resuming::save;
use super::saving::{capture, capture_as, committed, durable, resolved, stored};

async fn replaceable(play: &Play, checkpoint: &str) -> Result<SaveTicket, ScenarioFailure> {
    capture_as(play, checkpoint, SaveKind::Replaceable).await
}

/// One that must be turned away: busy, nothing changed, nobody asked, nothing done by anybody.
async fn is_turned_away(play: &Play, kind: SaveKind) -> Verdict {
    let progress = play.progress().await?;
    let before = play.session.status();
    let _ = play.tap.drain();
    let request = CheckpointRequest {
        checkpoint_id: None,
        kind,
    };
    let refusal = play.session.capture(request).await.map(|_| ());
    let refusal = refused(
        "a capture for which there is no place",
        refusal,
        ErrorCode::Busy,
    )?;
    let found = (refusal.mutation(), refusal.is_refusal());
    same("a plain refusal,", &found, &(MutationCertainty::None, true))?;
    let entries = play.tap.entries();
    let asked = entries
        .iter()
        .any(|it| matches!(it.request.call, Call::Capture { .. }));
    holds("nobody to be asked for a state", !asked, ())?;
    same("what each has done,", &play.progress().await?, &progress)?;
    same("the session as it was,", &play.session.status(), &before)
}

pub(super) async fn a_full_queue_turns_away_before_anyone_is_asked_and_nothing_else_stops(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let first = capture(&play, "first").await?;
    play.steps(1).await?;
    let second = capture(&play, "second").await?;
    is_turned_away(&play, SaveKind::Durable).await?;
    // Both are durable: nothing takes their places.
    is_turned_away(&play, SaveKind::Replaceable).await?;
    play.steps(3).await?;
    same(
        "on it went,",
        &play.session.phase(),
        &Phase::Ready { boundary: 5 },
    )?;
    is_turned_away(&play, SaveKind::Durable).await?;
    let waiting = (first.try_outcome(), second.try_outcome());
    same("both to wait,", &waiting, &(None, None))?;
    store.open_gate();
    committed(&play, &first).await?;
    committed(&play, &second).await?;
    same(
        "in the store,",
        &stored(&play).await?,
        &vec!["first".to_owned(), "second".to_owned()],
    )?;
    same(
        "the mark,",
        &durable(&play),
        &Some(("second".to_owned(), 2)),
    )?;
    let counted = play.session.save_statistics()?;
    let found = (
        counted.queued,
        counted.committed,
        counted.rejected,
        counted.peak_queue,
    );
    same("counted,", &found, &(2, 2, 3, 2))?;
    same(
        "nothing held,",
        &(counted.held_bytes, counted.outstanding),
        &(0, 0),
    )?;
    save(&play, "third").await
}

pub(super) async fn a_replaceable_capture_that_waits_gives_its_place_to_the_next(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let first = replaceable(&play, "first").await?;
    play.until("the store to be at it", || store.times_asked("Save") == 1)
        .await?;
    play.steps(1).await?;
    let second = replaceable(&play, "second").await?;
    let held = play.session.save_statistics()?.held_bytes;
    play.steps(1).await?;
    let third = replaceable(&play, "third").await?;
    let due = SaveOutcome::Superseded {
        checkpoint_id: id("second"),
        boundary: 1,
        by: id("third"),
    };
    same(
        "the one that waited,",
        &play.session.outcome(&second, None).await,
        &due,
    )?;
    // What is under way is never replaced, and a durable one never is.
    play.steps(1).await?;
    let fourth = replaceable(&play, "fourth").await?;
    let due = SaveOutcome::Superseded {
        checkpoint_id: id("third"),
        boundary: 2,
        by: id("fourth"),
    };
    same(
        "the one that waited,",
        &play.session.outcome(&third, None).await,
        &due,
    )?;
    is_turned_away(&play, SaveKind::Durable).await?;
    let counted = play.session.save_statistics()?;
    let found = (counted.outstanding, counted.superseded);
    same("two at a time,", &found, &(2, 2))?;
    // Each is about as large as another: what was let go of is not held.
    let is_released = counted.held_bytes < held + held / 4;
    holds(
        "what was replaced to be released",
        is_released,
        (held, counted),
    )?;
    store.open_gate();
    committed(&play, &first).await?;
    committed(&play, &fourth).await?;
    same(
        "in the store,",
        &stored(&play).await?,
        &vec!["first".to_owned(), "fourth".to_owned()],
    )?;
    same("saved,", &store.times_asked("Save"), &2)?;
    let resolution = resolved(&play, "second").await?;
    same(
        "the one that was replaced,",
        &resolution,
        &Resolution::NotCommitted,
    )
}

pub(super) async fn a_durable_capture_is_never_replaced(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let first = replaceable(&play, "first").await?;
    play.until("the store to be at it", || store.times_asked("Save") == 1)
        .await?;
    play.steps(1).await?;
    let second = capture(&play, "second").await?;
    play.steps(1).await?;
    is_turned_away(&play, SaveKind::Replaceable).await?;
    store.open_gate();
    committed(&play, &first).await?;
    committed(&play, &second).await?;
    same(
        "superseded,",
        &play.session.save_statistics()?.superseded,
        &0,
    )
}

/// What is told of a save, in order, by name: the words of each event.
fn told(play: &Play, checkpoint: &str) -> Vec<&'static str> {
    let of = |name: &Id| name.as_str() == checkpoint;
    let events = play.events();
    let words = events.iter().filter_map(|event| match event {
        SessionEvent::Captured { checkpoint_id, .. } if of(checkpoint_id) => Some("captured"),
        SessionEvent::Queued { checkpoint_id, .. } if of(checkpoint_id) => Some("queued"),
        SessionEvent::Generation { outcome } if of(outcome.checkpoint_id()) => {
            Some(match outcome {
                SaveOutcome::Committed { .. } => "committed",
                SaveOutcome::Failed { .. } => "failed",
                SaveOutcome::Superseded { .. } => "superseded",
                SaveOutcome::ReplyLost { .. } => "reply lost",
                _ => "something else",
            })
        }
        SessionEvent::Durable { mark } if of(&mark.checkpoint_id) => Some("durable"),
        _ => None,
    });
    words.collect()
}

pub(super) async fn what_becomes_of_a_save_is_told_once_and_in_order(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let kept = replaceable(&play, "kept").await?;
    play.until("the store to be at it", || store.times_asked("Save") == 1)
        .await?;
    play.steps(1).await?;
    replaceable(&play, "replaced").await?;
    let next = replaceable(&play, "next").await?;
    same(
        "before the store answers,",
        &told(&play, "kept"),
        &vec!["captured", "queued"],
    )?;
    store.open_gate();
    committed(&play, &kept).await?;
    committed(&play, &next).await?;
    play.steps(1).await?;
    store.plan(SaveMishap::LoseReply);
    play.session.checkpoint(Some(id("lost"))).await?;
    let begun = ["captured", "queued"];
    let due = |end: &[&'static str]| [&begun, end].concat();
    same(
        "committed,",
        &told(&play, "kept"),
        &due(&["committed", "durable"]),
    )?;
    same(
        "superseded,",
        &told(&play, "replaced"),
        &due(&["superseded"]),
    )?;
    same(
        "committed,",
        &told(&play, "next"),
        &due(&["committed", "durable"]),
    )?;
    same("lost,", &told(&play, "lost"), &due(&["reply lost"]))
}

pub(super) async fn who_closes_hears_of_every_save_within_the_time_given(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let under_way = capture(&play, "under-way").await?;
    play.until("the store to be at it", || store.times_asked("Save") == 1)
        .await?;
    let waiting = capture(&play, "waiting").await?;
    let outcomes = play.session.close_saves(200 * MS).await?;
    let names: Vec<&str> = outcomes
        .iter()
        .map(|it| it.checkpoint_id().as_str())
        .collect();
    same("of each,", &names, &vec!["under-way", "waiting"])?;
    let is_told = matches!(outcomes[0], SaveOutcome::ReplyLost { .. })
        && matches!(outcomes[1], SaveOutcome::Failed { .. });
    holds(
        "what may have happened, and what never did",
        is_told,
        &outcomes,
    )?;
    same(
        "the same for who held a ticket,",
        &under_way.try_outcome().as_ref(),
        &outcomes.first(),
    )?;
    same(
        "the same for who held a ticket,",
        &waiting.try_outcome().as_ref(),
        &outcomes.get(1),
    )?;
    let refusal = play.session.checkpoint(None).await;
    refused("a checkpoint after that", refusal, ErrorCode::Busy)?;
    play.steps(1).await
}
