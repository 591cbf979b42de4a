//! [`RuntimeState`]: where a participant stands, and whether a request fits there.

use wellwritten_envelope::{Digest, Id, RationalNs, Scope, sort_few_by};

use crate::state_payload::{AgentRecord, PayloadHeader};
use crate::stimulus_rules::{check_rewards, check_stimuli};
use crate::{
    Advance, Answer, Call, Commit, Description, EnvironmentDescriptor, ErrorCode,
    MutationCertainty, ParticipantError, Prepare, RequestId, SensoryInput, WorkerState,
};

/// A restore that is staged and not yet active.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub token: String,
    pub checkpoint_id: Id,
    pub scope: Scope,
    pub agent: Option<AgentRecord>,
}

/// Where a participant stands.
#[derive(Debug)]
pub(crate) struct RuntimeState {
    pub worker_state: WorkerState,
    /// It was told to stop: nothing begins any more, and what runs does not make it ready again.
    pub is_stopping: bool,
    /// The epoch it runs in; none while uninitialized.
    pub epoch: Option<Id>,
    /// Its committed boundary.
    pub step: u64,
    /// Digest of the context an agent retains.
    pub context_digest: Option<Digest>,
    /// The `Agent.Prepare` that waits for its commit.
    pub prepared: Option<RequestId>,
    pub brain_ticks: u64,
    pub remainder: RationalNs,
    pub staged: Option<Staged>,
    /// The batch a world applied last.
    pub last_batch: Option<Id>,
    /// Tokens that were activated: a fresh request with one of them is a conflict, not merely unknown.
    pub activated_token: Option<String>,
}

type Checked = Result<(), ParticipantError>;

fn refuse(code: ErrorCode, message: impl Into<String>) -> Checked {
    Err(ParticipantError::refused(code, message))
}

impl RuntimeState {
    pub(crate) const fn new() -> Self {
        Self {
            worker_state: WorkerState::Uninitialized,
            is_stopping: false,
            epoch: None,
            step: 0,
            context_digest: None,
            prepared: None,
            brain_ticks: 0,
            remainder: RationalNs::ZERO,
            staged: None,
            last_batch: None,
            activated_token: None,
        }
    }

    /// Marks an operation as running; returns the state to go back to.
    pub(crate) fn begin(&mut self, call: &Call) -> WorkerState {
        let before = self.worker_state;
        self.worker_state = match call {
            Call::Advance(_) => WorkerState::Advancing,
            Call::Prepare(_) => WorkerState::Preparing,
            Call::Commit(_) => WorkerState::Committing,
            Call::Capture { .. } => WorkerState::Capturing,
            Call::ActivateRestore { .. } => WorkerState::Restoring,
            _ => before,
        };
        before
    }

    /// Goes back where a refusal left it, to `Failed` where something may have changed; a success has already moved.
    pub(crate) fn end(&mut self, before: WorkerState, outcome: &Result<Answer, ParticipantError>) {
        match outcome {
            Err(error) if error.mutation != MutationCertainty::None => {
                self.worker_state = WorkerState::Failed;
            }
            Err(_) | Ok(Answer::Captured { .. }) => self.worker_state = before,
            Ok(_) => {}
        }
    }

