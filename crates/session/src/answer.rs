//! What a participant answers: [`Reply`], [`Answer`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wellwritten_envelope::{Digest, Id, JsonShapeError, Scope, U64, from_json};

use crate::{
    AgentInitialized, Artifact, Committed, HelloResult, ParticipantError, Prepared, RequestId,
    StagedState, StepResult, WorkerStatus, WorldObservation,
};

/// The results of every method.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of `Worker.Hello`.
    Hello(Box<HelloResult>),
    /// Of `Worker.Status`.
    Status(WorkerStatus),
    /// Of `Worker.Acknowledge`: those that were still kept.
    Acknowledged {
        /// Which.
        acknowledged: Vec<RequestId>,
    },
    /// Of `Worker.Shutdown`.
    Stopping {
        /// Always.
        stopping: bool,
    },
    /// Of `Environment.Initialize`.
    WorldInitialized(WorldObservation),
    /// Of `Environment.Advance`.
    Stepped(Box<StepResult>),
    /// Of `Agent.Initialize`.
    #[serde(rename_all = "camelCase")]
    AgentInitialized {
        /// What the agent said.
        initialized: AgentInitialized,
        /// Digest of the context it retained.
        decision_context_digest: Digest,
    },
    /// Of `Agent.Prepare`.
    Prepared(Prepared),
    /// Of `Agent.Commit`.
    #[serde(rename_all = "camelCase")]
    Committed {
        /// What the agent said.
        committed: Committed,
        /// Digest of the context it retained.
        decision_context_digest: Digest,
    },
    /// Of `State.Verify`: every byte reads cleanly.
    Verified {},
    /// Of `State.Rewrite`.
    Rewritten {},
    /// Of `State.Capture`.
    #[serde(rename_all = "camelCase")]
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
    #[serde(rename_all = "camelCase")]
    Staged {
        /// The checkpoint.
        checkpoint_id: Id,
        /// What activates it, once.
        restore_token: String,
        /// What was found in the state.
        state: StagedState,
    },
    /// Of `State.ActivateRestore`.
    #[serde(rename_all = "camelCase")]
    Activated {
        /// The checkpoint.
        checkpoint_id: Id,
        /// The boundary it stands at.
        committed_step: U64,
        /// What the world shows; absent from an agent.
        observation: Option<WorldObservation>,
    },
}

impl Answer {
    /// Reads the result of a method, strictly.
    ///
    /// # Panics
    /// When `method` is none of [`Call::METHODS`](crate::Call::METHODS).
    pub(crate) fn read(method: &str, result: Value) -> Result<Self, JsonShapeError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Acknowledged {
            acknowledged: Vec<RequestId>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Stopping {
            stopping: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Initialized {
            initialized: AgentInitialized,
            decision_context_digest: Digest,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Commits {
            committed: Committed,
            decision_context_digest: Digest,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Captured {
            checkpoint_id: Id,
            boundary: U64,
            compatibility_digest: Digest,
            payload: Artifact,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Staged {
            checkpoint_id: Id,
            restore_token: String,
            state: StagedState,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Activated {
            checkpoint_id: Id,
            committed_step: U64,
            #[serde(deserialize_with = "Option::deserialize")]
            observation: Option<WorldObservation>,
        }
        fn read<T: DeserializeOwned>(
            result: Value,
            answer: impl FnOnce(T) -> Answer,
        ) -> Result<Answer, JsonShapeError> {
            from_json(result).map(answer)
        }
        match method {
            "Worker.Hello" => read(result, |hello| Self::Hello(Box::new(hello))),
            "Worker.Status" => read(result, Self::Status),
            "Worker.Acknowledge" => read(result, |it: Acknowledged| Self::Acknowledged {
                acknowledged: it.acknowledged,
            }),
            "Worker.Shutdown" => read(result, |it: Stopping| Self::Stopping {
                stopping: it.stopping,
            }),
            "Environment.Initialize" => read(result, Self::WorldInitialized),
            "Environment.Advance" => read(result, |stepped| Self::Stepped(Box::new(stepped))),
            "Agent.Initialize" => read(result, |it: Initialized| Self::AgentInitialized {
                initialized: it.initialized,
                decision_context_digest: it.decision_context_digest,
            }),
            "Agent.Prepare" => read(result, Self::Prepared),
            "Agent.Commit" => read(result, |it: Commits| Self::Committed {
                committed: it.committed,
                decision_context_digest: it.decision_context_digest,
            }),
            "State.Verify" => read(result, |Nothing {}| Self::Verified {}),
            "State.Rewrite" => read(result, |Nothing {}| Self::Rewritten {}),
            "State.Capture" => read(result, |it: Captured| Self::Captured {
                checkpoint_id: it.checkpoint_id,
                boundary: it.boundary,
                compatibility_digest: it.compatibility_digest,
                payload: it.payload,
            }),
            "State.StageRestore" => read(result, |it: Staged| Self::Staged {
                checkpoint_id: it.checkpoint_id,
                restore_token: it.restore_token,
                state: it.state,
            }),
            "State.ActivateRestore" => read(result, |it: Activated| Self::Activated {
                checkpoint_id: it.checkpoint_id,
                committed_step: it.committed_step,
                observation: it.observation,
            }),
            _ => unreachable!("{method} is not in the list of methods"),
        }
    }
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
