//! What a world may show at a boundary, checked before anyone acts on it.

use wellwritten_envelope::{Id, RationalNs};

use crate::coordinator::Fault;
use crate::{
    AgentGraph, AgentTelemetry, Artifact, EnvironmentDescriptor, ErrorCode, WorldObservation,
};

/// Most views of one world.
pub(crate) const MAX_VIEWS: usize = 8;
/// Longest name of an engine frame, in characters.
const MAX_ENGINE_FRAME: usize = 64;

/// Boundary, world time, inspection schema, and every declared view: in order, of the right step, of the right shape.
pub(crate) fn check_observation(
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
    let shown: Vec<&Id> = observation
        .sensory_views
        .iter()
        .map(|view| &view.view_id)
        .collect();
    let declared: Vec<&Id> = descriptor.views.iter().map(|view| &view.view_id).collect();
    if shown != declared {
        return refuse(
            ErrorCode::BufferInvalid,
            format!("the world shows views {shown:?}, it declares {declared:?}"),
        );
    }
    for (view, declared) in observation.sensory_views.iter().zip(&descriptor.views) {
        let required = declared.producing_step(boundary);
        if view.produced_step.0 != required {
            let message = format!(
                "view {} was rendered at {}, boundary {boundary} needs {required}",
                view.view_id, view.produced_step
            );
            return refuse(ErrorCode::BufferInvalid, message);
        }
        if view.pixels.byte_length() != declared.byte_length()
            || view.pixels.content_type() != Artifact::RGBA8
        {
            let message = format!(
                "view {} has {} bytes of {}, declared are {} of {}",
                view.view_id,
                view.pixels.byte_length(),
                view.pixels.content_type(),
                declared.byte_length(),
                Artifact::RGBA8
            );
            return refuse(ErrorCode::BufferInvalid, message);
        }
    }
    Ok(())
}

/// A frame that is shown again must be the very same bytes, not a second rendering of them.
pub(crate) fn check_repeated_frames(
    descriptor: &EnvironmentDescriptor,
    old: &WorldObservation,
    new: &WorldObservation,
) -> Result<(), Fault> {
    let differing = old
        .sensory_views
        .iter()
        .zip(&new.sensory_views)
        .find(|(old, new)| {
            old.produced_step == new.produced_step && !old.pixels.is_same(&new.pixels)
        });
    match differing {
        Some((view, _)) => {
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
    if !rates.all(|hz| hz.is_finite() && hz >= 0.0) || !telemetry.learning.signal.is_finite() {
        return refuse("telemetry holds a rate or a signal that is no rate or signal".to_owned());
    }
    if telemetry.learning.changed > telemetry.learning.updates {
        return refuse("telemetry counts more changes than updates".to_owned());
    }
    if telemetry
        .stimulus_remaining_ms
        .is_some_and(|remaining| !(remaining.is_finite() && remaining >= 0.0))
    {
        return refuse("telemetry holds a negative remaining stimulus".to_owned());
    }
    Ok(())
}
