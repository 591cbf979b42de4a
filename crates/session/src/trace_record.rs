//! [`TraceRecord`]: one completed transition, in two halves.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64};

/// One completed transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct TraceRecord {
    /// What must be the same across dispatch orders, transports and restores.
    pub behaviour: Behaviour,
    /// What may differ and is never compared.
    pub operational: Operational,
}

/// What one agent did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
}

/// One view at the boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// The half of a record that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// Events that were rewarded, by agent and then in the task's order.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub outcome_ids: Vec<Id>,
    /// Events of the transition, in the task's order.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub event_ids: Vec<Id>,
    /// The boundary that was published; absent from a record of a session that publishes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    pub published_boundary: Option<U64>,
}

/// A request and the agent it went to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AgentRequest {
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// The request.
    pub request_id: String,
}

/// The half of a record that is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
}
