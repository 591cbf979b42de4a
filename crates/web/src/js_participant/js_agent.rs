//! [`JsAgent`]: an agent that decides in JavaScript.

use async_trait::async_trait;
use js_sys::{Object, Uint8Array};
use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wellwritten_envelope::{Id, Scope, U64};
use wellwritten_session::{
    Agent, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, Commit, Committed,
    ErrorCode, LearningTelemetry, ParticipantError, Prepare, Prepared, Progress, RoleRate,
    SensoryInput, StagedAgent, TickClock, TypedValue,
};

use super::AgentDeclaration;
use super::handlers::{Handlers, take_state};
use super::kept_state::{KeptState, incompatible};
use super::typed_json::{malformed, set, typed_from_js, typed_to_js};
use crate::convert::{from_js, to_js};

/// An agent whose `initialize`, `prepare`, `commit`, `capture`, `stageRestore` and `activateRestore` are JavaScript.
pub struct JsAgent {
    handlers: Handlers,
    profile: AgentProfile,
    now: Standing,
    staged: Option<Standing>,
}

/// What is kept for the agent here, and captured beside its own bytes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Standing {
    boundary: U64,
    brain_ticks: U64,
    clock: TickClock,
    /// What it decodes its next decision with; absent before it is initialized.
    #[serde(deserialize_with = "Option::deserialize")]
    context: Option<TypedValue>,
}

/// How an agent in JavaScript fares, as it says itself.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[tsify(large_number_types_as_bigints)]
pub struct DeclaredTelemetry {
    /// Mean rate of the population, in hertz, finite and not negative.
    population_rate_hz: f64,
    /// One rate for each declared role, in declared order, in hertz.
    rates: Vec<f64>,
    /// Learning so far; none where absent.
    #[serde(default)]
    #[tsify(optional)]
    learning: Option<DeclaredLearning>,
    /// How long the current stimulus still lasts, in milliseconds.
    #[serde(default)]
    #[tsify(optional, type = "number | null")]
    stimulus_remaining_ms: Option<f64>,
}

/// Learning so far.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[tsify(large_number_types_as_bigints)]
pub struct DeclaredLearning {
    /// Whether it learns.
    enabled: bool,
    /// Reinforcements applied.
    updates: u64,
    /// Of these, those that changed a weight.
    changed: u64,
    /// The last reinforcement, finite.
    signal: f64,
}

/// What `initialize` gives.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[tsify(large_number_types_as_bigints)]
pub struct InitializedAgent {
    /// Ticks of the warm-up, with learning disabled; none where absent.
    #[serde(default)]
    #[tsify(optional)]
    warmup_ticks: u64,
    /// How it fares at boundary 0.
    telemetry: DeclaredTelemetry,
}

/// What `commit` gives.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommittedAgent {
    /// How it fares at the boundary it committed.
    telemetry: DeclaredTelemetry,
}

impl JsAgent {
    /// The agent `agent_id` that `declaration` describes and `handlers` runs.
    pub fn new(
        agent_id: Id,
        seed: i32,
        declaration: JsValue,
        handlers: JsValue,
    ) -> Result<Self, ParticipantError> {
        let declaration: AgentDeclaration = from_js("profile", declaration).map_err(|error| {
            ParticipantError::refused(ErrorCode::InvalidArgument, error.message())
        })?;
        let profile = declaration.describe(agent_id, seed)?;
        let now = Standing {
            boundary: U64(0),
            brain_ticks: U64(0),
            clock: TickClock::new(profile.tick_duration),
            context: None,
        };
        Ok(Self {
            handlers: Handlers::new(handlers),
            profile,
            now,
            staged: None,
        })
    }

    fn telemetry(&self, given: DeclaredTelemetry) -> Result<AgentTelemetry, ParticipantError> {
        let roles = &self.profile.graph.rate_roles;
        if given.rates.len() != roles.len() {
            return Err(malformed(format!(
                "the telemetry has {} rates, the profile declares {}",
                given.rates.len(),
                roles.len()
            )));
        }
        let rates = roles.iter().zip(given.rates).map(|(role_id, hz)| RoleRate {
            role_id: role_id.clone(),
            hz,
        });
        let learning = given.learning.unwrap_or(DeclaredLearning {
            enabled: false,
            updates: 0,
            changed: 0,
            signal: 0.0,
        });
        Ok(AgentTelemetry {
            brain_ticks: self.now.brain_ticks,
            population_rate_hz: given.population_rate_hz,
            rates: rates.collect(),
            learning: LearningTelemetry {
                enabled: learning.enabled,
                updates: U64(learning.updates),
                changed: U64(learning.changed),
                signal: learning.signal,
            },
            stimulus_remaining_ms: given.stimulus_remaining_ms,
        })
    }
}

/// What an agent sees: each view's pixels in an array of their own.
fn input_to_js(input: &SensoryInput) -> JsValue {
    let views = Object::new();
    for view in &input.views {
        let frame = Object::new();
        set(&frame, "producedStep", &view.produced_step.0.into());
        set(&frame, "pixels", &Uint8Array::from(view.pixels.bytes()));
        set(&views, view.view_id.as_str(), &frame);
    }
    let seen = Object::new();
    set(&seen, "boundary", &input.boundary.0.into());
    set(&seen, "views", &views);
    let structured = input.structured.as_ref().map_or(JsValue::NULL, typed_to_js);
    set(&seen, "structured", &structured);
    seen.into()
}

