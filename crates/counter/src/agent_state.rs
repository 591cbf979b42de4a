//! [`AgentState`]: a brain that is one integer, and how it is captured.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{canonical_json, digest_json, from_json, parse_strict_json};
use wellwritten_session::{
    AxisValue, ButtonState, ControllerIntent, Digest, RationalNs, StagedAgent, TickClock,
    TypedValue, U64,
};

use crate::StateError;
use crate::names::id;

/// Everything a brain's future depends on. Its canonical JSON is what is captured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AgentState {
    pub clock: TickClock,
    #[serde(deserialize_with = "Option::deserialize")]
    pub context: Option<TypedValue>,
    pub lcg: U64,
    /// The last reinforcement.
    pub signal: f64,
    pub ticks: U64,
    /// Reinforcements, which are as many as commits.
    pub updates: U64,
}

/// One millisecond.
pub(crate) const fn tick_duration() -> RationalNs {
    RationalNs::from_nanoseconds(1_000_000)
}

impl AgentState {
    pub(crate) fn new(seed: i32) -> Self {
        Self {
            clock: TickClock::new(tick_duration()),
            context: None,
            lcg: U64(u64::from(seed.unsigned_abs())),
            signal: 0.0,
            ticks: U64(0),
            updates: U64(0),
        }
    }

    /// The one thing that ever happens to the integer.
    pub(crate) const fn mix(&mut self, with: u64) {
        self.lcg.0 = (self.lcg.0 ^ with)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
    }

    pub(crate) fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.mix(1);
        }
        self.ticks.0 = self.ticks.0.saturating_add(ticks);
    }

    pub(crate) fn reinforce(&mut self, signal: f64) {
        self.mix(signal.to_bits());
        self.signal = signal;
        self.updates.0 = self.updates.0.saturating_add(1);
    }

    pub(crate) fn decision(&self) -> ControllerIntent {
        let roll = self.lcg.0 >> 33;
        let button = |name, down| ButtonState { id: id(name), down };
        ControllerIntent {
            buttons: vec![
                button("inc", !roll.is_multiple_of(3)),
                button("dec", roll.is_multiple_of(5)),
            ],
            axes: vec![AxisValue {
                id: id("bias"),
                value: 0.25,
            }],
        }
    }

    /// The upper 16 bits, as hertz.
    pub(crate) fn rate_hz(&self) -> f64 {
        let [.., low, high] = self.lcg.0.to_le_bytes();
        f64::from(u16::from_le_bytes([low, high]))
    }

    pub(crate) fn capture(&self) -> Vec<u8> {
        canonical_json(self).expect("every number of a state is finite")
    }

    pub(crate) fn digest(&self) -> Digest {
        digest_json(self).expect("every number of a state is finite")
    }

    /// Reads a captured state, and says what is in it.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, StagedAgent), StateError> {
        let state: Self = from_json(parse_strict_json(bytes)?)?;
        let remainder = state.clock.remainder();
        if TickClock::with_remainder(tick_duration(), remainder) != Ok(state.clock) {
            return Err(StateError::Clock {
                remainder,
                tick_duration: state.clock.tick_duration(),
            });
        }
        let context = state.context.as_ref().ok_or(StateError::NoContext)?;
        let found = StagedAgent {
            boundary: state.updates,
            brain_ticks: state.ticks,
            remainder,
            decision_context_digest: context.digest(),
        };
        if state.capture() != bytes {
            return Err(StateError::NotCanonical);
        }
        Ok((state, found))
    }
}
