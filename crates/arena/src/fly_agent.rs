//! [`FlyAgent`]: one fly's brain.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64};
use wellwritten_session::{
    Agent, AgentGraph, AgentInitialize, AgentInitialized, AgentProfile, AgentTelemetry, AxisValue,
    ButtonState, Commit, Committed, ControllerIntent, ErrorCode, LearningTelemetry,
    ParticipantError, Prepare, Prepared, RoleRate, SensoryInput, StagedAgent, Stimulus, TickClock,
    TypedValue,
};

use crate::fly_state::{Activity, CAPTURED_WORDS, FlyBuffers, FlyScalars, Interval};
use crate::geometry::{CELLS, HEIGHT, POSITION_BITS, TURN as WHOLE_TURN, WIDTH};
use crate::guarded_words::{bytes_from_words, read_failed, read_refused, write};
use crate::kernels::agent::{self, MAX_TICKS, NEURONS, POPULATION_NEURONS};
use crate::launcher::Launcher;
use crate::motor::{Intent, TURN_FULL, decide, turn_bias};
use crate::payload::{self, PayloadError, PayloadKind};
use crate::plasticity::{reinforce, reward_units};
use crate::population::{BETWEEN_POPULATIONS, Population};
use crate::schemas::{
    FEED, Proprioception, TURN, VIEW, WALK, context_schema, decision_schema, known_id,
};
use crate::senses::{Percept, Pose, perceive};
use crate::wiring::{readout_weights, synapses};

/// The stimulus a fly accepts: for a while its urge is stronger.
pub const AROUSAL: &str = "arousal";
/// Current that arousal adds to the urge.
const AROUSAL_CURRENT: i32 = 160;
/// Warm-up: ticks until rates have settled, then ticks over which the readout is calibrated.
const SETTLE_TICKS: u32 = 64;
const CALIBRATE_TICKS: u32 = 192;
/// Longest stimulus, in milliseconds.
const MAX_STIMULUS_MS: f64 = 60_000.0;

/// A role of the telemetry and its populations: the first, and how many.
const ROLES: [(&str, Population, u32); 13] = [
    ("odour-left", Population::OdourLeft, 1),
    ("odour-right", Population::OdourRight, 1),
    ("food-left", Population::FoodLeft, 1),
    ("food-right", Population::FoodRight, 1),
    ("fly-left", Population::FlyLeft, 1),
    ("fly-right", Population::FlyRight, 1),
    ("urge", Population::Urge, 1),
    ("taste", Population::Taste, 1),
    ("between", Population::Between, BETWEEN_POPULATIONS),
    ("walk", Population::Walk, 1),
    ("feed", Population::Feed, 1),
    ("turn-left", Population::TurnLeft, 1),
    ("turn-right", Population::TurnRight, 1),
];

/// A leaky integrate-and-fire network that steers one fly, its state in guarded buffers.
///
/// `prepare` is one launch and one read; `commit` is host writes only, except that a reward reads the
/// weights and their eligibility first.
pub struct FlyAgent {
    launcher: Rc<Launcher>,
    agent_id: Id,
    seed: i32,
    state: Option<FlyState>,
    staged: Option<(FlyScalars, [Vec<u32>; 5])>,
}

struct FlyState {
    buffers: FlyBuffers,
    scalars: FlyScalars,
    /// What the last launch gave; telemetry only.
    activity: Activity,
}

/// One millisecond.
#[must_use]
pub fn tick_duration() -> RationalNs {
    RationalNs::from_nanoseconds(1_000_000)
}

impl FlyAgent {
    /// A fly that has not been initialized.
    #[must_use]
    pub(crate) fn new(launcher: Rc<Launcher>, agent_id: Id, seed: i32) -> Self {
        Self {
            launcher,
            agent_id,
            seed,
            state: None,
            staged: None,
        }
    }

