//! What a participant does once a request has passed every check.

use wellwritten_envelope::{Digest, Id, Scope};

use crate::participant_runtime::{Participant, broken};
use crate::runtime_state::Staged;
use crate::state_payload::StatePayload;
use crate::{
    Advance, Agent, AgentInitialize, Answer, Artifact, Call, Commit, Environment, ErrorCode,
    ParticipantError, ParticipantRuntime, Prepare, Request, StageRestore, StagedAgent, StagedState,
    WorkerState,
};

type Outcome = Result<Answer, ParticipantError>;

impl ParticipantRuntime {
    /// Runs the participant and moves the runtime's own state along with it.
    pub(crate) async fn execute(&self, request: &Request, scope: &Scope) -> Outcome {
        let mut participant = self.participant.lock().await;
        match (&request.call, &mut *participant) {
            (Call::InitializeEnvironment(parameters), Participant::Environment(world)) => {
                let observation = world.initialize(parameters).await?;
                self.stand_at(scope.epoch.clone(), 0);
                Ok(Answer::WorldInitialized(observation))
            }
            (Call::InitializeAgent(parameters), Participant::Agent(agent)) => {
                self.initialize_agent(agent.as_mut(), parameters, scope)
                    .await
            }
            (Call::Advance(batch), Participant::Environment(world)) => {
                self.advance(world.as_mut(), batch, scope).await
            }
            (Call::Prepare(parameters), Participant::Agent(agent)) => {
                self.prepare(agent.as_mut(), parameters, request, scope)
                    .await
            }
            (Call::Commit(parameters), Participant::Agent(agent)) => {
                self.commit(agent.as_mut(), parameters, scope).await
            }
            (Call::Verify {}, Participant::Environment(world)) => {
                world.verify().await.map(|()| Answer::Verified {})
            }
            (Call::Verify {}, Participant::Agent(agent)) => {
                agent.verify().await.map(|()| Answer::Verified {})
            }
            (Call::Rewrite { buffer_label }, Participant::Environment(world)) => world
                .rewrite(buffer_label)
                .await
                .map(|()| Answer::Rewritten {}),
            (Call::Rewrite { buffer_label }, Participant::Agent(agent)) => agent
                .rewrite(buffer_label)
                .await
                .map(|()| Answer::Rewritten {}),
            (Call::Capture { checkpoint_id }, participant) => {
                self.capture(participant, checkpoint_id, scope).await
            }
            (Call::StageRestore(stage), participant) => self.stage(participant, stage, scope).await,
            (Call::ActivateRestore { .. }, participant) => self.activate(participant, scope).await,
            _ => Err(ParticipantError::refused(
                ErrorCode::Unsupported,
                format!("{} is not a method here", request.call.method()),
            )),
        }
    }

    fn stand_at(&self, epoch: Id, step: u64) {
        let mut state = self.state.borrow_mut();
        state.epoch = Some(epoch);
        state.step = step;
        state.worker_state = WorkerState::Ready;
    }

    async fn initialize_agent(
        &self,
        agent: &mut dyn Agent,
        parameters: &AgentInitialize,
        scope: &Scope,
    ) -> Outcome {
        let initialized = agent.initialize(parameters).await?;
        let decision_context_digest = parameters.initial_decision_context.digest();
        self.stand_at(scope.epoch.clone(), 0);
        let mut state = self.state.borrow_mut();
        state.context_digest = Some(decision_context_digest);
        state.brain_ticks = initialized.warmup_ticks.0;
        Ok(Answer::AgentInitialized {
            initialized,
            decision_context_digest,
        })
    }

    async fn advance(
        &self,
        world: &mut dyn Environment,
        batch: &Advance,
        scope: &Scope,
    ) -> Outcome {
        let result = world.advance(scope, batch).await?;
        let next = next_step(scope)?;
        self.stand_at(scope.epoch.clone(), next);
        self.state.borrow_mut().last_batch = Some(batch.batch_id.clone());
        Ok(Answer::Stepped(Box::new(result)))
    }

    async fn prepare(
        &self,
        agent: &mut dyn Agent,
        parameters: &Prepare,
        request: &Request,
        scope: &Scope,
    ) -> Outcome {
        let prepared = agent.prepare(scope, parameters).await?;
        let mut state = self.state.borrow_mut();
        state.prepared = Some(request.request_id);
        state.brain_ticks = prepared.brain_ticks.0;
        state.remainder = prepared.remainder;
        state.worker_state = WorkerState::Prepared;
        Ok(Answer::Prepared(prepared))
    }

