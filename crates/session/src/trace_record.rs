//! [`TraceRecord`]: one completed transition, in two halves.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, sort_few_by};

use crate::{CallResolution, Composition, EpisodeRequest, EpisodeRequestKind, Execution};

/// One completed transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct TraceRecord {
    /// What must be the same across dispatch orders, transports and restores.
    pub behaviour: Behaviour,
    /// What may differ and is never compared.
    pub operational: Operational,
}

/// What one agent did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AgentBehaviour {
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// Its profile.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub profile_digest: Digest,
    /// Ticks of this transition.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub ticks_advanced: U64,
    /// Ticks since it was built.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub brain_ticks: U64,
    /// Logical time left over.
    pub remainder: RationalNs,
    /// Digest of its whole decision.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub decision_digest: Digest,
    /// The boundary it committed.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub committed_step: U64,
    /// Digest of its telemetry at that boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub telemetry_digest: Option<Digest>,
    /// Digest of the rules, values, kinds and durations of its rewards and stimuli, in order. Names are left out:
    /// they are derived from the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub outcome_digest: Option<Digest>,
    /// Digest of kinds and durations of the stimuli before its first tick, in order; absent where there were none. Their
    /// names are left out as those of other stimuli are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub pre_step_digest: Option<Digest>,
    /// Digest of its whole state at that boundary, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub state_digest: Option<Digest>,
}

/// One view at the boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct ViewBehaviour {
    /// The view.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub view_id: Id,
    /// The step that rendered its frame.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub produced_step: U64,
    /// Digest of the frame's bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub frame_digest: Option<Digest>,
}

/// What a transition sounded like on one stream. Whether it was marked as a discontinuity is not in here: the first chunk
/// after a restore is, and the same chunk of a run that was never interrupted is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AudioBehaviour {
    /// The stream.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub stream_id: Id,
    /// Its first sample frame, counted from the episode's beginning.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub first_sample: U64,
    /// Sample frames.
    pub sample_frames: u32,
    /// Digest of the samples.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub samples_digest: Digest,
}

/// What the task asked for the episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct EpisodeBehaviour {
    /// What.
    pub kind: EpisodeRequestKind,
    /// Why.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub reason: Id,
    /// Digest of how it ended.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub outcome_digest: Digest,
}

impl From<&EpisodeRequest> for EpisodeBehaviour {
    fn from(request: &EpisodeRequest) -> Self {
        Self {
            kind: request.kind,
            reason: request.reason.clone(),
            outcome_digest: request.outcome.digest(),
        }
    }
}

/// The half of a record that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Behaviour {
    /// Session, epoch, and the boundary the transition began at.
    pub scope: Scope,
    /// What each agent did, by name.
    pub agents: Vec<AgentBehaviour>,
    /// The batch.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub batch_id: Id,
    /// Digest of the controls the world applied.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub control_digest: Digest,
    /// The boundary every agent committed.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub acknowledged_boundary: U64,
    /// Each view at that boundary, by name.
    pub observation_boundaries: Vec<ViewBehaviour>,
    /// Digest of the world's inspection at that boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub inspection_digest: Option<Digest>,
    /// Digest of the world's whole state at that boundary, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub world_state_digest: Option<Digest>,
    /// Each chunk of sound of the transition, by name of its stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub audio: Vec<AudioBehaviour>,
    /// Events that were rewarded, by agent and then in the task's order; at most [`Behaviour::MAX_OUTCOMES`].
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub outcome_ids: Vec<Id>,
    /// Events of the transition, in the task's order; at most [`Behaviour::MAX_EVENTS`].
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub event_ids: Vec<Id>,
    /// What the task asked for the episode, where it asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub episode_request: Option<EpisodeBehaviour>,
    /// The boundary that was published: the acknowledged one, or none where publication was refused or faulted. Written
    /// after it was attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub published_boundary: Option<U64>,
}

impl Behaviour {
    /// Most rewards of one transition: 64 for each of [`Composition::MAX_AGENTS`].
    pub const MAX_OUTCOMES: usize = 64 * Composition::MAX_AGENTS;
    /// Most events of one transition: as many of the task's as there may be rewards, each of an event of its own, and those
    /// of every agent's executor.
    pub const MAX_EVENTS: usize =
        Self::MAX_OUTCOMES + Execution::MAX_EVENTS * Composition::MAX_AGENTS;

    /// The same behaviour with agents, views and streams by name: in which order they are listed says nothing.
    #[must_use]
    pub fn normal(&self) -> Self {
        let mut normal = self.clone();
        sort_few_by(&mut normal.agents, |left, right| {
            left.agent_id.cmp(&right.agent_id)
        });
        sort_few_by(&mut normal.observation_boundaries, |left, right| {
            left.view_id.cmp(&right.view_id)
        });
        sort_few_by(&mut normal.audio, |left, right| {
            left.stream_id.cmp(&right.stream_id)
        });
        normal
    }
}

/// A request and the agent it went to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AgentRequest {
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// The request.
    pub request_id: String,
}

/// A checkpoint that was captured at the boundary the transition ended at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct CaptureMark {
    /// The checkpoint.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// After how many actions at that boundary. This software has no actions at a boundary, so that it is always 0.
    pub after_actions: u32,
}

/// The half of a record that is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Operational {
    /// Wall time of the transition, in nanoseconds.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub wall_time_ns: U64,
    /// The requests that prepared the agents.
    pub prepare_request_ids: Vec<AgentRequest>,
    /// The request that moved the world.
    pub advance_request_id: String,
    /// The requests that committed the agents.
    pub commit_request_ids: Vec<AgentRequest>,
    /// Streams whose chunk was marked as a discontinuity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string[]"))]
    pub discontinuities: Vec<Id>,
    /// Calls since the transition before whose answer did not come in time, and how each ended; at most
    /// [`Operational::MAX_RESOLUTIONS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub resolutions: Vec<CallResolution>,
    /// Checkpoints captured at the boundary it ended at, in order; the newest [`Operational::MAX_CAPTURES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub captures: Vec<CaptureMark>,
    /// Call ids as other software lists them; this one counts the dispatches of each request, in `resolutions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub bus_call_ids: Vec<String>,
    /// Owner tokens as other software lists them; here, bytes have owners without names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub delivery_ids: Vec<String>,
}

impl Operational {
    /// Most uncertain calls recorded with one transition.
    pub const MAX_RESOLUTIONS: usize = 64;
    /// Most captures recorded at one boundary.
    pub const MAX_CAPTURES: usize = 64;
}