    fn state(&self) -> Result<&FlyState, ParticipantError> {
        self.state.as_ref().ok_or_else(not_initialized)
    }

    /// Everything a captured state depends on and does not hold.
    fn identity(&self) -> Digest {
        let profile = self.profile();
        let text = format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n",
            profile.agent_id,
            profile.profile_digest,
            profile.dataset_digest,
            profile.model_version,
            profile.plasticity_version,
            profile.seed
        );
        Digest::blake3(text.as_bytes())
    }

    fn interval(&self, scalars: &FlyScalars, ticks: u32) -> Interval {
        Interval {
            ticks,
            first_tick: low_word(scalars.brain_ticks.get()),
            seed: self.seed.cast_unsigned(),
            learning: true,
            stimulus: if scalars.stimulus_ticks > 0 {
                AROUSAL_CURRENT
            } else {
                0
            },
        }
    }
}

impl FlyState {
    fn telemetry(&self) -> AgentTelemetry {
        let Activity { ticks, counts, .. } = self.activity;
        // Spikes of that many neurons in that many milliseconds, as a mean rate in hertz.
        let hertz = |spikes: u32, neurons: u32| {
            if ticks == 0 {
                0.0
            } else {
                f64::from(spikes) * 1000.0 / (f64::from(neurons) * f64::from(ticks))
            }
        };
        let rate = |&(role, first, populations): &(&str, Population, u32)| {
            let first = first.index() as usize;
            let spikes = counts[first..first + populations as usize].iter().sum();
            RoleRate {
                role_id: known_id(role),
                hz: hertz(spikes, populations * POPULATION_NEURONS),
            }
        };
        AgentTelemetry {
            brain_ticks: self.scalars.brain_ticks,
            population_rate_hz: hertz(counts.iter().sum(), NEURONS),
            rates: ROLES.iter().map(rate).collect(),
            learning: LearningTelemetry {
                enabled: true,
                updates: self.scalars.updates,
                changed: self.scalars.changed,
                signal: f64::from_bits(self.scalars.signal_bits.get()),
            },
            stimulus_remaining_ms: (self.scalars.stimulus_ticks > 0)
                .then(|| f64::from(self.scalars.stimulus_ticks)),
        }
    }
}

