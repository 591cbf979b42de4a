//! Checkpoints: every participant read at one committed boundary, one envelope, one commit.

use serde_json::json;
use wellwritten_envelope::{
    AgentEntry, Compatibility, CoordinatorEntry, Digest, EnvelopeVersion, EnvironmentEntry,
    EventWatermarks, ExecutorEntry, Id, Manifest, PortBinding, Scope, U64, UnknownFields,
    digest_json, encode,
};
use wellwritten_store::{
    Certainty, CommitError, GenerationBytes, Resolution, compatibility_digest,
};

use crate::coordinator::Fault;
use crate::coordinator::asking::{Asking, Unanswered, all_unless_faulted};
use crate::coordinator::own_payloads::{
    PRIOR_INSPECTION, RECORD, TASK_LEDGER, agent_payload, executor_payload, name,
};
use crate::session_state::{Link, SessionState};
use crate::{
    Answer, Artifact, Call, Coordinator, DurableMark, ErrorCode, Phase, RequestId, SaveOutcome,
    SessionError, SessionEvent, SessionStore,
};

/// Payload of the world.
pub(crate) const WORLD: &str = "world";
/// How the session is scheduled.
pub(crate) const SCHEDULER: &str = "lockstep-v1";

/// A captured checkpoint, not yet written.
struct Captured {
    checkpoint_id: Id,
    scope: Scope,
    compatibility_digest: Digest,
    bytes: Vec<u8>,
}

/// One participant's answer to being captured.
type CapturedPart = (RequestId, Artifact);

impl Coordinator {
    /// Captures every participant at the committed boundary and commits one envelope.
    ///
    /// The session is `Capturing` only while it is read; once this future waits for the store, it may step. Where a
    /// participant's state does not read cleanly, the checkpoint is refused with the report and the session stays
    /// where it was. What the store answers is an outcome and never ends the epoch.
    pub async fn checkpoint(&self, checkpoint_id: Option<Id>) -> Result<SaveOutcome, SessionError> {
        let store = self.store.clone().ok_or(SessionError::NoStore)?;
        let captured = {
            let _guard = self.begin("checkpoint")?;
            if self.state.borrow().saving {
                return Err(SessionError::Busy {
                    operation: "checkpoint",
                    running: "saving an earlier checkpoint",
                });
            }
            let Some(boundary) = self.phase().committed_boundary() else {
                return Err(self.refuse_phase("checkpoint"));
            };
            let checkpoint_id = self
                .fresh_checkpoint_id(&*store, checkpoint_id, boundary)
                .await?;
            self.go(Phase::Capturing { boundary })
                .map_err(|fault| self.fail(fault))?;
            let captured = self.capture_and_return(checkpoint_id, boundary).await?;
            let checkpoint_id = captured.checkpoint_id.clone();
            let mut state = self.state.borrow_mut();
            state
                .recording
                .remember(&checkpoint_id, &captured.scope.epoch, boundary);
            state.trace.note_capture(checkpoint_id, boundary);
            drop(state);
            captured
        };
        self.emit(SessionEvent::Captured {
            checkpoint_id: captured.checkpoint_id.clone(),
            boundary: captured.scope.step.0,
        });
        Ok(self.save(&*store, captured).await)
    }

    /// What became of a save whose outcome was `ReplyLost`. Never saves again.
    pub async fn resolve_save(&self, checkpoint_id: &Id) -> Result<bool, SessionError> {
        let store = self.store.clone().ok_or(SessionError::NoStore)?;
        let resolution = store.resolve(checkpoint_id).await?;
        if let Resolution::Committed(generation) = &resolution {
            self.move_durable_mark(DurableMark {
                checkpoint_id: checkpoint_id.clone(),
                epoch: generation.epoch.clone(),
                boundary: generation.boundary.0,
            });
        }
        Ok(resolution != Resolution::NotCommitted)
    }

    /// An id that names no checkpoint yet: the one asked for, or one made of epoch and boundary.
    async fn fresh_checkpoint_id(
        &self,
        store: &dyn SessionStore,
        asked: Option<Id>,
        boundary: u64,
    ) -> Result<Id, SessionError> {
        if let Some(checkpoint_id) = asked {
            return match store.resolve(&checkpoint_id).await? {
                Resolution::NotCommitted => Ok(checkpoint_id),
                _ => Err(SessionError::CheckpointIdUsed { checkpoint_id }),
            };
        }
        let stem = format!("ckpt-{}-{boundary}", self.state.borrow().epoch);
        let mut candidate = name(&stem);
        let mut repetition = 1_u64;
        while store.resolve(&candidate).await? != Resolution::NotCommitted {
            repetition += 1;
            candidate = name(&format!("{stem}-{repetition}"));
        }
        Ok(candidate)
    }

    /// Captures, and goes back to where it came from whether or not that worked.
    async fn capture_and_return(
        &self,
        checkpoint_id: Id,
        boundary: u64,
    ) -> Result<Captured, SessionError> {
        let mut kept = Vec::new();
        let captured = self.capture(&checkpoint_id, boundary, &mut kept).await;
        self.acknowledge(&kept).await;
        let origin = self.state.borrow().machine.capture_origin();
        if let Some(origin) = origin {
            self.go(origin).map_err(|fault| self.fail(fault))?;
        }
        // Without an origin the epoch was ended meanwhile, and that is the answer.
        match origin {
            Some(_) => captured,
            None => Err(self.fail(Fault::inside(
                ErrorCode::Internal,
                "the capture has no way back",
            ))),
        }
    }

