//! The session protocol: one coordinator, one environment, one to four agents, stepped in lockstep, and restored whole
//! or not at all.
//!
//! A session stands at a *boundary* and moves by *transitions*: every agent prepares a decision, the coordinator makes
//! one complete batch of controls out of them, the environment advances once, the task judges once, every agent commits.
//! Only then is the next boundary committed. An *epoch* is one uninterrupted timeline: the first failure that cannot be
//! resolved ends it for the whole group, and only a group restore under a new epoch goes on. A *reset* begins another
//! episode, of the whole group too. A *checkpoint* is every
//! participant's state at one committed boundary in one envelope; a *trace* is what every transition did, in a form that
//! can be compared between runs. A *recording* is what was put into every transition and what came of it, so that a *seek*
//! goes to any boundary of it: the nearest checkpoint, and the same inputs again.
//!
//! # Whose responsibility
//!
//! [`Environment`], [`Agent`], [`Task`] and [`Executor`] do the work of a simulation and check their own states. The
//! [`ParticipantRuntime`] around a participant checks session, epoch, phase, step and parameters, runs one operation at
//! a time and repeats answers instead of work. The [`Coordinator`] decides the order and verifies every answer before
//! acting on it. A [`Transport`] carries requests to one incarnation of one participant ([`Direct`]: in the same
//! program). Wall time ([`Clock`]), storage ([`StoreClient`](wellwritten_store::StoreClient)) and the making of participants ([`ParticipantFactory`])
//! are the host's. Everything is single-threaded and waits only where a participant, the store or the clock does.
//!
//! # Invariants
//!
//! - The phase changes only along the edges of [`PhaseEdge::all`]; anything else is refused and changes nothing.
//! - A caller's mistake is a refusal ([`SessionError::is_refusal`]): the session is what it was.
//! - Nothing prepares unless every participant says that all of its state reads cleanly; a checkpoint of state that
//!   does not is refused with the report.
//! - The task hears of a transition only after the world's whole answer was verified, and exactly once.
//! - What the world shows and sounds is what it declared: every sensory view, of the step that was due; a chunk of every
//!   stream from every transition, beginning where the stream is, and none where nothing moved. No agent is given
//!   sound, or a view for spectators.
//! - A stimulus from outside that was accepted is applied exactly once on a timeline, by the step that was promised, or
//!   is aborted with its epoch; a step that runs is never touched.
//! - An epoch's name is used once, as is a checkpoint's, as is a restore token.
//! - What a restore installs was built and checked before anyone staged; whoever staged or may have staged in a restore
//!   that failed must be replaced before the next.
//! - Dispatch order, transport and restores leave no mark on the behaviour half of a trace, and two runs behaved the same
//!   exactly where one digest ([`behaviour_digest`]) says so.
//! - Observers see committed boundaries only, whole, in the very bytes the participants were given. What they do, or do
//!   not do, and a publication that faults, change nothing about the session ([`Coordinator::subscribe`]).
//! - A checkpoint is refused before anyone is asked where there is no place for it on the way to the store; what becomes of
//!   one that was taken is an outcome, told after it was told as captured and as queued, and never ends an epoch.
//! - What is on its way to the store when an epoch ends is there before a restore begins, so that nothing of an abandoned
//!   future seems to follow from what was restored.
//! - A seek repeats what was recorded, or says where it did not and in which fields; whoever lets go of a restore or a seek
//!   finds the session fenced, or standing at a boundary that everyone was told of.
//! - Nothing a session keeps grows with the number of its transitions; a [`TraceSink`] hears of every one.
//!
//! # What it does not do
//!
//! It knows no device, no browser and no file. It does not retry, guess inputs, or go on without a participant. It
//! never resets or restores one participant alone.
//!
//! # Example
//!
//! ```
//! use wellwritten_session::{Phase, PhaseMachine, TickClock, RationalNs, TraceVerdict, compare_traces};
//!
//! // A session changes phase along legal edges only.
//! let mut machine = PhaseMachine::starting();
//! machine.go(Phase::Ready { boundary: 0 })?;
//! machine.go(Phase::Preparing { boundary: 0 })?;
//! let refused = machine.go(Phase::Paused { boundary: 0 }).unwrap_err();
//! assert_eq!(refused.to_string(), "a session cannot go from Preparing(0) to Paused(0)");
//!
//! // Time is exact: 60 Hz over 1 ms ticks.
//! let mut clock = TickClock::new(RationalNs::from_nanoseconds(1_000_000));
//! let step = RationalNs::new(50_000_000, 3)?;
//! assert_eq!([clock.advance(step)?, clock.advance(step)?, clock.advance(step)?], [16, 17, 17]);
//!
//! // A comparison that compared nothing says so.
//! assert_eq!(compare_traces(&[], &[]).verdict, TraceVerdict::NothingCompared);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admission;
mod admission_queue;
mod agent;
mod answer;
mod artifact;
mod audio;
mod audio_rules;
mod audio_timeline;
mod behaviour_fields;
mod call_budgets;
mod call_resolution;
mod clock;
mod composition;
mod contract;
mod controller;
mod coordinator;
mod declaration_rules;
mod description;
mod direct;
mod environment;
mod event_identity;
mod executor;
mod first_of;
mod hello;
mod id_list;
mod join_all;
mod known_names;
mod observation;
mod observation_rules;
mod participant_error;
mod participant_factory;
mod participant_runtime;
mod phase;
mod phase_machine;
mod plain_number;
mod progress;
mod publication;
mod request;
mod restore_report;
mod route_end;
mod runtime_execution;
mod runtime_records;
mod runtime_state;
mod sample_budget;
mod seek;
mod session_error;
mod session_event;
mod session_state;
mod staged_state;
mod state_payload;
mod status;
mod step_recording;
mod stimulus_rules;
mod task;
#[cfg(feature = "testing")]
pub mod testing;
mod tick_clock;
mod trace;
mod trace_canonical;
mod trace_compare;
mod trace_digest;
#[cfg(test)]
mod trace_growth;
mod trace_lines;
mod trace_rebase;
mod trace_record;
mod trace_sink;
mod transport;
mod typed_value;
pub mod wire;
mod worker_status;