#[async_trait(?Send)]
impl Agent for FlyAgent {
    fn profile(&self) -> AgentProfile {
        let model = format!("wellwritten-arena/fly-v1\n{}\n", agent::DECLARATION.wgsl());
        let mut data = bytes_from_words(&synapses(self.seed.cast_unsigned()));
        data.extend(
            readout_weights()
                .iter()
                .flat_map(|weight| weight.to_le_bytes()),
        );
        AgentProfile {
            agent_id: self.agent_id.clone(),
            profile_digest: Digest::blake3(model.as_bytes()),
            dataset_digest: Digest::blake3(&data),
            model_version: known_id("lif-1024.v1"),
            plasticity_version: known_id("reward-eligibility.v1"),
            seed: self.seed,
            tick_duration: tick_duration(),
            decision_schema: decision_schema(),
            context_schema: context_schema(),
            graph: AgentGraph {
                neuron_count: U64(u64::from(NEURONS)),
                rate_roles: ROLES.iter().map(|(role, _, _)| known_id(role)).collect(),
                supported_stimuli: vec![known_id(AROUSAL)],
            },
        }
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        if parameters.agent_id != self.agent_id || parameters.seed != self.seed {
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                format!("this is {} with seed {}", self.agent_id, self.seed),
            ));
        }
        let context = &parameters.initial_decision_context;
        let percept = percept(&parameters.initial_input, context)?;
        let device = self.launcher.device();
        self.state = None;
        let buffers = FlyBuffers::newborn(
            device,
            &self.agent_id,
            &synapses(self.seed.cast_unsigned()),
            &readout_weights(),
        )?;
        let mut scalars = FlyScalars {
            clock: TickClock::new(tick_duration()),
            brain_ticks: U64::ZERO,
            turn_bias: 0,
            updates: U64::ZERO,
            changed: U64::ZERO,
            signal_bits: U64(0.0_f64.to_bits()),
            stimulus_ticks: 0,
            context: context.clone(),
        };
        // Both sides perceive the same during the warm-up, so that what is left of a turn is the
        // accident of this fly's wiring and not the odour it stands in.
        buffers.write_currents(device, percept.balanced().currents())?;
        for ticks in [SETTLE_TICKS, CALIBRATE_TICKS] {
            let interval = Interval {
                learning: false,
                ..self.interval(&scalars, ticks)
            };
            buffers.write_interval(device, interval)?;
            buffers.launch(&self.launcher)?;
            scalars.brain_ticks = U64(scalars.brain_ticks.get() + u64::from(ticks));
        }
        let activity = buffers.read_activity(device, CALIBRATE_TICKS).await;
        let activity =
            activity.map_err(|error| read_failed(&error, "the warm-up does not read"))?;
        scalars.turn_bias = turn_bias(activity.drives, CALIBRATE_TICKS);
        buffers.write_currents(device, percept.currents())?;
        let warmup_ticks = scalars.brain_ticks;
        let state = self.state.insert(FlyState {
            buffers,
            scalars,
            activity,
        });
        Ok(AgentInitialized {
            warmup_ticks,
            telemetry: state.telemetry(),
        })
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        let bindings = self.state()?.buffers.bindings();
        self.launcher
            .device()
            .verify(&bindings)
            .await
            .map_err(|error| {
                read_refused(&error, &format!("{} does not read cleanly", self.agent_id))
            })
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        let state = self.state()?;
        if buffer_label != state.buffers.synapses.label() {
            return Err(ParticipantError::refused(
                ErrorCode::Unsupported,
                format!(
                    "{buffer_label} cannot be written again: only {} can, from the seed; restore a checkpoint",
                    state.buffers.synapses.label()
                ),
            ));
        }
        write(
            self.launcher.device(),
            &state.buffers.synapses.binding(),
            &synapses(self.seed.cast_unsigned()),
        )
    }

    async fn prepare(
        &mut self,
        _scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        let state = self.state()?;
        let mut scalars = state.scalars.clone();
        if parameters.decision_context_digest != scalars.context.digest() {
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                "the decision context is not the retained one",
            ));
        }
        stimulate(&mut scalars, &parameters.pre_step_stimulations)?;
        let invalid =
            |message: String| ParticipantError::refused(ErrorCode::InvalidArgument, message);
        let whole = scalars
            .clock
            .advance(parameters.interval)
            .map_err(|error| invalid(error.to_string()))?;
        let ticks = u32::try_from(whole)
            .ok()
            .filter(|ticks| *ticks <= MAX_TICKS)
            .ok_or_else(|| {
                invalid(format!(
                    "the interval holds {whole} ticks, one launch runs at most {MAX_TICKS}"
                ))
            })?;
        let device = self.launcher.device();
        state
            .buffers
            .write_interval(device, self.interval(&scalars, ticks))?;
        state.buffers.launch(&self.launcher)?;
        let activity = state.buffers.read_activity(device, ticks).await;
        let activity = activity.map_err(|error| {
            read_failed(
                &error,
                &format!("the readout of {} does not read", self.agent_id),
            )
        })?;
        scalars.brain_ticks = U64(scalars.brain_ticks.get().saturating_add(whole));
        scalars.stimulus_ticks = scalars.stimulus_ticks.saturating_sub(ticks);
        let decision = decision(decide(activity.drives, ticks, scalars.turn_bias))?;
        let prepared = Prepared {
            ticks_advanced: U64(whole),
            brain_ticks: scalars.brain_ticks,
            remainder: scalars.clock.remainder(),
            decision,
        };
        let state = self.state.as_mut().ok_or_else(not_initialized)?;
        state.scalars = scalars;
        state.activity = activity;
        Ok(prepared)
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        let percept = percept(&parameters.next_input, &parameters.next_decision_context)?;
        let state = self.state.as_mut().ok_or_else(not_initialized)?;
        let device = self.launcher.device();
        let mut scalars = state.scalars.clone();
        stimulate(&mut scalars, &parameters.task_stimulations)?;
        // A fold from +0: the sum of no doubles is -0, which JSON does not carry.
        let signal = parameters
            .rewards
            .iter()
            .fold(0.0, |sum, reward| sum + reward.value);
        if !signal.is_finite() {
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                "the rewards have no finite sum",
            ));
        }
        let reward = reward_units(signal);
        // Without a reward no weight moves, so the weights need not be read to be reinforced by zero.
        let learned = if reward == 0 {
            None
        } else {
            let plastic = state.buffers.read_plastic(device).await;
            let (mut weights, eligibility) =
                plastic.map_err(|error| read_refused(&error, "the weights do not read"))?;
            reinforce(&mut weights, &eligibility, reward).then_some(weights)
        };
        state.buffers.write_currents(device, percept.currents())?;
        scalars.updates = U64(scalars.updates.get().saturating_add(1));
        scalars.signal_bits = U64(signal.to_bits());
        if let Some(weights) = learned {
            state.buffers.write_weights(device, &weights)?;
            scalars.changed = U64(scalars.changed.get().saturating_add(1));
        }
        scalars.context = parameters.next_decision_context.clone();
        state.scalars = scalars;
        Ok(Committed {
            committed_step: U64(scope.step.get().saturating_add(1)),
            telemetry: state.telemetry(),
            state_digest: None,
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let state = self.state()?;
        let words = state.buffers.read_captured(self.launcher.device()).await;
        let words = words.map_err(|error| {
            read_refused(&error, &format!("{} cannot be captured", self.agent_id))
        })?;
        payload::encode(PayloadKind::Agent, self.identity(), &state.scalars, &words)
            .map_err(|error| ParticipantError::refused(ErrorCode::Internal, error.to_string()))
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        let incompatible = |error: PayloadError| {
            ParticipantError::refused(ErrorCode::IncompatibleState, error.to_string())
        };
        let impossible = |what| incompatible(PayloadError::Impossible { what });
        let (scalars, words) = payload::decode::<FlyScalars>(
            payload,
            PayloadKind::Agent,
            self.identity(),
            &CAPTURED_WORDS,
        )
        .map_err(incompatible)?;
        let clock = TickClock::with_remainder(tick_duration(), scalars.clock.remainder());
        if clock != Ok(scalars.clock) {
            return Err(impossible("the clock"));
        }
        if !f64::from_bits(scalars.signal_bits.get()).is_finite()
            || scalars.changed > scalars.updates
        {
            return Err(impossible("the learning record"));
        }
        if scalars.stimulus_ticks > whole_ticks(MAX_STIMULUS_MS) {
            return Err(impossible("the stimulus"));
        }
        proprioception(&scalars.context).map_err(|_| impossible("the retained context"))?;
        let captured: [Vec<u32>; 5] = words
            .try_into()
            .map_err(|_| impossible("the number of buffers"))?;
        let found = StagedAgent {
            // One reinforcement a commit, also with nothing to reinforce.
            boundary: scalars.updates,
            brain_ticks: scalars.brain_ticks,
            remainder: scalars.clock.remainder(),
            decision_context_digest: scalars.context.digest(),
        };
        self.staged = Some((scalars, captured));
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        let (scalars, captured) = self.staged.take().ok_or_else(|| {
            ParticipantError::refused(ErrorCode::InvalidPhase, "nothing is staged")
        })?;
        self.state = None;
        let device = self.launcher.device();
        let buffers = FlyBuffers::new(
            device,
            &self.agent_id,
            &synapses(self.seed.cast_unsigned()),
            &captured,
        )?;
        // No tick has run since the restore, so there is no activity to report yet.
        let activity = Activity {
            ticks: 0,
            counts: [0; _],
            drives: [0; _],
        };
        self.state = Some(FlyState {
            buffers,
            scalars,
            activity,
        });
        Ok(())
    }
}

