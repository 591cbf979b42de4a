//! [`SampleBudget`]: how many sample frames a step holds, exactly.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{RationalError, RationalNs, U64};

use crate::{AudioDescriptor, AudioRef, TickClock, TickClockError};

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// The sample frames of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSpan {
    /// The first, counted from the episode's beginning.
    pub first_sample: u64,
    /// How many, 0 to [`AudioRef::MAX_SAMPLE_FRAMES`].
    pub sample_frames: u32,
}

/// Counts whole sample frames out of steps and carries what is left over.
///
/// For worlds that sound. 8 kHz at 60 Hz is 133, 133, 134 frames and 48 kHz is 800 each: nothing is rounded, so a step
/// that does not divide the rate still lands on whole samples and never drifts. Part of a world's captured state:
/// it serializes, and a state that no budget can be in does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "CapturedBudget", try_from = "CapturedBudget")]
pub struct SampleBudget {
    sample_rate: u32,
    /// Ticks once for each sample frame.
    clock: TickClock,
    next_sample: u64,
}

/// A budget as it is captured.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CapturedBudget {
    sample_rate: u32,
    remainder: RationalNs,
    next_sample: U64,
}

impl SampleBudget {
    /// The budget of an episode that begins, at so many sample frames in a second.
    pub fn new(sample_rate: u32) -> Result<Self, SampleBudgetError> {
        Ok(Self {
            sample_rate,
            clock: TickClock::new(frame_duration(sample_rate)?),
            next_sample: 0,
        })
    }

    /// Takes the whole frames out of one more step. An error changes nothing.
    pub fn advance(&mut self, step_duration: RationalNs) -> Result<SampleSpan, SampleBudgetError> {
        let mut clock = self.clock;
        let frames = clock.advance(step_duration)?;
        let sample_frames = u32::try_from(frames)
            .ok()
            .filter(|frames| *frames <= AudioRef::MAX_SAMPLE_FRAMES)
            .ok_or(SampleBudgetError::TooLong {
                sample_frames: frames,
                limit: AudioRef::MAX_SAMPLE_FRAMES,
            })?;
        let first_sample = self.next_sample;
        self.next_sample = first_sample
            .checked_add(frames)
            .ok_or(SampleBudgetError::Overflow { first_sample })?;
        self.clock = clock;
        Ok(SampleSpan {
            first_sample,
            sample_frames,
        })
    }

    /// Sample frames in a second.
    #[must_use]
    pub const fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// The sample frame that follows the last one taken.
    #[must_use]
    pub const fn next_sample(&self) -> u64 {
        self.next_sample
    }

    /// Time left over: at least zero, less than one sample frame lasts.
    #[must_use]
    pub const fn remainder(&self) -> RationalNs {
        self.clock.remainder()
    }
}

fn frame_duration(sample_rate: u32) -> Result<RationalNs, SampleBudgetError> {
    let (lowest, highest) = (
        AudioDescriptor::MIN_SAMPLE_RATE,
        AudioDescriptor::MAX_SAMPLE_RATE,
    );
    if !(lowest..=highest).contains(&sample_rate) {
        return Err(SampleBudgetError::SampleRate {
            sample_rate,
            lowest,
            highest,
        });
    }
    Ok(RationalNs::new(SECOND_NS, u64::from(sample_rate))?)
}

impl From<SampleBudget> for CapturedBudget {
    fn from(budget: SampleBudget) -> Self {
        Self {
            sample_rate: budget.sample_rate,
            remainder: budget.clock.remainder(),
            next_sample: U64(budget.next_sample),
        }
    }
}

impl TryFrom<CapturedBudget> for SampleBudget {
    type Error = SampleBudgetError;

    fn try_from(captured: CapturedBudget) -> Result<Self, SampleBudgetError> {
        let tick = frame_duration(captured.sample_rate)?;
        Ok(Self {
            sample_rate: captured.sample_rate,
            clock: TickClock::with_remainder(tick, captured.remainder)?,
            next_sample: captured.next_sample.0,
        })
    }
}

