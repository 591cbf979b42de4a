//! What a participant has to answer, told by lists that grow for ever: everything that was ever done, and what came of it.
//!
//! The runtime forgets in order to be small. This remembers everything, and works out from its memory what the runtime may have
//! forgotten. What an operation itself answers is said by a second participant that nothing stands in front of.

use std::collections::BTreeMap;

use futures::FutureExt;
use wellwritten_counter::{CounterAgent, CounterWorld, Faults};
use wellwritten_session::{
    Agent, Answer, Call, Digest, Environment, ErrorCode, MutationCertainty, ParticipantError,
    Request, Role, Scope, StagedState, StatePayload, U64, WorkerState,
};

use super::line::{composition, id, text_of};

/// A rule that a model gets wrong, to see that somebody notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    ThreeStepsAreKept,
    AnotherBodyIsARepetition,
    AnotherNameIsARepetition,
    AcknowledgedMayRunAgain,
    SeventeenAreKept,
    OneKeyForAllSessions,
    AStrayStepRaisesTheWatermark,
    PhaseComesBeforeEpoch,
    ARefusalKeepsItsKey,
    DuplicatesWhileRunningAreBusy,
}

/// How an operation ended, as far as it can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub text: String,
    pub error: Option<(ErrorCode, MutationCertainty)>,
}

/// What is wrong with a request beyond its name, scope and moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The checks find it.
    Early(ErrorCode),
    /// It is found when the operation has begun, by the runtime.
    Late(ErrorCode),
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub request: Request,
    pub flaw: Flaw,
}

/// What a fault makes of an operation that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    Nothing,
    Refusal(ErrorCode),
    Failure,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Refused(ErrorCode),
    Expired,
    Repeated(Told),
    Run,
}