#[async_trait(?Send)]
impl Agent for JsAgent {
    fn profile(&self) -> AgentProfile {
        self.profile.clone()
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.handlers.attach_progress(progress);
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        let arguments = Object::new();
        set(
            &arguments,
            "agentId",
            &self.profile.agent_id.as_str().into(),
        );
        set(&arguments, "seed", &self.profile.seed.into());
        set(&arguments, "input", &input_to_js(&parameters.initial_input));
        let context = &parameters.initial_decision_context;
        set(&arguments, "context", &typed_to_js(context));
        let given = self.handlers.call("initialize", &arguments).await?;
        let given: InitializedAgent =
            from_js("initialize", given).map_err(|error| malformed(error.message()))?;
        self.now = Standing {
            boundary: U64(0),
            brain_ticks: U64(given.warmup_ticks),
            clock: TickClock::new(self.profile.tick_duration),
            context: Some(context.clone()),
        };
        Ok(AgentInitialized {
            warmup_ticks: U64(given.warmup_ticks),
            telemetry: self.telemetry(given.telemetry)?,
        })
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        Ok(())
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        Err(ParticipantError::refused(
            ErrorCode::Unsupported,
            format!(
                "an agent in JavaScript keeps no buffer {buffer_label:?} that it could write again"
            ),
        ))
    }

    async fn prepare(
        &mut self,
        scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        let mut clock = self.now.clock;
        let impossible =
            |message: String| ParticipantError::refused(ErrorCode::InvalidArgument, message);
        let ticks = clock
            .advance(parameters.interval)
            .map_err(|error| impossible(error.to_string()))?;
        let brain_ticks = self
            .now
            .brain_ticks
            .0
            .checked_add(ticks)
            .ok_or_else(|| impossible("the agent has run for too many ticks".to_owned()))?;
        let arguments = Object::new();
        set(&arguments, "step", &scope.step.0.into());
        set(&arguments, "ticks", &ticks.into());
        set(
            &arguments,
            "stimuli",
            &to_js(&parameters.pre_step_stimulations),
        );
        let context = self.now.context.as_ref().map_or(JsValue::NULL, typed_to_js);
        set(&arguments, "context", &context);
        let decision = self.handlers.call("prepare", &arguments).await?;
        let decision = typed_from_js("prepare", &self.profile.decision_schema, decision)?;
        self.now.clock = clock;
        self.now.brain_ticks = U64(brain_ticks);
        Ok(Prepared {
            ticks_advanced: U64(ticks),
            brain_ticks: U64(brain_ticks),
            remainder: clock.remainder(),
            decision,
        })
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        let arguments = Object::new();
        set(&arguments, "step", &scope.step.0.into());
        set(&arguments, "input", &input_to_js(&parameters.next_input));
        set(&arguments, "stimuli", &to_js(&parameters.task_stimulations));
        set(&arguments, "rewards", &to_js(&parameters.rewards));
        let context = &parameters.next_decision_context;
        set(&arguments, "context", &typed_to_js(context));
        let given = self.handlers.call("commit", &arguments).await?;
        let (given, state_digest) = take_state(&given)?;
        let given: CommittedAgent =
            from_js("commit", given).map_err(|error| malformed(error.message()))?;
        let boundary = U64(scope.step.0.saturating_add(1));
        self.now.boundary = boundary;
        self.now.context = Some(context.clone());
        Ok(Committed {
            committed_step: boundary,
            state_digest,
            telemetry: self.telemetry(given.telemetry)?,
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let state = self.handlers.bytes("capture", &JsValue::UNDEFINED).await?;
        KeptState::encode(&self.now, &[&state])
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        let KeptState { record, rest } = KeptState::<Standing>::decode(payload)?;
        let Some(context) = &record.context else {
            return Err(incompatible("the captured state retains no context"));
        };
        // A remainder of a tick or more is no state of this clock.
        let ticks = self.profile.tick_duration;
        TickClock::with_remainder(ticks, record.clock.remainder())
            .map_err(|error| incompatible(error.to_string()))?;
        if record.clock.tick_duration() != ticks {
            return Err(incompatible("the captured state counts other ticks"));
        }
        let staged = StagedAgent {
            boundary: record.boundary,
            brain_ticks: record.brain_ticks,
            remainder: record.clock.remainder(),
            decision_context_digest: context.digest(),
        };
        self.handlers
            .call("stageRestore", &Uint8Array::from(rest))
            .await?;
        self.staged = Some(record);
        Ok(staged)
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        self.handlers
            .call("activateRestore", &JsValue::UNDEFINED)
            .await?;
        self.now = self.staged.take().ok_or_else(|| {
            ParticipantError::refused(ErrorCode::InvalidPhase, "nothing is staged")
        })?;
        Ok(())
    }
}
