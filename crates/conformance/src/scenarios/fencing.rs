//! What an epoch that ended keeps out, and what lets the session go on.

use std::rc::Rc;

use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    Answer, Call, CheckpointRequest, ErrorCode, Id, MutationCertainty, ParticipantError, Phase,
    PhaseKind, Request, RequestId, ResetRequest, RestoreRequest, SaveKind, Scope, StageRestore,
    U64,
};

use futures::future::join;

use crate::desk::{Desk, request};
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Verdict};

use super::resuming::{save, to};

/// Ends the epoch from outside, as a host does whose device was lost.
pub(super) fn fail(play: &Play) -> Verdict {
    let error = ParticipantError::uncertain(ErrorCode::BackendFailure, "the device was lost");
    play.session.fail_epoch(None, error)?;
    Ok(())
}

/// A session that was saved as `good` at boundary 2, went on to 3, and failed.
pub(super) async fn failed(stage: &Rc<dyn Stage>, setup: Setup) -> Result<Play, ScenarioFailure> {
    let play = Play::ready(stage, setup.with_store()).await?;
    play.steps(2).await?;
    save(&play, "good").await?;
    play.steps(1).await?;
    fail(&play)?;
    Ok(play)
}

/// Who has to be replaced before another restore, by name.
pub(super) fn tainted(play: &Play) -> Vec<String> {
    let status = play.session.status();
    let mut tainted: Vec<String> = status.tainted.iter().map(Id::to_string).collect();
    tainted.sort();
    tainted
}

/// `good` restores under a new epoch, paused at its boundary, and goes on.
pub(super) async fn good_restores(play: &Play) -> Verdict {
    let request = RestoreRequest {
        checkpoint_id: Some(id("good")),
        ..RestoreRequest::default()
    };
    let report = play.session.restore(request).await?;
    let status = play.session.status();
    let found = (report.boundary, status.phase, status.fenced);
    let due = (2, Phase::Paused { boundary: 2 }, false);
    same("paused where it was saved,", &found, &due)?;
    same("under the epoch it says,", &status.epoch, &report.to_epoch)?;
    play.session.resume()?;
    play.steps(2).await
}

pub(super) async fn behind_the_fence_nothing_is_possible_but_a_restore(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = failed(&stage, Setup::default()).await?;
    let before = play.session.status();
    let said = play.tap.drain().len();
    holds("something to have been said before", said > 0, said)?;
    let invalid = ErrorCode::InvalidPhase;
    refused("a step", play.session.step().await, invalid)?;
    refused("a bootstrap", play.session.bootstrap().await, invalid)?;
    refused("a capture", play.session.checkpoint(None).await, invalid)?;
    refused("a resumption", play.session.resume(), invalid)?;
    refused("a pause", play.session.pause(), invalid)?;
    refused(
        "the epoch that failed",
        play.session.restore(to("good", "e1")).await,
        ErrorCode::StaleEpoch,
    )?;
    same("the session as it was,", &play.session.status(), &before)?;
    let entries = play.tap.entries();
    let asked: Vec<&str> = entries.iter().map(crate::Entry::method).collect();
    holds("nobody to be asked for anything", asked.is_empty(), &asked)?;
    // New participants are no coherent group yet.
    play.session.replace_participants().await?;
    same("still behind it,", &play.session.phase(), &Phase::Failed)?;
    refused("a step of new ones", play.session.step().await, invalid)?;
    good_restores(&play).await?;
    let failure = play.session.status().failure;
    holds("no failure any more", failure.is_none(), failure)?;
    // The epochs that were left stay stale.
    fail(&play)?;
    for epoch in ["e1", "e2"] {
        let again = play.session.restore(to("good", epoch)).await;
        refused("an epoch that was used", again, ErrorCode::StaleEpoch)?;
    }
    good_restores(&play).await
}

pub(super) async fn a_restore_is_refused_where_nothing_failed(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    save(&play, "good").await?;
    let restore = || play.session.restore(RestoreRequest::default());
    refused(
        "a restore while it is ready",
        restore().await,
        ErrorCode::InvalidPhase,
    )?;
    play.session.pause()?;
    refused(
        "a restore while it is paused",
        restore().await,
        ErrorCode::InvalidPhase,
    )?;
    same(
        "still paused,",
        &play.session.phase(),
        &Phase::Paused { boundary: 1 },
    )?;
    play.session.resume()?;
    play.steps(1).await
}

pub(super) async fn a_generation_that_is_not_there_changes_nothing(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = failed(&stage, Setup::default()).await?;
    let before = play.session.status();
    let absent = play.session.restore(to("absent", "e2")).await;
    holds("a refusal", absent.is_err(), absent.is_ok())?;
    same("the session as it was,", &play.session.status(), &before)?;
    good_restores(&play).await
}

