//! A brain that is one seeded integer.

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_session::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, AxisValue,
    ButtonState, Commit, Committed, ControllerIntent, ErrorCode, Id, LearningTelemetry,
    ParticipantError, Prepare, Prepared, RationalNs, RoleRate, SchemaRef, Scope, StagedAgent,
    TickClock, TypedValue, U64,
};

use crate::rig::{Bench, digest_of, id};

const WARMUP_TICKS: u64 = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    lcg: u64,
    ticks: u64,
    clock: TickClock,
    updates: u64,
    signal: f64,
    context: Option<TypedValue>,
}

pub struct LcgAgent {
    bench: Rc<Bench>,
    agent_id: Id,
    seed: i32,
    state: State,
    staged: Option<State>,
}

pub fn context_schema() -> SchemaRef {
    SchemaRef::synthetic(id("counter.context"), 1)
}

pub fn decision_schema() -> SchemaRef {
    SchemaRef::synthetic(id("counter.decision"), 1)
}

impl LcgAgent {
    pub fn new(bench: Rc<Bench>, agent_id: Id, seed: i32) -> Self {
        Self {
            bench,
            agent_id,
            seed,
            state: State {
                lcg: u64::from(seed.unsigned_abs()),
                ticks: 0,
                clock: TickClock::new(RationalNs::from_nanoseconds(1_000_000)),
                updates: 0,
                signal: 0.0,
                context: None,
            },
            staged: None,
        }
    }

    fn mix(&mut self, with: u64) {
        self.state.lcg = (self.state.lcg ^ with)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.mix(1);
        }
        self.state.ticks += ticks;
    }

    fn telemetry(&self) -> AgentTelemetry {
        let hz = f64::from(u16::try_from(self.state.lcg >> 48).unwrap());
        AgentTelemetry {
            brain_ticks: U64(self.state.ticks),
            population_rate_hz: hz,
            rates: vec![RoleRate {
                role_id: id("motor"),
                hz,
            }],
            learning: LearningTelemetry {
                enabled: true,
                updates: U64(self.state.updates),
                changed: U64(self.state.updates),
                signal: self.state.signal,
            },
            stimulus_remaining_ms: None,
        }
    }

    async fn reach(&self, point: &str) -> Result<(), ParticipantError> {
        self.bench.reach(self.agent_id.as_str(), point).await
    }
}

#[async_trait(?Send)]
impl Agent for LcgAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            agent_id: self.agent_id.clone(),
            profile_digest: digest_of("profile"),
            dataset_digest: digest_of("dataset"),
            model_version: id("lcg-1"),
            plasticity_version: id("xor-1"),
            seed: self.seed,
            tick_duration: RationalNs::from_nanoseconds(1_000_000),
            decision_schema: decision_schema(),
            context_schema: context_schema(),
            graph: AgentGraph {
                neuron_count: U64(1),
                rate_roles: vec![id("motor")],
                supported_stimuli: vec![id("spark")],
            },
        }
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        self.reach("initialize").await?;
        self.run(WARMUP_TICKS);
        self.state.context = Some(parameters.initial_decision_context.clone());
        Ok(AgentInitialized {
            warmup_ticks: U64(WARMUP_TICKS),
            telemetry: self.telemetry(),
        })
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.reach("verify").await
    }

    async fn rewrite(&mut self, _buffer_label: &str) -> Result<(), ParticipantError> {
        Err(ParticipantError::refused(
            ErrorCode::Unsupported,
            "a brain of one integer has no buffers",
        ))
    }

    async fn prepare(
        &mut self,
        _scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        self.reach("prepare").await?;
        let ticks =
            self.state.clock.advance(parameters.interval).unwrap() + self.bench.extra_ticks.get();
        self.run(ticks);
        let roll = self.state.lcg >> 33;
        let intent = ControllerIntent {
            buttons: vec![
                ButtonState {
                    id: id("inc"),
                    down: !roll.is_multiple_of(3),
                },
                ButtonState {
                    id: id("dec"),
                    down: roll.is_multiple_of(5),
                },
            ],
            axes: vec![AxisValue {
                id: id("bias"),
                value: 0.25,
            }],
        };
        Ok(Prepared {
            ticks_advanced: U64(ticks),
            brain_ticks: U64(self.state.ticks),
            remainder: self.state.clock.remainder(),
            decision: intent.to_decision(decision_schema()).unwrap(),
        })
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        self.reach("commit").await?;
        let pixels = &parameters.next_input.view("arena").unwrap().pixels;
        self.bench.seen.borrow_mut().push(pixels.clone());
        let red = pixels.bytes()[0];
        self.mix(u64::from(red));
        for stimulus in &parameters.task_stimulations {
            self.mix(stimulus.duration_ms.to_bits());
        }
        self.state.signal = parameters.rewards.iter().map(|reward| reward.value).sum();
        self.mix(self.state.signal.to_bits());
        self.state.updates += 1;
        self.state.context = Some(parameters.next_decision_context.clone());
        Ok(Committed {
            committed_step: U64(scope.step.0 + 1),
            telemetry: self.telemetry(),
            state_digest: None,
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.reach("capture").await?;
        Ok(serde_json::to_vec(&self.state).unwrap())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        self.reach("stage").await?;
        let refused =
            |message: String| ParticipantError::refused(ErrorCode::IncompatibleState, message);
        let state: State =
            serde_json::from_slice(payload).map_err(|error| refused(error.to_string()))?;
        let tick_duration = self.profile().tick_duration;
        let clock = TickClock::with_remainder(tick_duration, state.clock.remainder());
        if clock != Ok(state.clock) {
            return Err(refused("the clock ticks otherwise".to_owned()));
        }
        let Some(context) = &state.context else {
            return Err(refused("no context is retained".to_owned()));
        };
        let found = StagedAgent {
            boundary: U64(state.updates),
            brain_ticks: U64(state.ticks),
            remainder: state.clock.remainder(),
            decision_context_digest: context.digest(),
        };
        self.staged = Some(state);
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        self.reach("activate").await?;
        self.state = self.staged.take().unwrap();
        Ok(())
    }
}
