//! A brain that presses its button as long as an odd number of stimuli reached it, and writes down what reached it.

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_session::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Commit,
    Committed, ErrorCode, Id, LearningTelemetry, ParticipantError, Prepare, Prepared, RationalNs,
    SchemaRef, Scope, StagedAgent, TickClock, TypedValue, U64,
};

use crate::bench::{Bench, digest_of, id};
use crate::world::pressed;

#[derive(Clone, Serialize, Deserialize)]
struct State {
    clock: TickClock,
    ticks: u64,
    commits: u64,
    stimuli: u64,
    context: Option<TypedValue>,
}

pub struct EchoAgent {
    bench: Rc<Bench>,
    agent_id: Id,
    state: State,
    staged: Option<State>,
}

pub fn context_schema() -> SchemaRef {
    SchemaRef::synthetic(id("number.context"), 1)
}

fn decision_schema() -> SchemaRef {
    SchemaRef::synthetic(id("number.decision"), 1)
}

impl EchoAgent {
    pub fn new(bench: Rc<Bench>, agent_id: Id) -> Self {
        Self {
            bench,
            agent_id,
            state: State {
                clock: TickClock::new(RationalNs::from_nanoseconds(1_000_000)),
                ticks: 0,
                commits: 0,
                stimuli: 0,
                context: None,
            },
            staged: None,
        }
    }

    fn telemetry(&self) -> AgentTelemetry {
        AgentTelemetry {
            brain_ticks: U64(self.state.ticks),
            population_rate_hz: 0.0,
            rates: Vec::new(),
            learning: LearningTelemetry {
                enabled: true,
                updates: U64(self.state.commits),
                changed: U64(0),
                signal: 0.0,
            },
            stimulus_remaining_ms: None,
        }
    }

    async fn reach(&self, point: &str) -> Result<(), ParticipantError> {
        self.bench.reach(self.agent_id.as_str(), point).await
    }
}

#[async_trait(?Send)]
impl Agent for EchoAgent {
    fn profile(&self) -> AgentProfile {
        let mut profile = AgentProfile {
            agent_id: self.agent_id.clone(),
            profile_digest: digest_of("profile"),
            dataset_digest: digest_of("dataset"),
            model_version: id("echo-1"),
            plasticity_version: id("none-1"),
            seed: 7,
            tick_duration: RationalNs::from_nanoseconds(1_000_000),
            decision_schema: decision_schema(),
            context_schema: context_schema(),
            graph: AgentGraph {
                neuron_count: U64(1),
                rate_roles: Vec::new(),
                supported_stimuli: vec![id("spark"), id("light")],
            },
        };
        (self.bench.profile.borrow_mut())(&mut profile);
        profile
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        self.reach("initialize").await?;
        let mut inputs = self.bench.inputs.borrow_mut();
        inputs.push(parameters.initial_input.clone());
        self.state.ticks = 10;
        self.state.context = Some(parameters.initial_decision_context.clone());
        Ok(AgentInitialized {
            warmup_ticks: U64(10),
            telemetry: self.telemetry(),
        })
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.reach("verify").await
    }

    async fn rewrite(&mut self, _buffer_label: &str) -> Result<(), ParticipantError> {
        Ok(())
    }

    async fn prepare(
        &mut self,
        scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        for stimulus in &parameters.pre_step_stimulations {
            let mut stimuli = self.bench.stimuli.borrow_mut();
            stimuli.push((self.agent_id.clone(), scope.step.0, stimulus.clone()));
            self.state.stimuli += 1;
        }
        self.reach("prepare").await?;
        let ticks = self.state.clock.advance(parameters.interval).unwrap();
        self.state.ticks += ticks;
        let intent = pressed(!self.state.stimuli.is_multiple_of(2));
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
        let mut inputs = self.bench.inputs.borrow_mut();
        inputs.push(parameters.next_input.clone());
        self.state.commits += 1;
        self.state.context = Some(parameters.next_decision_context.clone());
        Ok(Committed {
            committed_step: U64(scope.step.0 + 1),
            state_digest: None,
            telemetry: self.telemetry(),
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.reach("capture").await?;
        Ok(serde_json::to_vec(&self.state).unwrap())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        self.reach("stage").await?;
        let state: State = serde_json::from_slice(payload).map_err(|error| {
            ParticipantError::refused(ErrorCode::IncompatibleState, error.to_string())
        })?;
        let found = StagedAgent {
            boundary: U64(state.commits),
            brain_ticks: U64(state.ticks),
            remainder: state.clock.remainder(),
            decision_context_digest: state.context.as_ref().unwrap().digest(),
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
