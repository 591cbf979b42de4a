//! A run that was interrupted goes on as if it had not been.

use std::rc::Rc;

use wellwritten_counter::{CounterComposition, WORLD};
use wellwritten_session::{
    Answer, Artifact, Call, ErrorCode, Phase, RestoreRequest, SaveOutcome, TraceRecord,
    TraceVerdict, behaviour_digest, compare_traces, rebase_trace,
};

use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{Entry, ScenarioFailure, Stage, Verdict};

/// The checkpoint of that name, under that epoch.
pub(super) fn to(checkpoint: &str, epoch: &str) -> RestoreRequest {
    RestoreRequest {
        checkpoint_id: Some(id(checkpoint)),
        epoch: Some(id(epoch)),
        fallback: false,
    }
}

/// Saves where the session stands; it must be committed.
pub(super) async fn save(play: &Play, checkpoint: &str) -> Verdict {
    let outcome = play.session.checkpoint(Some(id(checkpoint))).await?;
    holds("a checkpoint", outcome.is_committed(), outcome)
}

/// A step that fails because somebody is gone; how far the session got counts for nothing.
async fn dies(play: &Play, worker: &str) -> Verdict {
    play.kill(worker);
    let step = play.session.step().await;
    holds(
        "a step without one of the group",
        step.is_err(),
        step.is_ok(),
    )?;
    same("a fence,", &play.session.phase(), &Phase::Failed)?;
    let blamed = play.failure()?.participant;
    same("blamed,", &blamed, &Some(id(worker)))
}

/// Everybody new, and on from the checkpoint; paused there.
async fn recover(play: &Play, checkpoint: &str, epoch: &str, boundary: u64) -> Verdict {
    play.session.replace_participants().await?;
    let report = play.session.restore(to(checkpoint, epoch)).await?;
    let found = (report.boundary, report.to_epoch, play.session.phase());
    let due = (boundary, id(epoch), Phase::Paused { boundary });
    same("paused under the new epoch,", &found, &due)?;
    play.session.resume()?;
    Ok(())
}

/// The trace of a session as it would read had all of it run under the first epoch.
pub(super) fn rebased(play: &Play) -> Result<Vec<TraceRecord>, ScenarioFailure> {
    let ids = play.session.rebase_ids(&id("e1"));
    let epochs = play.session.trace_epochs();
    rebase_trace(&play.trace(), &epochs, &id("e1"), &ids)
        .map_err(|error| ScenarioFailure::new("a trace to rebase", error.to_string()))
}

/// The raw traces differ, and carried over to the first epoch they are the same, and so are their digests.
fn equals(straight: &Play, resumed: &Play, steps: u64) -> Verdict {
    let due = straight.trace();
    let raw = compare_traces(&due, &resumed.trace());
    same("raw traces,", &raw.verdict, &TraceVerdict::Different)?;
    let found = rebased(resumed)?;
    let diff = compare_traces(&due, &found);
    let is_equal = (diff.verdict, diff.compared) == (TraceVerdict::Equal, steps);
    holds(
        "the same behaviour",
        is_equal,
        (diff.compared, diff.differences),
    )?;
    same(
        "the digest of the behaviour",
        &behaviour_digest(&found),
        &behaviour_digest(&due),
    )
}

/// Four steps, against two, a checkpoint, a death, and two more.
async fn resumed_equals(stage: &Rc<dyn Stage>, setup: fn() -> Setup, victim: &str) -> Verdict {
    let straight = Play::ready(stage, setup()).await?;
    straight.steps(4).await?;
    let play = Play::ready(stage, setup().with_store()).await?;
    play.steps(2).await?;
    save(&play, "at-2").await?;
    dies(&play, victim).await?;
    recover(&play, "at-2", "e2", 2).await?;
    play.steps(2).await?;
    equals(&straight, &play, 4)
}

pub(super) async fn a_run_whose_world_died_equals_an_uninterrupted_one(
    stage: Rc<dyn Stage>,
) -> Verdict {
    resumed_equals(&stage, Setup::default, WORLD).await
}

pub(super) async fn a_run_whose_agent_died_equals_an_uninterrupted_one(
    stage: Rc<dyn Stage>,
) -> Verdict {
    resumed_equals(&stage, Setup::default, "fly-b").await
}

/// Whatever is left over between steps: of ticks, of samples, of frames that are still to be seen.
fn with_leftovers() -> Setup {
    let mut setup = Setup::agents(4);
    setup.composition.view_delay_steps = 3;
    setup.composition.sample_rate = 44_101;
    setup
}