/// What an operation that runs will answer.
#[derive(Clone, Debug)]
pub enum Foreseen {
    Error(ErrorCode, MutationCertainty),
    Answer(String),
    /// What a capture or a staging answers is the runtime's own; what of it is known.
    Like(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Step,
    Lifecycle,
    Repeatable,
}

type StepKey = (String, String, u64, &'static str);

#[derive(Clone, Debug)]
pub struct Done {
    id: u64,
    body: Vec<u8>,
    told: Told,
}

enum Mirror {
    World(Box<CounterWorld>),
    Agent(Box<CounterAgent>),
}

pub struct Model {
    pub role: Role,
    lie: Option<Lie>,
    mirror: Mirror,
    pub state: WorkerState,
    pub epoch: Option<String>,
    pub step: u64,
    pub prepared: Option<u64>,
    pub staged: Option<(String, Scope)>,
    staged_checkpoint: Option<wellwritten_session::Id>,
    activated: Option<String>,
    pub last_batch: Option<String>,
    steps: BTreeMap<StepKey, Done>,
    pub lifecycle: BTreeMap<u64, Done>,
    highest: u64,
    /// The epoch that last had a step, and its highest.
    newest: Option<(String, u64)>,
    acknowledged: Option<u64>,
    pub active: Option<Asked>,
    pub last_completed: Option<u64>,
}

fn class(call: &Call) -> Class {
    match call.method() {
        "Environment.Advance" | "Agent.Prepare" | "Agent.Commit" => Class::Step,
        "State.Verify" | "State.Rewrite" => Class::Repeatable,
        _ => Class::Lifecycle,
    }
}

impl Model {
    pub fn new(role: Role, lie: Option<Lie>) -> Self {
        let composition = composition();
        let mirror = match role {
            Role::Environment => {
                let world = CounterWorld::new(&composition, 1, Faults::none());
                Mirror::World(Box::new(world.expect("a world")))
            }
            Role::Agent => {
                let agent = CounterAgent::new(&composition, &id("fly-a"), 1, Faults::none());
                Mirror::Agent(Box::new(agent.expect("an agent")))
            }
        };
        Self {
            role,
            lie,
            mirror,
            state: WorkerState::Uninitialized,
            epoch: None,
            step: 0,
            prepared: None,
            staged: None,
            staged_checkpoint: None,
            activated: None,
            last_batch: None,
            steps: BTreeMap::new(),
            lifecycle: BTreeMap::new(),
            highest: 0,
            newest: None,
            acknowledged: None,
            active: None,
            last_completed: None,
        }
    }

    fn lies(&self, lie: Lie) -> bool {
        self.lie == Some(lie)
    }

    fn step_key(&self, request: &Request, scope: &Scope) -> StepKey {
        let session = scope.session_id.as_str();
        let session = if self.lies(Lie::OneKeyForAllSessions) {
            ""
        } else {
            session
        };
        let epoch = scope.epoch.as_str().to_owned();
        (
            session.to_owned(),
            epoch,
            scope.step.0,
            request.call.method(),
        )
    }

    /// What everything but a `Worker` method is answered.
    pub fn judge(&self, asked: &Asked) -> Verdict {
        let request = &asked.request;
        let method = request.call.method();
        if (method.starts_with("Environment.") && self.role == Role::Agent)
            || (method.starts_with("Agent.") && self.role == Role::Environment)
        {
            return Verdict::Refused(ErrorCode::Unsupported);
        }
        let Some(scope) = &request.scope else {
            return Verdict::Refused(ErrorCode::InvalidArgument);
        };
        let serial = request.request_id.0;
        let body = request.body().expect("a body");
        let class = class(&request.call);
        if let Some(active) = &self.active {
            return Verdict::Refused(self.while_running(active, request, scope));
        }
        let done = match class {
            Class::Step => {
                let done = self.steps.get(&self.step_key(request, scope));
                done.filter(|_| self.is_kept(&self.step_key(request, scope)))
            }
            _ => self.lifecycle.get(&serial),
        };
        if let Some(done) = done {
            let same_name = done.id == serial || self.lies(Lie::AnotherNameIsARepetition);
            let same_body = done.body == body || self.lies(Lie::AnotherBodyIsARepetition);
            return if same_name && same_body {
                Verdict::Repeated(done.told.clone())
            } else {
                Verdict::Refused(ErrorCode::Conflict)
            };
        }
        match class {
            Class::Step => {
                let is_old = self.newest.as_ref().is_some_and(|(epoch, newest)| {
                    scope.epoch.as_str() == epoch
                        && scope.step.0.saturating_add(self.kept_steps()) <= *newest
                });
                if is_old && serial <= self.highest {
                    return Verdict::Expired;
                }
            }
            Class::Lifecycle => {
                let may_run_again = self.lies(Lie::AcknowledgedMayRunAgain);
                if self.acknowledged.is_some_and(|highest| serial <= highest) && !may_run_again {
                    return Verdict::Expired;
                }
                let limit = if self.lies(Lie::SeventeenAreKept) {
                    17
                } else {
                    16
                };
                if self.lifecycle.len() >= limit {
                    return Verdict::Refused(ErrorCode::Busy);
                }
            }
            Class::Repeatable => {}
        }
        if scope.session_id.as_str() != "demo" {
            return Verdict::Refused(ErrorCode::IdentityMismatch);
        }
        match self.misplaced(request, scope) {
            Some(code) => Verdict::Refused(code),
            None => match asked.flaw {
                Flaw::Early(code) => Verdict::Refused(code),
                _ => Verdict::Run,
            },
        }
    }

    fn kept_steps(&self) -> u64 {
        if self.lies(Lie::ThreeStepsAreKept) {
            3
        } else {
            2
        }
    }

    /// Whether the answer of a step is kept: its epoch was the last to move, and it is one of the last two steps there.
    fn is_kept(&self, (_, epoch, step, _): &StepKey) -> bool {
        self.newest.as_ref().is_none_or(|(newest_epoch, newest)| {
            newest_epoch == epoch && step + self.kept_steps() > *newest
        })
    }

    fn while_running(&self, active: &Asked, request: &Request, scope: &Scope) -> ErrorCode {
        let running = &active.request;
        let is_same_operation = match (class(&running.call), class(&request.call)) {
            (Class::Step, Class::Step) => {
                let its_scope = running.scope.as_ref().expect("what runs has a scope");
                self.step_key(running, its_scope) == self.step_key(request, scope)
            }
            (Class::Step, _) | (_, Class::Step) => false,
            _ => running.request_id == request.request_id,
        };
        let is_exact = running.request_id == request.request_id
            && running.body().expect("a body") == request.body().expect("a body");
        match (is_same_operation, is_exact) {
            (true, true) if !self.lies(Lie::DuplicatesWhileRunningAreBusy) => ErrorCode::InProgress,
            (true, false) => ErrorCode::Conflict,
            _ => ErrorCode::Busy,
        }
    }

    /// Epoch, phase, step, and the identities that change from step to step.
    fn misplaced(&self, request: &Request, scope: &Scope) -> Option<ErrorCode> {
        let is_running_epoch = self.epoch.as_deref() == Some(scope.epoch.as_str());
        match &request.call {
            Call::InitializeEnvironment(_) | Call::InitializeAgent(_) => {
                if self.state != WorkerState::Uninitialized {
                    return Some(ErrorCode::InvalidPhase);
                }
                (scope.step.0 > 0).then_some(ErrorCode::FutureStep)
            }
            Call::StageRestore(stage) => {
                if is_running_epoch {
                    return Some(ErrorCode::StaleEpoch);
                }
                match self.state {
                    WorkerState::StagedRestore => return Some(ErrorCode::Conflict),
                    WorkerState::Ready | WorkerState::Uninitialized => {}
                    _ => return Some(ErrorCode::InvalidPhase),
                }
                (scope.step != stage.source_scope.step).then_some(ErrorCode::InvalidArgument)
            }
            Call::ActivateRestore { restore_token } => {
                if self.activated.as_ref() == Some(restore_token) {
                    return Some(ErrorCode::Conflict);
                }
                match &self.staged {
                    None => Some(ErrorCode::InvalidPhase),
                    Some((token, at)) if token == restore_token && at == scope => None,
                    Some(_) => Some(ErrorCode::IdentityMismatch),
                }
            }
            call => {
                if self.epoch.is_none() {
                    return Some(ErrorCode::InvalidPhase);
                }
                let needed = if matches!(call, Call::Commit(_)) {
                    WorkerState::Prepared
                } else {
                    WorkerState::Ready
                };
                let phase = (self.state != needed).then_some(ErrorCode::InvalidPhase);
                if self.lies(Lie::PhaseComesBeforeEpoch) && phase.is_some() {
                    return phase;
                }
                if !is_running_epoch {
                    return Some(ErrorCode::StaleEpoch);
                }
                if phase.is_some() {
                    return phase;
                }
                match scope.step.0.cmp(&self.step) {
                    std::cmp::Ordering::Less => return Some(ErrorCode::StaleStep),
                    std::cmp::Ordering::Greater => return Some(ErrorCode::FutureStep),
                    std::cmp::Ordering::Equal => {}
                }
                let Call::Commit(commit) = call else {
                    return None;
                };
                let due = self.prepared.map(|serial| format!("req-{serial}"));
                (due.as_ref() != Some(&commit.prepared_request_id))
                    .then_some(ErrorCode::IdentityMismatch)
            }
        }
    }

    /// A request was refused: nothing is different, unless this model lies.
    pub fn refused(&mut self, asked: &Asked) {
        if let (true, Some(scope), Class::Step) = (
            self.lies(Lie::AStrayStepRaisesTheWatermark),
            &asked.request.scope,
            class(&asked.request.call),
        ) {
            let epoch = scope.epoch.as_str().to_owned();
            if self.epoch.as_ref() == Some(&epoch) {
                self.newest = Some((epoch, scope.step.0));
            }
        }
    }

    /// An operation begins: what it will answer.
    pub fn begin(&mut self, asked: &Asked, planned: Planned) -> Foreseen {
        let scope = asked.request.scope.clone().expect("what runs has a scope");
        self.highest = self.highest.max(asked.request.request_id.0);
        if class(&asked.request.call) == Class::Step {
            let epoch = scope.epoch.as_str().to_owned();
            let before = match &self.newest {
                Some((newest, step)) if *newest == epoch => *step,
                _ => 0,
            };
            // What the move to another epoch lets go does not come back.
            let is_kept: Vec<bool> = self.steps.keys().map(|key| self.is_kept(key)).collect();
            let mut is_kept = is_kept.into_iter();
            self.steps.retain(|_, _| is_kept.next().unwrap_or(false));
            self.newest = Some((epoch, before.max(scope.step.0)));
        }
        self.active = Some(asked.clone());
        if let Planned::Refusal(code) = planned {
            return Foreseen::Error(code, MutationCertainty::None);
        }
        if let Flaw::Late(code) = asked.flaw {
            return Foreseen::Error(code, MutationCertainty::None);
        }
        let foreseen = match self.perform(&asked.request, &scope) {
            Ok(foreseen) => foreseen,
            Err(error) => return Foreseen::Error(error.code, error.mutation),
        };
        if planned == Planned::Failure {
            return Foreseen::Error(ErrorCode::BackendFailure, MutationCertainty::Unknown);
        }
        foreseen
    }

    fn perform(&mut self, request: &Request, scope: &Scope) -> Result<Foreseen, ParticipantError> {
        let at_once = "a participant without faults answers at once";
        let answer = match (&mut self.mirror, &request.call) {
            (Mirror::World(world), Call::InitializeEnvironment(parameters)) => {
                let shown = world.initialize(parameters).now_or_never();
                Answer::WorldInitialized(shown.expect(at_once)?)
            }
            (Mirror::World(world), Call::Advance(batch)) => {
                let result = world.advance(scope, batch).now_or_never();
                Answer::Stepped(Box::new(result.expect(at_once)?))
            }
            (Mirror::Agent(agent), Call::InitializeAgent(parameters)) => {
                let initialized = agent.initialize(parameters).now_or_never();
                Answer::AgentInitialized {
                    initialized: initialized.expect(at_once)?,
                    decision_context_digest: parameters.initial_decision_context.digest(),
                }
            }
            (Mirror::Agent(agent), Call::Prepare(parameters)) => Answer::Prepared(
                agent
                    .prepare(scope, parameters)
                    .now_or_never()
                    .expect(at_once)?,
            ),
            (Mirror::Agent(agent), Call::Commit(parameters)) => Answer::Committed {
                committed: agent
                    .commit(scope, parameters)
                    .now_or_never()
                    .expect(at_once)?,
                decision_context_digest: parameters.next_decision_context.digest(),
            },
            (_, Call::Verify {}) => Answer::Verified {},
            (Mirror::World(world), Call::Rewrite { buffer_label }) => {
                world.rewrite(buffer_label).now_or_never().expect(at_once)?;
                Answer::Rewritten {}
            }
            (Mirror::Agent(agent), Call::Rewrite { buffer_label }) => {
                agent.rewrite(buffer_label).now_or_never().expect(at_once)?;
                Answer::Rewritten {}
            }
            (_, Call::Capture { .. }) => return Ok(Foreseen::Like("State.Capture")),
            (mirror, Call::StageRestore(stage)) => {
                let payload =
                    StatePayload::decode(stage.payload.bytes()).expect("a payload that is whole");
                let _found = match mirror {
                    Mirror::World(world) => StagedState::World(
                        world
                            .stage_restore(payload.body)
                            .now_or_never()
                            .expect(at_once)?,
                    ),
                    Mirror::Agent(agent) => StagedState::Agent(
                        agent
                            .stage_restore(payload.body)
                            .now_or_never()
                            .expect(at_once)?,
                    ),
                };
                self.staged_checkpoint = Some(stage.checkpoint_id.clone());
                return Ok(Foreseen::Like("State.StageRestore"));
            }
            (mirror, Call::ActivateRestore { .. }) => {
                let observation = match mirror {
                    Mirror::World(world) => {
                        Some(world.activate_restore().now_or_never().expect(at_once)?)
                    }
                    Mirror::Agent(agent) => {
                        agent.activate_restore().now_or_never().expect(at_once)?;
                        None
                    }
                };
                Answer::Activated {
                    checkpoint_id: self.staged_checkpoint.clone().expect("something is staged"),
                    committed_step: U64(scope.step.0),
                    observation,
                }
            }
            (_, call) => unreachable!("{} does not run", call.method()),
        };
        Ok(Foreseen::Answer(text_of(&answer)))
    }

    /// The operation that ran has ended with `told`.
    pub fn end(&mut self, told: Told, token: Option<String>) {
        let asked = self.active.take().expect("something ran");
        let request = &asked.request;
        let scope = request.scope.clone().expect("what runs has a scope");
        self.last_completed = Some(request.request_id.0);
        let mutation = told.error.map(|(_, mutation)| mutation);
        let is_refusal = mutation == Some(MutationCertainty::None);
        if !is_refusal || self.lies(Lie::ARefusalKeepsItsKey) {
            let done = Done {
                id: request.request_id.0,
                body: request.body().expect("a body"),
                told,
            };
            match class(&request.call) {
                Class::Step => {
                    self.steps.insert(self.step_key(request, &scope), done);
                }
                Class::Lifecycle => {
                    self.lifecycle.insert(request.request_id.0, done);
                }
                Class::Repeatable => {}
            }
        }
        match mutation {
            Some(MutationCertainty::None) => return,
            Some(_) => {
                self.state = WorkerState::Failed;
                self.staged = None;
                return;
            }
            None => {}
        }
        let stand = |model: &mut Self, step: u64| {
            model.state = WorkerState::Ready;
            model.epoch = Some(scope.epoch.as_str().to_owned());
            model.step = step;
        };
        match &request.call {
            Call::InitializeEnvironment(_) | Call::InitializeAgent(_) => stand(self, 0),
            Call::Advance(batch) => {
                stand(self, scope.step.0 + 1);
                self.last_batch = Some(batch.batch_id.as_str().to_owned());
            }
            Call::Prepare(_) => {
                self.state = WorkerState::Prepared;
                self.prepared = Some(request.request_id.0);
            }
            Call::Commit(_) => {
                stand(self, scope.step.0 + 1);
                self.prepared = None;
            }
            Call::StageRestore(_) => {
                self.state = WorkerState::StagedRestore;
                self.staged = token.map(|token| (token, scope.clone()));
            }
            Call::ActivateRestore { restore_token } => {
                stand(self, scope.step.0);
                self.prepared = None;
                self.staged = None;
                self.activated = Some(restore_token.clone());
            }
            _ => {}
        }
    }

    /// Lets lifecycle answers go; those that were kept.
    pub fn acknowledge(&mut self, serials: &[u64]) -> Vec<u64> {
        let mut released: Vec<u64> = serials.to_vec();
        released.retain(|serial| self.lifecycle.remove(serial).is_some());
        released.sort_unstable();
        self.acknowledged = self.acknowledged.max(released.last().copied());
        released
    }

    /// Digest of the state that everything so far has led to.
    pub fn digest(&mut self) -> Digest {
        let state = match &mut self.mirror {
            Mirror::World(world) => world.capture().now_or_never(),
            Mirror::Agent(agent) => agent.capture().now_or_never(),
        };
        Digest::blake3(&state.expect("at once").expect("nothing is dirty"))
    }
}
