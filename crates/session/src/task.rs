//! The [`Task`] trait: what counts as progress, and what it earns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, RationalNs, Scope, U64};

use crate::{EventWatermark, PortBinding, PortControl, Reward, Stimulus, TypedValue};

/// Something that happened, as the task sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEvent {
    /// Its name; see [`EventLedger`](crate::EventLedger).
    pub id: Id,
    /// What kind of event.
    pub kind_id: Id,
    /// The boundary it belongs to: `k + 1` for transition `k`, 0 for the bootstrap.
    pub source_step: U64,
    /// The agent it concerns.
    pub agent_id: Option<Id>,
    /// More about it.
    pub payload: Option<TypedValue>,
}

/// What a transition means for one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentOutcome {
    /// Rewards in the order of their events, at most 64.
    pub rewards: Vec<Reward>,
    /// Stimuli in the order of their events, at most 64.
    pub stimulations: Vec<Stimulus>,
}

/// What a task says about the episode as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum EpisodeRequestKind {
    /// The episode is over: the session pauses at the boundary this transition commits.
    Terminal,
}

/// A request of the task about its episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct EpisodeRequest {
    /// What is asked for.
    pub kind: EpisodeRequestKind,
    /// Why.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub reason: Id,
    /// How it ended.
    #[cfg_attr(
        feature = "typescript",
        tsify(type = "{schema: SchemaRef, value: Record<string, unknown>}")
    )]
    pub outcome: TypedValue,
}

/// What a task starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskBootstrap {
    /// The first context of every agent.
    pub contexts: BTreeMap<Id, TypedValue>,
    /// Progress so far.
    pub progress: TypedValue,
    /// Events of the set-up: source step 0, no reward.
    pub events: Vec<TaskEvent>,
}

/// A transition as a task judges it.
#[derive(Clone, Debug)]
pub struct Transition<'a> {
    /// Session, epoch and the boundary the transition started at.
    pub scope: &'a Scope,
    /// The inspection before it.
    pub old_inspection: &'a TypedValue,
    /// The inspection after it.
    pub new_inspection: &'a TypedValue,
    /// World time after it.
    pub world_time: RationalNs,
    /// The controls the world applied.
    pub controls: &'a [PortControl],
    /// Who drives which port.
    pub bindings: &'a [PortBinding],
}

/// A task's judgement of one transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// What it means for each agent; every configured agent has an entry.
    pub outcomes: BTreeMap<Id, AgentOutcome>,
    /// The next context of each agent; every configured agent has an entry.
    pub contexts: BTreeMap<Id, TypedValue>,
    /// Progress so far.
    pub progress: TypedValue,
    /// Events in the task's order, names unique.
    pub events: Vec<TaskEvent>,
    /// What the task asks for the episode.
    pub episode_request: Option<EpisodeRequest>,
}

/// A task that goes on from its ledger, and what the ledger says of that boundary.
///
/// All of it stands in the coordinator's record too. A restore compares them, and refuses a checkpoint in which the two
/// disagree.
pub struct RestoredTask {
    /// The task.
    pub task: Box<dyn Task>,
    /// The context of every agent, as the last judgement gave it.
    pub contexts: BTreeMap<Id, TypedValue>,
    /// Progress so far.
    pub progress: TypedValue,
    /// What the last judgement asked for the episode.
    pub episode_request: Option<EpisodeRequest>,
    /// The events reported so far.
    pub events: EventWatermark,
}

/// Why a task could not judge, capture or take a state. While judging, it ends the epoch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TaskError {
    /// A sentence for a person, naming the values that do not fit.
    pub message: String,
}

impl TaskError {
    /// An error with its sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// The rules of the game, run inside the coordinator.
///
/// Called exactly once for each transition, after the world moved and was verified, before any agent commits.
pub trait Task {
    /// Starts the game at boundary 0 under an epoch, at the beginning of every episode: nothing of an earlier one
    /// remains.
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError>;

    /// Judges one transition.
    fn evaluate_transition(&mut self, transition: &Transition<'_>)
    -> Result<Evaluation, TaskError>;

    /// The whole ledger: everything the next judgement depends on, and what [`RestoredTask`] holds as far as the
    /// inspection does not give it.
    fn capture(&self) -> Result<TypedValue, TaskError>;

    /// Builds the task that goes on from `ledger` at boundary `step` under `new_epoch`, checking everything there
    /// is to check, against the `inspection` of that boundary too. `self` does not change: the coordinator puts the
    /// new task in its place only once every participant has been restored, and putting it there cannot fail.
    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError>;

    /// Every name this task issued that a trace may still hold, over every epoch of this session, and the name it
    /// has under `to_epoch`.
    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id>;
}
