//! Whoever fails while a group is restored is blamed by name, and nobody goes on without the others.

use std::rc::Rc;

use futures::future::{Either, join, select};
use wellwritten_counter::{Fault, FaultKind, FaultPoint, WORLD};
use wellwritten_session::{
    Call, ErrorCode, MutationCertainty, Phase, PhaseKind, Request, RequestId, RestoreRequest,
    SessionError,
};

use crate::play::{MS, Play, Setup, id};
use crate::scenario_failure::{holds, refused, same};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

use super::fencing::{failed, good_restores, tainted};
use super::resuming::to;

const EVERYONE: [&str; 3] = [WORLD, "fly-a", "fly-b"];

/// Those that staged or may have where that one refused to, or where it did and said nothing: the world goes first, the
/// agents are asked at once.
fn staged_beside(worker: &str, is_certain: bool) -> Vec<String> {
    let everyone = ["fly-a", "fly-b", WORLD].into_iter();
    let staged: Vec<&str> = if worker == WORLD {
        everyone.filter(|it| *it == WORLD && !is_certain).collect()
    } else {
        everyone.filter(|it| *it != worker || !is_certain).collect()
    };
    staged.into_iter().map(str::to_owned).collect()
}

fn everyone() -> Vec<String> {
    ["fly-a", "fly-b", WORLD].map(str::to_owned).to_vec()
}

/// A restore that fails; what is left is a fence, and exactly these are tainted. Another restore is refused naming them.
async fn fails(
    play: &Play,
    what: &str,
    epoch: &str,
    due: Vec<String>,
) -> Result<SessionError, ScenarioFailure> {
    let _ = play.tap.drain();
    let Err(error) = play.session.restore(to("good", epoch)).await else {
        return Err(ScenarioFailure::new(
            format!("{what}: a failure"),
            play.session.phase(),
        ));
    };
    let status = play.session.status();
    let found = (status.phase, status.fenced);
    same(&format!("{what}: {error}:"), &found, &(Phase::Failed, true))?;
    same(&format!("{what}: tainted,"), &tainted(play), &due)?;
    let step = play.session.step().await;
    refused("a step of half a group", step, ErrorCode::InvalidPhase)?;
    if !due.is_empty() {
        let again = play.session.restore(RestoreRequest::default()).await;
        let again =
            refused("a restore of the tainted", again, ErrorCode::InvalidPhase)?.to_string();
        let are_named = due.iter().all(|worker| again.contains(worker.as_str()));
        holds(
            &format!("{what}: the tainted to be named"),
            are_named,
            again,
        )?;
    }
    Ok(error)
}

fn was_said(play: &Play, method: &str) -> bool {
    play.tap
        .entries()
        .iter()
        .any(|entry| entry.method() == method)
}

/// A fault of each participant, one in each of their lives: as often as they are all replaced.
fn one_after_the_other(at: FaultPoint, kind: FaultKind) -> Setup {
    let faults = EVERYONE.into_iter().zip(1..);
    let faults = faults.map(|(worker, life)| Fault::new(id(worker), at, kind).in_life(life));
    Setup::faults(faults.collect())
}

pub(super) async fn whoever_refuses_to_stage_is_blamed_and_nobody_is_activated(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let refuses = FaultKind::Refuse(ErrorCode::IncompatibleState);
    let play = failed(&stage, one_after_the_other(FaultPoint::Stage, refuses)).await?;
    for (number, worker) in EVERYONE.into_iter().enumerate() {
        let what = format!("{worker} refuses");
        let due = staged_beside(worker, true);
        let error = fails(&play, &what, &format!("try-{number}"), due).await?;
        let found = (error.participant().cloned(), error.code());
        same(
            &what,
            &found,
            &(Some(id(worker)), ErrorCode::IncompatibleState),
        )?;
        holds(
            "nobody to be activated",
            !was_said(&play, "State.ActivateRestore"),
            &what,
        )?;
        play.session.replace_participants().await?;
    }
    good_restores(&play).await
}

pub(super) async fn whoever_breaks_while_it_stages_is_tainted_itself(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = failed(
        &stage,
        one_after_the_other(FaultPoint::Stage, FaultKind::Break),
    )
    .await?;
    for (number, worker) in EVERYONE.into_iter().enumerate() {
        let what = format!("{worker} breaks");
        let due = staged_beside(worker, false);
        let error = fails(&play, &what, &format!("try-{number}"), due).await?;
        same(&what, &error.participant(), &Some(&id(worker)))?;
        holds(
            "nobody to be activated",
            !was_said(&play, "State.ActivateRestore"),
            &what,
        )?;
        play.session.replace_participants().await?;
    }
    good_restores(&play).await
}

pub(super) async fn whoever_refuses_to_be_activated_is_blamed_and_everyone_is_tainted(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let refuses = FaultKind::Refuse(ErrorCode::IncompatibleState);
    let play = failed(&stage, one_after_the_other(FaultPoint::Activate, refuses)).await?;
    for (number, worker) in EVERYONE.into_iter().enumerate() {
        let what = format!("{worker} refuses");
        let error = fails(&play, &what, &format!("try-{number}"), everyone()).await?;
        same(&what, &error.participant(), &Some(&id(worker)))?;
        play.session.replace_participants().await?;
    }
    good_restores(&play).await
}

