//! How a reward changes the readout weights.

use crate::kernels::agent::{POPULATIONS, WEIGHT_ONE};
use crate::wiring::readout_weights;

/// A reward of one.
pub const REWARD_ONE: i32 = 256;
/// Rewards beyond this many are as good as this many.
const REWARD_LIMIT: i32 = 8 * REWARD_ONE;
/// A reward of one moves a weight by its eligibility over `1 << RATE_BITS`.
const RATE_BITS: u32 = 15;
/// Most that one reinforcement moves a weight.
const STEP_LIMIT: i32 = 8;
/// A weight stays this close to the one it was born with.
const RANGE: i32 = WEIGHT_ONE / 4;

/// The sum of rewards in units of [`REWARD_ONE`], rounded, bounded. `sum` is finite.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is clamped to a few thousand before the cast"
)]
pub fn reward_units(sum: f64) -> i32 {
    let limit = f64::from(REWARD_LIMIT);
    (sum * f64::from(REWARD_ONE)).round().clamp(-limit, limit) as i32
}

/// Applies one reinforcement to the weights and says whether any of them moved.
///
/// Of the populations an output listens to, those whose eligibility is above the row's mean gain and
/// the others lose, so that rewards shift what a fly listens to and do not merely make it louder.
/// `weights` and `eligibility` hold a row of populations for each output.
pub fn reinforce(weights: &mut [i32], eligibility: &[i32], reward: i32) -> bool {
    let row = POPULATIONS as usize;
    let innate = readout_weights();
    let mut moved = false;
    for ((weights, traces), innate) in weights
        .chunks_exact_mut(row)
        .zip(eligibility.chunks_exact(row))
        .zip(innate.chunks_exact(row))
    {
        let sum: i64 = traces.iter().map(|trace| i64::from(*trace)).sum();
        let mean = sum / i64::from(POPULATIONS);
        for ((weight, trace), innate) in weights.iter_mut().zip(traces).zip(innate) {
            let step = (i64::from(reward) * (i64::from(*trace) - mean)) >> (8 + RATE_BITS);
            let limit = i64::from(STEP_LIMIT);
            let step = i32::try_from(step.clamp(-limit, limit)).unwrap_or(0);
            let next = weight
                .saturating_add(step)
                .clamp(innate - RANGE, innate + RANGE);
            moved |= next != *weight;
            *weight = next;
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::agent::WEIGHT_WORDS;

    #[test]
    fn a_reward_favours_what_was_active_and_nothing_leaves_its_range() {
        let innate = readout_weights();
        let mut weights = innate.clone();
        let mut traces = vec![0; WEIGHT_WORDS as usize];
        traces[3] = 2_000_000;
        assert!(!reinforce(&mut weights, &traces, 0));
        assert_eq!(weights, innate);
        assert!(reinforce(&mut weights, &traces, REWARD_ONE));
        assert_eq!(weights[3], innate[3] + STEP_LIMIT);
        assert!(weights[4] < innate[4]);
        for _ in 0..200 {
            reinforce(&mut weights, &traces, reward_units(1e300));
        }
        assert!(
            weights
                .iter()
                .zip(&innate)
                .all(|(weight, innate)| (weight - innate).abs() <= RANGE)
        );
        assert_eq!(weights[3], innate[3] + RANGE);
        traces.fill(i32::MIN);
        reinforce(&mut weights, &traces, reward_units(-1e300));
    }

    #[test]
    fn rewards_are_rounded_and_bounded() {
        for (sum, units) in [
            (0.0, 0),
            (1.0, 256),
            (-0.5, -128),
            (1e18, REWARD_LIMIT),
            (0.001, 0),
        ] {
            assert_eq!(reward_units(sum), units);
        }
    }
}