    async fn commit(&self, agent: &mut dyn Agent, parameters: &Commit, scope: &Scope) -> Outcome {
        let committed = agent.commit(scope, parameters).await?;
        let next = next_step(scope)?;
        if committed.committed_step.0 != next {
            return Err(broken(format!(
                "the agent committed {}, expected {next}",
                committed.committed_step
            )));
        }
        let decision_context_digest = parameters.next_decision_context.digest();
        self.stand_at(scope.epoch.clone(), next);
        let mut state = self.state.borrow_mut();
        state.prepared = None;
        state.context_digest = Some(decision_context_digest);
        Ok(Answer::Committed {
            committed,
            decision_context_digest,
        })
    }

    async fn capture(
        &self,
        participant: &mut Participant,
        checkpoint_id: &Id,
        scope: &Scope,
    ) -> Outcome {
        let body = match participant {
            Participant::Environment(world) => world.capture().await?,
            Participant::Agent(agent) => agent.capture().await?,
        };
        let header = self.state.borrow().payload_header(
            checkpoint_id,
            scope,
            &self.description,
            self.compatibility_digest,
        );
        let bytes = StatePayload::encode(&header, &body)
            .map_err(|error| ParticipantError::refused(ErrorCode::Internal, error.to_string()))?;
        Ok(Answer::Captured {
            checkpoint_id: checkpoint_id.clone(),
            boundary: scope.step,
            compatibility_digest: self.compatibility_digest,
            payload: Artifact::seal(bytes, Artifact::CHECKPOINT_PAYLOAD),
        })
    }

    async fn stage(
        &self,
        participant: &mut Participant,
        stage: &StageRestore,
        scope: &Scope,
    ) -> Outcome {
        let incompatible =
            |message: String| ParticipantError::refused(ErrorCode::IncompatibleState, message);
        let expected = self.state.borrow().payload_header(
            &stage.checkpoint_id,
            &stage.source_scope,
            &self.description,
            self.compatibility_digest,
        );
        let payload = StatePayload::decode_expected(stage.payload.bytes(), &expected)
            .map_err(|error| incompatible(error.to_string()))?;
        let agent = payload.header.agent;
        if agent.is_some() != matches!(participant, Participant::Agent(_)) {
            return Err(incompatible(
                "an agent's payload has an agent record, and no other has".to_owned(),
            ));
        }
        let found = match participant {
            Participant::Environment(world) => {
                StagedState::World(world.stage_restore(payload.body).await?)
            }
            Participant::Agent(brain) => {
                StagedState::Agent(brain.stage_restore(payload.body).await?)
            }
        };
        if let Some(record) = &agent {
            let recorded = StagedAgent::recorded(stage.source_scope.step, record);
            if let Some(difference) = found.difference(&StagedState::Agent(recorded)) {
                return Err(incompatible(difference));
            }
        }
        let token = self.restore_token(stage, scope);
        let mut runtime = self.state.borrow_mut();
        runtime.worker_state = WorkerState::StagedRestore;
        runtime.staged = Some(Staged {
            token: token.clone(),
            checkpoint_id: stage.checkpoint_id.clone(),
            scope: scope.clone(),
            agent,
        });
        Ok(Answer::Staged {
            checkpoint_id: stage.checkpoint_id.clone(),
            restore_token: token,
            state: found,
        })
    }

    /// Bound to checkpoint, scope, payload and this very incarnation.
    fn restore_token(&self, stage: &StageRestore, scope: &Scope) -> String {
        let material = format!(
            "wellwritten/restore-token-v1\n{}\n{}\n{}\n{}\n{}\n{}\n",
            stage.checkpoint_id,
            scope.session_id,
            scope.epoch,
            scope.step,
            stage.payload.digest(),
            self.incarnation_id()
        );
        format!(
            "rt-{}",
            &Digest::blake3(material.as_bytes()).to_string()[..32]
        )
    }

    async fn activate(&self, participant: &mut Participant, scope: &Scope) -> Outcome {
        let observation = match participant {
            Participant::Environment(world) => Some(world.activate_restore().await?),
            Participant::Agent(agent) => {
                agent.activate_restore().await?;
                None
            }
        };
        let staged = self.state.borrow_mut().staged.take();
        let staged =
            staged.ok_or_else(|| broken("the staged restore vanished while it was activated"))?;
        self.stand_at(scope.epoch.clone(), scope.step.0);
        let mut state = self.state.borrow_mut();
        state.prepared = None;
        state.activated_token = Some(staged.token);
        if let Some(agent) = staged.agent {
            state.context_digest = Some(agent.decision_context_digest);
            state.brain_ticks = agent.brain_ticks.0;
            state.remainder = agent.remainder;
        }
        Ok(Answer::Activated {
            checkpoint_id: staged.checkpoint_id,
            committed_step: scope.step,
            observation,
        })
    }
}

fn next_step(scope: &Scope) -> Result<u64, ParticipantError> {
    scope
        .step
        .0
        .checked_add(1)
        .ok_or_else(|| broken("the last step there is has been taken"))
}