/// The answer to a capture, from a participant at the desk.
async fn captured(desk: &Desk, serial: u64) -> Result<Call, ScenarioFailure> {
    let checkpoint_id = id("desk");
    let call = Call::Capture {
        checkpoint_id: checkpoint_id.clone(),
    };
    match desk.answer(request(serial, "e1", 0, call)).await? {
        Answer::Captured {
            compatibility_digest,
            payload,
            boundary,
            ..
        } => Ok(Call::StageRestore(StageRestore {
            checkpoint_id,
            source_scope: Scope {
                session_id: id("demo"),
                epoch: id("e1"),
                step: boundary,
            },
            compatibility_digest,
            payload,
        })),
        other => Err(ScenarioFailure::new("a captured state", other)),
    }
}

fn activate(token: &str) -> Call {
    Call::ActivateRestore {
        restore_token: token.to_owned(),
    }
}

pub(super) async fn a_restore_token_activates_once_and_no_other_in_its_place(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let desks = [
        Desk::agent(&stage, &Setup::agents(1).composition).await?,
        Desk::world(&stage, Setup::agents(1).composition).await?,
    ];
    for desk in desks {
        let staging = captured(&desk, 2).await?;
        let early = desk.code(request(3, "e2", 0, activate("rt-0"))).await?;
        same("nothing staged,", &early, &ErrorCode::InvalidPhase)?;
        let own = desk.code(request(4, "e1", 0, staging.clone())).await?;
        same("into the epoch that runs,", &own, &ErrorCode::StaleEpoch)?;
        let staged = desk.answer(request(5, "e2", 0, staging.clone())).await?;
        let Answer::Staged { restore_token, .. } = staged else {
            return Err(ScenarioFailure::new("a staged state", staged));
        };
        let again = desk.code(request(6, "e2", 0, staging.clone())).await?;
        same("another while one is staged,", &again, &ErrorCode::Conflict)?;
        let other = desk.code(request(7, "e2", 0, activate("rt-0"))).await?;
        same("another token,", &other, &ErrorCode::IdentityMismatch)?;
        let elsewhere = request(8, "e3", 0, activate(&restore_token));
        same(
            "of another epoch,",
            &desk.code(elsewhere).await?,
            &ErrorCode::IdentityMismatch,
        )?;
        // What was staged is still there.
        let activating = request(9, "e2", 0, activate(&restore_token));
        desk.answer(activating.clone()).await?;
        let repeated = desk.answer(activating).await?;
        holds(
            "the same again",
            matches!(repeated, Answer::Activated { .. }),
            repeated,
        )?;
        let fresh = request(10, "e2", 0, activate(&restore_token));
        same(
            "a fresh request,",
            &desk.code(fresh).await?,
            &ErrorCode::Conflict,
        )?;
        let of_old = request(11, "e1", 0, Call::Verify {});
        same(
            "a request of the old epoch,",
            &desk.code(of_old).await?,
            &ErrorCode::StaleEpoch,
        )?;
    }
    Ok(())
}

pub(super) async fn a_token_that_a_session_used_is_used_up(stage: Rc<dyn Stage>) -> Verdict {
    let play = failed(&stage, Setup::default()).await?;
    let _ = play.tap.drain();
    play.session.restore(to("good", "e2")).await?;
    let mut tokens = Vec::new();
    for entry in play.tap.entries() {
        if let Some(Answer::Staged { restore_token, .. }) = entry.answer() {
            tokens.push((entry.worker.clone(), restore_token.clone()));
        }
    }
    let mut different: Vec<&String> = tokens.iter().map(|(_, token)| token).collect();
    different.sort();
    different.dedup();
    same("a token each,", &(tokens.len(), different.len()), &(3, 3))?;
    for (serial, (worker, token)) in tokens.iter().enumerate() {
        let asked = Request {
            request_id: RequestId(90_000 + serial as u64),
            scope: Some(Scope {
                session_id: id("demo"),
                epoch: id("e2"),
                step: U64(2),
            }),
            call: activate(token),
        };
        let reply = play.route(worker.as_str())?.call(&asked).await?;
        match reply.outcome {
            Err(error) => same(
                "a token that was used,",
                &(error.code, error.mutation),
                &(ErrorCode::Conflict, MutationCertainty::None),
            )?,
            Ok(answer) => return Err(ScenarioFailure::new("a refusal", answer)),
        }
    }
    play.session.resume()?;
    play.steps(2).await
}

