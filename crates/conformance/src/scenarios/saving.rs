//! Checkpoints on their way to the store, and what becomes of them.

use std::rc::Rc;

use wellwritten_session::{
    CheckpointRequest, ErrorCode, MutationCertainty, RestoreRequest, SaveKind, SaveOutcome,
    SaveTicket,
};
use wellwritten_store::Resolution;
use wellwritten_store::testing::{Fault as DiskFault, Operation};

use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::store_tap::SaveMishap;
use crate::{ScenarioFailure, Stage, Verdict};

use super::fencing::fail;
use super::resuming::{save, to};

pub(super) async fn capture_as(
    play: &Play,
    checkpoint: &str,
    kind: SaveKind,
) -> Result<SaveTicket, ScenarioFailure> {
    let request = CheckpointRequest {
        checkpoint_id: Some(id(checkpoint)),
        kind,
    };
    Ok(play.session.capture(request).await?)
}

/// A durable capture on its way.
pub(super) async fn capture(play: &Play, checkpoint: &str) -> Result<SaveTicket, ScenarioFailure> {
    capture_as(play, checkpoint, SaveKind::Durable).await
}

/// The mark that says what is durable.
pub(super) fn durable(play: &Play) -> Option<(String, u64)> {
    let mark = play.session.status().durable?;
    Some((mark.checkpoint_id.to_string(), mark.boundary))
}

pub(super) async fn committed(play: &Play, ticket: &SaveTicket) -> Verdict {
    let outcome = play.session.outcome(ticket, None).await;
    holds("a save that is committed", outcome.is_committed(), outcome)
}

/// The names of everything in the store, oldest first.
pub(super) async fn stored(play: &Play) -> Result<Vec<String>, ScenarioFailure> {
    let list = play.store()?.client().generations().await;
    let list = list.map_err(|error| ScenarioFailure::new("a list", error.to_string()))?;
    let names = list.generations.iter();
    Ok(names.map(|it| it.info.checkpoint_id.to_string()).collect())
}

pub(super) async fn resolved(play: &Play, checkpoint: &str) -> Result<Resolution, ScenarioFailure> {
    Ok(play.session.resolve_save(&id(checkpoint)).await?)
}

pub(super) async fn a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    save(&play, "before").await?;
    let store = play.store()?.clone();
    play.steps(1).await?;
    store.plan(SaveMishap::LoseReply);
    let outcome = play.session.checkpoint(Some(id("lost"))).await?;
    let is_lost = matches!(outcome, SaveOutcome::ReplyLost { boundary: 2, .. });
    holds("a lost reply", is_lost, &outcome)?;
    same(
        "the mark unmoved,",
        &durable(&play),
        &Some(("before".to_owned(), 1)),
    )?;
    // The session goes on meanwhile.
    play.steps(1).await?;
    match resolved(&play, "lost").await? {
        Resolution::Committed(generation) => {
            same("found under its name,", &generation.boundary.0, &2)?;
        }
        other => return Err(ScenarioFailure::new("a committed save", other)),
    }
    same(
        "the mark moved,",
        &durable(&play),
        &Some(("lost".to_owned(), 2)),
    )?;
    same("saved,", &store.times_asked("Save"), &2)?;
    same(
        "in the store,",
        &stored(&play).await?,
        &vec!["before".to_owned(), "lost".to_owned()],
    )?;
    let again = play.session.checkpoint(Some(id("lost"))).await;
    refused("the same name again", again, ErrorCode::Conflict)?;
    same("saved,", &store.times_asked("Save"), &2)?;
    fail(&play)?;
    let report = play.session.restore(to("lost", "e2")).await?;
    same("restored,", &report.boundary, &2)
}

/// Which of the medium's calls of a save is the one that publishes the manifest, counted from its first.
fn publishing(operations: &[Operation]) -> Option<usize> {
    operations
        .iter()
        .position(|it| matches!(it, Operation::RenameOver(_, to) if to.as_str() == "manifest.json"))
}