    async fn capture(
        &self,
        checkpoint_id: &Id,
        boundary: u64,
        kept: &mut Vec<(Link, RequestId)>,
    ) -> Result<Captured, SessionError> {
        let scope = self.scope(boundary);
        let composition_digest = self.composition_digest()?;
        let participants = self.capture_all(checkpoint_id, &scope, kept).await?;
        let own = self.own_payloads(checkpoint_id, &scope, composition_digest)?;
        let manifest = self.manifest(checkpoint_id, &scope, composition_digest)?;
        let names = std::iter::once(name(WORLD))
            .chain(manifest.agents.iter().map(|agent| agent.payload.clone()));
        let theirs = names
            .zip(&participants)
            .map(|(name, payload)| (name, payload.bytes()));
        let payloads: Vec<(Id, &[u8])> = theirs
            .chain(
                own.iter()
                    .map(|(name, bytes)| (name.clone(), bytes.as_slice())),
            )
            .collect();
        Ok(Captured {
            checkpoint_id: checkpoint_id.clone(),
            scope,
            compatibility_digest: compatibility_digest(&manifest.compatibility),
            bytes: encode(&manifest, &payloads)?,
        })
    }

    /// Reads every participant, in the order of the day. Whoever answered is in `kept`, also where another did not.
    async fn capture_all(
        &self,
        checkpoint_id: &Id,
        scope: &Scope,
        kept: &mut Vec<(Link, RequestId)>,
    ) -> Result<Vec<Artifact>, SessionError> {
        let links = self.links();
        let questions = links.iter().map(|link| {
            Box::pin(self.capture_one(link, checkpoint_id, scope)) as Asking<'_, CapturedPart>
        });
        let put = self.each_in_order(questions.collect()).await;
        for (link, put) in links.iter().zip(&put) {
            if let Some(Ok((request_id, _))) = put {
                kept.push((link.clone(), *request_id));
            }
        }
        let captured = all_unless_faulted(put);
        let captured = captured.map_err(|unanswered| self.refusal_or_failure(unanswered))?;
        Ok(captured.into_iter().map(|(_, payload)| payload).collect())
    }

    async fn capture_one(
        &self,
        link: &Link,
        checkpoint_id: &Id,
        scope: &Scope,
    ) -> Result<CapturedPart, Unanswered> {
        let request_id = self.next_request_id();
        let call = Call::Capture {
            checkpoint_id: checkpoint_id.clone(),
        };
        match self
            .ask(link, request_id, Some(scope.clone()), call)
            .await?
        {
            Answer::Captured {
                checkpoint_id: captured,
                boundary,
                compatibility_digest,
                payload,
            } if captured == *checkpoint_id
                && boundary == scope.step
                && compatibility_digest == link.compatibility_digest =>
            {
                Ok((request_id, payload))
            }
            _ => Err(Self::wrong_answer(link, "State.Capture")),
        }
    }

    /// Writes a captured checkpoint. The session is not held meanwhile.
    async fn save(&self, store: &dyn SessionStore, captured: Captured) -> SaveOutcome {
        let saving = Saving::begin(self);
        let Captured {
            checkpoint_id,
            scope,
            compatibility_digest,
            bytes,
        } = captured;
        let boundary = scope.step.0;
        let committed = store
            .commit(GenerationBytes {
                checkpoint_id: checkpoint_id.clone(),
                session_id: scope.session_id,
                epoch: scope.epoch.clone(),
                episode_id: self.episode_id(),
                boundary,
                compatibility_digest,
                bytes: &bytes,
            })
            .await;
        drop(saving);
        let outcome = match committed {
            Ok(committed) => SaveOutcome::Committed {
                checkpoint_id: checkpoint_id.clone(),
                epoch: scope.epoch.clone(),
                boundary,
                byte_length: committed.generation.byte_length,
                uncertainty: match committed.certainty {
                    Certainty::Durable => None,
                    Certainty::NameUncertain { cause } => Some(cause.to_string()),
                },
                rotated_out: committed.rotated_out,
            },
            Err(error @ CommitError::OutcomeUnknown { .. }) => SaveOutcome::ReplyLost {
                checkpoint_id: checkpoint_id.clone(),
                boundary,
                message: error.to_string(),
            },
            Err(error) => SaveOutcome::Failed {
                checkpoint_id: checkpoint_id.clone(),
                boundary,
                message: error.to_string(),
            },
        };
        self.emit(SessionEvent::Generation {
            outcome: outcome.clone(),
        });
        if outcome.is_committed() {
            self.move_durable_mark(DurableMark {
                checkpoint_id,
                epoch: scope.epoch,
                boundary,
            });
        }
        outcome
    }

    /// The mark only moves forward, and only on the running timeline: a save of an epoch that was left since counts
    /// for nothing there.
    fn move_durable_mark(&self, mark: DurableMark) {
        let mut state = self.state.borrow_mut();
        if mark.epoch == state.epoch {
            // A commit writes its epoch down.
            state.store_warning = None;
        }
        let moves = mark.epoch == state.epoch
            && state
                .durable
                .as_ref()
                .is_none_or(|old| mark.boundary > old.boundary || old.epoch != mark.epoch);
        if !moves {
            return;
        }
        state.durable = Some(mark.clone());
        drop(state);
        self.emit(SessionEvent::Durable { mark });
    }

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

    fn manifest(
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

/// The one save that runs; a dropped future ends it too.
struct Saving<'a>(&'a Coordinator);

impl<'a> Saving<'a> {
    fn begin(coordinator: &'a Coordinator) -> Self {
        coordinator.state.borrow_mut().saving = true;
        Self(coordinator)
    }
}

impl Drop for Saving<'_> {
    fn drop(&mut self) {
        self.0.state.borrow_mut().saving = false;
    }
}
