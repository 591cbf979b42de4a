//! From the drives of the network to what the fly does.

use crate::kernels::agent::{OUTPUTS, WEIGHT_ONE};

/// What a fly wants to do over the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// Button `walk`.
    pub walk: bool,
    /// Button `feed`.
    pub feed: bool,
    /// Axis `turn` in 1/256, positive to the right; `-256..=256`.
    pub turn: i32,
}

/// The axis value of a full turn to the right.
pub const TURN_FULL: i32 = 256;
/// Spikes a tick from which the walk and feed motors act, in 1/256.
const WALK_THRESHOLD: i32 = WEIGHT_ONE;
const FEED_THRESHOLD: i32 = WEIGHT_ONE;
/// A difference of this many spikes a tick between the turn motors is a full turn, in 1/256.
const TURN_SPIKES: i32 = 3 * WEIGHT_ONE;

/// Right minus left turn drive of one tick, in 1/256 spike: what a fly does when both sides
/// perceive the same, which is an accident of its wiring and is subtracted.
#[must_use]
pub fn turn_bias(drives: [i32; OUTPUTS as usize], ticks: u32) -> i32 {
    let ticks = ticks.cast_signed().max(1);
    drives[3].wrapping_sub(drives[2]) / ticks
}

/// What the fly does, given the drives of `ticks` ticks and its [`turn_bias`] at rest. An interval
/// without a tick changes nothing, so it wants nothing.
#[must_use]
pub fn decide(drives: [i32; OUTPUTS as usize], ticks: u32, bias: i32) -> Intent {
    if ticks == 0 {
        return Intent::default();
    }
    let each = |drive: i32| drive / ticks.cast_signed();
    let turn = turn_bias(drives, ticks).saturating_sub(bias);
    Intent {
        walk: each(drives[0]) > WALK_THRESHOLD,
        feed: each(drives[1]) > FEED_THRESHOLD,
        turn: (turn.clamp(-TURN_SPIKES, TURN_SPIKES) * TURN_FULL) / TURN_SPIKES,
    }
}
