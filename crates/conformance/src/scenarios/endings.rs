//! What ends an epoch, and that nothing follows.

use std::rc::Rc;

use wellwritten_counter::{Fault, FaultKind, FaultPoint, Lie, TASK};
use wellwritten_session::{ErrorCode, MutationCertainty, Phase, PhaseKind, SessionError};

use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

use super::order::ORDERS;

/// The step fails.
/// More steps than a participant takes between being killed and being gone.
const STEPS_OF_THE_DYING: u64 = 100;

async fn fails(play: &Play) -> Result<SessionError, ScenarioFailure> {
    match play.session.step().await {
        Err(error) => Ok(error),
        Ok(boundary) => Err(ScenarioFailure::new("a step that fails", boundary)),
    }
}

/// The epoch has ended at the boundary before: nothing was told of, and nothing goes on.
async fn has_ended(play: &Play, boundary: u64) -> Verdict {
    let status = play.session.status();
    let found = (
        status.phase,
        status.fenced,
        status.boundary,
        play.trace().len() as u64,
    );
    same(
        "an epoch that has ended,",
        &found,
        &(Phase::Failed, true, boundary, boundary),
    )?;
    let told: Vec<u64> = (1..=boundary).collect();
    same("the boundaries told of,", &play.boundaries(), &told)?;
    let _ = play.tap.drain();
    refused(
        "another step",
        play.session.step().await,
        ErrorCode::InvalidPhase,
    )?;
    refused("going on", play.session.resume(), ErrorCode::InvalidPhase)?;
    let said = play.tap.entries();
    let asked = said.iter().any(|entry| entry.request.scope.is_some());
    holds("nobody to be asked for anything more", !asked, &said)
}

pub(super) async fn one_failing_commit_after_another_succeeded_ends_the_epoch(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for dispatch in ORDERS {
        for kind in [
            FaultKind::BreakAfterInput,
            FaultKind::Break,
            FaultKind::Refuse(ErrorCode::Busy),
        ] {
            let fault = Fault::new(id("fly-b"), FaultPoint::Commit, kind).at_boundary(1);
            let play = Play::ready(&stage, Setup::faults(vec![fault]).dispatched(dispatch)).await?;
            play.steps(1).await?;
            let error = fails(&play).await?;
            same(
                "the one to blame,",
                &error.participant(),
                &Some(&id("fly-b")),
            )?;
            let kind = play.failure()?.phase.kind();
            same("where it ended,", &kind, &PhaseKind::Committing)?;
            has_ended(&play, 1).await?;
        }
    }
    Ok(())
}

pub(super) async fn a_world_that_did_not_move_by_its_batch_ends_the_epoch(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let cheat = FaultKind::Lie(Lie::Cheat);
    let fault = Fault::new(id("world"), FaultPoint::Advance, cheat).at_boundary(1);
    let play = Play::ready(&stage, Setup::faults(vec![fault])).await?;
    play.steps(1).await?;
    let error = fails(&play).await?;
    holds(
        "the task to have noticed",
        error.to_string().contains("the batch moves it by"),
        &error,
    )?;
    has_ended(&play, 1).await
}

pub(super) async fn a_brain_that_ran_a_tick_too_many_is_named(stage: Rc<dyn Stage>) -> Verdict {
    let extra = FaultKind::ExtraTicks(1);
    let fault = Fault::new(id("fly-b"), FaultPoint::Prepare, extra).at_boundary(1);
    let play = Play::ready(&stage, Setup::faults(vec![fault])).await?;
    play.steps(1).await?;
    let error = fails(&play).await?;
    same(
        "the one to blame,",
        &error.participant(),
        &Some(&id("fly-b")),
    )?;
    let moved = play
        .tap
        .entries()
        .iter()
        .any(|entry| entry.method() == "Environment.Advance" && entry.step() == Some(1));
    holds("a world that did not move", !moved, moved)?;
    has_ended(&play, 1).await
}

pub(super) async fn a_task_that_stimulates_what_nobody_declares_ends_the_epoch(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for kind in [FaultKind::UndeclaredStimulus, FaultKind::Break] {
        let fault = Fault::new(id(TASK), FaultPoint::Evaluate, kind).at_boundary(1);
        let play = Play::ready(&stage, Setup::faults(vec![fault])).await?;
        play.steps(1).await?;
        fails(&play).await?;
        let committed = play
            .tap
            .entries()
            .iter()
            .any(|entry| entry.method() == "Agent.Commit" && entry.step() == Some(1));
        holds("no commit", !committed, committed)?;
        has_ended(&play, 1).await?;
    }
    Ok(())
}

pub(super) async fn a_participant_that_is_killed_ends_the_epoch_by_name(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for worker in ["world", "fly-a", "fly-b"] {
        let play = Play::ready(&stage, Setup::default().hasty()).await?;
        play.steps(1).await?;
        play.kill(worker);
        // Watched over, it may be found out before anyone asks; killed through a page, it may live for another step.
        let mut boundary = 1;
        let error = loop {
            match play.session.step().await {
                Err(error) => break error,
                Ok(next) if next < STEPS_OF_THE_DYING => boundary = next,
                Ok(next) => return Err(ScenarioFailure::new("a step that fails", next)),
            }
        };
        let failure = play.failure()?;
        same("the one to blame,", &failure.participant, &Some(id(worker)))?;
        holds(
            "an epoch that has ended",
            play.session.status().fenced,
            &error,
        )?;
        has_ended(&play, boundary).await?;
    }
    Ok(())
}

