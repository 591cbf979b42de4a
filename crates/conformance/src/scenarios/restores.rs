//! A whole group goes on, or nobody.

use std::rc::Rc;

use wellwritten_counter::{Fault, FaultKind, FaultPoint};
use wellwritten_session::{
    Answer, Call, ErrorCode, MutationCertainty, Phase, RestoreRequest, TransportError,
};

use crate::desk::request;
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::{ScenarioFailure, Stage, Tamper, Verdict};

use super::fencing::{fail, failed, good_restores, tainted};
use super::resuming::save;

pub(super) async fn a_group_goes_on_under_a_new_epoch(stage: Rc<dyn Stage>) -> Verdict {
    let play = failed(&stage, Setup::agents(3)).await?;
    play.session.replace_participants().await?;
    good_restores(&play).await
}

pub(super) async fn participants_are_restored_to_a_lower_step_and_take_its_steps(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = Play::ready(&stage, Setup::default().with_store()).await?;
    play.steps(1).await?;
    play.session.checkpoint(Some(id("early"))).await?;
    // Far enough that the new epoch's steps would look old.
    play.steps(6).await?;
    fail(&play)?;
    let before = play.session.status().participants;
    play.session.restore(RestoreRequest::default()).await?;
    same(
        "the same participants,",
        &play.session.status().participants,
        &before,
    )?;
    play.session.resume()?;
    play.steps(8).await?;
    same(
        "as far again and further,",
        &play.session.phase(),
        &Phase::Ready { boundary: 9 },
    )
}

pub(super) async fn an_old_incarnation_is_not_heard_after_a_restore(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let play = failed(&stage, Setup::default()).await?;
    let old = play.route("fly-a")?;
    play.session.replace_participants().await?;
    let asked = request(9_999, "e1", 3, Call::Verify {});
    let reached = old.call(&asked).await;
    let is_cut = matches!(
        reached,
        Err(TransportError::RouteGone { .. } | TransportError::ReplyLost { .. })
    );
    holds("the old route to be cut", is_cut, &reached)?;
    good_restores(&play).await?;
    // A request of the old epoch that reaches the new participant.
    let reached = play.route("fly-a")?.call(&asked).await?;
    match reached.outcome {
        Err(error) => same(
            "a word of the old epoch,",
            &error.code,
            &ErrorCode::StaleEpoch,
        )?,
        Ok(answer) => return Err(ScenarioFailure::new("a refusal", answer)),
    }
    // A reply of the old life to a question of the new epoch.
    play.tap.plan(
        &id("fly-a"),
        "Agent.Prepare",
        None,
        Tamper::ForeignIncarnation,
    );
    match play.session.step().await {
        Err(error) => same(
            "a reply of the old life,",
            &error.code(),
            &ErrorCode::IdentityMismatch,
        ),
        Ok(boundary) => Err(ScenarioFailure::new("a step that fails", boundary)),
    }
}

pub(super) async fn three_stage_the_fourth_fails_and_nobody_goes_on(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let refuses = FaultKind::Refuse(ErrorCode::IncompatibleState);
    let fault = Fault::new(id("fly-c"), FaultPoint::Stage, refuses);
    let mut setup = Setup::faults(vec![fault]);
    setup.composition.agents = 3;
    let play = failed(&stage, setup).await?;
    let _ = play.tap.drain();
    let Err(error) = play.session.restore(RestoreRequest::default()).await else {
        return Err(ScenarioFailure::new(
            "a restore that fails",
            play.session.phase(),
        ));
    };
    same(
        "the one to blame,",
        &error.participant(),
        &Some(&id("fly-c")),
    )?;
    let activated = play
        .tap
        .entries()
        .iter()
        .any(|entry| entry.method() == "State.ActivateRestore");
    holds("nobody to be activated", !activated, activated)?;
    same("a closed fence,", &play.session.phase(), &Phase::Failed)?;
    let staged = ["fly-a", "fly-b", "world"].map(str::to_owned).to_vec();
    same("those who staged,", &tainted(&play), &staged)?;
    let again = play.session.restore(RestoreRequest::default()).await;
    holds("no restore of those", again.is_err(), play.session.phase())?;
    play.session.replace_participants().await?;
    good_restores(&play).await
}

pub(super) async fn an_activation_that_fails_half_way_leaves_the_group_fenced(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let breaks = Fault::new(id("fly-a"), FaultPoint::Activate, FaultKind::Break);
    let play = failed(&stage, Setup::faults(vec![breaks])).await?;
    let Err(error) = play.session.restore(RestoreRequest::default()).await else {
        return Err(ScenarioFailure::new(
            "a restore that fails",
            play.session.phase(),
        ));
    };
    let found = (error.participant().cloned(), error.mutation());
    same(
        "blamed,",
        &found,
        &(Some(id("fly-a")), MutationCertainty::Unknown),
    )?;
    let status = play.session.status();
    same(
        "a closed fence,",
        &(status.phase, status.fenced),
        &(Phase::Failed, true),
    )?;
    let everyone = ["fly-a", "fly-b", "world"].map(str::to_owned).to_vec();
    same("everyone,", &tainted(&play), &everyone)?;
    let step = play.session.step().await;
    holds("no step of half a group", step.is_err(), step.is_ok())?;
    play.session.replace_participants().await?;
    good_restores(&play).await
}

pub(super) async fn lost_lifecycle_replies_resolve(stage: Rc<dyn Stage>) -> Verdict {
    for (worker, method) in [
        ("fly-a", "State.Capture"),
        ("world", "State.StageRestore"),
        ("fly-b", "State.ActivateRestore"),
    ] {
        let play = Play::ready(&stage, Setup::default().hasty().with_store()).await?;
        play.tap.plan(&id(worker), method, None, Tamper::LoseReply);
        play.steps(2).await?;
        save(&play, "good").await?;
        fail(&play)?;
        good_restores(&play).await?;
        holds("the loss to have happened", play.tap.is_done(), method)?;
    }
    Ok(())
}

pub(super) async fn old_sound_is_never_taken_for_the_present(stage: Rc<dyn Stage>) -> Verdict {
    let play = failed(&stage, Setup::default()).await?;
    play.session.replace_participants().await?;
    let _ = play.tap.drain();
    good_restores(&play).await?;
    let mut chunks = Vec::new();
    for entry in play.tap.entries() {
        match entry.answer() {
            Some(Answer::Stepped(result)) => {
                let audio = result.observation.audio.iter();
                chunks.extend(audio.map(|chunk| (chunk.first_sample.0, chunk.discontinuity)));
            }
            Some(Answer::Activated {
                observation: Some(observation),
                ..
            }) => same("silence where nothing moved,", &observation.audio.len(), &0)?,
            _ => {}
        }
    }
    let due = vec![(1_600, true), (2_400, false)];
    same("a break in what is heard, and then none,", &chunks, &due)?;
    // A chunk that claims to follow what was heard in the old epoch.
    let lie = FaultKind::Lie(wellwritten_counter::Lie::AudioMismarked);
    let fault = Fault::new(id("world"), FaultPoint::Advance, lie).in_life(2);
    let play = failed(&stage, Setup::faults(vec![fault])).await?;
    play.session.replace_participants().await?;
    play.session.restore(RestoreRequest::default()).await?;
    play.session.resume()?;
    match play.session.step().await {
        Err(error) => same("old sound,", &error.code(), &ErrorCode::BufferInvalid),
        Ok(boundary) => Err(ScenarioFailure::new("a step that fails", boundary)),
    }
}