/// Where the session is not at a boundary, or not at one yet.
pub(super) async fn a_capture_is_refused_anywhere_but_at_a_boundary(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let work = |participant: &str, at| Fault::new(id(participant), at, FaultKind::DelayMs(60));
    let slow = vec![
        work("world", FaultPoint::Initialize),
        work("fly-a", FaultPoint::Prepare).at_boundary(0),
        work("world", FaultPoint::Advance).at_boundary(1),
        work("fly-b", FaultPoint::Commit).at_boundary(2),
        work("world", FaultPoint::Capture),
        work("fly-a", FaultPoint::Stage),
    ];
    let play = Play::starting(&stage, Setup::faults(slow).with_store()).await?;
    let early = play.session.checkpoint(None).await;
    refused("a capture of nothing", early, ErrorCode::InvalidPhase)?;
    let meanwhile = |kind: PhaseKind| {
        let play = &play;
        async move {
            let is_there = || play.session.phase().kind() == kind;
            play.until("the session to be on its way", is_there).await?;
            refused(
                "a capture on the way",
                play.session.checkpoint(None).await,
                ErrorCode::Busy,
            )
        }
    };
    let (done, turned_away) = join(play.session.bootstrap(), meanwhile(PhaseKind::Starting)).await;
    done?;
    turned_away?;
    for kind in [
        PhaseKind::Preparing,
        PhaseKind::Applying,
        PhaseKind::Committing,
    ] {
        let (done, turned_away) = join(play.session.step(), meanwhile(kind)).await;
        done?;
        turned_away?;
    }
    let (done, turned_away) = join(
        play.session.checkpoint(Some(id("good"))),
        meanwhile(PhaseKind::Capturing),
    )
    .await;
    holds("a checkpoint", done?.is_committed(), ())?;
    turned_away?;
    fail(&play)?;
    refused(
        "a capture behind the fence",
        play.session.checkpoint(None).await,
        ErrorCode::InvalidPhase,
    )?;
    let (done, turned_away) = join(
        play.session.restore(to("good", "e2")),
        meanwhile(PhaseKind::Restoring),
    )
    .await;
    done?;
    turned_away?;
    let entries = play.tap.entries();
    let captures = entries
        .iter()
        .filter(|entry| entry.method() == "State.Capture" && entry.answer().is_some());
    same("captures that were taken,", &captures.count(), &3)
}

pub(super) async fn a_capture_returns_to_where_it_came_from(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    save(&play, "at-0").await?;
    same(
        "ready,",
        &play.session.phase(),
        &Phase::Ready { boundary: 0 },
    )?;
    play.steps(2).await?;
    play.session.pause()?;
    save(&play, "at-2").await?;
    same(
        "paused,",
        &play.session.phase(),
        &Phase::Paused { boundary: 2 },
    )?;
    // Also where somebody refuses.
    let refuses = FaultKind::Refuse(ErrorCode::Busy);
    let fault = Fault::new(id("fly-b"), FaultPoint::Capture, refuses);
    let play = Play::ready(&stage, Setup::faults(vec![fault]).with_store()).await?;
    play.steps(1).await?;
    play.session.pause()?;
    let request = CheckpointRequest {
        checkpoint_id: None,
        kind: SaveKind::Durable,
    };
    let refusal = play.session.capture(request).await;
    let refusal = refused(
        "a capture that an agent refuses",
        refusal.map(|_| ()),
        ErrorCode::Busy,
    )?;
    same(
        "whose refusal,",
        &refusal.participant(),
        &Some(&id("fly-b")),
    )?;
    same(
        "paused,",
        &play.session.phase(),
        &Phase::Paused { boundary: 1 },
    )?;
    save(&play, "at-1").await?;
    play.session.resume()?;
    play.steps(1).await
}

/// A reset is another way on than a restore, for an episode that is given up.
pub(super) async fn a_checkpoint_of_an_episode_that_was_left_is_not_taken_for_the_present(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(2).await?;
    save(&play, "good").await?;
    let reset = ResetRequest {
        episode_id: id("ep2"),
        epoch: None,
    };
    play.session.pause()?;
    play.session.reset(reset).await?;
    play.steps(1).await?;
    save(&play, "of-ep2").await?;
    fail(&play)?;
    let error = play.session.restore(to("good", "e9")).await;
    let error = refused("one of another episode", error, ErrorCode::IdentityMismatch)?;
    let text = error.to_string();
    let names = ["episodeId", "ep1", "ep2"]
        .iter()
        .all(|it| text.contains(it));
    holds("the field and both values", names, text)?;
    let report = play.session.restore(RestoreRequest::default()).await?;
    same(
        "the newest of its own,",
        &report.checkpoint_id,
        &id("of-ep2"),
    )
}
