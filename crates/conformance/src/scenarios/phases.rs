//! Where a session stands, and what is possible there.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::join;
use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPoint, Terminal};
use wellwritten_session::{
    Answer, ErrorCode, Phase, PhaseEdge, PhaseKind, ResetRequest, RestoreRequest, RunOptions, U64,
};

use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{Stage, Verdict};

pub(super) async fn bootstrap_moves_nothing_and_a_second_one_is_refused_without_harm(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    let said = play.tap.drain();
    let moves = said.iter().any(|entry| {
        ["Environment.Advance", "Agent.Prepare", "Agent.Commit"].contains(&entry.method())
    });
    holds("a bootstrap that asks nobody to move", !moves, &said)?;
    let observations = said.iter().filter_map(|entry| match entry.answer() {
        Some(Answer::WorldInitialized(observation)) => Some(observation),
        _ => None,
    });
    for shown in observations {
        let (boundary, sounds) = (shown.boundary, shown.audio.len());
        same(
            "a world at its beginning,",
            &(boundary, sounds),
            &(U64(0), 0),
        )?;
    }
    let before = play.session.status();
    refused(
        "a second bootstrap",
        play.session.bootstrap().await,
        ErrorCode::InvalidPhase,
    )?;
    same("the session as it was,", &play.session.status(), &before)?;
    holds(
        "nobody to have been asked",
        play.tap.entries().is_empty(),
        play.tap.entries(),
    )?;
    play.steps(1).await
}

pub(super) async fn a_pause_in_the_middle_of_a_step_lands_on_the_boundary_just_committed(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for (at, worker, kind) in [
        (FaultPoint::Prepare, "fly-a", PhaseKind::Preparing),
        (FaultPoint::Advance, "world", PhaseKind::Applying),
        (FaultPoint::Commit, "fly-b", PhaseKind::Committing),
    ] {
        let slow = Fault::new(id(worker), at, FaultKind::DelayMs(60)).at_boundary(1);
        let play = Play::ready(&stage, Setup::faults(vec![slow])).await?;
        play.steps(1).await?;
        let step = async { play.session.step().await };
        let pause = async {
            let is_there = || play.session.phase().kind() == kind;
            play.until("the step to be under way", is_there).await?;
            Ok::<_, crate::ScenarioFailure>(play.session.pause()?)
        };
        let (stepped, paused) = join(step, pause).await;
        same("a step that is taken whole,", &stepped?, &2)?;
        holds(
            "a pause that waits",
            paused?.pause_requested,
            play.session.phase(),
        )?;
        let phase = play.session.phase();
        same(
            "the boundary just committed,",
            &phase,
            &Phase::Paused { boundary: 2 },
        )?;
        let requested = play.session.status().pause_requested;
        holds("no pause to be left over", !requested, requested)?;
        refused(
            "a step of a paused session",
            play.session.step().await,
            ErrorCode::InvalidPhase,
        )?;
        play.session.resume()?;
        play.steps(1).await?;
    }
    Ok(())
}

pub(super) async fn a_pause_while_nothing_runs_is_at_once(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(1).await?;
    let said = play.tap.drain().len();
    play.session.pause()?;
    same(
        "no further transition,",
        &play.session.phase(),
        &Phase::Paused { boundary: 1 },
    )?;
    holds(
        "nobody asked",
        play.tap.entries().is_empty() && said > 0,
        said,
    )?;
    play.session.resume()?;
    same(
        "where it was,",
        &play.session.phase(),
        &Phase::Ready { boundary: 1 },
    )
}

pub(super) async fn a_terminal_episode_pauses_at_its_own_boundary(stage: Rc<dyn Stage>) -> Verdict {
    let straight = Play::ready(&stage, Setup::default()).await?;
    straight.steps(8).await?;
    let counter = straight
        .tap
        .entries()
        .iter()
        .rev()
        .find_map(|entry| match entry.answer() {
            Some(Answer::Stepped(result)) if result.observation.boundary == U64(4) => result
                .observation
                .inspection
                .value()
                .get("counter")
                .and_then(serde_counter),
            _ => None,
        });
    let Some(counter) = counter else {
        return Err(crate::ScenarioFailure::new(
            "the counter at boundary 4",
            counter,
        ));
    };
    for terminal in [Terminal::After(3), Terminal::Counter(counter)] {
        let setup = Setup {
            composition: CounterComposition {
                terminal,
                ..CounterComposition::default()
            },
            ..Setup::default()
        };
        let play = Play::ready(&stage, setup).await?;
        let options = RunOptions {
            until: Some(8),
            ..RunOptions::default()
        };
        let status = play.session.run(options).await?;
        let reason = status.terminal.map(|terminal| terminal.reason);
        same("the task's word,", &reason, &Some(id("enough")))?;
        let boundary = play.trace().len() as u64;
        let is_due = match terminal {
            Terminal::After(after) => boundary == u64::from(after),
            _ => (1..=4).contains(&boundary),
        };
        holds("an episode that is over in time", is_due, boundary)?;
        same(
            "paused where it ended,",
            &status.phase,
            &Phase::Paused { boundary },
        )?;
        let resumed = play.session.resume();
        holds(
            "no going on from there",
            resumed.is_err(),
            play.session.phase(),
        )?;
        same(
            "still paused,",
            &play.session.phase(),
            &Phase::Paused { boundary },
        )?;
    }
    Ok(())
}

