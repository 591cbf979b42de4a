//! [`ParticipantRuntime`]: what stands between a participant and everyone who asks something of it.

use std::cell::RefCell;

use futures::lock::Mutex;
use wellwritten_envelope::{Digest, Id, Scope, U64};

use crate::contract::contract_digest;
use crate::hello::{CHECKPOINT, build_digest, capabilities};
use crate::runtime_records::{Admission, Records};
use crate::runtime_state::RuntimeState;
use crate::{
    Agent, Answer, Call, Description, Environment, ErrorCode, Hello, HelloResult, MAX_MAJORS,
    MutationCertainty, PROTOCOL_MAJOR, PROTOCOL_MINOR, ParticipantError, Progress, Reply, Request,
    RequestId, Role, WorkerLimits, WorkerState, WorkerStatus,
};

/// Most requests of one `Worker.Acknowledge`.
pub(crate) const MAX_ACKNOWLEDGED: usize = 16;

/// The participant itself.
pub(crate) enum Participant {
    /// A world.
    Environment(Box<dyn Environment>),
    /// A brain.
    Agent(Box<dyn Agent>),
}

/// One incarnation of one participant: answers requests in the order of the protocol's checks, runs one operation at
/// a time, and repeats answers instead of work.
///
/// A request is checked for: role, scope, repetition, session, epoch, phase, step, parameters, identities; only then
/// does the participant hear of it. Repetition comes before phase, so that a duplicate of what already happened is
/// answered with what happened.
pub struct ParticipantRuntime {
    session_id: Id,
    incarnation_id: Id,
    pub(crate) description: Description,
    pub(crate) compatibility_digest: Digest,
    pub(crate) participant: Mutex<Participant>,
    can_checkpoint: bool,
    progress: Progress,
    pub(crate) state: RefCell<RuntimeState>,
    records: RefCell<Records>,
}

impl ParticipantRuntime {
    /// A world that lives as `incarnation_id`.
    #[must_use]
    pub fn environment(
        session_id: Id,
        incarnation_id: Id,
        mut environment: Box<dyn Environment>,
    ) -> Self {
        let progress = Progress::new();
        environment.attach_progress(progress.clone());
        let description = Description::Environment(environment.descriptor());
        Self {
            can_checkpoint: environment.can_checkpoint(),
            ..Self::new(
                session_id,
                incarnation_id,
                description,
                Participant::Environment(environment),
                progress,
            )
        }
    }

    /// An agent that lives as `incarnation_id`.
    #[must_use]
    pub fn agent(session_id: Id, incarnation_id: Id, mut agent: Box<dyn Agent>) -> Self {
        let progress = Progress::new();
        agent.attach_progress(progress.clone());
        let description = Description::Agent(agent.profile());
        Self {
            can_checkpoint: agent.can_checkpoint(),
            ..Self::new(
                session_id,
                incarnation_id,
                description,
                Participant::Agent(agent),
                progress,
            )
        }
    }

    fn new(
        session_id: Id,
        incarnation_id: Id,
        description: Description,
        participant: Participant,
        progress: Progress,
    ) -> Self {
        let compatibility_digest = description
            .compatibility_digest()
            .expect("a description has finite numbers and string keys only");
        Self {
            session_id,
            incarnation_id,
            description,
            compatibility_digest,
            participant: Mutex::new(participant),
            can_checkpoint: true,
            progress,
            state: RefCell::new(RuntimeState::new()),
            records: RefCell::new(Records::new()),
        }
    }

    /// Which life of the participant this is.
    #[must_use]
    pub const fn incarnation_id(&self) -> &Id {
        &self.incarnation_id
    }

    /// Answers one request.
    pub async fn handle(&self, request: &Request) -> Reply {
        let outcome = self.answer(request).await;
        self.reply(request.request_id, request.scope.clone(), outcome)
    }

