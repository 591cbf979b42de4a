//! [`SessionDescriptor`]: what a session is made of, as its participants attested it.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, U64};

use crate::{AgentProfile, EnvironmentDescriptor, SchemaRef};

/// One agent, as it attested itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishedAgent {
    /// The agent.
    pub agent_id: Id,
    /// The port it drives.
    pub port_id: Id,
    /// Digest of its profile.
    pub profile_digest: Digest,
    /// Digest of the data its model is built from.
    pub dataset_digest: Digest,
    /// Digest of the index over that data, where it has one.
    pub index_digest: Option<Digest>,
    /// Neurons of its model.
    pub neuron_count: U64,
    /// Roles whose rates its telemetry reports, in this order.
    pub rate_roles: Vec<Id>,
    /// Kinds of stimulus it accepts.
    pub supported_stimuli: Vec<Id>,
}

impl PublishedAgent {
    pub(crate) fn new(port_id: Id, profile: &AgentProfile) -> Self {
        Self {
            agent_id: profile.agent_id.clone(),
            port_id,
            profile_digest: profile.profile_digest,
            dataset_digest: profile.dataset_digest,
            index_digest: None,
            neuron_count: profile.graph.neuron_count,
            rate_roles: profile.graph.rate_roles.clone(),
            supported_stimuli: profile.graph.supported_stimuli.clone(),
        }
    }
}

/// What a session is made of. Snapshots refer to it by revision.
///
/// It names no assets: what a participant is built from is behind the digests it attests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionDescriptor {
    /// The session.
    pub session_id: Id,
    /// From 1; one more whenever anything else in here changes, and only then. An epoch is not in here, so that a restore
    /// by itself changes nothing.
    pub revision: U64,
    /// Digest of who takes part, the same as in this session's checkpoints.
    pub composition_digest: Digest,
    /// How transitions are scheduled: `lockstep-v1`.
    pub scheduler_id: Id,
    /// The world.
    pub environment: EnvironmentDescriptor,
    /// Schema of the task's progress.
    pub task_schema: SchemaRef,
    /// Agents, by name.
    pub agents: Vec<PublishedAgent>,
}

impl SessionDescriptor {
    /// Whether both say the same, whatever their revisions.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let Self {
            session_id,
            revision: _,
            composition_digest,
            scheduler_id,
            environment,
            task_schema,
            agents,
        } = self;
        *session_id == other.session_id
            && *composition_digest == other.composition_digest
            && *scheduler_id == other.scheduler_id
            && *environment == other.environment
            && *task_schema == other.task_schema
            && *agents == other.agents
    }
}
