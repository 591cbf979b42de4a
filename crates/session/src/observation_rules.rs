//! What a world may show at a boundary, checked before anyone acts on it.

use wellwritten_envelope::{Id, RationalNs};

use crate::audio_rules::advanced_timelines;
use crate::coordinator::Fault;
use crate::plain_number::is_plain;
use crate::{
    AgentGraph, AgentTelemetry, Artifact, AudioTimeline, EnvironmentDescriptor, ErrorCode,
    ViewAudience, ViewDescriptor, ViewRef, WorldObservation,
};

/// Longest name of an engine frame, in characters.
const MAX_ENGINE_FRAME: usize = 64;

/// What an observation must be where nothing moved: at a bootstrap, a restore, a reset. It is silent.
pub(crate) fn check_installed(
    descriptor: &EnvironmentDescriptor,
    observation: &WorldObservation,
    boundary: u64,
    world_time: RationalNs,
) -> Result<(), Fault> {
    check_observation(descriptor, observation, boundary, world_time)?;
    match observation.audio.first() {
        Some(chunk) => {
            let message = format!(
                "nothing moved, and stream {} has a chunk of {} sample frames",
                chunk.stream_id, chunk.sample_frames
            );
            let code = ErrorCode::BufferInvalid;
            Err(Fault::broken(&descriptor.worker_id, code, message))
        }
        None => Ok(()),
    }
}

/// What an observation must be that a transition produced from `old`. Returns where every stream is after it.
pub(crate) fn check_transition(
    descriptor: &EnvironmentDescriptor,
    old: &WorldObservation,
    observation: &WorldObservation,
    boundary: u64,
    world_time: RationalNs,
    timelines: &[AudioTimeline],
) -> Result<Vec<AudioTimeline>, Fault> {
    check_observation(descriptor, observation, boundary, world_time)?;
    check_repeated_frames(descriptor, old, observation)?;
    advanced_timelines(descriptor, &observation.audio, timelines)
}

/// Boundary, world time, inspection schema, and the views: in order, of the right step, of the right shape.
fn check_observation(
    descriptor: &EnvironmentDescriptor,
    observation: &WorldObservation,
    boundary: u64,
    world_time: RationalNs,
) -> Result<(), Fault> {
    let world = &descriptor.worker_id;
    let refuse = |code, message: String| Err(Fault::broken(world, code, message));
    if observation.boundary.0 != boundary {
        let message = format!(
            "the world shows boundary {}, expected {boundary}",
            observation.boundary
        );
        return refuse(ErrorCode::IdentityMismatch, message);
    }
    if observation.world_time != world_time {
        let message = format!(
            "the world's time is {:?}, expected {world_time:?}",
            observation.world_time
        );
        return refuse(ErrorCode::IdentityMismatch, message);
    }
    if observation
        .engine_frame
        .as_ref()
        .is_some_and(|frame| frame.chars().count() > MAX_ENGINE_FRAME)
    {
        return refuse(
            ErrorCode::InvalidArgument,
            "the engine frame's name is too long".to_owned(),
        );
    }
    if *observation.inspection.schema() != descriptor.inspection_schema {
        let message = format!(
            "the inspection follows {}",
            observation.inspection.schema().id
        );
        return refuse(ErrorCode::IdentityMismatch, message);
    }
    check_views(descriptor, observation, boundary)
}

