//! The [`Agent`] trait: one brain of a session.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64};

use crate::{ParticipantError, Progress, SchemaRef, SensoryInput, StagedAgent, TypedValue};

/// What an agent's model is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentGraph {
    /// Neurons.
    pub neuron_count: U64,
    /// Roles whose rates telemetry reports, in this order; at most 64.
    pub rate_roles: Vec<Id>,
    /// Kinds of stimulus it accepts; at most 64.
    pub supported_stimuli: Vec<Id>,
}

/// What an agent is; constant for its lifetime, and known before it is initialized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentProfile {
    /// The agent; also its worker id.
    pub agent_id: Id,
    /// Digest of the profile.
    pub profile_digest: Digest,
    /// Digest of the data its model is built from.
    pub dataset_digest: Digest,
    /// Version of the model.
    pub model_version: Id,
    /// Version of the learning rule.
    pub plasticity_version: Id,
    /// Its seed, resolved: an agent keeps it over every epoch.
    pub seed: i32,
    /// Logical time of one tick, above zero.
    pub tick_duration: RationalNs,
    /// Schema of its decisions.
    pub decision_schema: SchemaRef,
    /// Schema of the contexts it decodes with.
    pub context_schema: SchemaRef,
    /// What its model is made of.
    pub graph: AgentGraph,
}

/// Parameters of `Agent.Initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentInitialize {
    /// The agent that is meant.
    pub agent_id: Id,
    /// The seed it must have.
    pub seed: i32,
    /// What it sees at boundary 0.
    pub initial_input: SensoryInput,
    /// What it decodes its first decision with.
    pub initial_decision_context: TypedValue,
}

/// One rate of the telemetry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleRate {
    /// The role.
    pub role_id: Id,
    /// Its rate, in hertz, finite and not negative.
    pub hz: f64,
}

/// Learning so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LearningTelemetry {
    /// Whether it learns.
    pub enabled: bool,
    /// Reinforcements applied.
    pub updates: U64,
    /// Of these, those that changed a weight.
    pub changed: U64,
    /// The last reinforcement, finite.
    pub signal: f64,
}

/// How an agent fares at a boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentTelemetry {
    /// Ticks since it was built, warm-up included.
    pub brain_ticks: U64,
    /// Mean rate of the population, in hertz, finite and not negative.
    pub population_rate_hz: f64,
    /// One rate for each role of the graph, in its order.
    pub rates: Vec<RoleRate>,
    /// Learning so far.
    pub learning: LearningTelemetry,
    /// How long the current stimulus still lasts, in milliseconds.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stimulus_remaining_ms: Option<f64>,
}

/// Result of `Agent.Initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentInitialized {
    /// Ticks of the warm-up; they never touch the remainder.
    pub warmup_ticks: U64,
    /// How it fares at boundary 0.
    pub telemetry: AgentTelemetry,
}

/// A stimulus, applied before the ticks of a step or at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stimulus {
    /// Its name, unique in its epoch.
    pub id: Id,
    /// What kind; one the agent's graph supports.
    pub kind_id: Id,
    /// How long it lasts, in milliseconds, finite and above zero.
    pub duration_ms: f64,
}

/// A reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reward {
    /// The event that earned it.
    pub event_id: Id,
    /// The rule that valued it.
    pub rule_id: Id,
    /// Its value, finite.
    pub value: f64,
}

/// Parameters of `Agent.Prepare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prepare {
    /// How much logical time passes, above zero; the same for every agent.
    pub interval: RationalNs,
    /// Digest of the context retained since the last commit.
    pub decision_context_digest: Digest,
    /// Stimuli to apply before the first tick, in this order.
    pub pre_step_stimulations: Vec<Stimulus>,
}

/// Result of `Agent.Prepare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prepared {
    /// Ticks of this step.
    pub ticks_advanced: U64,
    /// Ticks since it was built, warm-up included.
    pub brain_ticks: U64,
    /// Logical time left over: at least zero, less than one tick.
    pub remainder: RationalNs,
    /// What it decided; it cannot name a port.
    pub decision: TypedValue,
}

/// Parameters of `Agent.Commit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Commit {
    /// The `Agent.Prepare` request this completes.
    pub prepared_request_id: String,
    /// What it sees at the next boundary.
    pub next_input: SensoryInput,
    /// What it decodes its next decision with.
    pub next_decision_context: TypedValue,
    /// Rewards in the order of their events.
    pub rewards: Vec<Reward>,
    /// Stimuli in the order of their events.
    pub task_stimulations: Vec<Stimulus>,
}

/// Result of `Agent.Commit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Committed {
    /// The boundary it is at now: one more than the scope's step.
    pub committed_step: U64,
    /// How it fares there.
    pub telemetry: AgentTelemetry,
    /// Digest of the whole state, from an agent to which it costs little: it goes into the trace.
    #[serde(deserialize_with = "Option::deserialize")]
    pub state_digest: Option<Digest>,
}

/// A brain.
///
/// The runtime around it checks session, epoch, phase, step, context digest and the shape of every input before
/// it calls, calls one method at a time, and answers duplicates itself.
#[async_trait(?Send)]
pub trait Agent {
    /// What this agent is.
    fn profile(&self) -> AgentProfile;

    /// Whether its state can be captured and restored. Where not, it is never asked to, and no session with it has a
    /// checkpoint.
    fn can_checkpoint(&self) -> bool {
        true
    }

    /// Hands over what it may raise within a long operation. Called once, before anything else.
    fn attach_progress(&mut self, _progress: Progress) {}

    /// Installs the input, warms up with learning disabled, then enables learning. No reward, no world motion.
    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError>;

    /// Waits until everything this agent's state depends on has settled, and says whether every byte of it reads
    /// cleanly. An error leaves the agent as it was and carries the report in its detail.
    async fn verify(&mut self) -> Result<(), ParticipantError>;

    /// Does the work that wrote a buffer again, from inputs that are still trusted. An agent that keeps no such
    /// inputs, or does not know the buffer, answers `UNSUPPORTED`.
    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError>;

    /// Applies the stimuli in order, runs the ticks of the interval ([`TickClock`](crate::TickClock) counts
    /// them), and decodes a decision with the retained context. This really moves the brain: it is not undone.
    async fn prepare(
        &mut self,
        scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError>;

    /// In this order: installs the next input; applies the stimuli; adds the rewards up in order and reinforces
    /// exactly once, even with zero; retains the next context. No tick.
    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError>;

    /// The whole state at the current boundary, retained context and tick remainder included. A read: nothing
    /// changes. Refused with the report where a byte does not read cleanly.
    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError>;

    /// Validates `payload` wholly, keeps it aside and says what is in it; nothing visible changes.
    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError>;

    /// Becomes what was staged, without a tick.
    async fn activate_restore(&mut self) -> Result<(), ParticipantError>;
}