    /// Epoch, phase, step, parameters, identities, in that order.
    pub(crate) fn check(
        &self,
        call: &Call,
        scope: &Scope,
        description: &Description,
        compatibility_digest: Digest,
    ) -> Checked {
        match call {
            Call::InitializeEnvironment(_) | Call::InitializeAgent(_) => {
                self.check_initialize(call, scope, description)
            }
            Call::StageRestore(_) | Call::ActivateRestore { .. } => {
                self.check_restore(call, scope, description, compatibility_digest)
            }
            _ => {
                self.check_running(call, scope)?;
                match (call, description) {
                    (Call::Advance(batch), Description::Environment(descriptor)) => {
                        let expected = format!("batch-{}-{}", scope.epoch, scope.step);
                        if batch.batch_id.as_str() != expected {
                            let message = format!(
                                "batch {} does not belong here, {expected} does",
                                batch.batch_id
                            );
                            return refuse(ErrorCode::Conflict, message);
                        }
                        check_controls(batch, descriptor)
                    }
                    (Call::Prepare(prepare), Description::Agent(profile)) => {
                        self.check_prepare(prepare)?;
                        check_stimuli(&prepare.pre_step_stimulations, &profile.graph)
                    }
                    (Call::Commit(commit), Description::Agent(profile)) => {
                        self.check_commit(commit, scope)?;
                        check_stimuli(&commit.task_stimulations, &profile.graph)?;
                        check_rewards(&commit.rewards)?;
                        if *commit.next_decision_context.schema() != profile.context_schema {
                            return refuse(
                                ErrorCode::InvalidArgument,
                                "the next context has another schema",
                            );
                        }
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn check_initialize(&self, call: &Call, scope: &Scope, description: &Description) -> Checked {
        if self.worker_state != WorkerState::Uninitialized || self.staged.is_some() {
            return refuse(
                ErrorCode::InvalidPhase,
                "only an uninitialized participant is initialized",
            );
        }
        if scope.step.0 != 0 {
            return refuse(
                ErrorCode::FutureStep,
                format!("a session begins at step 0, not {}", scope.step),
            );
        }
        match (call, description) {
            (Call::InitializeEnvironment(initialize), Description::Environment(descriptor)) => {
                let declared = descriptor.ports.iter().map(|port| &port.port_id);
                let bound = initialize
                    .port_bindings
                    .iter()
                    .map(|binding| &binding.port_id);
                if !bound.eq(declared) {
                    return refuse(
                        ErrorCode::IdentityMismatch,
                        "the bindings do not list the declared ports in order",
                    );
                }
                let mut agents: Vec<&Id> = initialize
                    .port_bindings
                    .iter()
                    .map(|binding| &binding.agent_id)
                    .collect();
                sort_few_by(&mut agents, Ord::cmp);
                if agents.windows(2).any(|pair| pair[0] == pair[1]) {
                    return refuse(ErrorCode::InvalidArgument, "an agent is bound to two ports");
                }
                Ok(())
            }
            (Call::InitializeAgent(initialize), Description::Agent(profile)) => {
                if initialize.agent_id != profile.agent_id || initialize.seed != profile.seed {
                    let message = format!(
                        "this is {} with seed {}, not {} with seed {}",
                        profile.agent_id, profile.seed, initialize.agent_id, initialize.seed
                    );
                    return refuse(ErrorCode::IdentityMismatch, message);
                }
                if *initialize.initial_decision_context.schema() != profile.context_schema {
                    return refuse(
                        ErrorCode::InvalidArgument,
                        "the initial context has another schema",
                    );
                }
                check_input(&initialize.initial_input, 0)
            }
            _ => Ok(()),
        }
    }

    fn check_running(&self, call: &Call, scope: &Scope) -> Checked {
        let Some(epoch) = &self.epoch else {
            return refuse(
                ErrorCode::InvalidPhase,
                "the participant is not initialized",
            );
        };
        if scope.epoch != *epoch {
            let message = format!("the participant runs in {epoch}, not {}", scope.epoch);
            return refuse(ErrorCode::StaleEpoch, message);
        }
        let needed = match call {
            Call::Commit(_) => WorkerState::Prepared,
            _ => WorkerState::Ready,
        };
        if self.worker_state != needed {
            let message = format!(
                "{} while the participant is {:?}",
                call.method(),
                self.worker_state
            );
            return refuse(ErrorCode::InvalidPhase, message);
        }
        if scope.step.0 < self.step {
            return refuse(
                ErrorCode::StaleStep,
                format!("the participant is at {}, past {}", self.step, scope.step),
            );
        }
        if scope.step.0 > self.step {
            return refuse(
                ErrorCode::FutureStep,
                format!("the participant is at {}, before {}", self.step, scope.step),
            );
        }
        Ok(())
    }

    fn check_prepare(&self, prepare: &Prepare) -> Checked {
        if prepare.interval.is_zero() {
            return refuse(ErrorCode::InvalidArgument, "an interval is above zero");
        }
        if self.context_digest != Some(prepare.decision_context_digest) {
            return refuse(ErrorCode::IdentityMismatch, "another context was retained");
        }
        Ok(())
    }

    fn check_commit(&self, commit: &Commit, scope: &Scope) -> Checked {
        let prepared = self.prepared.map(|request_id| request_id.to_string());
        if prepared.as_deref() != Some(commit.prepared_request_id.as_str()) {
            let message = format!(
                "the commit completes {}, this step was prepared as {}",
                commit.prepared_request_id,
                prepared.as_deref().unwrap_or("nothing")
            );
            return refuse(ErrorCode::IdentityMismatch, message);
        }
        check_input(&commit.next_input, scope.step.0.saturating_add(1))
    }

    fn check_restore(
        &self,
        call: &Call,
        scope: &Scope,
        description: &Description,
        compatibility_digest: Digest,
    ) -> Checked {
        match call {
            Call::StageRestore(stage) => {
                if self.epoch.as_ref() == Some(&scope.epoch) {
                    return refuse(
                        ErrorCode::StaleEpoch,
                        format!("the participant already runs in {}", scope.epoch),
                    );
                }
                if !self.worker_state.is_quiescent()
                    && self.worker_state != WorkerState::StagedRestore
                {
                    let message =
                        format!("a restore while the participant is {:?}", self.worker_state);
                    return refuse(ErrorCode::InvalidPhase, message);
                }
                if self.staged.is_some() {
                    return refuse(ErrorCode::Conflict, "a restore is already staged");
                }
                if scope.step != stage.source_scope.step {
                    let message = format!(
                        "a restore to {} of a state at {}",
                        scope.step, stage.source_scope.step
                    );
                    return refuse(ErrorCode::InvalidArgument, message);
                }
                if stage.compatibility_digest != compatibility_digest {
                    let message = format!(
                        "{} has compatibility digest {compatibility_digest}, the state was captured under {}",
                        description.worker_id(),
                        stage.compatibility_digest
                    );
                    return refuse(ErrorCode::IncompatibleState, message);
                }
                Ok(())
            }
            Call::ActivateRestore { restore_token } => {
                if self.activated_token.as_ref() == Some(restore_token) {
                    return refuse(
                        ErrorCode::Conflict,
                        "this restore token was activated already",
                    );
                }
                // One that failed while it was activated is staged no more.
                let is_staged = self.worker_state == WorkerState::StagedRestore;
                let Some(staged) = self.staged.as_ref().filter(|_| is_staged) else {
                    return refuse(ErrorCode::InvalidPhase, "no restore is staged");
                };
                if staged.token != *restore_token || staged.scope != *scope {
                    return refuse(ErrorCode::IdentityMismatch, "another restore is staged");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The header of a payload this participant captures at `scope`, or expects back.
    pub(crate) fn payload_header(
        &self,
        checkpoint_id: &Id,
        scope: &Scope,
        description: &Description,
        compatibility_digest: Digest,
    ) -> PayloadHeader {
        PayloadHeader {
            kind: description.role().payload_kind(),
            owner: description.worker_id().clone(),
            checkpoint_id: checkpoint_id.clone(),
            source_scope: scope.clone(),
            compatibility_digest,
            agent: self
                .context_digest
                .map(|decision_context_digest| AgentRecord {
                    decision_context_digest,
                    brain_ticks: wellwritten_envelope::U64(self.brain_ticks),
                    remainder: self.remainder,
                }),
        }
    }
}

/// A batch's controls: every declared port in order, and on each everything it declares, in range.
fn check_controls(batch: &Advance, descriptor: &EnvironmentDescriptor) -> Checked {
    let given = batch.controls.iter().map(|control| &control.port_id);
    if !given.eq(descriptor.ports.iter().map(|port| &port.port_id)) {
        return refuse(
            ErrorCode::IdentityMismatch,
            "the batch does not list the declared ports in order",
        );
    }
    for (control, port) in batch.controls.iter().zip(&descriptor.ports) {
        if let Err(error) = port.controls.check_control(control) {
            let message = format!("port {}: {error}", port.port_id);
            return refuse(ErrorCode::InvalidArgument, message);
        }
    }
    Ok(())
}

/// A boundary's input: its own boundary, no view twice, nothing rendered after it.
fn check_input(input: &SensoryInput, boundary: u64) -> Checked {
    if input.boundary.0 != boundary {
        let message = format!(
            "the input is of boundary {}, expected {boundary}",
            input.boundary
        );
        return refuse(ErrorCode::InvalidArgument, message);
    }
    for (index, view) in input.views.iter().enumerate() {
        if view.produced_step.0 > boundary {
            let message = format!(
                "view {} was rendered at {}, after {boundary}",
                view.view_id, view.produced_step
            );
            return refuse(ErrorCode::BufferInvalid, message);
        }
        if input.views[..index]
            .iter()
            .any(|earlier| earlier.view_id == view.view_id)
        {
            return refuse(
                ErrorCode::BufferInvalid,
                format!("view {} is listed twice", view.view_id),
            );
        }
    }
    Ok(())
}