pub(super) async fn a_save_that_is_not_published_failed_and_is_found_nowhere(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    save(&play, "first").await?;
    play.steps(1).await?;
    let medium = play.store()?.medium.clone();
    let before = medium.operations().len();
    save(&play, "second").await?;
    let after = medium.operations();
    let offset = publishing(&after[before..])
        .ok_or_else(|| ScenarioFailure::new("a manifest to be published", &after[before..]))?;
    play.steps(1).await?;
    let gone = wellwritten_store::MediumError::NotFound {
        file: "manifest.json".to_owned(),
    };
    medium.inject(after.len() + offset, DiskFault::Fails(gone));
    let outcome = play.session.checkpoint(Some(id("third"))).await?;
    let is_failed = matches!(outcome, SaveOutcome::Failed { boundary: 3, .. });
    holds("a save that failed", is_failed, &outcome)?;
    let met = publishing(&medium.operations()[after.len()..]);
    same("at the manifest,", &met, &Some(offset))?;
    let orphans = medium.files();
    let has_orphan = orphans.keys().any(|name| name.starts_with("third"));
    holds("a file that nothing lists", has_orphan, orphans.keys())?;
    same(
        "found,",
        &resolved(&play, "third").await?,
        &Resolution::NotCommitted,
    )?;
    same(
        "the mark unmoved,",
        &durable(&play),
        &Some(("second".to_owned(), 2)),
    )?;
    // The session goes on, and so does the store.
    play.steps(1).await?;
    save(&play, "fourth").await?;
    same(
        "the mark,",
        &durable(&play),
        &Some(("fourth".to_owned(), 4)),
    )?;
    let found = stored(&play).await?;
    holds(
        "nothing of the one that failed",
        !found.contains(&"third".to_owned()),
        found,
    )?;
    fail(&play)?;
    let gone = play.session.restore(to("third", "e2")).await;
    holds("no restore of it", gone.is_err(), gone.is_ok())?;
    let report = play.session.restore(RestoreRequest::default()).await?;
    same("the newest,", &report.checkpoint_id, &id("fourth"))
}

pub(super) async fn a_deadline_of_a_caller_ends_its_waiting_and_not_the_save(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let ticket = capture(&play, "late").await?;
    let outcome = play.session.outcome(&ticket, Some(50 * MS)).await;
    let due = SaveOutcome::DeadlineExpired {
        checkpoint_id: id("late"),
        boundary: 1,
    };
    same("a deadline that expired,", &outcome, &due)?;
    same("no mark,", &durable(&play), &None)?;
    play.steps(1).await?;
    holds(
        "a save that goes on",
        ticket.try_outcome().is_none(),
        ticket.try_outcome(),
    )?;
    store.open_gate();
    let resolution = resolved(&play, "late").await?;
    holds(
        "a save that was committed",
        matches!(resolution, Resolution::Committed(_)),
        resolution,
    )?;
    same(
        "the mark moved,",
        &durable(&play),
        &Some(("late".to_owned(), 1)),
    )?;
    committed(&play, &ticket).await?;
    same("saved,", &store.times_asked("Save"), &1)?;
    // Who is in time hears how it ended.
    play.steps(1).await?;
    let ticket = capture(&play, "in-time").await?;
    let outcome = play.session.outcome(&ticket, Some(20_000 * MS)).await;
    holds("a save in time", outcome.is_committed(), outcome)
}

pub(super) async fn a_store_that_ends_ends_nothing_else(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    save(&play, "good").await?;
    let store = play.store()?.clone();
    play.steps(1).await?;
    store.plan(SaveMishap::End);
    let outcome = play.session.checkpoint(Some(id("lost"))).await?;
    let is_lost = matches!(outcome, SaveOutcome::ReplyLost { .. });
    holds("nobody to know what became of it", is_lost, &outcome)?;
    same(
        "the mark unmoved,",
        &durable(&play),
        &Some(("good".to_owned(), 1)),
    )?;
    let asked = play.session.resolve_save(&id("lost")).await;
    holds("nobody to answer", asked.is_err(), ())?;
    play.steps(3).await?;
    let outcome = play.session.checkpoint(Some(id("also-lost"))).await?;
    holds("no save", !outcome.is_committed(), &outcome)?;
    fail(&play)?;
    let before = play.session.status();
    let refusal = play.session.restore(RestoreRequest::default()).await;
    holds("no restore", refusal.is_err(), refusal.is_ok())?;
    same("the session as it was,", &play.session.status(), &before)?;
    // Whoever comes up over what is on the medium goes on from there.
    let store = store.after_kill().await?;
    let next = Play::starting(&stage, Setup::default().over(&store)).await?;
    let report = next.session.restore(RestoreRequest::default()).await?;
    same(
        "on from what was durable,",
        &report.checkpoint_id,
        &id("good"),
    )?;
    next.session.resume()?;
    next.steps(1).await
}

