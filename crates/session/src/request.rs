//! What a coordinator asks: [`Request`], [`Call`].

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wellwritten_envelope::{
    CanonicalError, Digest, Id, JsonShapeError, Scope, canonical_json, from_json,
};

use crate::{Advance, AgentInitialize, Artifact, Commit, EnvironmentInitialize, Hello, Prepare};

/// Name of one operation a coordinator asks for: `req-<n>`; a repetition keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "req-{}", self.0)
    }
}

crate::wire::numbered_id!(RequestId, "req-");

/// What a participant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Parameters of `State.StageRestore`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Call {
    /// `Worker.Hello`
    Hello(Hello),
    /// `Worker.Status`
    Status {},
    /// `Worker.Acknowledge`: the replies of these requests are no longer needed.
    #[serde(rename_all = "camelCase")]
    Acknowledge {
        /// Requests, at most 16, none twice.
        request_ids: Vec<RequestId>,
    },
    /// `Worker.Shutdown`: nothing more will be asked.
    Shutdown {
        /// Why.
        reason: Id,
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
    /// Every method there is.
    pub const METHODS: [&'static str; 14] = [
        "Worker.Hello",
        "Worker.Status",
        "Worker.Acknowledge",
        "Worker.Shutdown",
        "Environment.Initialize",
        "Environment.Advance",
        "Agent.Initialize",
        "Agent.Prepare",
        "Agent.Commit",
        "State.Verify",
        "State.Rewrite",
        "State.Capture",
        "State.StageRestore",
        "State.ActivateRestore",
    ];

    /// Reads the parameters of a method, strictly.
    ///
    /// # Panics
    /// When `method` is none of [`METHODS`](Self::METHODS).
    pub(crate) fn read(method: &str, params: Value) -> Result<Self, JsonShapeError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Acknowledge {
            request_ids: Vec<RequestId>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Shutdown {
            reason: Id,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Rewrite {
            buffer_label: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Capture {
            checkpoint_id: Id,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct ActivateRestore {
            restore_token: String,
        }
        fn read<T: DeserializeOwned>(
            params: Value,
            call: impl FnOnce(T) -> Call,
        ) -> Result<Call, JsonShapeError> {
            from_json(params).map(call)
        }
        match method {
            "Worker.Hello" => read(params, Self::Hello),
            "Worker.Status" => read(params, |Nothing {}| Self::Status {}),
            "Worker.Acknowledge" => read(params, |Acknowledge { request_ids }| Self::Acknowledge {
                request_ids,
            }),
            "Worker.Shutdown" => read(params, |Shutdown { reason }| Self::Shutdown { reason }),
            "Environment.Initialize" => read(params, Self::InitializeEnvironment),
            "Environment.Advance" => read(params, Self::Advance),
            "Agent.Initialize" => read(params, Self::InitializeAgent),
            "Agent.Prepare" => read(params, Self::Prepare),
            "Agent.Commit" => read(params, Self::Commit),
            "State.Verify" => read(params, |Nothing {}| Self::Verify {}),
            "State.Rewrite" => read(params, |Rewrite { buffer_label }| Self::Rewrite {
                buffer_label,
            }),
            "State.Capture" => read(params, |Capture { checkpoint_id }| Self::Capture {
                checkpoint_id,
            }),
            "State.StageRestore" => read(params, Self::StageRestore),
            "State.ActivateRestore" => read(params, |ActivateRestore { restore_token }| {
                Self::ActivateRestore { restore_token }
            }),
            _ => unreachable!("{method} is not in the list of methods"),
        }
    }

    /// The method's name on the wire.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Worker.Hello",
            Self::Status {} => "Worker.Status",
            Self::Acknowledge { .. } => "Worker.Acknowledge",
            Self::Shutdown { .. } => "Worker.Shutdown",
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

    /// Whether it is a method of participants whose state can be captured and restored.
    pub(crate) const fn needs_checkpoint(&self) -> bool {
        matches!(
            self,
            Self::Capture { .. } | Self::StageRestore(_) | Self::ActivateRestore { .. }
        )
    }

    pub(crate) const fn class(&self) -> MethodClass {
        match self {
            Self::Hello(_) | Self::Status {} | Self::Acknowledge { .. } | Self::Shutdown { .. } => {
                MethodClass::ReadOnly
            }
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
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its name.
    pub request_id: RequestId,
    /// Session, epoch and step it is about; absent only for `Worker.*`.
    pub scope: Option<Scope>,
    /// Method and parameters.
    pub call: Call,
}

impl Request {
    /// Canonical JSON of method, scope and parameters: what is asked, whoever asks and however often. Artifacts are in it by
    /// content; the request id is not in it.
    pub fn body(&self) -> Result<Vec<u8>, CanonicalError> {
        #[derive(Serialize)]
        struct Body<'a> {
            method: &'static str,
            scope: &'a Option<Scope>,
            params: &'a Call,
        }
        canonical_json(&Body {
            method: self.call.method(),
            scope: &self.scope,
            params: &self.call,
        })
    }

    /// Digest of the [`body`](Self::body).
    pub fn body_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::blake3(&self.body()?))
    }
}
