//! The fields of a behaviour without anything that an epoch lends its name to: what a repeated transition must share with
//! the one it repeats.

use std::fmt;

use wellwritten_envelope::{Digest, Id, U64};

use crate::{AgentBehaviour, Behaviour, TaskEvent};

/// One field, such as `agents[fly-a].brainTicks`.
#[derive(Clone, Copy)]
pub(crate) struct FieldName<'a> {
    of: Option<(&'static str, &'a Id)>,
    field: &'static str,
}

impl fmt::Display for FieldName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Some((list, id)) => write!(formatter, "{list}[{id}].{}", self.field),
            None => formatter.write_str(self.field),
        }
    }
}

/// Tells every field of `behaviour`, by its name and a digest of its value, always in the same order.
///
/// Names of batches and events are derived from the epoch, and so is none of them here: of an event, what it is; of what
/// was rewarded, which event of the transition. Whether the boundary was published is an observer's doing and no
/// behaviour.
pub(crate) fn each_field(
    behaviour: &Behaviour,
    events: &[TaskEvent],
    visit: &mut dyn FnMut(FieldName<'_>, Digest),
) {
    let mut tell = |field, value: &[u8]| {
        let name = FieldName { of: None, field };
        visit(name, Digest::blake3(value));
    };
    tell("step", &bytes_of(behaviour.scope.step));
    tell(
        "acknowledgedBoundary",
        &bytes_of(behaviour.acknowledged_boundary),
    );
    tell("controlDigest", behaviour.control_digest.as_bytes());
    tell("inspectionDigest", &optional(behaviour.inspection_digest));
    tell("worldStateDigest", &optional(behaviour.world_state_digest));
    tell("events", &nameless_events(events));
    tell("outcomes", &rewarded_events(behaviour, events));
    tell("episodeRequest", &episode_request(behaviour));
    for agent in &behaviour.agents {
        each_agent_field(agent, visit);
    }
    for view in &behaviour.observation_boundaries {
        let of = Some(("observationBoundaries", &view.view_id));
        let mut tell = |field, value: &[u8]| {
            visit(FieldName { of, field }, Digest::blake3(value));
        };
        tell("producedStep", &bytes_of(view.produced_step));
        tell("frameDigest", &optional(view.frame_digest));
    }
    for chunk in &behaviour.audio {
        let of = Some(("audio", &chunk.stream_id));
        let mut tell = |field, value: &[u8]| {
            visit(FieldName { of, field }, Digest::blake3(value));
        };
        tell("firstSample", &bytes_of(chunk.first_sample));
        tell("sampleFrames", &chunk.sample_frames.to_le_bytes());
        tell("samplesDigest", chunk.samples_digest.as_bytes());
    }
}

fn each_agent_field(agent: &AgentBehaviour, visit: &mut dyn FnMut(FieldName<'_>, Digest)) {
    let of = Some(("agents", &agent.agent_id));
    let mut tell = |field, value: &[u8]| {
        visit(FieldName { of, field }, Digest::blake3(value));
    };
    let remainder = [agent.remainder.numerator(), agent.remainder.denominator()];
    tell("profileDigest", agent.profile_digest.as_bytes());
    tell("ticksAdvanced", &bytes_of(agent.ticks_advanced));
    tell("brainTicks", &bytes_of(agent.brain_ticks));
    tell("remainder", &remainder.map(u64::to_le_bytes).concat());
    tell("decisionDigest", agent.decision_digest.as_bytes());
    tell("committedStep", &bytes_of(agent.committed_step));
    tell("telemetryDigest", &optional(agent.telemetry_digest));
    tell("outcomeDigest", &optional(agent.outcome_digest));
    tell("preStepDigest", &optional(agent.pre_step_digest));
    tell("stateDigest", &optional(agent.state_digest));
}

const fn bytes_of(number: U64) -> [u8; 8] {
    number.0.to_le_bytes()
}

/// No digest is 32 bytes of its own length.
fn optional(digest: Option<Digest>) -> Vec<u8> {
    digest.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec())
}

/// Kind, boundary, agent and payload of every event, in order.
fn nameless_events(events: &[TaskEvent]) -> Vec<u8> {
    let mut told = Vec::new();
    for event in events {
        let payload = event.payload.as_ref().map(crate::TypedValue::digest);
        let agent = event.agent_id.as_ref().map_or("", Id::as_str);
        // Ids hold no line break, so that nothing runs into the next.
        told.extend_from_slice(
            format!("{}\n{agent}\n{}\n", event.kind_id, event.source_step).as_bytes(),
        );
        told.push(u8::from(payload.is_some()));
        told.extend(optional(payload));
    }
    told
}

/// Which event of the transition each reward is for, in the order of the rewards.
fn rewarded_events(behaviour: &Behaviour, events: &[TaskEvent]) -> Vec<u8> {
    let rewarded = behaviour.outcome_ids.iter().map(|rewarded| {
        let position = events.iter().position(|event| event.id == *rewarded);
        position.map_or(u64::MAX, |position| position as u64)
    });
    rewarded.flat_map(u64::to_le_bytes).collect()
}

fn episode_request(behaviour: &Behaviour) -> Vec<u8> {
    let Some(request) = &behaviour.episode_request else {
        return Vec::new();
    };
    let mut told = format!("{:?}\n{}\n", request.kind, request.reason).into_bytes();
    told.extend_from_slice(request.outcome_digest.as_bytes());
    told
}
