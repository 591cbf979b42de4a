//! What a checkpoint says of itself: whose it is, of what, and what it holds.

use serde_json::json;
use wellwritten_envelope::{
    AgentEntry, Compatibility, CoordinatorEntry, Digest, EnvelopeVersion, EnvironmentEntry,
    EventWatermarks, ExecutorEntry, Id, Manifest, PortBinding, Scope, U64, UnknownFields,
    digest_json,
};

use crate::coordinator::own_payloads::{
    PRIOR_INSPECTION, RECORD, TASK_LEDGER, agent_payload, executor_payload, name,
};
use crate::session_state::SessionState;
use crate::{Coordinator, SessionError};

/// Payload of the world.
pub(crate) const WORLD: &str = "world";
/// How the session is scheduled.
pub(crate) const SCHEDULER: &str = "lockstep-v1";

impl Coordinator {
    /// Digest of what does not change over a session's life: not of the epoch.
    pub(crate) fn composition_digest(&self) -> Result<Digest, SessionError> {
        let state = self.state.borrow();
        let agents = state.agents.iter().map(|slot| {
            json!({
                "agentId": slot.link.participant_id,
                "portId": slot.port_id,
                "compatibilityDigest": slot.link.compatibility_digest,
            })
        });
        let composition = json!({
            "sessionId": self.session_id,
            "environmentId": state.environment.participant_id,
            "environmentCompatibilityDigest": state.environment.compatibility_digest,
            "agents": agents.collect::<Vec<_>>(),
        });
        digest_json(&composition).map_err(|error| SessionError::Composition {
            reason: error.to_string(),
        })
    }

    /// What a checkpoint must share with this session.
    pub(crate) fn compatibility(&self) -> Result<Compatibility, SessionError> {
        let state = self.state.borrow();
        let descriptor = state.environment.descriptor();
        let controller_digest =
            descriptor
                .controller_digest()
                .map_err(|error| SessionError::Composition {
                    reason: error.to_string(),
                })?;
        Ok(Compatibility {
            backend_digest: descriptor.backend_digest,
            content_digest: descriptor.content_digest,
            patch_digest: descriptor.patch_digest,
            controller_digest,
            parser_digest: descriptor.parser_digest,
            state_format_id: descriptor.state_format_id.clone(),
            unknown: UnknownFields::none(),
        })
    }

    pub(crate) fn manifest(
        &self,
        checkpoint_id: &Id,
        scope: &Scope,
        composition_digest: Digest,
    ) -> Result<Manifest, SessionError> {
        let compatibility = self.compatibility()?;
        let state = self.state.borrow();
        let version = EnvelopeVersion::Two;
        Ok(Manifest {
            envelope_version: version,
            digest_algorithm: Some(version.digest_algorithm()),
            checkpoint_id: checkpoint_id.clone(),
            source_scope: scope.clone(),
            episode_id: self.episode_id(),
            world_time: state.committed_world_time,
            scheduler_id: name(SCHEDULER),
            composition_digest,
            port_map: port_map(&state),
            compatibility,
            environment: EnvironmentEntry {
                worker_id: state.environment.participant_id.clone(),
                payload: name(WORLD),
                unknown: UnknownFields::none(),
            },
            agents: agent_entries(&state),
            coordinator: CoordinatorEntry {
                task_ledger: name(TASK_LEDGER),
                prior_inspection: name(PRIOR_INSPECTION),
                executor_state: executor_entries(&state),
                admission_state: Some(name(RECORD)),
                event_watermarks: EventWatermarks::Issued {
                    last_source_step: U64(state.last_event_step),
                    issued: U64(state.events_issued),
                    unknown: UnknownFields::none(),
                },
                unknown: UnknownFields::none(),
            },
            helper_state: Vec::new(),
            payloads: Vec::new(),
            unknown: UnknownFields::none(),
        })
    }
}

/// Who drives which port, as the manifest lists it.
pub(crate) fn port_map(state: &SessionState) -> Vec<PortBinding> {
    let bindings = state.bindings().into_iter().map(|binding| PortBinding {
        port_id: binding.port_id,
        agent_id: binding.agent_id,
        unknown: UnknownFields::none(),
    });
    bindings.collect()
}

fn agent_entries(state: &SessionState) -> Vec<AgentEntry> {
    let entries = state.agents.iter().map(|slot| {
        let profile = slot.link.profile();
        AgentEntry {
            agent_id: profile.agent_id.clone(),
            profile_digest: profile.profile_digest,
            dataset_digest: profile.dataset_digest,
            index_digest: None,
            model_version: profile.model_version.to_string(),
            plasticity_version: profile.plasticity_version.to_string(),
            seed: profile.seed,
            brain_ticks: U64(slot.brain_ticks),
            remainder: slot
                .clock
                .as_ref()
                .expect("a running agent has a clock")
                .remainder(),
            payload: agent_payload(&profile.agent_id),
            unknown: UnknownFields::none(),
        }
    });
    entries.collect()
}

fn executor_entries(state: &SessionState) -> Vec<ExecutorEntry> {
    let entries = state.agents.iter().map(|slot| ExecutorEntry {
        agent_id: slot.link.participant_id.clone(),
        payload: executor_payload(&slot.link.participant_id),
        unknown: UnknownFields::none(),
    });
    entries.collect()
}
