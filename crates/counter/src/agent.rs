//! [`CounterAgent`]: a brain that is one seeded integer.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_session::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Commit,
    Committed, ErrorCode, Id, LearningTelemetry, ParticipantError, Prepare, Prepared, Progress,
    RoleRate, Scope, SensoryInput, StagedAgent, Stimulus, U64,
};

use crate::agent_state::{AgentState, tick_duration};
use crate::faults::{Reached, broken};
use crate::names::{ARENA, SPARK, context_schema, decision_schema, id, named_digest};
use crate::world::{VIEW_HEIGHT, VIEW_WIDTH};
use crate::{CounterComposition, CounterError, FaultKind, FaultPoint, Faults};

/// Ticks before the first step.
pub const WARMUP_TICKS: u64 = 10;

/// A brain that is one seeded integer, mixed with everything that happens to it. See the crate for the arithmetic.
pub struct CounterAgent {
    agent_id: Id,
    seed: i32,
    life: u32,
    faults: Rc<Faults>,
    progress: Progress,
    state: AgentState,
    staged: Option<AgentState>,
}

impl CounterAgent {
    /// An agent of a composition, in its `life`th life.
    pub fn new(
        composition: &CounterComposition,
        agent_id: &Id,
        life: u32,
        faults: Rc<Faults>,
    ) -> Result<Self, CounterError> {
        let seed = composition.seed(agent_id)?;
        Ok(Self {
            agent_id: agent_id.clone(),
            seed,
            life,
            faults,
            progress: Progress::new(),
            state: AgentState::new(seed),
            staged: None,
        })
    }

    fn reach(&self, at: FaultPoint) -> Result<Reached, ParticipantError> {
        let boundary = self.state.updates.0;
        let reached = self.faults.reach(&self.agent_id, self.life, at, boundary);
        reached.refuse()?;
        Ok(reached)
    }

    fn run(&mut self, ticks: u64) {
        self.state.run(ticks);
        self.progress.raise(ticks);
    }

    fn install(&mut self, red: u8) {
        self.state.mix(u64::from(red));
        self.progress.raise(1);
    }

    fn stimulate(&mut self, stimuli: &[Stimulus]) {
        for stimulus in stimuli {
            self.state.mix(stimulus.duration_ms.to_bits());
            self.progress.raise(1);
        }
    }

    fn telemetry(&self) -> AgentTelemetry {
        let hz = self.state.rate_hz();
        AgentTelemetry {
            brain_ticks: self.state.ticks,
            population_rate_hz: hz,
            rates: vec![RoleRate {
                role_id: id("motor"),
                hz,
            }],
            learning: LearningTelemetry {
                enabled: true,
                updates: self.state.updates,
                changed: self.state.updates,
                signal: self.state.signal,
            },
            stimulus_remaining_ms: None,
        }
    }
}

/// The red of the arena's first pixel. A view that is not there is no zero.
fn seen(input: &SensoryInput) -> Result<u8, ParticipantError> {
    let refuse =
        |message: String| Err(ParticipantError::refused(ErrorCode::BufferInvalid, message));
    let Some(view) = input.view(ARENA) else {
        return refuse(format!("there is no view {ARENA}"));
    };
    let due = u64::from(VIEW_WIDTH * VIEW_HEIGHT * 4);
    match view.pixels.bytes() {
        [red, ..] if view.pixels.byte_length() == due => Ok(*red),
        bytes => refuse(format!(
            "view {ARENA} has {} bytes, {due} are due",
            bytes.len()
        )),
    }
}

#[async_trait(?Send)]
impl Agent for CounterAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            agent_id: self.agent_id.clone(),
            profile_digest: named_digest("wellwritten-counter/profile-v1"),
            dataset_digest: named_digest("wellwritten-counter/dataset-v1"),
            model_version: id("lcg-1"),
            plasticity_version: id("xor-1"),
            seed: self.seed,
            tick_duration: tick_duration(),
            decision_schema: decision_schema(),
            context_schema: context_schema(),
            graph: AgentGraph {
                neuron_count: U64(1),
                rate_roles: vec![id("motor")],
                supported_stimuli: vec![id(SPARK)],
            },
        }
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        let reached = self.reach(FaultPoint::Initialize)?;
        let red = seen(&parameters.initial_input)?;
        self.install(red);
        self.run(WARMUP_TICKS);
        self.state.context = Some(parameters.initial_decision_context.clone());
        reached.pass(&self.progress).await?;
        Ok(AgentInitialized {
            warmup_ticks: U64(WARMUP_TICKS),
            telemetry: self.telemetry(),
        })
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        let reached = self.reach(FaultPoint::Verify)?;
        reached.pass(&self.progress).await
    }

    async fn rewrite(&mut self, _buffer_label: &str) -> Result<(), ParticipantError> {
        let message = "a brain of one integer has no buffers";
        Err(ParticipantError::refused(ErrorCode::Unsupported, message))
    }

    async fn prepare(
        &mut self,
        _scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        let reached = self.reach(FaultPoint::Prepare)?;
        let mut clock = self.state.clock;
        let ticks = clock.advance(parameters.interval).map_err(|error| {
            ParticipantError::refused(ErrorCode::InvalidArgument, error.to_string())
        })?;
        if ticks > MAX_TICKS {
            let message = format!("a step of {ticks} ticks, the limit is {MAX_TICKS}");
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                message,
            ));
        }
        self.stimulate(&parameters.pre_step_stimulations);
        self.state.clock = clock;
        let ticks = ticks + reached.extra_ticks();
        self.run(ticks);
        let decision = self.state.decision().to_decision(decision_schema());
        let decision = decision.map_err(|error| broken(&error.to_string()))?;
        reached.pass(&self.progress).await?;
        Ok(Prepared {
            ticks_advanced: U64(ticks),
            brain_ticks: self.state.ticks,
            remainder: self.state.clock.remainder(),
            decision,
        })
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        let reached = self.reach(FaultPoint::Commit)?;
        let red = seen(&parameters.next_input)?;
        let rewards = parameters.rewards.iter().map(|reward| reward.value);
        // From 0, and not from the -0 that an empty sum of floats is.
        let signal = rewards.fold(0.0, |sum, value| sum + value);
        if !f64::is_finite(signal) {
            let message = "the rewards add up to no number";
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                message,
            ));
        }
        self.install(red);
        if reached.has(FaultKind::BreakAfterInput) {
            return Err(broken("a planned failure when the input was installed"));
        }
        self.stimulate(&parameters.task_stimulations);
        self.state.reinforce(signal);
        self.progress.raise(1);
        self.state.context = Some(parameters.next_decision_context.clone());
        reached.pass(&self.progress).await?;
        Ok(Committed {
            committed_step: U64(scope.step.0.saturating_add(1)),
            telemetry: self.telemetry(),
            state_digest: Some(self.state.digest()),
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let reached = self.reach(FaultPoint::Capture)?;
        reached.pass(&self.progress).await?;
        Ok(self.state.capture())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        let reached = self.reach(FaultPoint::Stage)?;
        let (state, found) = AgentState::read(payload)?;
        self.staged = Some(state);
        reached.pass(&self.progress).await?;
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        let reached = self.reach(FaultPoint::Activate)?;
        let Some(staged) = self.staged.take() else {
            let message = "no state is staged";
            return Err(ParticipantError::refused(ErrorCode::InvalidPhase, message));
        };
        self.state = staged;
        reached.pass(&self.progress).await
    }
}

/// Most ticks of one step: a second has a thousand.
const MAX_TICKS: u64 = 1_000_000;
