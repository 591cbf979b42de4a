//! What the world shows and sounds like.

use std::rc::Rc;

use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPoint, Lie};
use wellwritten_session::{Answer, Artifact, Call, ErrorCode, Phase};

use crate::desk::{Desk, advance, request};
use crate::play::{Play, Setup, id};
use crate::scenario_failure::{holds, same};
use crate::tap::Said;
use crate::{ScenarioFailure, Stage, Verdict};

/// The frames that agents were given to commit, by step: one list for each.
fn given(play: &Play, step: u64) -> Vec<Artifact> {
    let entries = play.tap.entries();
    let asked = entries
        .iter()
        .filter(|entry| matches!(entry.said, Said::Asked) && entry.step() == Some(step));
    let views = asked.filter_map(|entry| match &entry.request.call {
        Call::Commit(commit) => commit
            .next_input
            .views
            .first()
            .map(|view| view.pixels.clone()),
        _ => None,
    });
    views.collect()
}

pub(super) async fn one_shared_image_reaches_every_agent(stage: Rc<dyn Stage>) -> Verdict {
    let play = Play::ready(&stage, Setup::agents(3)).await?;
    play.steps(2).await?;
    for step in 0..2 {
        let images = given(&play, step);
        same("an image for each agent,", &images.len(), &3)?;
        let is_one = images.iter().all(|image| image.is_same(&images[0]));
        holds("one and the same image", is_one, &images)?;
    }
    let (first, second) = (given(&play, 0), given(&play, 1));
    holds(
        "another one at the next step",
        !first[0].is_same(&second[0]),
        (),
    )
}

pub(super) async fn an_image_outlives_the_message_it_came_with(stage: Rc<dyn Stage>) -> Verdict {
    let desk = Desk::world(&stage, CounterComposition::default()).await?;
    let mut images = Vec::new();
    for step in 0..6 {
        let asked = request(2 + step, "e1", step, advance("e1", step, true));
        let Answer::Stepped(result) = desk.answer(asked).await? else {
            return Err(ScenarioFailure::new("a step", "another answer"));
        };
        // All but the image goes.
        images.extend(
            result
                .observation
                .sensory_views
                .into_iter()
                .map(|view| view.pixels),
        );
    }
    let reds: Vec<u8> = images
        .iter()
        .filter_map(|image| image.bytes().first().copied())
        .collect();
    same("every image as it was,", &reds, &vec![1, 2, 3, 4, 5, 6])
}

/// The lie is found out, the world is blamed, nobody is rewarded, and the boundary stays.
async fn is_found_out(
    stage: &Rc<dyn Stage>,
    lie: Lie,
    delay: u8,
    code: Option<ErrorCode>,
) -> Verdict {
    let fault = Fault::new(id("world"), FaultPoint::Advance, FaultKind::Lie(lie)).at_boundary(1);
    let mut setup = Setup::faults(vec![fault]);
    setup.composition.view_delay_steps = delay;
    let play = Play::ready(stage, setup).await?;
    play.steps(1).await?;
    let Err(error) = play.session.step().await else {
        return Err(ScenarioFailure::new(
            format!("{lie:?} to be found out"),
            play.session.phase(),
        ));
    };
    same(
        "the world to be blamed,",
        &error.participant(),
        &Some(&id("world")),
    )?;
    if let Some(code) = code {
        same("the reason", &error.code(), &code)?;
    }
    let committed = play
        .tap
        .entries()
        .iter()
        .any(|entry| entry.method() == "Agent.Commit" && entry.step() == Some(1));
    holds("no reward and no commit", !committed, format!("{lie:?}"))?;
    let status = play.session.status();
    same(
        "where it ended,",
        &(status.phase, status.boundary),
        &(Phase::Failed, 1),
    )?;
    same("told of,", &play.boundaries(), &vec![1])
}