pub(super) async fn delays_and_remainders_survive(stage: Rc<dyn Stage>) -> Verdict {
    resumed_equals(&stage, with_leftovers, "fly-d").await
}

pub(super) async fn a_run_that_was_interrupted_three_times_equals_an_uninterrupted_one(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(8).await?;
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    for (round, victim) in ["fly-a", WORLD, "fly-b"].into_iter().enumerate() {
        play.steps(2).await?;
        let boundary = play.session.status().boundary;
        let checkpoint = format!("at-{boundary}");
        save(&play, &checkpoint).await?;
        // What is abandoned is no part of the run, however much it was.
        play.steps(round as u64).await?;
        dies(&play, victim).await?;
        recover(&play, &checkpoint, &format!("e{}", round + 2), boundary).await?;
    }
    play.steps(2).await?;
    equals(&straight, &play, 8)
}

pub(super) async fn a_checkpoint_disturbs_nothing(stage: Rc<dyn Stage>) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(6).await?;
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    for boundary in 0..6 {
        save(&play, &format!("at-{boundary}")).await?;
        play.steps(1).await?;
    }
    let digests = (
        behaviour_digest(&play.trace()),
        behaviour_digest(&straight.trace()),
    );
    same(
        "the behaviour of a run without any,",
        &digests.0,
        &digests.1,
    )
}

pub(super) async fn a_stimulus_that_waits_is_in_the_checkpoint(stage: Rc<dyn Stage>) -> Verdict {
    let admit = |play: &Play| play.session.admit(&id("fly-b"), &id("spark"), 20.0);
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(2).await?;
    admit(&straight)?;
    straight.steps(2).await?;
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(2).await?;
    admit(&play)?;
    save(&play, "at-2").await?;
    dies(&play, "fly-b").await?;
    recover(&play, "at-2", "e2", 2).await?;
    play.steps(2).await?;
    equals(&straight, &play, 4)?;
    // The canary of that: without it, another behaviour.
    let without = Play::ready(&stage, Setup::default()).await?;
    without.steps(4).await?;
    let differs = behaviour_digest(&without.trace()) != behaviour_digest(&straight.trace());
    holds("a stimulus to show", differs, ())
}

/// Old participants, the store left as it was; a new coordinator, of which nobody has heard.
pub(super) async fn a_coordinator_that_starts_anew_over_a_store_goes_on(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(4).await?;
    let first = Play::ready(&stage, Setup::default().with_store()).await?;
    first.steps(2).await?;
    save(&first, "at-2").await?;
    first.steps(1).await?;
    let store = first.store()?.clone();
    for worker in first.workers() {
        first.kill(worker);
    }
    drop(first);
    let play = Play::starting(&stage, Setup::default().over(&store)).await?;
    same(
        "before anything began,",
        &play.session.phase(),
        &Phase::Starting,
    )?;
    goes_on_alone(&play, &straight).await
}

/// The whole machine went down: nothing is left but what is on the medium.
pub(super) async fn a_machine_that_went_down_in_the_middle_of_a_save_goes_on_from_the_one_before(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(4).await?;
    let first = Play::ready(&stage, Setup::default().with_store()).await?;
    first.steps(2).await?;
    save(&first, "at-2").await?;
    first.steps(1).await?;
    let store = first.store()?.clone();
    store.shut_gate();
    let ticket = super::saving::capture(&first, "at-3").await?;
    let store = store.after_kill().await?;
    holds(
        "a save that has not ended",
        ticket.try_outcome().is_none(),
        (),
    )?;
    for worker in first.workers() {
        first.kill(worker);
    }
    let play = Play::starting(&stage, Setup::default().over(&store)).await?;
    goes_on_alone(&play, &straight).await
}