/// Why a budget gave no frames. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleBudgetError {
    /// A sample rate that no stream may have.
    #[error("a sample rate of {sample_rate}, allowed are {lowest} to {highest}")]
    SampleRate {
        /// The rate asked for, in hertz.
        sample_rate: u32,
        /// [`AudioDescriptor::MIN_SAMPLE_RATE`].
        lowest: u32,
        /// [`AudioDescriptor::MAX_SAMPLE_RATE`].
        highest: u32,
    },
    /// A step of more frames than a chunk holds.
    #[error("a step of {sample_frames} sample frames, a chunk holds at most {limit}")]
    TooLong {
        /// The frames of the step.
        sample_frames: u64,
        /// [`AudioRef::MAX_SAMPLE_FRAMES`].
        limit: u32,
    },
    /// The last sample there is has been reached.
    #[error("no step fits between sample {first_sample} and the last one there is")]
    Overflow {
        /// The next sample.
        first_sample: u64,
    },
    /// The step lasts no time, or a captured remainder is a frame or more.
    #[error("{0}")]
    Clock(#[from] TickClockError),
    /// The exact time does not fit.
    #[error("the budget cannot hold the exact time: {0}")]
    Arithmetic(#[from] RationalError),
}

#[cfg(test)]
mod tests {
    //! Oracle: after `n` steps exactly `floor(n * rate * step)` frames have been given, computed at once in 128 bits and
    //! never accumulated.

    use super::*;

    const SIXTY_HERTZ: (u64, u64) = (50_000_000, 3);

    fn frames(sample_rate: u32, step: (u64, u64), steps: usize) -> Vec<u32> {
        let mut budget = SampleBudget::new(sample_rate).unwrap();
        let step = RationalNs::new(step.0, step.1).unwrap();
        (0..steps)
            .map(|_| budget.advance(step).unwrap().sample_frames)
            .collect()
    }

    #[test]
    fn sixty_hertz_at_the_usual_rates() {
        assert_eq!(
            frames(8_000, SIXTY_HERTZ, 6),
            [133, 133, 134, 133, 133, 134]
        );
        assert_eq!(frames(48_000, SIXTY_HERTZ, 4), [800; 4]);
        assert_eq!(frames(44_100, SIXTY_HERTZ, 4), [735; 4]);
        assert_eq!(frames(8_000, (1_000, 1), 126)[124..], [1, 0]);
    }

    #[test]
    fn the_sum_is_exact_after_any_number_of_steps() {
        let steps = [
            SIXTY_HERTZ,
            (8_572_265_625, 512),
            (1_001_000_000, 60),
            (1, 1),
        ];
        for sample_rate in [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000] {
            for (numerator, denominator) in steps {
                let mut budget = SampleBudget::new(sample_rate).unwrap();
                let step = RationalNs::new(numerator, denominator).unwrap();
                for count in 1..=600_u128 {
                    let span = budget.advance(step).unwrap();
                    let due = count * u128::from(numerator) * u128::from(sample_rate)
                        / (u128::from(denominator) * u128::from(SECOND_NS));
                    assert_eq!(u128::from(budget.next_sample()), due);
                    let end = span.first_sample + u64::from(span.sample_frames);
                    assert_eq!(end, budget.next_sample());
                }
            }
        }
    }

    #[test]
    fn a_captured_budget_goes_on_where_it_was_and_an_impossible_one_does_not_read() {
        let step = RationalNs::new(50_000_000, 3).unwrap();
        let mut budget = SampleBudget::new(8_000).unwrap();
        budget.advance(step).unwrap();
        let text = serde_json::to_string(&budget).unwrap();
        assert_eq!(
            text,
            r#"{"sampleRate":8000,"remainder":{"numerator":"125000","denominator":"3"},"nextSample":"133"}"#
        );
        let mut resumed: SampleBudget = serde_json::from_str(&text).unwrap();
        for _ in 0..10 {
            assert_eq!(resumed.advance(step), budget.advance(step));
        }
        for broken in [
            text.replace("8000", "7999"),
            text.replace("8000", "192001"),
            text.replace("\"125000\"", "\"375000\""),
            text.replace("nextSample", "next"),
        ] {
            assert!(
                serde_json::from_str::<SampleBudget>(&broken).is_err(),
                "{broken}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let mut budget = SampleBudget::new(192_000).unwrap();
        let before = budget;
        let second = RationalNs::from_nanoseconds(SECOND_NS);
        let longer = RationalNs::new(SECOND_NS * 192_001, 192_000).unwrap();
        assert_eq!(
            budget.advance(longer).unwrap_err().to_string(),
            "a step of 192001 sample frames, a chunk holds at most 192000"
        );
        assert!(budget.advance(RationalNs::ZERO).is_err());
        assert_eq!(budget, before);
        assert_eq!(budget.advance(second).unwrap().sample_frames, 192_000);
        let last = r#"{"sampleRate":8000,"remainder":{"numerator":"0","denominator":"1"},"nextSample":"18446744073709551615"}"#;
        let mut budget: SampleBudget = serde_json::from_str(last).unwrap();
        let before = budget;
        assert!(matches!(
            budget.advance(second),
            Err(SampleBudgetError::Overflow { .. })
        ));
        assert_eq!(budget, before);
        assert!(SampleBudget::new(7_999).is_err());
    }
}
