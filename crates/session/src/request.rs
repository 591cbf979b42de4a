//! What goes between coordinator and participant: [`Request`], [`Reply`].

use std::fmt;

use serde::{Serialize, Serializer};
use wellwritten_envelope::{CanonicalError, Digest, Id, Scope, U64, digest_json};

use crate::{
    Advance, AgentInitialize, AgentInitialized, AgentProfile, Artifact, Commit, Committed,
    EnvironmentDescriptor, EnvironmentInitialize, ParticipantError, Prepare, Prepared, StagedState,
    StepResult, WorldObservation,
};

/// Name of one operation a coordinator asks for: `req-<n>`; a repetition keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "req-{}", self.0)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a participant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum Role {
    /// The world.
    Environment,
    /// A brain.
    Agent,
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Environment => "environment",
            Self::Agent => "agent",
        })
    }
}

/// Parameters of `Worker.Hello`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The session that calls.
    pub session_id: Id,
    /// Who is expected to answer.
    pub expected_worker_id: Id,
    /// As what.
    pub role: Role,
}

/// Parameters of `State.StageRestore`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageRestore {
    /// The checkpoint.
    pub checkpoint_id: Id,
    /// The boundary it was taken at, under the epoch it was taken in.
    pub source_scope: Scope,
    /// The compatibility digest of the participant that captured.
    pub compatibility_digest: Digest,
    /// The participant's payload; its digest is part of the message.
    pub payload: Artifact,
}

/// The parameters of every method.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Call {
    /// `Worker.Hello`
    Hello(Hello),
    /// `Worker.Status`
    Status {},
    /// `Worker.Acknowledge`: the replies of these requests are no longer needed.
    #[serde(rename_all = "camelCase")]
    Acknowledge {
        /// Requests, 1 to 16.
        request_ids: Vec<RequestId>,
    },
    /// `Environment.Initialize`
    InitializeEnvironment(EnvironmentInitialize),
    /// `Environment.Advance`
    Advance(Advance),
    /// `Agent.Initialize`
    InitializeAgent(AgentInitialize),
    /// `Agent.Prepare`
    Prepare(Prepare),
    /// `Agent.Commit`
    Commit(Commit),
    /// `State.Verify`
    Verify {},
    /// `State.Rewrite`
    #[serde(rename_all = "camelCase")]
    Rewrite {
        /// Label of the buffer to write again.
        buffer_label: String,
    },
    /// `State.Capture`
    #[serde(rename_all = "camelCase")]
    Capture {
        /// The checkpoint this is part of.
        checkpoint_id: Id,
    },
    /// `State.StageRestore`
    StageRestore(StageRestore),
    /// `State.ActivateRestore`
    #[serde(rename_all = "camelCase")]
    ActivateRestore {
        /// What staging answered.
        restore_token: String,
    },
}

/// How a method's replies are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MethodClass {
    /// Answered anew each time, outside the one-at-a-time rule.
    ReadOnly,
    /// Not kept: asked again, it is done again, to the same effect.
    Repeatable,
    /// Kept until acknowledged.
    Lifecycle,
    /// Kept for two steps, under an operation key.
    StepMutation,
}

impl Call {
    /// The method's name on the wire.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Worker.Hello",
            Self::Status {} => "Worker.Status",
            Self::Acknowledge { .. } => "Worker.Acknowledge",
            Self::InitializeEnvironment(_) => "Environment.Initialize",
            Self::Advance(_) => "Environment.Advance",
            Self::InitializeAgent(_) => "Agent.Initialize",
            Self::Prepare(_) => "Agent.Prepare",
            Self::Commit(_) => "Agent.Commit",
            Self::Verify {} => "State.Verify",
            Self::Rewrite { .. } => "State.Rewrite",
            Self::Capture { .. } => "State.Capture",
            Self::StageRestore(_) => "State.StageRestore",
            Self::ActivateRestore { .. } => "State.ActivateRestore",
        }
    }

    pub(crate) const fn class(&self) -> MethodClass {
        match self {
            Self::Hello(_) | Self::Status {} | Self::Acknowledge { .. } => MethodClass::ReadOnly,
            Self::Advance(_) | Self::Prepare(_) | Self::Commit(_) => MethodClass::StepMutation,
            Self::Verify {} | Self::Rewrite { .. } => MethodClass::Repeatable,
            _ => MethodClass::Lifecycle,
        }
    }

    /// The only role that has the method; `None` where both do.
    pub(crate) const fn role(&self) -> Option<Role> {
        match self {
            Self::InitializeEnvironment(_) | Self::Advance(_) => Some(Role::Environment),
            Self::InitializeAgent(_) | Self::Prepare(_) | Self::Commit(_) => Some(Role::Agent),
            _ => None,
        }
    }
}