fn not_initialized() -> ParticipantError {
    ParticipantError::refused(ErrorCode::InvalidPhase, "the fly is not initialized")
}

fn low_word(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

/// Validates the view's bytes and the context, and perceives.
fn percept(input: &SensoryInput, context: &TypedValue) -> Result<Percept, ParticipantError> {
    let view = input.view(VIEW).ok_or_else(|| {
        ParticipantError::refused(ErrorCode::BufferInvalid, format!("view {VIEW} is missing"))
    })?;
    let found = view.pixels.byte_length();
    let expected = 4 * u64::from(CELLS);
    if found != expected {
        return Err(ParticipantError::refused(
            ErrorCode::BufferInvalid,
            format!("view {VIEW} has {found} bytes, it should have {expected}"),
        ));
    }
    Ok(perceive(view.pixels.bytes(), proprioception(context)?))
}

fn proprioception(context: &TypedValue) -> Result<Pose, ParticipantError> {
    let invalid = |message: String| ParticipantError::refused(ErrorCode::InvalidArgument, message);
    if *context.schema() != context_schema() {
        return Err(invalid(format!(
            "a fly's context is no {}",
            context.schema().id
        )));
    }
    let Proprioception { x, y, heading } = context
        .read()
        .map_err(|error| invalid(format!("the context does not read: {error}")))?;
    if x >= WIDTH << POSITION_BITS || y >= HEIGHT << POSITION_BITS || heading >= WHOLE_TURN {
        return Err(invalid(format!(
            "no fly can be at {x}, {y} with heading {heading}"
        )));
    }
    Ok(Pose { x, y, heading })
}

/// Applies stimuli in order, or none of them. Two do not add up: the longer one lasts.
fn stimulate(scalars: &mut FlyScalars, stimuli: &[Stimulus]) -> Result<(), ParticipantError> {
    let mut ticks = scalars.stimulus_ticks;
    for stimulus in stimuli {
        if stimulus.kind_id.as_str() != AROUSAL {
            return Err(ParticipantError::refused(
                ErrorCode::Unsupported,
                format!("a fly does not know the stimulus {}", stimulus.kind_id),
            ));
        }
        if !(stimulus.duration_ms > 0.0 && stimulus.duration_ms <= MAX_STIMULUS_MS) {
            return Err(ParticipantError::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "a stimulus of {} ms is not above 0 and at most {}",
                    ryu_js::Buffer::new().format(stimulus.duration_ms),
                    ryu_js::Buffer::new().format(MAX_STIMULUS_MS)
                ),
            ));
        }
        ticks = ticks.max(whole_ticks(stimulus.duration_ms));
    }
    scalars.stimulus_ticks = ticks;
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the duration is above zero and at most a minute"
)]
fn whole_ticks(duration_ms: f64) -> u32 {
    duration_ms.ceil() as u32
}

fn decision(intent: Intent) -> Result<TypedValue, ParticipantError> {
    let button = |id: &str, down: bool| ButtonState {
        id: known_id(id),
        down,
    };
    // A multiple of 1/256 is exact as a double and as a JSON number.
    let turn = f64::from(intent.turn) / f64::from(TURN_FULL);
    ControllerIntent {
        buttons: vec![button(WALK, intent.walk), button(FEED, intent.feed)],
        axes: vec![AxisValue {
            id: known_id(TURN),
            value: turn,
        }],
    }
    .to_decision(decision_schema())
    .map_err(|error| ParticipantError::uncertain(ErrorCode::Internal, error.to_string()))
}
