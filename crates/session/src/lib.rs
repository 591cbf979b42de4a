//! The session protocol: one coordinator, one environment, one to four agents, stepped in lockstep.

mod agent;
mod artifact;
mod clock;
mod composition;
mod controller;
mod coordinator;
mod direct;
mod environment;
mod event_identity;
mod executor;
mod observation;
mod observation_rules;
mod participant_error;
mod participant_factory;
mod participant_runtime;
mod phase;
mod phase_machine;
mod request;
mod restore_report;
mod runtime_execution;
mod runtime_records;
mod runtime_state;
mod save_outcome;
mod session_error;
mod session_event;
mod session_state;
mod session_store;
mod state_payload;
mod status;
mod stimulus_rules;
mod task;
mod tick_clock;
mod trace;
mod trace_compare;
mod trace_rebase;
mod trace_record;
mod transport;
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
pub use composition::{AgentBinding, Composition, DispatchOrder, Host};
pub use coordinator::{Coordinator, RunOptions};
pub use direct::Direct;
pub use environment::{
    Advance, Environment, EnvironmentDescriptor, EnvironmentInitialize, PortBinding, PortDescriptor, StepResult,
};
pub use event_identity::{EventIdentity, EventLedger};
pub use executor::{Executor, ExecutorError, ExecutorInput, IdentityExecutor};
pub use observation::{SensoryInput, ViewDescriptor, ViewRef, WorldObservation};
pub use participant_error::{ErrorCode, MutationCertainty, ParticipantError};
pub use participant_factory::ParticipantFactory;
pub use participant_runtime::ParticipantRuntime;
pub use phase::{Phase, PhaseEdge, PhaseKind};
pub use phase_machine::{IllegalEdge, PhaseChange, PhaseMachine};
pub use request::{
    Answer, Call, Description, Hello, Reply, Request, RequestId, Role, StageRestore, WorkerState, WorkerStatus,
};
pub use restore_report::{AbandonedSteps, RestoreReport, RestoreRequest, SkippedGeneration};
pub use save_outcome::SaveOutcome;
pub use session_error::{PayloadFault, SessionError};
pub use session_event::{Observer, SessionEvent};
pub use session_store::{SessionStore, SharedStore};
pub use state_payload::{AgentRecord, PayloadHeader, PayloadKind, StatePayload, StatePayloadError};
pub use status::{DurableMark, FailureRecord, ParticipantInfo, Status};
pub use task::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, Task, TaskBootstrap, TaskError, TaskEvent, Transition,
};
pub use tick_clock::{TickClock, TickClockError};
pub use trace::Trace;
pub use trace_compare::{FieldDifference, MAX_REPORTED_DIFFERENCES, TraceDiff, TraceVerdict, compare_traces};
pub use trace_rebase::{RebaseError, rebase_trace};
pub use trace_record::{AgentBehaviour, AgentRequest, Behaviour, Operational, TraceRecord, ViewBehaviour};
pub use transport::{Transport, TransportError};
pub use typed_value::{SchemaRef, TypedValue, TypedValueError};
pub use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, digest_json};

/// Records a trace keeps in memory at most; older ones are dropped, and the trace says how many.
pub const MAX_TRACE_RECORDS: usize = 4096;