/// One question to a participant.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its name.
    pub request_id: RequestId,
    /// Session, epoch and step it is about; absent only for `Worker.*`.
    pub scope: Option<Scope>,
    /// Method and parameters.
    pub call: Call,
}

impl Request {
    /// Digest of method, scope and parameters: what makes a repetition exact. The request id is not in it.
    pub fn body_digest(&self) -> Result<Digest, CanonicalError> {
        #[derive(Serialize)]
        struct Body<'a> {
            method: &'static str,
            scope: &'a Option<Scope>,
            params: &'a Call,
        }
        digest_json(&Body {
            method: self.call.method(),
            scope: &self.scope,
            params: &self.call,
        })
    }
}

/// What a participant is, in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "role")]
pub enum Description {
    /// The world's descriptor.
    Environment(EnvironmentDescriptor),
    /// An agent's profile.
    Agent(AgentProfile),
}

impl Description {
    /// Digest of all that a state depends on: a state captured under another digest does not fit.
    pub fn compatibility_digest(&self) -> Result<Digest, CanonicalError> {
        digest_json(self)
    }

    /// As what the participant answers.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self {
            Self::Environment(_) => Role::Environment,
            Self::Agent(_) => Role::Agent,
        }
    }

    /// Who it is.
    #[must_use]
    pub const fn worker_id(&self) -> &Id {
        match self {
            Self::Environment(descriptor) => &descriptor.worker_id,
            Self::Agent(profile) => &profile.agent_id,
        }
    }
}

/// What a participant is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum WorkerState {
    /// Nothing has begun.
    Uninitialized,
    /// At a committed boundary.
    Ready,
    /// Running ticks.
    Preparing,
    /// Decided, waiting for the commit.
    Prepared,
    /// The world is moving.
    Advancing,
    /// Taking in an outcome.
    Committing,
    /// Its state is being read.
    Capturing,
    /// A restore is staged.
    StagedRestore,
    /// Becoming what was staged.
    Restoring,
    /// Something failed halfway.
    Failed,
}

/// Result of `Worker.Status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// What it is doing.
    pub state: WorkerState,
    /// Where it stands; absent while uninitialized.
    pub current_scope: Option<Scope>,
    /// The operation that runs.
    pub active_request_id: Option<RequestId>,
    /// The last one that ended.
    pub last_completed_request_id: Option<RequestId>,
    /// Operations ended so far; asking for a status is none.
    pub progress_counter: U64,
}

/// The results of every method.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Of `Worker.Hello`.
    Hello(Box<Description>),
    /// Of `Worker.Status`.
    Status(WorkerStatus),
    /// Of `Worker.Acknowledge`: those that were still kept.
    Acknowledged(Vec<RequestId>),
    /// Of `Environment.Initialize`.
    WorldInitialized(WorldObservation),
    /// Of `Environment.Advance`.
    Stepped(Box<StepResult>),
    /// Of `Agent.Initialize`.
    AgentInitialized {
        /// What the agent said.
        initialized: AgentInitialized,
        /// Digest of the context it retained.
        decision_context_digest: Digest,
    },
    /// Of `Agent.Prepare`.
    Prepared(Prepared),
    /// Of `Agent.Commit`.
    Committed {
        /// What the agent said.
        committed: Committed,
        /// Digest of the context it retained.
        decision_context_digest: Digest,
    },
    /// Of `State.Verify`: every byte reads cleanly.
    Verified,
    /// Of `State.Rewrite`.
    Rewritten,
    /// Of `State.Capture`.
    Captured {
        /// The checkpoint.
        checkpoint_id: Id,
        /// The boundary captured.
        boundary: U64,
        /// The participant's own compatibility digest.
        compatibility_digest: Digest,
        /// The whole state.
        payload: Artifact,
    },
    /// Of `State.StageRestore`.
    Staged {
        /// The checkpoint.
        checkpoint_id: Id,
        /// What activates it, once.
        restore_token: String,
        /// What was found in the state.
        state: StagedState,
    },
    /// Of `State.ActivateRestore`.
    Activated {
        /// The checkpoint.
        checkpoint_id: Id,
        /// The boundary it stands at.
        committed_step: U64,
        /// What the world shows; absent from an agent.
        observation: Option<WorldObservation>,
    },
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The request answered.
    pub request_id: RequestId,
    /// Who answers.
    pub worker_id: Id,
    /// Which life of the worker.
    pub incarnation_id: Id,
    /// The request's scope, echoed.
    pub scope: Option<Scope>,
    /// The result, or why there is none.
    pub outcome: Result<Answer, ParticipantError>,
}
