//! Group restore: choose, compare, validate, stage everyone, activate everyone, install at once.

use wellwritten_envelope::{Envelope, Id, Manifest, Scope, decode};
use wellwritten_store::{GenerationFilter, SelectError, Selected, Selection, compatibility_digest};

use crate::coordinator::Fault;
use crate::coordinator::asking::Unanswered;
use crate::coordinator::own_payloads::RestoredCoordinator;
use crate::coordinator::saving::Saves;
use crate::session_state::{Link, SessionState};
use crate::{
    AbandonedSteps, AdmissionEvent, Admitted, Coordinator, DurableMark, Phase, RequestId,
    RestoreReport, RestoreRequest, Role, SessionError, SessionEvent, SkippedGeneration,
    WorldObservation,
};

impl Coordinator {
    /// Restores the whole group from one generation, under an epoch never used before, to `Paused(k)`.
    ///
    /// Possible when the epoch has failed, or before anything has begun. Everything that can be checked without a
    /// participant is checked first, and a refusal there changes nothing. Once participants stage, a failure leaves the
    /// session failed, and whoever staged or may have staged must be replaced before the next restore.
    ///
    /// Without a name, the newest generation of the running episode is taken. Where an episode failed before its first
    /// checkpoint, one of an earlier episode can be named, and the session is in that episode again.
    pub async fn restore(&self, request: RestoreRequest) -> Result<RestoreReport, SessionError> {
        let guard = self.begin("restore")?;
        let phase = self.phase();
        if !matches!(phase, Phase::Failed | Phase::Starting) {
            return Err(self.refuse_phase("restore"));
        }
        let saves = self.saves()?;
        self.require_untainted()?;
        self.saves_ended().await?;
        self.learn_checkpoints().await?;
        let to_epoch = self.fresh_epoch(request.epoch.as_ref()).await?;
        let selected = self.select(saves, &request).await?;
        let envelope = decode(&selected.bytes)?;
        let restored = self.restorable(&envelope, &to_epoch).await?;
        self.claim_epoch(&to_epoch).await?;
        let mut report = self
            .restore_group(&envelope, &to_epoch, restored, skipped(&selected))
            .await?;
        report.store_warning = self.mark_resumed(&report.checkpoint_id).await;
        drop(guard);
        Ok(report)
    }

    pub(crate) fn require_untainted(&self) -> Result<(), SessionError> {
        let participants: Vec<Id> = self.state.borrow().tainted.iter().cloned().collect();
        if participants.is_empty() {
            return Ok(());
        }
        Err(SessionError::Tainted { participants })
    }

    /// Everything that can be said of a generation before anyone stages: it is of this session, whoever it needs is
    /// there, and the coordinator's own part can be installed. Nothing changes.
    pub(crate) async fn restorable(
        &self,
        envelope: &Envelope<'_>,
        to_epoch: &Id,
    ) -> Result<RestoredCoordinator, SessionError> {
        let episode_id = self.episode_to_be(&envelope.manifest).await?;
        self.compare_identity(&envelope.manifest, &episode_id)?;
        self.require_present().await?;
        self.restored_coordinator(envelope, to_epoch)
    }

    /// The episode a generation must be of: the running one, unless that has failed without leaving any, and the
    /// generation is of an earlier one of this session.
    async fn episode_to_be(&self, manifest: &Manifest) -> Result<Id, SessionError> {
        let found = &manifest.episode_id;
        let was_left = self.state.borrow().used_episodes.contains(found);
        if was_left && *found != self.episode_id() && self.has_failed_unsaved().await? {
            return Ok(found.clone());
        }
        Ok(self.episode_id())
    }

    /// Whether the running episode has failed without leaving a checkpoint.
    async fn has_failed_unsaved(&self) -> Result<bool, SessionError> {
        let saves = self.saves()?;
        let episode_id = self.episode_id();
        let is_saved = saves.client.is_episode_used(&self.session_id, &episode_id);
        Ok(self.phase() == Phase::Failed && !saves.ask(is_saved).await?)
    }

    /// Has the store write down that the session goes on from where it was restored; what it could not, for a person.
    pub(crate) async fn mark_resumed(&self, checkpoint_id: &Id) -> Option<String> {
        let saves = self.saves.as_ref()?;
        let marked = saves.ask(saves.client.mark_resumed(checkpoint_id)).await;
        marked.err().map(|error| error.to_string())
    }

