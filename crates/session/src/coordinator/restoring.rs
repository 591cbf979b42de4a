//! Group restore: choose, compare, validate, stage everyone, activate everyone, install at once.

use wellwritten_envelope::{
    AgentEntry, Digest, Envelope, Id, Manifest, compare_compatibility, decode,
};
use wellwritten_store::{GenerationFilter, SelectError, Selected, Selection, compatibility_digest};

use crate::coordinator::Fault;
use crate::coordinator::checkpointing::{SCHEDULER, port_map};
use crate::coordinator::own_payloads::RestoredCoordinator;
use crate::session_state::Link;
use crate::{
    AbandonedSteps, AdmissionEvent, Admitted, AgentProfile, Coordinator, DurableMark, Phase,
    RequestId, RestoreReport, RestoreRequest, Role, SessionError, SessionEvent, SessionStore,
    SkippedGeneration, WorldObservation,
};

impl Coordinator {
    /// Restores the whole group from one generation, under an epoch never used before, to `Paused(k)`.
    ///
    /// Possible when the epoch has failed, or before anything has begun. Everything that can be checked without a
    /// participant is checked first, and a refusal there changes nothing. Once participants stage, a failure leaves the
    /// session failed, and whoever staged or may have staged must be replaced before the next restore.
    pub async fn restore(&self, request: RestoreRequest) -> Result<RestoreReport, SessionError> {
        let guard = self.begin("restore")?;
        let phase = self.phase();
        if !matches!(phase, Phase::Failed | Phase::Starting) {
            return Err(self.refuse_phase("restore"));
        }
        let store = self.store.clone().ok_or(SessionError::NoStore)?;
        let tainted: Vec<Id> = self.state.borrow().tainted.iter().cloned().collect();
        if !tainted.is_empty() {
            return Err(SessionError::Tainted {
                participants: tainted,
            });
        }
        let to_epoch = self.fresh_epoch(request.epoch.as_ref()).await?;
        let selected = self.select(&*store, &request).await?;
        let envelope = decode(&selected.bytes)?;
        self.compare_identity(&envelope.manifest)?;
        self.require_present().await?;
        let restored = self.restored_coordinator(&envelope, &to_epoch)?;
        self.claim_epoch(&*store, &to_epoch).await?;
        let mut report = self.restore_group(&envelope, &to_epoch, restored).await?;
        report.skipped = skipped(&selected);
        report.store_warning = store
            .mark_resumed(&report.checkpoint_id)
            .await
            .err()
            .map(|error| error.to_string());
        drop(guard);
        self.emit(SessionEvent::Restored {
            report: report.clone(),
        });
        Ok(report)
    }

    /// The epoch to go on under: the one asked for, if it was never used, or the next that was not.
    pub(crate) async fn fresh_epoch(&self, asked: Option<&Id>) -> Result<Id, SessionError> {
        if let Some(epoch) = asked {
            Self::check_epoch_name(epoch)?;
            let is_stored = match &self.store {
                Some(store) => store.is_epoch_used(epoch).await,
                None => false,
            };
            if is_stored || self.used_epochs().contains(epoch) {
                return Err(SessionError::StaleEpoch {
                    epoch: epoch.clone(),
                });
            }
            return Ok(epoch.clone());
        }
        let current = self.state.borrow().epoch.clone();
        self.unused_epoch(current).await
    }

    /// The named generation of this session, or the newest of this session that is compatible with it. Where none is
    /// compatible, the newest is taken all the same, so that the comparison names the field.
    async fn select(
        &self,
        store: &dyn SessionStore,
        request: &RestoreRequest,
    ) -> Result<Selected, SelectError> {
        let of_session = GenerationFilter {
            session_id: Some(self.session_id.clone()),
            ..GenerationFilter::default()
        };
        let wide = Selection {
            checkpoint_id: request.checkpoint_id.clone(),
            filter: of_session.clone(),
            fallback: request.fallback,
        };
        let running = self.compatibility().ok();
        if request.checkpoint_id.is_some() || running.is_none() {
            return store.select(&wide).await;
        }
        let narrow = Selection {
            filter: GenerationFilter {
                episode_id: Some(self.episode_id()),
                compatibility_digest: running.as_ref().map(compatibility_digest),
                ..of_session
            },
            ..wide.clone()
        };
        match store.select(&narrow).await {
            Err(SelectError::Incompatible { .. }) => store.select(&wide).await,
            selected => selected,
        }
    }