/// The counter of an inspection, from whatever JSON number it is.
fn serde_counter(value: &impl std::fmt::Display) -> Option<i64> {
    value.to_string().parse().ok()
}

pub(super) async fn a_callers_mistake_is_refused_and_changes_nothing(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(1).await?;
    let before = play.session.status();
    let session = &play.session;
    let code = ErrorCode::InvalidPhase;
    let _ = play.tap.drain();
    refused("resuming what runs", session.resume(), code)?;
    refused(
        "restoring what has not failed",
        session.restore(RestoreRequest::default()).await,
        code,
    )?;
    refused(
        "replacing what has not failed",
        session.replace_participants().await,
        code,
    )?;
    refused(
        "replacing one of what has not failed",
        session.replace_participant(&id("fly-a")).await,
        code,
    )?;
    refused("a second bootstrap", session.bootstrap().await, code)?;
    let reset = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    refused(
        "a reset of what is not paused",
        session.reset(reset).await,
        code,
    )?;
    let unknown = session.kill_participant(&id("nobody"));
    refused("killing nobody", unknown, ErrorCode::IdentityMismatch)?;
    let said = play.tap.entries();
    holds("nobody to have been asked", said.is_empty(), &said)?;
    same("the session as it was,", &play.session.status(), &before)?;
    play.session.pause()?;
    refused("a step of what is paused", play.session.step().await, code)?;
    let ran = play.session.run(RunOptions::default()).await;
    refused("a run of what is paused", ran, code)?;
    play.session.resume()?;
    play.steps(1).await
}

pub(super) async fn only_legal_edges_are_taken(stage: Rc<dyn Stage>) -> Verdict {
    let fails = Fault::new(id("fly-b"), FaultPoint::Commit, FaultKind::Break).at_boundary(2);
    let play = Play::ready(&stage, Setup::faults(vec![fails]).with_store()).await?;
    play.steps(1).await?;
    play.session.checkpoint(None).await?;
    play.session.pause()?;
    play.session.checkpoint(None).await?;
    play.session.resume()?;
    play.steps(1).await?;
    holds(
        "a step to fail",
        play.session.step().await.is_err(),
        play.session.phase(),
    )?;
    play.session.replace_participants().await?;
    play.session.restore(RestoreRequest::default()).await?;
    play.session.resume()?;
    play.steps(1).await?;
    let edges: Vec<PhaseEdge> = play.session.phase_edges();
    let history = play.session.phase_history();
    for change in &history {
        let is_legal = edges
            .iter()
            .any(|edge| edge.from == change.from.kind() && edge.to == change.to.kind());
        holds("an edge of the diagram", is_legal, change.to_string())?;
    }
    let chained = history.windows(2).all(|pair| pair[0].to == pair[1].from);
    holds("every phase to follow the one before", chained, &history)?;
    holds("a long way", history.len() > 20, history.len())
}

pub(super) async fn a_step_that_is_abandoned_ends_the_epoch(stage: Rc<dyn Stage>) -> Verdict {
    let slow = Fault::new(id("world"), FaultPoint::Advance, FaultKind::DelayMs(500));
    let play = Play::ready(&stage, Setup::faults(vec![slow])).await?;
    {
        let mut step = Box::pin(play.session.step()).fuse();
        let is_there = || play.session.phase().kind() == PhaseKind::Applying;
        let mut waiting = Box::pin(play.until("the step to be under way", is_there).fuse());
        futures::select_biased! {
            stepped = step => holds("a step that takes its time", false, stepped.is_ok())?,
            reached = waiting => reached?,
        }
    }
    same(
        "an epoch that has ended,",
        &play.session.phase(),
        &Phase::Failed,
    )?;
    let failure = play.failure()?;
    let says_so = failure.error.message.contains("abandoned");
    holds(
        "the reason to be the step that was abandoned",
        says_so,
        failure,
    )
}

