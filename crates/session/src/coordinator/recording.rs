//! What a completed transition leaves in the trace.

use serde_json::{Value, json};
use wellwritten_envelope::{CanonicalError, Digest, Scope, U64, digest_json, sort_few_by};

use crate::coordinator::Fault;
use crate::session_state::Link;
use crate::{
    Advance, AgentBehaviour, AgentOutcome, AgentRequest, AudioBehaviour, Behaviour, Committed,
    EpisodeBehaviour, ErrorCode, Evaluation, Operational, Prepared, RequestId, Stimulus,
    TraceRecord, ViewBehaviour, WorldObservation,
};

/// One agent, prepared.
pub(crate) struct Preparing {
    pub request_id: RequestId,
    /// What it was stimulated with before its first tick.
    pub pre_step: Vec<Stimulus>,
    pub prepared: Prepared,
}

/// One agent, committed.
pub(crate) struct Committing {
    pub request_id: RequestId,
    pub committed: Committed,
}

/// All there is to say about a transition.
pub(crate) struct Completed<'a> {
    pub scope: Scope,
    pub next: u64,
    pub began_ns: u64,
    pub ended_ns: u64,
    pub batch: &'a Advance,
    pub advance_request_id: RequestId,
    /// By agent, as are `committing` and `links`.
    pub preparing: &'a [Preparing],
    pub committing: &'a [Committing],
    pub observation: &'a WorldObservation,
    /// Of the controls the world applied, which are those of the batch.
    pub control_digest: Digest,
    pub world_state_digest: Option<Digest>,
    pub evaluation: &'a Evaluation,
    pub links: &'a [Link],
}

/// The record of a completed transition.
pub(crate) fn record(completed: &Completed<'_>) -> Result<TraceRecord, Fault> {
    behaviour(completed)
        .map(|behaviour| TraceRecord {
            behaviour,
            operational: operational(completed),
        })
        .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))
}

fn behaviour(completed: &Completed<'_>) -> Result<Behaviour, CanonicalError> {
    let mut agents = Vec::with_capacity(completed.links.len());
    for ((link, preparing), committing) in completed
        .links
        .iter()
        .zip(completed.preparing)
        .zip(completed.committing)
    {
        let prepared = &preparing.prepared;
        agents.push(AgentBehaviour {
            agent_id: link.participant_id.clone(),
            profile_digest: link.profile().profile_digest,
            ticks_advanced: prepared.ticks_advanced,
            brain_ticks: prepared.brain_ticks,
            remainder: prepared.remainder,
            decision_digest: prepared.decision.digest(),
            committed_step: committing.committed.committed_step,
            telemetry_digest: Some(digest_json(&committing.committed.telemetry)?),
            outcome_digest: completed
                .evaluation
                .outcomes
                .get(&link.participant_id)
                .map(outcome_digest)
                .transpose()?,
            pre_step_digest: pre_step_digest(&preparing.pre_step)?,
            state_digest: committing.committed.state_digest,
        });
    }
    let mut views: Vec<ViewBehaviour> = completed
        .observation
        .views()
        .map(|view| ViewBehaviour {
            view_id: view.view_id.clone(),
            produced_step: view.produced_step,
            frame_digest: Some(view.pixels.digest()),
        })
        .collect();
    sort_few_by(&mut views, |left: &ViewBehaviour, right| {
        left.view_id.cmp(&right.view_id)
    });
    let mut audio: Vec<AudioBehaviour> = completed
        .observation
        .audio
        .iter()
        .map(|chunk| AudioBehaviour {
            stream_id: chunk.stream_id.clone(),
            first_sample: chunk.first_sample,
            sample_frames: chunk.sample_frames,
            samples_digest: chunk.samples.digest(),
        })
        .collect();
    sort_few_by(&mut audio, |left: &AudioBehaviour, right| {
        left.stream_id.cmp(&right.stream_id)
    });
    let rewarded = completed
        .evaluation
        .outcomes
        .values()
        .flat_map(|outcome| &outcome.rewards);
    Ok(Behaviour {
        scope: completed.scope.clone(),
        agents,
        batch_id: completed.batch.batch_id.clone(),
        control_digest: completed.control_digest,
        acknowledged_boundary: U64(completed.next),
        observation_boundaries: views,
        inspection_digest: Some(completed.observation.inspection.digest()),
        world_state_digest: completed.world_state_digest,
        audio,
        outcome_ids: rewarded.map(|reward| reward.event_id.clone()).collect(),
        event_ids: completed
            .evaluation
            .events
            .iter()
            .map(|event| event.id.clone())
            .collect(),
        episode_request: completed
            .evaluation
            .episode_request
            .as_ref()
            .map(EpisodeBehaviour::from),
        published_boundary: None,
    })
}

fn pre_step_digest(stimuli: &[Stimulus]) -> Result<Option<Digest>, CanonicalError> {
    if stimuli.is_empty() {
        return Ok(None);
    }
    digest_json(&stimuli.iter().map(nameless).collect::<Vec<_>>()).map(Some)
}

/// A stimulus without its name, which is derived from the epoch.
fn nameless(stimulus: &Stimulus) -> Value {
    json!({"kindId": stimulus.kind_id, "durationMs": stimulus.duration_ms})
}

fn outcome_digest(outcome: &AgentOutcome) -> Result<Digest, CanonicalError> {
    let rewards = outcome
        .rewards
        .iter()
        .map(|reward| json!({"ruleId": reward.rule_id, "value": reward.value}));
    let stimuli = outcome.stimulations.iter().map(nameless);
    digest_json(&json!({
        "rewards": rewards.collect::<Vec<_>>(),
        "stimulations": stimuli.collect::<Vec<_>>(),
    }))
}

fn operational(completed: &Completed<'_>) -> Operational {
    let requests = |request_ids: Vec<RequestId>| {
        let agents = completed
            .links
            .iter()
            .map(|link| link.participant_id.clone());
        agents
            .zip(request_ids)
            .map(|(agent_id, request_id)| AgentRequest {
                agent_id,
                request_id: request_id.to_string(),
            })
            .collect()
    };
    Operational {
        wall_time_ns: U64(completed.ended_ns.saturating_sub(completed.began_ns)),
        prepare_request_ids: requests(
            completed
                .preparing
                .iter()
                .map(|preparing| preparing.request_id)
                .collect(),
        ),
        advance_request_id: completed.advance_request_id.to_string(),
        commit_request_ids: requests(
            completed
                .committing
                .iter()
                .map(|committing| committing.request_id)
                .collect(),
        ),
        discontinuities: completed
            .observation
            .audio
            .iter()
            .filter(|chunk| chunk.discontinuity)
            .map(|chunk| chunk.stream_id.clone())
            .collect(),
        resolutions: Vec::new(),
        captures: Vec::new(),
        bus_call_ids: Vec::new(),
        delivery_ids: Vec::new(),
    }
}
