//! The [`Executor`] trait: how a decision becomes buttons and axes.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, RationalNs, Scope};

use crate::{ControllerIntent, SchemaRef, TypedValue};

/// What an executor may look at.
#[derive(Clone, Debug)]
pub struct ExecutorInput<'a> {
    /// Session, epoch and boundary.
    pub scope: &'a Scope,
    /// Whose decision it is.
    pub agent_id: &'a Id,
    /// The decision.
    pub decision: &'a TypedValue,
    /// The inspection at the boundary.
    pub inspection: &'a TypedValue,
    /// The task's progress at the boundary.
    pub progress: &'a TypedValue,
    /// The agent's exact time after its ticks: brain ticks times tick duration.
    pub brain_time: RationalNs,
}

/// Something an executor has to tell about a decision. The coordinator names it and puts it before the task's events of
/// the same boundary.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorEvent {
    /// What kind of event.
    pub kind_id: Id,
    /// More about it.
    pub payload: Option<TypedValue>,
}

/// What became of a decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// The controls.
    pub intent: ControllerIntent,
    /// What there is to tell, at most [`Execution::MAX_EVENTS`].
    pub events: Vec<ExecutorEvent>,
}

impl Execution {
    /// Most events of one decision.
    pub const MAX_EVENTS: usize = 16;
}

impl From<ControllerIntent> for Execution {
    /// Controls, and nothing to tell.
    fn from(intent: ControllerIntent) -> Self {
        Self {
            intent,
            events: Vec::new(),
        }
    }
}

/// Why a decision became no controls, or a state was refused. While stepping, it ends the epoch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExecutorError {
    /// A sentence for a person, naming the values that do not fit.
    pub message: String,
}

impl ExecutorError {
    /// An error with its sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Turns one agent's decisions into controls, run inside the coordinator. It cannot name a port.
pub trait Executor {
    /// The controls for one decision, and what there is to tell about it.
    fn apply(&mut self, input: &ExecutorInput<'_>) -> Result<Execution, ExecutorError>;

    /// Its whole state, at any time; a reset goes back to the one it had when the session was made. Never an empty object: "stateless" and "missing" must differ.
    fn capture(&self) -> Result<TypedValue, ExecutorError>;

    /// Builds the executor that goes on from `state`, checking everything; `self` does not change.
    fn restored(&self, state: &TypedValue) -> Result<Box<dyn Executor>, ExecutorError>;
}

/// The executor without a state: the decision *is* the intent.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdentityExecutor;

/// Name of the identity executor's state.
const IDENTITY: &str = "identity-v1";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IdentityState {
    executor: String,
}

impl IdentityExecutor {
    /// Schema of its captured state.
    #[must_use]
    pub fn state_schema() -> SchemaRef {
        let id = Id::parse("wellwritten.executor.identity").expect("a legal id");
        SchemaRef::synthetic(id, 1)
    }
}

impl Executor for IdentityExecutor {
    fn apply(&mut self, input: &ExecutorInput<'_>) -> Result<Execution, ExecutorError> {
        let intent: Result<ControllerIntent, _> = input.decision.read();
        intent.map(Execution::from).map_err(|error| {
            ExecutorError::new(format!(
                "the decision of {} is not an intent: {error}",
                input.agent_id
            ))
        })
    }

    fn capture(&self) -> Result<TypedValue, ExecutorError> {
        let state = IdentityState {
            executor: IDENTITY.to_owned(),
        };
        TypedValue::from_serialize(Self::state_schema(), &state)
            .map_err(|error| ExecutorError::new(error.to_string()))
    }

    fn restored(&self, state: &TypedValue) -> Result<Box<dyn Executor>, ExecutorError> {
        if *state.schema() != Self::state_schema() {
            return Err(ExecutorError::new(format!(
                "an executor state of {} cannot go on as {IDENTITY}",
                state.schema().id
            )));
        }
        match state.read::<IdentityState>() {
            Ok(found) if found.executor == IDENTITY => Ok(Box::new(Self)),
            Ok(found) => Err(ExecutorError::new(format!(
                "executor {} is not {IDENTITY}",
                found.executor
            ))),
            Err(error) => Err(ExecutorError::new(format!(
                "the executor state does not read: {error}"
            ))),
        }
    }
}
