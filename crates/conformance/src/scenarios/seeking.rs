//! Going to a boundary of the recorded timeline: what is repeated does what was recorded, or it is said.

use std::cell::RefCell;
use std::rc::Rc;

use wellwritten_session::{
    ErrorCode, Phase, SeekCancel, SeekError, SeekProgress, SeekReport, SeekRequest, TraceRecord,
    behaviour_digest,
};

use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

use super::fencing::{fail, tainted};
use super::resuming::{rebased, save};

async fn seek(play: &Play, boundary: u64) -> Result<SeekReport, SeekError> {
    let request = SeekRequest {
        boundary,
        epoch: None,
    };
    play.session
        .seek(request, &|_| {}, &SeekCancel::default())
        .await
}

/// It arrives, paused; gives how many transitions were repeated.
async fn arrives(play: &Play, boundary: u64) -> Result<u64, ScenarioFailure> {
    let report = seek(play, boundary).await;
    let report = report
        .map_err(|error| ScenarioFailure::new(format!("to go to {boundary}"), error.to_string()))?;
    let status = play.session.status();
    let found = (report.boundary, status.phase, report.cancelled);
    let due = (boundary, Phase::Paused { boundary }, false);
    same("paused where it was to go,", &found, &due)?;
    Ok(report.repeated)
}

/// It does not arrive; the session is what it was.
async fn is_refused(play: &Play, boundary: u64) -> Result<SeekError, ScenarioFailure> {
    let before = play.session.status();
    let Err(error) = seek(play, boundary).await else {
        return Err(ScenarioFailure::new(
            format!("{boundary} not to be gone to"),
            play.session.phase(),
        ));
    };
    same(
        &format!("{error}: the session as it was,"),
        &play.session.status(),
        &before,
    )?;
    Ok(error)
}

/// A run of eight steps with stimuli on the way, saved at two and at five where asked for.
async fn run(stage: &Rc<dyn Stage>, saves: &[u64]) -> Result<Play, ScenarioFailure> {
    let play = Play::ready(stage, Setup::default().with_store()).await?;
    for boundary in 0..8 {
        if saves.contains(&boundary) {
            save(&play, &format!("at-{boundary}")).await?;
        }
        if boundary == 3 || boundary == 6 {
            play.session.admit(&id("fly-b"), &id("spark"), 20.0)?;
        }
        play.steps(1).await?;
    }
    Ok(play)
}

/// What the session tells of its run to where it stands is what the other one did there, whatever the epochs are called.
/// Gives how many transitions it tells of.
fn same_run(play: &Play, straight: &Play) -> Result<u64, ScenarioFailure> {
    let boundary = play.session.status().boundary;
    let found = rebased(play)?;
    let first = boundary.saturating_sub(found.len() as u64);
    let due: Vec<TraceRecord> = straight
        .trace()
        .into_iter()
        .filter(|record| (first..boundary).contains(&record.behaviour.scope.step.0))
        .collect();
    let what = format!("the run from {first} to {boundary},");
    let (found, due) = (
        (found.len(), behaviour_digest(&found)),
        (due.len(), behaviour_digest(&due)),
    );
    same(&what, &found, &due)?;
    Ok(found.0 as u64)
}

pub(super) async fn going_back_and_on_again_repeats_what_was_recorded(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = run(&stage, &[]).await?;
    let play = run(&stage, &[2, 5]).await?;
    // From the nearest checkpoint, each time, and then on from where it stands.
    for (boundary, repeated) in [(4, 2), (7, 3), (5, 0), (8, 3), (2, 0), (3, 1), (8, 5)] {
        let found = arrives(&play, boundary).await?;
        same(&format!("repeated to {boundary},"), &found, &repeated)?;
        let told = same_run(&play, &straight)?;
        same("told from the beginning,", &told, &boundary)?;
    }
    // And on from there as without all that.
    play.session.resume()?;
    play.steps(2).await?;
    straight.steps(2).await?;
    same_run(&play, &straight)?;
    same("nobody tainted,", &tainted(&play), &Vec::new())
}

pub(super) async fn a_seek_to_where_it_stands_only_pauses(stage: Rc<dyn Stage>) -> Verdict {
    let play = run(&stage, &[2]).await?;
    let epoch = play.session.status().epoch;
    same("repeated,", &arrives(&play, 8).await?, &0)?;
    same("in the same epoch,", &play.session.status().epoch, &epoch)?;
    play.session.resume()?;
    play.steps(1).await
}

pub(super) async fn a_seek_goes_on_from_a_failure_and_is_no_way_around_the_tainted(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = run(&stage, &[]).await?;
    let play = run(&stage, &[2]).await?;
    play.kill("fly-a");
    let step = play.session.step().await;
    holds(
        "a step without one of the group",
        step.is_err(),
        step.is_ok(),
    )?;
    let gone = is_refused(&play, 4).await?;
    same("while one is gone,", &gone.code(), &ErrorCode::InvalidPhase)?;
    play.session.replace_participants().await?;
    same("repeated,", &arrives(&play, 7).await?, &5)?;
    same_run(&play, &straight).map(|_| ())
}

