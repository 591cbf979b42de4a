//! [`TickClock`]: how many ticks a step holds, exactly.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{RationalError, RationalNs};

/// Counts whole ticks out of intervals and carries what is left over.
///
/// 60 Hz steps over 1 ms ticks give 16, 17, 17: nothing is rounded, so nothing drifts. Part of an agent's
/// captured state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TickClock {
    tick_duration: RationalNs,
    remainder: RationalNs,
}

impl TickClock {
    /// A clock with nothing left over.
    #[must_use]
    pub const fn new(tick_duration: RationalNs) -> Self {
        Self {
            tick_duration,
            remainder: RationalNs::ZERO,
        }
    }

    /// A clock that carries on with a remainder from a checkpoint, less than one tick.
    pub fn with_remainder(
        tick_duration: RationalNs,
        remainder: RationalNs,
    ) -> Result<Self, TickClockError> {
        if remainder >= tick_duration {
            return Err(TickClockError::Remainder {
                remainder,
                tick_duration,
            });
        }
        Ok(Self {
            tick_duration,
            remainder,
        })
    }

    /// Adds an interval and takes the whole ticks out of it. An error changes nothing.
    pub fn advance(&mut self, interval: RationalNs) -> Result<u64, TickClockError> {
        if interval.is_zero() {
            return Err(TickClockError::ZeroInterval);
        }
        let (ticks, remainder) = self
            .remainder
            .checked_add(interval)?
            .div_floor(self.tick_duration)?;
        self.remainder = remainder;
        Ok(ticks)
    }

    /// What is left over: at least zero, less than one tick.
    #[must_use]
    pub const fn remainder(&self) -> RationalNs {
        self.remainder
    }

    /// Logical time of one tick.
    #[must_use]
    pub const fn tick_duration(&self) -> RationalNs {
        self.tick_duration
    }
}

/// Why a clock did not tick. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TickClockError {
    /// No time would pass.
    #[error("an interval is above zero")]
    ZeroInterval,
    /// A remainder of a tick or more.
    #[error("a remainder of {remainder:?} is not less than a tick of {tick_duration:?}")]
    Remainder {
        /// The refused remainder.
        remainder: RationalNs,
        /// One tick.
        tick_duration: RationalNs,
    },
    /// The exact value does not fit.
    #[error("the clock cannot hold the exact time: {0}")]
    Arithmetic(#[from] RationalError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_hertz_over_milliseconds_is_16_17_17() {
        let interval = RationalNs::new(50_000_000, 3).unwrap();
        let mut clock = TickClock::new(RationalNs::from_nanoseconds(1_000_000));
        let steps: Vec<(u64, RationalNs)> = (0..3)
            .map(|_| (clock.advance(interval).unwrap(), clock.remainder()))
            .collect();
        assert_eq!(
            steps,
            [
                (16, RationalNs::new(2_000_000, 3).unwrap()),
                (17, RationalNs::new(1_000_000, 3).unwrap()),
                (17, RationalNs::ZERO),
            ]
        );
        assert_eq!(
            clock.advance(RationalNs::ZERO),
            Err(TickClockError::ZeroInterval)
        );
    }
}
