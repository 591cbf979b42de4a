//! Whether a checkpoint is of this session: everything that can be compared before anyone is asked.

use std::fmt::Display;

use wellwritten_envelope::{
    AgentEntry, CompatibilityDifference, Digest, Id, Manifest, compare_compatibility,
};

use crate::coordinator::manifest::{SCHEDULER, port_map};
use crate::id_list::IdList;
use crate::session_state::SessionState;
use crate::{AgentProfile, Coordinator, IdentityDifference, SessionError};

/// What a side says where the other has something it has not.
const ABSENT: &str = "absent";

impl Coordinator {
    /// Every compatibility field, session, episode, scheduler, ports, environment, agents with their executors, helpers:
    /// all that differs is named, with both values, the compatibility fields first.
    pub(crate) fn compare_identity(
        &self,
        manifest: &Manifest,
        episode_id: &Id,
    ) -> Result<(), SessionError> {
        let running = self.compatibility()?;
        let composition_digest = self.composition_digest()?;
        let mut found = Differences::default();
        self.compare_session(manifest, episode_id, &mut found);
        self.compare_participants(manifest, &mut found);
        let mut incompatible = compare_compatibility(&manifest.compatibility, &running);
        // A digest of most of that: it says something only where nothing else does.
        if found.0.is_empty() && incompatible.is_empty() {
            let (stored, running) = (manifest.composition_digest, composition_digest);
            found.same("compositionDigest", &stored, &running);
        }
        refuse_differences(&mut incompatible.drain(..), found)
    }

    fn compare_session(&self, manifest: &Manifest, episode_id: &Id, found: &mut Differences) {
        found.same(
            "sessionId",
            &manifest.source_scope.session_id,
            &self.session_id,
        );
        found.same("episodeId", &manifest.episode_id, episode_id);
        found.same("schedulerId", &manifest.scheduler_id, &SCHEDULER);
        let state = self.state.borrow();
        let stored = manifest.port_map.iter();
        let bound = port_map(&state);
        found.each_named(
            "portMap",
            &stored
                .map(|it| (&it.port_id, it.agent_id.to_string()))
                .collect::<Vec<_>>(),
            &bound
                .iter()
                .map(|it| (&it.port_id, it.agent_id.to_string()))
                .collect::<Vec<_>>(),
        );
        let (stored, running) = (&manifest.environment.worker_id, &state.environment);
        found.same("environment.workerId", stored, &running.participant_id);
        // This session has no helpers; a checkpoint that needs one for an exact resume is not resumed without it.
        for (index, helper) in manifest.helper_state.iter().enumerate() {
            found.push(
                format!("helperState[{index}]"),
                format!("{helper:?}"),
                ABSENT,
            );
        }
    }

    fn compare_participants(&self, manifest: &Manifest, found: &mut Differences) {
        let state = self.state.borrow();
        let there = |ids: &mut dyn Iterator<Item = &Id>| -> Vec<Id> { ids.cloned().collect() };
        let running = there(&mut state.agents.iter().map(|slot| &slot.link.participant_id));
        let executors = manifest.coordinator.executor_state.iter();
        let lists = [
            (
                "agents",
                there(&mut manifest.agents.iter().map(|agent| &agent.agent_id)),
            ),
            (
                "coordinator.executorState",
                there(&mut executors.map(|executor| &executor.agent_id)),
            ),
        ];
        for (list, stored) in lists {
            found.each_present(list, &stored, &running);
        }
        for entry in &manifest.agents {
            if let Some(profile) = profile_of(&state, &entry.agent_id) {
                found.agent(entry, profile);
            }
        }
    }
}

fn present(ids: &[Id]) -> Vec<(&Id, String)> {
    ids.iter().map(|id| (id, "present".to_owned())).collect()
}

fn profile_of<'a>(state: &'a SessionState, agent_id: &Id) -> Option<&'a AgentProfile> {
    let mut links = state.agents.iter().map(|slot| &slot.link);
    let link = links.find(|link| link.participant_id == *agent_id)?;
    Some(link.profile())
}

/// The first difference is the error's own, the others are listed with it.
fn refuse_differences(
    incompatible: &mut dyn Iterator<Item = CompatibilityDifference>,
    Differences(mut others): Differences,
) -> Result<(), SessionError> {
    if let Some(difference) = incompatible.next() {
        let more = incompatible.map(|more| IdentityDifference {
            field: format!("compatibility.{}", more.field),
            stored: more.stored,
            running: more.running,
        });
        others.splice(..0, more);
        return Err(SessionError::Incompatible { difference, others });
    }
    if others.is_empty() {
        return Ok(());
    }
    let IdentityDifference {
        field,
        stored,
        running,
    } = others.remove(0);
    Err(SessionError::Identity {
        field,
        stored,
        running,
        others,
    })
}

/// What was found to differ, in the order in which it was compared.
#[derive(Default)]
struct Differences(Vec<IdentityDifference>);

impl Differences {
    fn push(&mut self, field: String, stored: String, running: &str) {
        self.0.push(IdentityDifference {
            field,
            stored,
            running: running.to_owned(),
        });
    }

    fn same(&mut self, field: &str, stored: &dyn Display, running: &dyn Display) {
        let (stored, running) = (stored.to_string(), running.to_string());
        if stored != running {
            self.push(field.to_owned(), stored, &running);
        }
    }

    /// Entries that have a name and a value: those that only one side has, and those that have another value.
    fn each_named(&mut self, list: &str, stored: &[(&Id, String)], running: &[(&Id, String)]) {
        let value = |side: &[(&Id, String)], name: &Id| {
            let mut entries = side.iter();
            let entry = entries.find(|(other, _)| *other == name);
            entry.map_or_else(|| ABSENT.to_owned(), |(_, value)| value.clone())
        };
        let mut names: Vec<&Id> = stored.iter().map(|(name, _)| *name).collect();
        names.extend(running.iter().map(|(name, _)| *name));
        for (index, name) in names.iter().enumerate() {
            if !names[..index].contains(name) {
                let field = format!("{list}[{name}]");
                self.same(&field, &value(stored, name), &value(running, name));
            }
        }
    }

    /// Names that only one side has, and their order where both have the same.
    fn each_present(&mut self, list: &str, stored: &[Id], running: &[Id]) {
        let before = self.0.len();
        self.each_named(list, &present(stored), &present(running));
        if self.0.len() == before {
            self.same(list, &IdList(stored), &IdList(running));
        }
    }

    /// Profile, data, versions and seed of one agent.
    fn agent(&mut self, entry: &AgentEntry, profile: &AgentProfile) {
        let index = |digest: Option<Digest>| digest.map_or(ABSENT.to_owned(), |it| it.to_string());
        let fields: [(&str, String, String); 6] = [
            (
                "profileDigest",
                entry.profile_digest.to_string(),
                profile.profile_digest.to_string(),
            ),
            (
                "datasetDigest",
                entry.dataset_digest.to_string(),
                profile.dataset_digest.to_string(),
            ),
            ("indexDigest", index(entry.index_digest), index(None)),
            (
                "modelVersion",
                entry.model_version.clone(),
                profile.model_version.to_string(),
            ),
            (
                "plasticityVersion",
                entry.plasticity_version.clone(),
                profile.plasticity_version.to_string(),
            ),
            ("seed", entry.seed.to_string(), profile.seed.to_string()),
        ];
        for (name, stored, running) in fields {
            self.same(
                &format!("agents[{}].{name}", profile.agent_id),
                &stored,
                &running,
            );
        }
    }
}