/// Every sensory view is there, and no other for agents; of the spectators' views some may be missing.
fn check_views(
    descriptor: &EnvironmentDescriptor,
    observation: &WorldObservation,
    boundary: u64,
) -> Result<(), Fault> {
    let refuse = |message| {
        let code = ErrorCode::BufferInvalid;
        Err(Fault::broken(&descriptor.worker_id, code, message))
    };
    let declared = |audience| {
        let views = descriptor.views.iter();
        views.filter(move |view| view.audience == audience)
    };
    let shown =
        |views: &[ViewRef]| -> Vec<Id> { views.iter().map(|view| view.view_id.clone()).collect() };
    let sensory = &observation.sensory_views;
    let ids = || declared(ViewAudience::Sensory).map(|view| &view.view_id);
    if !sensory.iter().map(|view| &view.view_id).eq(ids()) {
        let (shown, due): (_, Vec<&Id>) = (shown(sensory), ids().collect());
        return refuse(format!(
            "the world shows views {shown:?}, it declares {due:?}"
        ));
    }
    for (view, declared) in sensory.iter().zip(declared(ViewAudience::Sensory)) {
        check_frame(declared, view, boundary).or_else(refuse)?;
    }
    let mut due = declared(ViewAudience::Spectator);
    for view in &observation.broadcast_views {
        let Some(declared) = due.find(|declared| declared.view_id == view.view_id) else {
            let shown = shown(&observation.broadcast_views);
            let due: Vec<&Id> = declared(ViewAudience::Spectator)
                .map(|view| &view.view_id)
                .collect();
            return refuse(format!(
                "the world broadcasts views {shown:?}, it declares {due:?}, each at most once and in that order"
            ));
        };
        check_frame(declared, view, boundary).or_else(refuse)?;
    }
    Ok(())
}

/// A frame of the step that is due, in the declared shape.
fn check_frame(declared: &ViewDescriptor, view: &ViewRef, boundary: u64) -> Result<(), String> {
    let required = declared.producing_step(boundary);
    if view.produced_step.0 != required {
        return Err(format!(
            "view {} was rendered at {}, boundary {boundary} needs {required}",
            view.view_id, view.produced_step
        ));
    }
    if view.pixels.byte_length() != declared.byte_length()
        || view.pixels.content_type() != Artifact::RGBA8
    {
        return Err(format!(
            "view {} has {} bytes of {}, declared are {} of {}",
            view.view_id,
            view.pixels.byte_length(),
            view.pixels.content_type(),
            declared.byte_length(),
            Artifact::RGBA8
        ));
    }
    Ok(())
}

/// A frame that is shown again must be the very same bytes, not a second rendering of them.
fn check_repeated_frames(
    descriptor: &EnvironmentDescriptor,
    old: &WorldObservation,
    new: &WorldObservation,
) -> Result<(), Fault> {
    let earlier = || old.sensory_views.iter().chain(&old.broadcast_views);
    let mut frames = new.sensory_views.iter().chain(&new.broadcast_views);
    let rendered_again = frames.find(|new| {
        earlier().any(|old| {
            (&old.view_id, old.produced_step) == (&new.view_id, new.produced_step)
                && !old.pixels.is_same(&new.pixels)
        })
    });
    match rendered_again {
        Some(view) => {
            let message = format!(
                "view {} shows step {} again as other bytes",
                view.view_id, view.produced_step
            );
            Err(Fault::broken(
                &descriptor.worker_id,
                ErrorCode::BufferInvalid,
                message,
            ))
        }
        None => Ok(()),
    }
}

/// Telemetry: as many ticks as the agent was given, finite rates in the graph's order.
pub(crate) fn check_telemetry(
    agent: &Id,
    telemetry: &AgentTelemetry,
    graph: &AgentGraph,
    brain_ticks: u64,
) -> Result<(), Fault> {
    let refuse = |message: String| Err(Fault::broken(agent, ErrorCode::BackendFailure, message));
    if telemetry.brain_ticks.0 != brain_ticks {
        return refuse(format!(
            "telemetry of {} ticks, expected {brain_ticks}",
            telemetry.brain_ticks
        ));
    }
    if !telemetry
        .rates
        .iter()
        .map(|rate| &rate.role_id)
        .eq(&graph.rate_roles)
    {
        return refuse("telemetry lists other roles than the graph".to_owned());
    }
    let mut rates = telemetry
        .rates
        .iter()
        .map(|rate| rate.hz)
        .chain([telemetry.population_rate_hz]);
    if !rates.all(|hz| is_plain(hz) && hz >= 0.0) || !is_plain(telemetry.learning.signal) {
        return refuse("telemetry holds a rate or a signal that is no rate or signal".to_owned());
    }
    if telemetry.learning.changed > telemetry.learning.updates {
        return refuse("telemetry counts more changes than updates".to_owned());
    }
    if telemetry
        .stimulus_remaining_ms
        .is_some_and(|remaining| !(is_plain(remaining) && remaining >= 0.0))
    {
        return refuse("telemetry holds a negative remaining stimulus".to_owned());
    }
    Ok(())
}