/// Nobody knows how far it got; everyone who staged or may have is tainted.
pub(super) async fn whoever_is_gone_before_its_answer_comes_is_tainted_too(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = failed(&stage, Setup::default().hasty()).await?;
    let mut number = 0;
    for worker in EVERYONE {
        for method in ["State.StageRestore", "State.ActivateRestore"] {
            number += 1;
            let what = format!("{worker} cut at {method}");
            let due = if method == "State.StageRestore" {
                staged_beside(worker, false)
            } else {
                everyone()
            };
            play.tap
                .plan(&id(worker), method, None, Tamper::CutBeforeReply);
            let error = fails(&play, &what, &format!("try-{number}"), due).await?;
            same(&what, &error.participant(), &Some(&id(worker)))?;
            holds("it to have happened", play.tap.is_done(), &what)?;
            play.session.replace_participants().await?;
        }
    }
    good_restores(&play).await
}

pub(super) async fn whoever_is_killed_in_the_middle_of_a_restore_is_named_and_nobody_goes_on(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for (victim, at) in [("fly-a", FaultPoint::Stage), (WORLD, FaultPoint::Activate)] {
        let slow = Fault::new(id(victim), at, FaultKind::DelayMs(60_000));
        let play = failed(&stage, Setup::faults(vec![slow])).await?;
        let _ = play.tap.drain();
        let method = if at == FaultPoint::Stage {
            "State.StageRestore"
        } else {
            "State.ActivateRestore"
        };
        let killing = async {
            let is_asked = || {
                let entries = play.tap.entries();
                entries
                    .iter()
                    .any(|it| it.method() == method && it.worker == id(victim))
            };
            play.until("it to be asked", is_asked).await?;
            play.kill(victim);
            Ok::<_, ScenarioFailure>(())
        };
        let (restored, killed) = join(play.session.restore(to("good", "e2")), killing).await;
        killed?;
        let Err(error) = restored else {
            return Err(ScenarioFailure::new("a failure", play.session.phase()));
        };
        same("blamed,", &error.participant(), &Some(&id(victim)))?;
        let status = play.session.status();
        same(
            "behind the fence,",
            &(status.phase, status.fenced),
            &(Phase::Failed, true),
        )?;
        let is_tainted = tainted(&play).iter().any(|it| it == victim);
        holds("tainted", is_tainted, tainted(&play))?;
        play.session.replace_participants().await?;
        good_restores(&play).await?;
    }
    Ok(())
}

/// Whoever is gone before anybody staged taints nobody, and is named with what to do.
/// Whether it answers.
async fn is_there(play: &Play, worker: &str) -> Result<bool, ScenarioFailure> {
    let question = Request {
        request_id: RequestId(0),
        scope: None,
        call: Call::Status {},
    };
    // One whose port nobody holds any more says nothing at all.
    let route = play.route(worker)?;
    let clock = play.stage.clock();
    match select(route.call(&question), clock.sleep_ns(500 * MS)).await {
        Either::Left((answer, _)) => Ok(answer.is_ok()),
        Either::Right(_) => Ok(false),
    }
}

pub(super) async fn whoever_is_not_there_is_named_before_anyone_stages(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for victim in EVERYONE {
        let play = failed(&stage, Setup::default().hasty()).await?;
        play.kill(victim);
        // Where it lives elsewhere it may have the time for an answer still.
        let mut patience = 1_000;
        while patience > 0 && is_there(&play, victim).await? {
            patience -= 1;
            play.stage.clock().sleep_ns(MS).await;
        }
        let _ = play.tap.drain();
        let Err(error) = play.session.restore(to("good", "e2")).await else {
            return Err(ScenarioFailure::new("a refusal", play.session.phase()));
        };
        let found = (error.participant().cloned(), error.mutation());
        same(
            "named,",
            &found,
            &(Some(id(victim)), MutationCertainty::None),
        )?;
        holds(
            "nobody to be asked to stage",
            !was_said(&play, "State.StageRestore"),
            victim,
        )?;
        same("nobody tainted,", &tainted(&play), &Vec::new())?;
        play.session.replace_participant(&id(victim)).await?;
        good_restores(&play).await?;
    }
    Ok(())
}

/// Nobody waits for it any more: it must not stay half done in silence.
pub(super) async fn a_restore_that_is_abandoned_leaves_a_fence_and_the_tainted(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let slow = Fault::new(id("fly-b"), FaultPoint::Stage, FaultKind::DelayMs(60_000));
    let play = failed(&stage, Setup::faults(vec![slow])).await?;
    let restoring = Box::pin(play.session.restore(to("good", "e2")));
    let meanwhile = Box::pin(play.until("the restore to be under way", || {
        play.session.phase().kind() == PhaseKind::Restoring
    }));
    match select(restoring, meanwhile).await {
        Either::Left((ended, _)) => {
            return Err(ScenarioFailure::new(
                "a restore that takes long",
                ended.is_ok(),
            ));
        }
        Either::Right((is_there, restoring)) => {
            is_there?;
            drop(restoring);
        }
    }
    let status = play.session.status();
    same(
        "behind the fence,",
        &(status.phase, status.fenced),
        &(Phase::Failed, true),
    )?;
    holds(
        "those who may have staged to be tainted",
        !tainted(&play).is_empty(),
        tainted(&play),
    )?;
    refused(
        "the epoch it was for",
        play.session.restore(to("good", "e2")).await,
        ErrorCode::InvalidPhase,
    )?;
    play.session.replace_participants().await?;
    refused(
        "the epoch it was for",
        play.session.restore(to("good", "e2")).await,
        ErrorCode::StaleEpoch,
    )?;
    good_restores(&play).await
}