pub(super) async fn a_route_that_ends_during_advance_ends_the_epoch(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for (tamper, certainty) in [
        (Tamper::CutBeforeReply, MutationCertainty::Unknown),
        (Tamper::CutBeforeRequest, MutationCertainty::None),
    ] {
        let play = Play::ready(&stage, Setup::default().hasty()).await?;
        play.steps(1).await?;
        play.tap
            .plan(&id("world"), "Environment.Advance", Some(1), tamper);
        fails(&play).await?;
        let failure = play.failure()?;
        same(
            "the one to blame,",
            &failure.participant,
            &Some(id("world")),
        )?;
        // Whoever watches the route may say so first, and knows nothing.
        let mutation = failure.error.mutation;
        let is_due = mutation == certainty || mutation == MutationCertainty::Unknown;
        holds("an honest word of what is known", is_due, &failure)?;
        let advances = play
            .tap
            .entries()
            .iter()
            .filter(|entry| {
                entry.method() == "Environment.Advance"
                    && entry.step() == Some(1)
                    && matches!(entry.said, crate::Said::Asked)
            })
            .count();
        same("no second advance,", &advances, &1)?;
        has_ended(&play, 1).await?;
    }
    Ok(())
}

pub(super) async fn a_panic_is_a_death_and_named(stage: Rc<dyn Stage>) -> Verdict {
    if !stage.survives_panics() {
        return Ok(());
    }
    for (worker, at) in [
        ("world", FaultPoint::Advance),
        ("fly-b", FaultPoint::Prepare),
    ] {
        let fault = Fault::new(id(worker), at, FaultKind::Panic).at_boundary(1);
        let play = Play::ready(&stage, Setup::faults(vec![fault]).hasty()).await?;
        play.steps(1).await?;
        fails(&play).await?;
        same(
            "the one to blame,",
            &play.failure()?.participant,
            &Some(id(worker)),
        )?;
        has_ended(&play, 1).await?;
    }
    Ok(())
}

pub(super) async fn a_reply_that_is_not_its_own_ends_the_epoch(stage: Rc<dyn Stage>) -> Verdict {
    let tampers = [
        Tamper::ForeignWorker,
        Tamper::ForeignIncarnation,
        Tamper::ForeignRequest,
        Tamper::ForeignScope,
    ];
    for (worker, method) in [
        ("world", "Environment.Advance"),
        ("fly-a", "Agent.Prepare"),
        ("fly-b", "Agent.Commit"),
    ] {
        for tamper in &tampers {
            let play = Play::ready(&stage, Setup::default()).await?;
            play.steps(1).await?;
            play.tap.plan(&id(worker), method, Some(1), tamper.clone());
            let error = fails(&play).await?;
            let found = (error.code(), error.participant().cloned());
            let due = (ErrorCode::IdentityMismatch, Some(id(worker)));
            same("a reply that is not its own,", &found, &due)?;
            has_ended(&play, 1).await?;
        }
    }
    Ok(())
}

pub(super) async fn another_incarnation_is_never_reached_in_silence(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default()).await?;
    play.steps(1).await?;
    let lives = |play: &Play| -> Vec<String> {
        let participants = play.session.status().participants;
        participants
            .iter()
            .map(|it| it.incarnation_id.to_string())
            .collect()
    };
    let before = lives(&play);
    play.kill("fly-b");
    fails(&play).await?;
    play.tap.plan(
        &id("fly-a"),
        "Worker.Hello",
        None,
        Tamper::ForeignIncarnation,
    );
    let replaced = play.session.replace_participants().await;
    let error = refused("an impostor", replaced, ErrorCode::IdentityMismatch)?;
    same(
        "the one it claims to be,",
        &error.participant(),
        &Some(&id("fly-a")),
    )?;
    same("nobody replaced,", &lives(&play), &before)?;
    play.session.replace_participants().await?;
    let after = lives(&play);
    let fresh = after.iter().all(|life| !before.contains(life));
    holds("new lives under new names", fresh, (&before, &after))
}

pub(super) async fn an_epoch_that_ended_does_nothing_more(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    play.session.checkpoint(None).await?;
    let error =
        wellwritten_session::ParticipantError::uncertain(ErrorCode::BackendFailure, "first");
    play.session.fail_epoch(None, error)?;
    let reason = play.session.status().failure;
    let code = ErrorCode::InvalidPhase;
    refused("a bootstrap", play.session.bootstrap().await, code)?;
    refused("a pause", play.session.pause(), code)?;
    refused("a capture", play.session.checkpoint(None).await, code)?;
    refused(
        "a rewrite",
        play.session.rewrite(&id("world"), "field").await,
        code,
    )?;
    let again =
        wellwritten_session::ParticipantError::uncertain(ErrorCode::BackendFailure, "again");
    refused("another end", play.session.fail_epoch(None, again), code)?;
    same("the first reason,", &play.session.status().failure, &reason)?;
    has_ended(&play, 1).await
}

pub(super) async fn a_refusal_of_any_code_ends_the_step_and_says_that_nothing_changed(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for code in ErrorCode::ALL {
        // Asked again while it runs, as if the session had asked twice: no code of a participant's own.
        if code == ErrorCode::InProgress {
            continue;
        }
        let refuses = FaultKind::Refuse(code);
        let fault = Fault::new(id("fly-b"), FaultPoint::Prepare, refuses).at_boundary(1);
        let play = Play::ready(&stage, Setup::faults(vec![fault]).hasty()).await?;
        play.steps(1).await?;
        let error = fails(&play).await?;
        let found = (error.code(), error.mutation(), error.participant().cloned());
        same(
            "its own word,",
            &found,
            &(code, MutationCertainty::None, Some(id("fly-b"))),
        )?;
        same("honest errors,", &play.tap.dishonest_errors(), &Vec::new())?;
        has_ended(&play, 1).await?;
    }
    Ok(())
}