    /// Session, episode, scheduler, every compatibility field, ports, environment, agents: the first that differs is
    /// named, with both values.
    fn compare_identity(&self, manifest: &Manifest) -> Result<(), SessionError> {
        let running = self.compatibility()?;
        if let Some(difference) = compare_compatibility(&manifest.compatibility, &running)
            .into_iter()
            .next()
        {
            return Err(difference.into());
        }
        let composition_digest = self.composition_digest()?;
        let state = self.state.borrow();
        same(
            "sessionId",
            manifest.source_scope.session_id.to_string(),
            self.session_id.to_string(),
        )?;
        same(
            "episodeId",
            manifest.episode_id.to_string(),
            state.episode_id.to_string(),
        )?;
        same(
            "schedulerId",
            manifest.scheduler_id.to_string(),
            SCHEDULER.to_owned(),
        )?;
        same(
            "portMap",
            format!("{:?}", manifest.port_map),
            format!("{:?}", port_map(&state)),
        )?;
        let environment = &state.environment.participant_id;
        same(
            "environment.workerId",
            manifest.environment.worker_id.to_string(),
            environment.to_string(),
        )?;
        let stored: Vec<&Id> = manifest
            .agents
            .iter()
            .map(|agent| &agent.agent_id)
            .collect();
        let running: Vec<&Id> = state
            .agents
            .iter()
            .map(|slot| &slot.link.participant_id)
            .collect();
        same("agents", format!("{stored:?}"), format!("{running:?}"))?;
        let executors: Vec<&Id> = manifest
            .coordinator
            .executor_state
            .iter()
            .map(|executor| &executor.agent_id)
            .collect();
        same(
            "coordinator.executorState",
            format!("{executors:?}"),
            format!("{running:?}"),
        )?;
        // This session has no helpers; a checkpoint that needs one for an exact resume is not resumed without it.
        let helpers = &manifest.helper_state;
        same("helperState", format!("{helpers:?}"), "[]".to_owned())?;
        for (entry, slot) in manifest.agents.iter().zip(&state.agents) {
            compare_agent(entry, slot.link.profile())?;
        }
        same(
            "compositionDigest",
            manifest.composition_digest.to_string(),
            composition_digest.to_string(),
        )
    }

    /// Everyone must be there, and be who they were, before anyone stages.
    async fn require_present(&self) -> Result<(), SessionError> {
        for (index, link) in self.links().into_iter().enumerate() {
            let role = if index == 0 {
                Role::Environment
            } else {
                Role::Agent
            };
            let known = link.description.as_deref();
            match self.hello(&link, role).await {
                Ok(description) if Some(&description) == known => {}
                Ok(_) => {
                    return Err(SessionError::Identity {
                        field: format!("{}.description", link.participant_id),
                        stored: "what it was when it was connected".to_owned(),
                        running: "something else".to_owned(),
                    });
                }
                Err(unanswered) => {
                    return Err(SessionError::Refused {
                        participant: link.participant_id,
                        error: unanswered.into_fault().error,
                    });
                }
            }
        }
        Ok(())
    }

    /// From here on a failure leaves the session failed.
    async fn restore_group(
        &self,
        envelope: &Envelope<'_>,
        to_epoch: &Id,
        restored: RestoredCoordinator,
    ) -> Result<RestoreReport, SessionError> {
        let manifest = &envelope.manifest;
        let boundary = manifest.source_scope.step.0;
        let (from_epoch, last_boundary) = {
            let state = self.state.borrow();
            let fresh = state.machine.phase() == Phase::Starting;
            let from = if fresh {
                manifest.source_scope.epoch.clone()
            } else {
                state.epoch.clone()
            };
            (from, (!fresh).then_some(state.boundary))
        };
        self.go(Phase::Restoring { boundary })
            .map_err(|fault| self.fail(fault))?;
        self.adopt_epoch(to_epoch);
        let links = self.links();
        let staged = self
            .stage_all(&links, envelope, boundary, &restored)
            .await
            .map_err(|fault| self.fail(fault))?;
        let (observation, kept) = match self
            .activate_all(&links, &staged, envelope, &restored)
            .await
        {
            Ok(activated) => activated,
            Err(fault) => {
                self.taint_all();
                return Err(self.fail(fault));
            }
        };
        let installed = self.install(manifest, to_epoch, restored, observation);
        if let Err(fault) = installed {
            self.taint_all();
            return Err(self.fail(fault));
        }
        self.acknowledge(&kept).await;
        Ok(RestoreReport {
            checkpoint_id: manifest.checkpoint_id.clone(),
            source_epoch: manifest.source_scope.epoch.clone(),
            from_epoch,
            to_epoch: to_epoch.clone(),
            boundary,
            abandoned: last_boundary
                .filter(|last| *last > boundary)
                .map(|to| AbandonedSteps { from: boundary, to }),
            skipped: Vec::new(),
            store_warning: None,
        })
    }