pub(super) async fn going_on_otherwise_is_a_branch_and_forgets_what_came_after(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = run(&stage, &[2]).await?;
    arrives(&play, 4).await?;
    play.session.admit(&id("fly-a"), &id("spark"), 20.0)?;
    // What waits is no part of the recording.
    let waits = is_refused(&play, 8).await?;
    holds(
        "what waits to be told",
        matches!(waits, SeekError::InputsWait { waiting: 1 }),
        &waits,
    )?;
    play.session.resume()?;
    play.steps(2).await?;
    let branch = behaviour_digest(&rebased(&play)?);
    let beyond = is_refused(&play, 8).await?;
    let is_told = matches!(
        beyond,
        SeekError::NotRecorded {
            boundary: 8,
            recorded_to: 6,
            ..
        }
    );
    holds("what is recorded to be told", is_told, &beyond)?;
    // The branch is recorded as the run before it was.
    same("repeated,", &arrives(&play, 3).await?, &1)?;
    same("repeated,", &arrives(&play, 6).await?, &3)?;
    same("the branch,", &behaviour_digest(&rebased(&play)?), &branch)
}

pub(super) async fn what_cannot_be_gone_to_is_refused_before_anything_ends(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = run(&stage, &[5]).await?;
    let early = is_refused(&play, 4).await?;
    let is_told = matches!(
        early,
        SeekError::NoGeneration {
            boundary: 4,
            oldest: Some(5),
            ..
        }
    );
    holds("the oldest to be told", is_told, &early)?;
    let late = is_refused(&play, 9).await?;
    let is_told = matches!(
        late,
        SeekError::NotRecorded {
            boundary: 9,
            recorded_to: 8,
            ..
        }
    );
    holds("what is recorded to be told", is_told, &late)?;
    play.steps(1).await?;
    // A used epoch is refused for a seek as for a restore.
    let request = SeekRequest {
        boundary: 6,
        epoch: Some(id("e1")),
    };
    let before = play.session.status();
    let refusal = play
        .session
        .seek(request, &|_| {}, &SeekCancel::default())
        .await;
    let code = refusal.as_ref().map(|_| ()).map_err(SeekError::code);
    same(
        "an epoch that was used,",
        &code,
        &Err(ErrorCode::StaleEpoch),
    )?;
    same("the session as it was,", &play.session.status(), &before)?;
    let without = Play::ready(&stage, Setup::default()).await?;
    without.steps(2).await?;
    let refusal = is_refused(&without, 1).await?;
    same("without a store,", &refusal.code(), &ErrorCode::Unsupported)
}

pub(super) async fn a_seek_tells_how_far_it_is_and_ends_at_a_boundary_when_it_is_stopped(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = run(&stage, &[]).await?;
    let play = run(&stage, &[2]).await?;
    let told: RefCell<Vec<SeekProgress>> = RefCell::default();
    let cancel = SeekCancel::default();
    let progress = |it: SeekProgress| {
        told.borrow_mut().push(it);
        if it.at == 5 {
            cancel.cancel();
        }
    };
    let request = SeekRequest {
        boundary: 7,
        epoch: None,
    };
    let report = play.session.seek(request.clone(), &progress, &cancel).await;
    let report = report.map_err(|error| ScenarioFailure::new("a report", error.to_string()))?;
    let found = (report.cancelled, report.boundary, report.repeated);
    same("stopped,", &found, &(true, 5, 3))?;
    same(
        "paused there,",
        &play.session.phase(),
        &Phase::Paused { boundary: 5 },
    )?;
    let due: Vec<SeekProgress> = (2..=5)
        .map(|at| SeekProgress { from: 2, at, to: 7 })
        .collect();
    same("told,", &*told.borrow(), &due)?;
    same_run(&play, &straight)?;
    let early = play.session.seek(request, &|_| {}, &cancel).await;
    holds(
        "one that was stopped before",
        matches!(early, Err(SeekError::Cancelled)),
        (),
    )?;
    same(
        "still there,",
        &play.session.phase(),
        &Phase::Paused { boundary: 5 },
    )?;
    same("and on,", &arrives(&play, 8).await?, &3)?;
    same_run(&play, &straight).map(|_| ())
}

/// The canary of everything that is repeated: a brain that is not rewarded is another.
pub(super) async fn what_is_repeated_otherwise_is_said_and_where(stage: Rc<dyn Stage>) -> Verdict {
    let play = run(&stage, &[2]).await?;
    let lost = Tamper::LoseRewards;
    play.tap.plan(&id("fly-b"), "Agent.Commit", Some(4), lost);
    let Err(error) = seek(&play, 7).await else {
        return Err(ScenarioFailure::new(
            "a difference to be noticed",
            play.session.phase(),
        ));
    };
    holds("the reward to be lost", play.tap.is_done(), ())?;
    match &error {
        SeekError::Diverged { step: 4, fields } => {
            let is_named = fields.iter().any(|field| field.contains("fly-b"));
            holds("whose to be named", is_named, fields)?;
        }
        other => {
            return Err(ScenarioFailure::new(
                "a difference at step 4",
                other.to_string(),
            ));
        }
    }
    same(
        "paused behind it,",
        &play.session.phase(),
        &Phase::Paused { boundary: 5 },
    )
}

/// A coordinator that comes up over a store knows its checkpoints and no recording.
pub(super) async fn a_coordinator_that_starts_anew_can_go_to_a_checkpoint(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let first = run(&stage, &[2, 5]).await?;
    let store = first.store()?.clone();
    let play = Play::starting(&stage, Setup::default().over(&store)).await?;
    let between = is_refused(&play, 4).await?;
    same("between two,", &between.code(), &ErrorCode::Unsupported)?;
    same("repeated,", &arrives(&play, 2).await?, &0)?;
    play.session.resume()?;
    play.steps(2).await?;
    same("of what it did itself,", &arrives(&play, 3).await?, &1)?;
    fail(&play)?;
    let step = play.session.step().await;
    refused("a step behind the fence", step, ErrorCode::InvalidPhase)?;
    same("on from a failure,", &arrives(&play, 4).await?, &2)
}