    /// A reply of this incarnation.
    pub(crate) fn reply(
        &self,
        request_id: RequestId,
        scope: Option<Scope>,
        outcome: Result<Answer, ParticipantError>,
    ) -> Reply {
        Reply {
            request_id,
            worker_id: self.description.worker_id().clone(),
            incarnation_id: self.incarnation_id.clone(),
            scope,
            outcome,
        }
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ParticipantError> {
        match &request.call {
            Call::Hello(hello) => return self.hello(hello, request.scope.as_ref()),
            Call::Status {} => return Ok(Answer::Status(self.status())),
            Call::Acknowledge { request_ids } => return self.acknowledge(request_ids),
            Call::Shutdown { .. } => {
                self.state.borrow_mut().is_stopping = true;
                return Ok(Answer::Stopping { stopping: true });
            }
            _ => {}
        }
        if self.state.borrow().is_stopping {
            let message = format!("{} while the participant stops", request.call.method());
            return Err(ParticipantError::refused(ErrorCode::InvalidPhase, message));
        }
        if request.call.needs_checkpoint() && !self.can_checkpoint {
            let message = format!("{} is without {CHECKPOINT}", self.description.worker_id());
            return Err(ParticipantError::refused(ErrorCode::Unsupported, message));
        }
        let role = self.description.role();
        if request.call.role().is_some_and(|needed| needed != role) {
            let message = format!("{} is not a method of an {role}", request.call.method());
            return Err(ParticipantError::refused(ErrorCode::Unsupported, message));
        }
        let scope = request.scope.as_ref().ok_or_else(|| {
            let message = format!("{} needs a scope", request.call.method());
            ParticipantError::refused(ErrorCode::InvalidArgument, message)
        })?;
        let admission = self.records.borrow_mut().admit(request, scope)?;
        if let Admission::Replay(outcome) = admission {
            return *outcome;
        }
        self.check(request, scope)?;
        self.records.borrow_mut().begin(request, scope);
        let mut running = Running {
            runtime: self,
            before: self.state.borrow_mut().begin(&request.call),
            abandoned: Some(abandoned(&request.call)),
        };
        let outcome = self.execute(request, scope).await;
        let outcome = outcome.map_err(ParticipantError::for_reply);
        running.abandoned = None;
        running.end(&outcome);
        outcome
    }

    /// Releases lifecycle answers; a request that is not kept, or not any more, is passed over.
    fn acknowledge(&self, request_ids: &[RequestId]) -> Result<Answer, ParticipantError> {
        let repeated =
            (1..request_ids.len()).any(|index| request_ids[..index].contains(&request_ids[index]));
        if repeated || request_ids.len() > MAX_ACKNOWLEDGED {
            let message = format!(
                "{} requests are acknowledged at once: at most {MAX_ACKNOWLEDGED}, none twice",
                request_ids.len()
            );
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                message,
            ));
        }
        Ok(Answer::Acknowledged {
            acknowledged: self.records.borrow_mut().acknowledge(request_ids),
        })
    }

    fn hello(&self, hello: &Hello, scope: Option<&Scope>) -> Result<Answer, ParticipantError> {
        let majors = &hello.supported_majors;
        let repeated = (1..majors.len()).any(|index| majors[..index].contains(&majors[index]));
        if scope.is_some() || repeated || !(1..=MAX_MAJORS).contains(&majors.len()) {
            let message = format!(
                "Worker.Hello has no scope and offers 1 to {MAX_MAJORS} versions, none twice"
            );
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                message,
            ));
        }
        let role = self.description.role();
        let worker_id = self.description.worker_id();
        if hello.session_id != self.session_id
            || hello.expected_worker_id != *worker_id
            || hello.role != role
        {
            let message = format!(
                "this is {role} {worker_id} of session {}, not {} {} of session {}",
                self.session_id, hello.role, hello.expected_worker_id, hello.session_id
            );
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                message,
            ));
        }
        if !majors.contains(&PROTOCOL_MAJOR) {
            let message = format!("version {PROTOCOL_MAJOR} is spoken here, not {majors:?}");
            return Err(ParticipantError::refused(ErrorCode::Unsupported, message));
        }
        let (environment, agent) = match &self.description {
            Description::Environment(descriptor) => (Some(descriptor.clone()), None),
            Description::Agent(profile) => (None, Some(profile.clone())),
        };
        Ok(Answer::Hello(Box::new(HelloResult {
            selected_major: PROTOCOL_MAJOR,
            selected_minor: PROTOCOL_MINOR,
            worker_id: worker_id.clone(),
            incarnation_id: self.incarnation_id.clone(),
            role,
            build_digest: build_digest(),
            contract_digest: contract_digest(),
            capabilities: capabilities(&self.description, self.can_checkpoint),
            limits: WorkerLimits {
                max_agents: 4,
                max_ports: 4,
                worker_threads: 1,
            },
            environment,
            agent,
        })))
    }

    /// What it is doing; answers at any time, also while an operation runs, and counts as no progress.
    #[must_use]
    pub fn status(&self) -> WorkerStatus {
        let state = self.state.borrow();
        let records = self.records.borrow();
        WorkerStatus {
            state: if state.is_stopping {
                WorkerState::Stopping
            } else {
                state.worker_state
            },
            current_scope: state.epoch.as_ref().map(|epoch| Scope {
                session_id: self.session_id.clone(),
                epoch: epoch.clone(),
                step: U64(state.step),
            }),
            active_request_id: records.active_request_id(),
            last_completed_request_id: records.last_completed_request_id(),
            last_batch_id: state.last_batch.clone(),
            progress_counter: U64(records.progress_counter().wrapping_add(self.progress.get())),
        }
    }

    /// Session, epoch, phase, step, then what the method itself requires.
    fn check(&self, request: &Request, scope: &Scope) -> Result<(), ParticipantError> {
        if scope.session_id != self.session_id {
            let message = format!(
                "this participant belongs to session {}, not {}",
                self.session_id, scope.session_id
            );
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                message,
            ));
        }
        self.state.borrow().check(
            &request.call,
            scope,
            &self.description,
            self.compatibility_digest,
        )
    }
}