pub use admission::{Admission, AdmissionEvent, Admitted};
pub use agent::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Commit,
    Committed, LearningTelemetry, Prepare, Prepared, Reward, RoleRate, Stimulus,
};
pub use answer::{Answer, Reply};
pub use artifact::Artifact;
pub use audio::{AudioDescriptor, AudioFormat, AudioPosition, AudioRef};
pub use audio_timeline::{AudioTimeline, AudioTimelineError};
pub use call_budgets::CallBudgets;
pub use call_resolution::{CallResolution, ResolutionOutcome};
pub use clock::Clock;
pub use composition::{AgentBinding, Composition, DispatchOrder, Host};
pub use controller::{
    AxisRange, AxisSchema, AxisValue, ButtonState, ControlError, ControllerIntent,
    ControllerSchema, PortControl,
};
pub use coordinator::{CheckpointRequest, Coordinator, ResetRequest, RunOptions};
pub use declaration_rules::DeclarationError;
pub use description::Description;
pub use direct::Direct;
pub use environment::{
    Advance, Environment, EnvironmentDescriptor, EnvironmentInitialize, PortBinding,
    PortDescriptor, StepResult,
};
pub use event_identity::{EventIdentity, EventLedger, EventWatermark};
pub use executor::{
    Execution, Executor, ExecutorError, ExecutorEvent, ExecutorInput, IdentityExecutor,
};
pub use hello::{Hello, HelloResult, MAX_MAJORS, PROTOCOL_MAJOR, PROTOCOL_MINOR, WorkerLimits};
pub use join_all::{BoxedFuture, JoinAll, join_all};
pub use observation::{
    PixelAspect, SensoryInput, ViewAudience, ViewDescriptor, ViewRef, WorldObservation,
};
pub use participant_error::{ErrorCode, MutationCertainty, ParticipantError};
pub use participant_factory::ParticipantFactory;
pub use participant_runtime::ParticipantRuntime;
pub use phase::{Phase, PhaseEdge, PhaseKind};
pub use phase_machine::{IllegalEdge, PhaseChange, PhaseMachine};
pub use progress::Progress;
pub use publication::{
    CommittedBoundary, CommittedSnapshot, EventBatch, GateVerdict, IncoherentSnapshot,
    PublicationCounts, PublicationGate, PublicationOutcome, PublishedAgent, PublishedEvent,
    QueryAnswer, QueryError, SessionDescriptor, SessionQueries, SnapshotAgent, SnapshotDelivery,
    SnapshotMedia, SubscribeError, SubscribeOptions, Subscription, check_coherence,
};
pub use request::{Call, Request, RequestId, Role, StageRestore};
pub use restore_report::{AbandonedSteps, RestoreReport, RestoreRequest, SkippedGeneration};
pub use route_end::{RouteEnd, RouteEnded};
pub use sample_budget::{SampleBudget, SampleBudgetError, SampleSpan};
pub use seek::{RecordedSpan, SeekCancel, SeekError, SeekProgress, SeekReport, SeekRequest};
pub use session_error::{IdentityDifference, PayloadFault, SessionError};
pub use session_event::{Observer, SessionEvent};
pub use staged_state::{StagedAgent, StagedState, StagedWorld};
pub use state_payload::{AgentRecord, PayloadHeader, PayloadKind, StatePayload, StatePayloadError};
pub use status::{DurableMark, FailureRecord, ParticipantInfo, Status};
pub use step_recording::{MAX_RECORDED_INPUTS, MAX_RECORDED_STEPS, RecordedCheckpoint};
pub use task::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, RestoredTask, Task,
    TaskBootstrap, TaskError, TaskEvent, Transition,
};
pub use tick_clock::{TickClock, TickClockError};
pub use trace::Trace;
pub use trace_compare::{
    FieldDifference, MAX_REPORTED_DIFFERENCES, TraceDiff, TraceVerdict, compare_traces,
};
pub use trace_digest::{BehaviourChain, BehaviourDigest, behaviour_digest};
pub use trace_lines::{MAX_TRACE_LINE, TraceExport, TraceLines, TraceReadError, trace_line};
pub use trace_rebase::{EpochNames, RebaseError, rebase_through, rebase_trace};
pub use trace_record::{
    AgentBehaviour, AgentRequest, AudioBehaviour, Behaviour, CaptureMark, EpisodeBehaviour,
    Operational, TraceRecord, ViewBehaviour,
};
pub use trace_sink::TraceSink;
pub use transport::{Transport, TransportError};
pub use typed_value::{SchemaRef, TypedValue, TypedValueError};
pub use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, digest_json};
pub use wellwritten_store::{
    Resolution, SaveKind, SaveOutcome, SaveTicket, StoreClient, WriterConfig, WriterStatistics,
};
pub use worker_status::{WorkerState, WorkerStatus};

/// Records a trace keeps in memory at most; older ones are dropped, and the trace says how many.
pub const MAX_TRACE_RECORDS: usize = 4096;