/// On from `at-2` under an epoch that no earlier coordinator used, as `straight` did without one.
async fn goes_on_alone(play: &Play, straight: &Play) -> Verdict {
    let stale = play.session.restore(to("at-2", "e1")).await;
    refused("the epoch of the one before", stale, ErrorCode::StaleEpoch)?;
    let report = play.session.restore(RestoreRequest::default()).await?;
    let found = (report.checkpoint_id, report.source_epoch, report.boundary);
    let due = (id("at-2"), id("e1"), 2);
    same("on from what was left,", &found, &due)?;
    holds(
        "nothing that it knows to be abandoned",
        report.abandoned.is_none(),
        report.abandoned,
    )?;
    play.session.resume()?;
    play.steps(2).await?;
    let (all, own) = (straight.trace(), play.trace());
    let boundaries: Vec<u64> = own
        .iter()
        .map(|record| record.behaviour.scope.step.0)
        .collect();
    same("steps of its own,", &boundaries, &vec![2, 3])?;
    let diff = compare_traces(&all[2..], &rebased(play)?);
    let is_equal = (diff.verdict, diff.compared) == (TraceVerdict::Equal, 2);
    holds("the same as without a break", is_equal, diff.differences)?;
    // It can save, and what it saves can be told from what was there.
    let outcome = play.session.checkpoint(None).await?;
    match outcome {
        SaveOutcome::Committed { boundary: 4, .. } => Ok(()),
        other => Err(ScenarioFailure::new("a checkpoint at 4", other)),
    }
}

/// Every artifact that came with an answer or was handed out in a request.
fn artifacts(entries: &[Entry]) -> Vec<Artifact> {
    let mut found = Vec::new();
    for entry in entries {
        match &entry.request.call {
            Call::Commit(commit) => {
                found.extend(commit.next_input.views.iter().map(|it| it.pixels.clone()));
            }
            Call::StageRestore(stage) => found.push(stage.payload.clone()),
            _ => {}
        }
        let observation = match entry.answer() {
            Some(Answer::Stepped(result)) => &result.observation,
            Some(
                Answer::WorldInitialized(observation)
                | Answer::Activated {
                    observation: Some(observation),
                    ..
                },
            ) => observation,
            Some(Answer::Captured { payload, .. }) => {
                found.push(payload.clone());
                continue;
            }
            _ => continue,
        };
        found.extend(observation.sensory_views.iter().map(|it| it.pixels.clone()));
        found.extend(observation.audio.iter().map(|it| it.samples.clone()));
    }
    found
}

/// Also where the very participants go on that made the old ones.
pub(super) async fn artifacts_of_the_old_epoch_are_not_those_of_the_new(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut setup = Setup::default().with_store();
    // So that the world has a frame of an earlier boundary to show when it is restored.
    setup.composition.view_delay_steps = 2;
    let play = Play::ready(&stage, setup).await?;
    play.steps(3).await?;
    save(&play, "at-3").await?;
    play.steps(1).await?;
    super::fencing::fail(&play)?;
    let old = artifacts(&play.tap.drain());
    play.session.restore(to("at-3", "e2")).await?;
    play.session.resume()?;
    play.steps(3).await?;
    let new = artifacts(&play.tap.entries());
    holds(
        "artifacts to compare",
        old.len() > 10 && new.len() > 10,
        (old.len(), new.len()),
    )?;
    let shared = new
        .iter()
        .filter(|artifact| old.iter().any(|other| other.is_same(artifact)))
        .count();
    same("artifacts of both epochs,", &shared, &0)
}

/// The sound of a run: where each chunk began, how long it was, and whether it says that it follows nothing.
fn sound(entries: &[Entry]) -> Result<Vec<(u64, u32, bool)>, ScenarioFailure> {
    let mut chunks = Vec::new();
    for entry in entries {
        match entry.answer() {
            Some(Answer::Stepped(result)) => {
                let audio = result.observation.audio.iter();
                chunks.extend(
                    audio.map(|it| (it.first_sample.0, it.sample_frames, it.discontinuity)),
                );
            }
            Some(Answer::Activated {
                observation: Some(observation),
                ..
            }) => same("silence where nothing moved,", &observation.audio.len(), &0)?,
            _ => {}
        }
    }
    Ok(chunks)
}

pub(super) async fn sound_goes_on_at_the_sample_where_it_was_and_says_that_it_was_broken(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let composition = CounterComposition {
        sample_rate: 44_101,
        ..CounterComposition::default()
    };
    let setup = || Setup {
        composition: composition.clone(),
        ..Setup::default()
    };
    let straight = Play::ready(&stage, setup()).await?;
    straight.steps(6).await?;
    let mut due = sound(&straight.tap.entries())?.split_off(2);
    due[0].2 = true;
    let play = Play::ready(&stage, setup().with_store()).await?;
    play.steps(2).await?;
    save(&play, "at-2").await?;
    play.steps(2).await?;
    super::fencing::fail(&play)?;
    play.session.replace_participants().await?;
    let _ = play.tap.drain();
    play.session.restore(to("at-2", "e2")).await?;
    play.session.resume()?;
    play.steps(4).await?;
    same("the sound,", &sound(&play.tap.entries())?, &due)
}