pub(super) async fn a_view_that_is_not_what_it_must_be_fails_the_step_before_any_reward(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let code = Some(ErrorCode::BufferInvalid);
    for lie in [
        Lie::ViewMissing,
        Lie::ViewStale,
        Lie::ViewFromTheFuture,
        Lie::ViewTruncated,
        Lie::ViewTwice,
    ] {
        is_found_out(&stage, lie, 0, code).await?;
    }
    is_found_out(&stage, Lie::ViewRerendered, 2, code).await
}

pub(super) async fn a_sound_that_is_not_what_it_must_be_fails_the_step_before_any_reward(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for lie in [
        Lie::AudioMissing,
        Lie::AudioOverlapping,
        Lie::AudioMisaligned,
        Lie::AudioNotFinite,
        Lie::AudioMismarked,
    ] {
        is_found_out(&stage, lie, 0, Some(ErrorCode::BufferInvalid)).await?;
    }
    Ok(())
}

pub(super) async fn whatever_else_the_world_says_wrong_fails_the_step_before_any_reward(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for lie in [
        Lie::Batch,
        Lie::AppliedFromStep,
        Lie::NextStep,
        Lie::Controls,
        Lie::Boundary,
        Lie::WorldTime,
        Lie::EngineFrame,
        Lie::InspectionSchema,
    ] {
        is_found_out(&stage, lie, 0, None).await?;
    }
    Ok(())
}

pub(super) async fn a_declared_delay_repeats_the_first_frame_as_the_same_artifact(
    stage: Rc<dyn Stage>,
) -> Verdict {
    let mut setup = Setup::default();
    setup.composition.view_delay_steps = 2;
    let play = Play::ready(&stage, setup).await?;
    play.steps(5).await?;
    let produced: Vec<u64> = play
        .trace()
        .iter()
        .flat_map(|record| &record.behaviour.observation_boundaries)
        .map(|view| view.produced_step.0)
        .collect();
    same("the steps that rendered,", &produced, &vec![0, 0, 1, 2, 3])?;
    let (first, second, third) = (given(&play, 0), given(&play, 1), given(&play, 2));
    holds(
        "the very same artifact again",
        first[0].is_same(&second[0]),
        (),
    )?;
    holds("and another one then", !second[0].is_same(&third[0]), ())
}

pub(super) async fn a_cadence_that_does_not_divide_the_sample_rate_lands_on_whole_samples(
    stage: Rc<dyn Stage>,
) -> Verdict {
    for (sample_rate, due) in [(8_000, [133, 133, 134]), (48_000, [800, 800, 800])] {
        let mut setup = Setup::default();
        setup.composition.sample_rate = sample_rate;
        let play = Play::ready(&stage, setup).await?;
        play.steps(6).await?;
        let mut position = 0;
        let mut frames = Vec::new();
        for entry in play.tap.entries() {
            let Some(Answer::Stepped(result)) = entry.answer() else {
                continue;
            };
            for chunk in &result.observation.audio {
                same("a chunk that goes on,", &chunk.first_sample.0, &position)?;
                position += u64::from(chunk.sample_frames);
                frames.push(chunk.sample_frames);
                let bytes = u64::from(chunk.sample_frames) * 8;
                same("as many bytes,", &chunk.samples.byte_length(), &bytes)?;
            }
        }
        same("whole sample frames,", &frames, &due.repeat(2))?;
    }
    Ok(())
}

pub(super) async fn nothing_sounds_where_nothing_moved(stage: Rc<dyn Stage>) -> Verdict {
    let lie = FaultKind::Lie(Lie::AudioAtRest);
    let fault = Fault::new(id("world"), FaultPoint::Initialize, lie);
    let play = Play::starting(&stage, Setup::faults(vec![fault])).await?;
    let Err(error) = play.session.bootstrap().await else {
        return Err(ScenarioFailure::new(
            "a bootstrap that fails",
            play.session.phase(),
        ));
    };
    let found = (error.code(), error.participant().cloned());
    same(
        "blamed,",
        &found,
        &(ErrorCode::BufferInvalid, Some(id("world"))),
    )
}
