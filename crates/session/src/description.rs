//! [`Description`]: what a participant is.

use serde::Serialize;
use wellwritten_envelope::{CanonicalError, Digest, Id, digest_json};

use crate::{AgentProfile, EnvironmentDescriptor, Role};

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