/// An operation that runs. Where whoever waits for it lets go of it, nobody goes on with it: it has ended.
struct Running<'a> {
    runtime: &'a ParticipantRuntime,
    before: WorkerState,
    /// How it ends then.
    abandoned: Option<ParticipantError>,
}

impl Running<'_> {
    fn end(&self, outcome: &Result<Answer, ParticipantError>) {
        self.runtime.state.borrow_mut().end(self.before, outcome);
        self.runtime.records.borrow_mut().end(outcome);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.abandoned.take() {
            self.end(&Err(abandoned));
        }
    }
}

/// What an operation that was let go of halfway leaves: one that only reads changes nothing, of another nobody knows.
fn abandoned(call: &Call) -> ParticipantError {
    let message = format!("{} was let go of while it ran", call.method());
    match call {
        Call::Verify {} | Call::Capture { .. } => {
            ParticipantError::refused(ErrorCode::Busy, message)
        }
        _ => ParticipantError::uncertain(ErrorCode::BackendFailure, message),
    }
}

/// An error that says what the participant did wrong after it may have changed something.
pub(crate) fn broken(message: impl Into<String>) -> ParticipantError {
    ParticipantError::new(
        ErrorCode::BackendFailure,
        MutationCertainty::Applied,
        message,
    )
}

impl WorkerState {
    /// Whether a method that needs a quiescent participant may run.
    pub(crate) const fn is_quiescent(self) -> bool {
        matches!(self, Self::Uninitialized | Self::Ready)
    }
}

impl std::fmt::Debug for ParticipantRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "ParticipantRuntime({} {})",
            self.description.worker_id(),
            self.incarnation_id
        )
    }
}

impl Role {
    /// The kind of payload a participant of this role captures.
    pub(crate) const fn payload_kind(self) -> crate::state_payload::PayloadKind {
        match self {
            Self::Environment => crate::state_payload::PayloadKind::Environment,
            Self::Agent => crate::state_payload::PayloadKind::Agent,
        }
    }
}