    /// The epoch to go on under: the one asked for, if it was never used, or the next that was not.
    pub(crate) async fn fresh_epoch(&self, asked: Option<&Id>) -> Result<Id, SessionError> {
        if let Some(epoch) = asked {
            Self::check_epoch_name(epoch)?;
            let is_stored = match &self.saves {
                Some(saves) => saves.ask(saves.client.is_epoch_used(epoch)).await?,
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
        saves: &Saves,
        request: &RestoreRequest,
    ) -> Result<Selected, SessionError> {
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
            return Ok(saves.ask(saves.client.select(wide)).await?);
        }
        let narrow = Selection {
            filter: GenerationFilter {
                episode_id: Some(self.episode_id()),
                compatibility_digest: running.as_ref().map(compatibility_digest),
                ..of_session
            },
            ..wide.clone()
        };
        match saves.ask(saves.client.select(narrow)).await {
            Err(SelectError::Incompatible { .. }) => {
                let newest = saves.ask(saves.client.select(wide)).await?;
                self.require_saved_episode(&newest).await?;
                Ok(newest)
            }
            selected => Ok(selected?),
        }
    }

    /// Says so where the running episode failed before its first checkpoint.
    async fn require_saved_episode(&self, newest: &Selected) -> Result<(), SessionError> {
        if !self.has_failed_unsaved().await? {
            return Ok(());
        }
        Err(SessionError::EpisodeNotSaved {
            episode: self.episode_id(),
            newest: newest.generation.checkpoint_id.clone(),
            newest_episode: newest.generation.episode_id.clone(),
        })
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
                        others: Vec::new(),
                    });
                }
                Err(Unanswered::Refused(fault)) => {
                    return Err(SessionError::Refused {
                        participant: link.participant_id,
                        error: fault.error,
                    });
                }
                Err(Unanswered::Faulted(fault)) => {
                    return Err(SessionError::Gone {
                        participant: link.participant_id,
                        reason: fault.error.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    /// From here on a failure leaves the session failed.
    pub(crate) async fn restore_group(
        &self,
        envelope: &Envelope<'_>,
        to_epoch: &Id,
        restored: RestoredCoordinator,
        skipped: Vec<SkippedGeneration>,
    ) -> Result<RestoreReport, SessionError> {
        let manifest = &envelope.manifest;
        let boundary = manifest.source_scope.step.0;
        let report = self.report_of(manifest, to_epoch, skipped);
        self.go(Phase::Restoring { boundary })
            .map_err(|fault| self.fail(fault))?;
        self.adopt_epoch(to_epoch);
        let links = self.links();
        let staged = self
            .stage_all(&links, envelope, &restored)
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
        let installed = self.install(manifest, to_epoch, restored, observation, &report);
        if let Err(fault) = installed {
            self.taint_all();
            return Err(self.fail(fault));
        }
        self.acknowledge(&kept).await;
        Ok(report)
    }

    /// What is about to be done, as it is told once it is.
    fn report_of(
        &self,
        manifest: &Manifest,
        to_epoch: &Id,
        skipped: Vec<SkippedGeneration>,
    ) -> RestoreReport {
        let state = self.state.borrow();
        let boundary = manifest.source_scope.step.0;
        let is_fresh = state.machine.phase() == Phase::Starting;
        let from_epoch = if is_fresh {
            manifest.source_scope.epoch.clone()
        } else {
            state.epoch.clone()
        };
        // Boundaries of another episode are others.
        let was_there = !is_fresh && state.episode_id == manifest.episode_id;
        RestoreReport {
            checkpoint_id: manifest.checkpoint_id.clone(),
            source_epoch: manifest.source_scope.epoch.clone(),
            from_epoch,
            to_epoch: to_epoch.clone(),
            boundary,
            abandoned: (was_there && state.boundary > boundary).then_some(AbandonedSteps {
                from: boundary,
                to: state.boundary,
            }),
            skipped,
            store_warning: None,
        }
    }

    /// Puts everything in its place, lifts the fence, and tells: all at once, so that whoever lets go of the restore
    /// finds it not done, or done and told. All of it was checked before: nothing here can fail but a session that was
    /// failed from outside in the meantime, and then nothing is put anywhere.
    fn install(
        &self,
        manifest: &Manifest,
        to_epoch: &Id,
        restored: RestoredCoordinator,
        observation: WorldObservation,
        report: &RestoreReport,
    ) -> Result<(), Fault> {
        let boundary = manifest.source_scope.step.0;
        let admissions = restored.admissions.clone();
        let mut state = self.state.borrow_mut();
        let change = state
            .machine
            .go(Phase::Paused { boundary })
            .map_err(|illegal| Fault::inside(crate::ErrorCode::Internal, illegal.to_string()))?;
        let source = Scope {
            epoch: timeline_epoch(&state, manifest),
            ..manifest.source_scope.clone()
        };
        put_back(
            &mut state,
            manifest,
            &source,
            to_epoch,
            restored,
            observation,
        );
        drop(state);
        if let Some(sink) = self.trace_sink.borrow().clone() {
            sink.restored(&source, to_epoch);
        }
        self.publish_standing(Vec::new());
        self.emit(SessionEvent::Phase { change });
        self.emit(SessionEvent::Restored {
            report: report.clone(),
        });
        for admission in admissions {
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

/// The epoch in which the present timeline came by a checkpoint's boundary: that of the checkpoint, or one in which the
/// same transitions were repeated since.
fn timeline_epoch(state: &SessionState, manifest: &Manifest) -> Id {
    let Scope { epoch, step, .. } = &manifest.source_scope;
    let is_repeated = state
        .recording
        .knows(&manifest.checkpoint_id, epoch, step.0);
    let repeated = state.trace.epoch_at(step.0).filter(|_| is_repeated);
    repeated.unwrap_or(epoch).clone()
}

/// The coordinator's own part of a restore.
fn put_back(
    state: &mut SessionState,
    manifest: &Manifest,
    source: &Scope,
    to_epoch: &Id,
    restored: RestoredCoordinator,
    observation: WorldObservation,
) {
    let boundary = manifest.source_scope.step.0;
    for (slot, agent) in state.agents.iter_mut().zip(restored.agents) {
        slot.executor = agent.executor;
        slot.context = Some(agent.context);
        slot.brain_ticks = agent.brain_ticks;
        slot.clock = Some(agent.clock);
        // Known again after the next commit: an old boundary's telemetry would be another timeline's.
        slot.telemetry = None;
    }
    state.episode_id = manifest.episode_id.clone();
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
    state.recording.go_on_from(
        &manifest.checkpoint_id,
        &manifest.source_scope.epoch,
        boundary,
    );
    state
        .trace
        .restore(&source.epoch, boundary, to_epoch.clone());
    for admission in restored.admissions {
        state.admissions.push(admission);
    }
}

/// One participant, staged.
pub(crate) struct Staged {
    pub request_id: RequestId,
    pub token: String,
}

pub(crate) type Activated = (WorldObservation, Vec<(Link, RequestId)>);

pub(crate) fn skipped(selected: &Selected) -> Vec<SkippedGeneration> {
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