pub(super) async fn a_reset_begins_a_new_episode_with_nothing_of_the_old(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(3).await?;
    let first: Vec<_> = play.trace();
    play.session.pause()?;
    let request = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    let _ = play.tap.drain();
    let status = play.session.reset(request).await?;
    same(
        "a new beginning,",
        &status.phase,
        &Phase::Ready { boundary: 0 },
    )?;
    let names = (status.episode_id.to_string(), status.epoch.to_string());
    holds(
        "a new epoch and episode",
        names.0 == "ep2" && names.1 != "e1",
        &names,
    )?;
    holds(
        "a trace that begins anew",
        play.trace().is_empty(),
        play.trace().len(),
    )?;
    play.steps(3).await?;
    let again = play.trace();
    for (one, other) in first.iter().zip(&again) {
        let decisions = |record: &wellwritten_session::TraceRecord| {
            let agents = record.behaviour.agents.iter();
            agents
                .map(|agent| agent.decision_digest)
                .collect::<Vec<_>>()
        };
        same(
            "the same seeds, the same decisions,",
            &decisions(other),
            &decisions(one),
        )?;
    }
    let sounds: Vec<u64> = play
        .tap
        .entries()
        .iter()
        .filter_map(|entry| match entry.answer() {
            Some(Answer::Stepped(result)) => result
                .observation
                .audio
                .first()
                .map(|chunk| chunk.first_sample.0),
            _ => None,
        })
        .collect();
    same("sound from the beginning,", &sounds, &vec![0, 800, 1600])
}

pub(super) async fn dirty_bytes_refuse_a_step_and_nothing_moves(stage: Rc<dyn Stage>) -> Verdict {
    let dirty = Fault::new(id("world"), FaultPoint::Verify, FaultKind::Dirty).at_boundary(1);
    let play = Play::ready(&stage, Setup::faults(vec![dirty])).await?;
    play.steps(1).await?;
    let before = play.session.status();
    let _ = play.tap.drain();
    let error = refused(
        "a step over dirty bytes",
        play.session.step().await,
        ErrorCode::BufferInvalid,
    )?;
    holds(
        "a plain refusal with its report",
        error.is_refusal() && error.detail().is_some(),
        &error,
    )?;
    let moved = play
        .tap
        .entries()
        .iter()
        .any(|entry| entry.method() == "Agent.Prepare");
    holds("nobody to have prepared", !moved, moved)?;
    same("the session as it was,", &play.session.status(), &before)?;
    play.session.rewrite(&id("world"), "field").await?;
    play.steps(1).await
}

pub(super) async fn a_capture_that_is_asked_for_during_a_step_neither_waits_for_ever_nor_captures(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("world"), FaultPoint::Advance, FaultKind::DelayMs(60));
    let play = Play::ready(&stage, Setup::faults(vec![slow]).with_store()).await?;
    let step = async { play.session.step().await };
    let save = async {
        let is_there = || play.session.phase().kind() == PhaseKind::Applying;
        play.until("the step to be under way", is_there).await?;
        Ok::<_, crate::ScenarioFailure>(play.session.checkpoint(None).await)
    };
    let (stepped, saved) = join(step, save).await;
    same("a step that is taken,", &stepped?, &1)?;
    refused("a capture in the middle of it", saved?, ErrorCode::Busy)?;
    let outcome = play.session.checkpoint(None).await?;
    holds("a capture at the boundary", outcome.is_committed(), outcome)
}

pub(super) async fn a_reset_is_what_goes_on_from_the_end_of_an_episode(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut setup = Setup::default();
    setup.composition.terminal = Terminal::After(2);
    let play = Play::ready(&stage, setup).await?;
    play.steps(2).await?;
    let paused = Phase::Paused { boundary: 2 };
    same("paused where it ended,", &play.session.phase(), &paused)?;
    let request = |episode: &str| ResetRequest {
        episode_id: id(episode),
        epoch: None,
    };
    let again = play.session.reset(request("ep1")).await;
    holds("no episode twice", again.is_err(), again.is_ok())?;
    same("still paused,", &play.session.phase(), &paused)?;
    let status = play.session.reset(request("ep2")).await?;
    holds(
        "an episode that is not over",
        status.terminal.is_none(),
        &status.terminal,
    )?;
    play.steps(2).await?;
    let status = play.session.status();
    let over = (status.phase, status.terminal.is_some());
    same("over again where it says,", &over, &(paused, true))
}