    /// Puts everything in its place and lifts the fence. All of it was checked before: nothing here can fail but a
    /// session that was failed from outside in the meantime, and then nothing is put anywhere.
    fn install(
        &self,
        manifest: &Manifest,
        to_epoch: &Id,
        restored: RestoredCoordinator,
        observation: WorldObservation,
    ) -> Result<(), Fault> {
        let boundary = manifest.source_scope.step.0;
        let mut state = self.state.borrow_mut();
        let change = state
            .machine
            .go(Phase::Paused { boundary })
            .map_err(|illegal| Fault::inside(crate::ErrorCode::Internal, illegal.to_string()))?;
        for (slot, agent) in state.agents.iter_mut().zip(restored.agents) {
            slot.executor = agent.executor;
            slot.context = Some(agent.context);
            slot.brain_ticks = agent.brain_ticks;
            slot.clock = Some(agent.clock);
            // Known again after the next commit: an old boundary's telemetry would be another timeline's.
            slot.telemetry = None;
        }
        state.task = restored.task;
        state.progress = Some(restored.progress);
        state.terminal = restored.terminal;
        state.last_event_step = restored.last_event_step;
        state.events_issued = restored.events_issued;
        state.executor_events = restored.executor_events;
        state.boundary = boundary;
        state.committed_world_time = manifest.world_time;
        state.observation = Some(observation);
        state.timelines = restored.timelines;
        state.failure = None;
        state.pause_requested = false;
        state.durable = Some(DurableMark {
            checkpoint_id: manifest.checkpoint_id.clone(),
            epoch: manifest.source_scope.epoch.clone(),
            boundary,
        });
        state
            .trace
            .restore(&manifest.source_scope.epoch, boundary, to_epoch.clone());
        for admission in &restored.admissions {
            state.admissions.push(admission.clone());
        }
        drop(state);
        if let Some(sink) = self.trace_sink.borrow().clone() {
            sink.restored(&manifest.source_scope, to_epoch);
        }
        self.publish_standing(Vec::new());
        self.emit(SessionEvent::Phase { change });
        for admission in restored.admissions {
            self.tell(AdmissionEvent::Accepted {
                admitted: Admitted {
                    admission,
                    epoch: to_epoch.clone(),
                    earliest_step: boundary,
                },
            });
        }
        Ok(())
    }
}

/// One participant, staged.
pub(crate) struct Staged {
    pub request_id: RequestId,
    pub token: String,
}

pub(crate) type Activated = (WorldObservation, Vec<(Link, RequestId)>);

fn skipped(selected: &Selected) -> Vec<SkippedGeneration> {
    let damaged = selected.damaged.iter().map(|damaged| SkippedGeneration {
        checkpoint_id: damaged.checkpoint_id.clone(),
        reason: damaged.damage.to_string(),
    });
    let incompatible = selected
        .incompatible
        .iter()
        .map(|mismatch| SkippedGeneration {
            checkpoint_id: mismatch.checkpoint_id.clone(),
            reason: format!(
                "its {} is {}, this session's is {}",
                mismatch.field, mismatch.found, mismatch.required
            ),
        });
    damaged.chain(incompatible).collect()
}

/// A field of a checkpoint's identity must be the session's.
fn same(field: &str, stored: String, running: String) -> Result<(), SessionError> {
    if stored == running {
        return Ok(());
    }
    Err(SessionError::Identity {
        field: field.to_owned(),
        stored,
        running,
    })
}

/// Profile, data, versions and seed of one agent.
fn compare_agent(entry: &AgentEntry, profile: &AgentProfile) -> Result<(), SessionError> {
    let digests = |digest: Digest| digest.to_string();
    let fields = [
        (
            "profileDigest",
            digests(entry.profile_digest),
            digests(profile.profile_digest),
        ),
        (
            "datasetDigest",
            digests(entry.dataset_digest),
            digests(profile.dataset_digest),
        ),
        (
            "indexDigest",
            format!("{:?}", entry.index_digest),
            "None".to_owned(),
        ),
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
    fields.into_iter().try_for_each(|(name, stored, running)| {
        same(
            &format!("agents[{}].{name}", profile.agent_id),
            stored,
            running,
        )
    })
}
