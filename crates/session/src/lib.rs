//! The session protocol: one coordinator, one environment, one to four agents, stepped in lockstep.

mod agent;
mod artifact;
mod clock;
mod controller;
mod environment;
mod event_identity;
mod executor;
mod observation;
mod participant_error;
mod task;
mod tick_clock;
mod typed_value;

pub use agent::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Commit, Committed,
    LearningTelemetry, Prepare, Prepared, Reward, RoleRate, Stimulus,
};
pub use artifact::Artifact;
pub use clock::Clock;
pub use controller::{
    AxisRange, AxisSchema, AxisValue, ButtonState, ControlError, ControllerIntent, ControllerSchema, PortControl,
};
pub use environment::{
    Advance, Environment, EnvironmentDescriptor, EnvironmentInitialize, PortBinding, PortDescriptor, StepResult,
};
pub use event_identity::{EventIdentity, EventLedger};
pub use executor::{Executor, ExecutorError, ExecutorInput, IdentityExecutor};
pub use observation::{SensoryInput, ViewDescriptor, ViewRef, WorldObservation};
pub use participant_error::{ErrorCode, MutationCertainty, ParticipantError};
pub use task::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, Task, TaskBootstrap, TaskError, TaskEvent, Transition,
};
pub use tick_clock::{TickClock, TickClockError};
pub use typed_value::{SchemaRef, TypedValue, TypedValueError};
pub use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, digest_json};

/// Records a trace keeps in memory at most; older ones are dropped, and the trace says how many.
pub const MAX_TRACE_RECORDS: usize = 4096;