/// Where a panic can be caught at all.
pub(super) async fn a_panic_of_a_save_is_its_own_failure(stage: Rc<dyn Stage>) -> Verdict {
    if !cfg!(panic = "unwind") {
        return Ok(());
    }
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    let store = play.store()?.clone();
    store.plan(SaveMishap::PanicBefore);
    let outcome = play.session.checkpoint(Some(id("never"))).await?;
    let is_failed = matches!(outcome, SaveOutcome::Failed { .. });
    holds("a save that failed", is_failed, &outcome)?;
    same(
        "found,",
        &resolved(&play, "never").await?,
        &Resolution::NotCommitted,
    )?;
    play.steps(1).await?;
    store.plan(SaveMishap::PanicAfter);
    let outcome = play.session.checkpoint(Some(id("after-all"))).await?;
    holds("a save that is listed", outcome.is_committed(), &outcome)?;
    play.steps(1).await?;
    save(&play, "good").await?;
    same("the mark,", &durable(&play), &Some(("good".to_owned(), 3)))
}

pub(super) async fn a_name_is_given_once(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    let store = play.store()?.clone();
    store.shut_gate();
    let first = capture(&play, "taken").await?;
    let _ = play.tap.drain();
    let again = play.session.checkpoint(Some(id("taken"))).await;
    refused("a name that is on its way", again, ErrorCode::Conflict)?;
    let entries = play.tap.entries();
    holds("nobody to be asked", entries.is_empty(), entries.len())?;
    store.open_gate();
    committed(&play, &first).await?;
    let again = play.session.checkpoint(Some(id("taken"))).await;
    refused("a name that is in the store", again, ErrorCode::Conflict)?;
    // Names that are made up differ, also at one boundary.
    let made_up = |outcome: SaveOutcome| outcome.checkpoint_id().clone();
    let one = made_up(play.session.checkpoint(None).await?);
    let other = made_up(play.session.checkpoint(None).await?);
    holds("two names", one != other, (one, other))
}

/// What no longer reads cleanly is in no checkpoint.
pub(super) async fn dirty_bytes_are_refused_by_name_and_the_session_stays_where_it_was(
    stage: Rc<dyn Stage>,
) -> Verdict {
    use wellwritten_counter::{Fault, FaultKind, FaultPoint};
    for paused in [false, true] {
        let fault = Fault::new(id("world"), FaultPoint::Capture, FaultKind::Dirty);
        let play = Play::ready(&stage, Setup::faults(vec![fault]).with_store()).await?;
        play.steps(2).await?;
        if paused {
            play.session.pause()?;
        }
        let before = play.session.status();
        // Once they are dirty they stay so until they are rewritten.
        for _ in 0..2 {
            let refusal = play.session.checkpoint(Some(id("dirty"))).await;
            let refusal = refused(
                "a checkpoint of dirty bytes",
                refusal,
                ErrorCode::BufferInvalid,
            )?;
            same(
                "nothing changed,",
                &refusal.mutation(),
                &MutationCertainty::None,
            )?;
            same("whose,", &refusal.participant(), &Some(&id("world")))?;
            let due = serde_json::json!({"buffer": "field", "start": 0, "end": 8, "root": "a planned fault"});
            same("buffer, range and root,", &refusal.detail(), &Some(&due))?;
            same("the session as it was,", &play.session.status(), &before)?;
        }
        same("nothing in the store,", &stored(&play).await?, &Vec::new())?;
        let counted = play.session.save_statistics()?;
        same(
            "no place taken,",
            &(counted.queued, counted.outstanding),
            &(0, 0),
        )?;
        play.session.rewrite(&id("world"), "field").await?;
        save(&play, "clean").await?;
        if paused {
            play.session.resume()?;
        }
        play.steps(1).await?;
        fail(&play)?;
        let report = play.session.restore(to("clean", "e2")).await?;
        same("restored,", &report.boundary, &2)?;
    }
    Ok(())
}
