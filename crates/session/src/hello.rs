//! `Worker.Hello`: who is there, and whether both sides speak the same protocol.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id};

use crate::{AgentProfile, Description, EnvironmentDescriptor, Role};

/// The only major version of the protocol.
pub const PROTOCOL_MAJOR: u16 = 1;
/// The minor version of the protocol.
pub const PROTOCOL_MINOR: u16 = 0;
/// Most versions a `Hello` may offer.
pub const MAX_MAJORS: usize = 8;

/// Parameters of `Worker.Hello`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hello {
    /// The session that calls.
    pub session_id: Id,
    /// Who is expected to answer.
    pub expected_worker_id: Id,
    /// As what.
    pub role: Role,
    /// Major versions the caller speaks: 1 to 8, none twice.
    pub supported_majors: Vec<u16>,
}

/// What a participant takes part with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerLimits {
    /// Agents of one session, 1 to 4.
    pub max_agents: u8,
    /// Ports of one world, 1 to 4.
    pub max_ports: u8,
    /// Threads it may use, from 1.
    pub worker_threads: u16,
}

/// Result of `Worker.Hello`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HelloResult {
    /// Always [`PROTOCOL_MAJOR`].
    pub selected_major: u16,
    /// Always [`PROTOCOL_MINOR`].
    pub selected_minor: u16,
    /// Who answers.
    pub worker_id: Id,
    /// Which life of the worker.
    pub incarnation_id: Id,
    /// As what.
    pub role: Role,
    /// Digest of the build of the protocol's code that answers: for a report, never compared.
    pub build_digest: Digest,
    /// Digest of the messages it reads and writes; both sides must have the same.
    pub contract_digest: Digest,
    /// What it can do, none twice.
    pub capabilities: Vec<Id>,
    /// What it takes part with.
    pub limits: WorkerLimits,
    /// What a world is; null from an agent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub environment: Option<EnvironmentDescriptor>,
    /// What an agent is; null from a world.
    #[serde(deserialize_with = "Option::deserialize")]
    pub agent: Option<AgentProfile>,
}

/// Capability of every agent.
pub const AGENT_STEP: &str = "agent-step-v1";
/// Capability of every world.
pub const WORLD_STEP: &str = "world-step-v1";
/// Capability of a participant whose state can be captured and restored.
pub const CHECKPOINT: &str = "checkpoint-v1";
/// Capability of a world that shows views.
pub const PIXEL_OBSERVATION: &str = "pixel-observation-v1";

impl HelloResult {
    /// The description of the role it answers as; none where it has the other's, or both.
    #[must_use]
    pub fn description(&self) -> Option<Description> {
        match (self.role, &self.environment, &self.agent) {
            (Role::Environment, Some(descriptor), None) => {
                Some(Description::Environment(descriptor.clone()))
            }
            (Role::Agent, None, Some(profile)) => Some(Description::Agent(profile.clone())),
            _ => None,
        }
    }
}

/// What a participant of this description can do.
pub(crate) fn capabilities(description: &Description, can_checkpoint: bool) -> Vec<Id> {
    let (step, shows) = match description {
        Description::Environment(world) => (WORLD_STEP, !world.views.is_empty()),
        Description::Agent(_) => (AGENT_STEP, false),
    };
    let named = [
        (step, true),
        (CHECKPOINT, can_checkpoint),
        (PIXEL_OBSERVATION, shows),
    ];
    let held = named.iter().filter(|(_, holds)| *holds);
    held.map(|(name, _)| Id::parse(name).expect("a legal id"))
        .collect()
}

/// Digest of this build of the protocol's code.
pub(crate) fn build_digest() -> Digest {
    let name = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    Digest::blake3(name.as_bytes())
}
