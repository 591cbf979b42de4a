//! [`RationalNs`]: logical time as an exact fraction of nanoseconds.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::U64;
use crate::object_only::object_only;

/// A non-negative, exact, reduced fraction of nanoseconds.
///
/// 60 Hz is 50000000/3 ns: no integer unit holds it, and a float would drift, so every clock is a
/// fraction. The denominator is positive, zero is `0/1`, and arithmetic is checked: it uses 128-bit
/// intermediates and fails where the reduced result does not fit two 64-bit parts. Each value has one
/// spelling, and reading refuses any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct RationalNs {
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    numerator: U64,
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    denominator: U64,
}

/// Why a fraction of nanoseconds is refused. No value changes; retrying fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RationalError {
    /// The denominator is zero.
    #[error("a time of {numerator}/0 ns has no value: the denominator must be positive")]
    ZeroDenominator {
        /// The numerator that came with it.
        numerator: u64,
    },
    /// A stored fraction that has a shorter spelling.
    #[error("{numerator}/{denominator} ns is not reduced: both parts divide by {divisor}")]
    NotReduced {
        /// The numerator found.
        numerator: u64,
        /// The denominator found.
        denominator: u64,
        /// Their greatest common divisor.
        divisor: u64,
    },
    /// A duration of zero.
    #[error("a duration must be longer than zero")]
    ZeroDuration,
    /// The exact result does not fit 64-bit parts.
    #[error("{left} {operation} {right} does not fit a fraction of two 64-bit parts")]
    Overflow {
        /// The left operand.
        left: RationalNs,
        /// What was asked: `+`, `-`, `*` or `/`.
        operation: char,
        /// The right operand.
        right: RationalNs,
    },
    /// The result would be below zero.
    #[error("{left} - {right} is negative, and time is not")]
    Negative {
        /// The left operand.
        left: RationalNs,
        /// The right operand.
        right: RationalNs,
    },
}

fn greatest_common_divisor(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

impl RationalNs {
    /// No time: `0/1`.
    pub const ZERO: Self = Self {
        numerator: U64(0),
        denominator: U64(1),
    };

    /// `numerator / denominator` nanoseconds, reduced.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, RationalError> {
        if denominator == 0 {
            return Err(RationalError::ZeroDenominator { numerator });
        }
        Ok(Self::reduced(numerator.into(), denominator.into())
            .expect("reducing 64-bit parts keeps them 64-bit"))
    }

    /// A duration: as [`RationalNs::new`], and longer than zero.
    pub fn duration(numerator: u64, denominator: u64) -> Result<Self, RationalError> {
        let duration = Self::new(numerator, denominator)?;
        if duration.is_zero() {
            return Err(RationalError::ZeroDuration);
        }
        Ok(duration)
    }

    /// Whole nanoseconds.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self {
            numerator: U64(nanoseconds),
            denominator: U64(1),
        }
    }

    /// The numerator, in nanoseconds times the denominator.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator.0
    }

    /// The denominator, at least 1.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator.0
    }

    /// Whether this is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.numerator.0 == 0
    }

    /// The nearest float, for display and plots only: logic stays exact.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the caller asked for the nearest float"
    )]
    pub fn to_f64_ns(self) -> f64 {
        self.numerator.0 as f64 / self.denominator.0 as f64
    }

    /// The exact sum.
    pub fn checked_add(self, other: Self) -> Result<Self, RationalError> {
        // Over the least common denominator. If the sum overflows 128 bits the two denominators share
        // no factor, so nothing could have been reduced and the result would not fit either.
        let (left, right, denominator) = self.over_common_denominator(other);
        left.checked_add(right)
            .and_then(|sum| Self::reduced(sum, denominator?))
            .ok_or(self.overflow('+', other))
    }

    /// The exact difference; a negative one is an error.
    pub fn checked_sub(self, other: Self) -> Result<Self, RationalError> {
        let (left, right, denominator) = self.over_common_denominator(other);
        let difference = left.checked_sub(right).ok_or(RationalError::Negative {
            left: self,
            right: other,
        })?;
        denominator
            .and_then(|denominator| Self::reduced(difference, denominator))
            .ok_or(self.overflow('-', other))
    }

    /// The exact product with a whole number.
    pub fn checked_mul_u64(self, factor: u64) -> Result<Self, RationalError> {
        let product = u128::from(self.numerator.0) * u128::from(factor);
        Self::reduced(product, self.denominator.0.into())
            .ok_or(self.overflow('*', Self::from_nanoseconds(factor)))
    }

    /// How many whole `tick`s fit, and the exact time left over (less than `tick`).
    ///
    /// A clock that is advanced by a step of another length keeps the remainder and adds it to the
    /// next step: 60 Hz steps over 1 ms ticks give 16, 17, 17 and no drift.
    pub fn div_floor(self, tick: Self) -> Result<(u64, Self), RationalError> {
        if tick.is_zero() {
            return Err(RationalError::ZeroDuration);
        }
        let dividend = u128::from(self.numerator.0) * u128::from(tick.denominator.0);
        let divisor = u128::from(self.denominator.0) * u128::from(tick.numerator.0);
        let denominator = u128::from(self.denominator.0) * u128::from(tick.denominator.0);
        u64::try_from(dividend / divisor)
            .ok()
            .zip(Self::reduced(dividend % divisor, denominator))
            .ok_or(self.overflow('/', tick))
    }

    /// Both numerators over the least common denominator, which is `None` beyond 128 bits (it never
    /// is: two 64-bit factors).
    fn over_common_denominator(self, other: Self) -> (u128, u128, Option<u128>) {
        let left = u128::from(self.denominator.0);
        let right = u128::from(other.denominator.0);
        let shared = greatest_common_divisor(left, right);
        (
            u128::from(self.numerator.0) * (right / shared),
            u128::from(other.numerator.0) * (left / shared),
            (left / shared).checked_mul(right),
        )
    }

    /// Reduces; `None` where a part does not fit 64 bits. The denominator is positive.
    fn reduced(numerator: u128, denominator: u128) -> Option<Self> {
        let divisor = greatest_common_divisor(numerator, denominator);
        Some(Self {
            numerator: U64(u64::try_from(numerator / divisor).ok()?),
            denominator: U64(u64::try_from(denominator / divisor).ok()?),
        })
    }

    const fn overflow(self, operation: char, right: Self) -> RationalError {
        RationalError::Overflow {
            left: self,
            operation,
            right,
        }
    }
}

impl Default for RationalNs {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for RationalNs {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator.0) * u128::from(other.denominator.0);
        let right = u128::from(other.numerator.0) * u128::from(self.denominator.0);
        left.cmp(&right)
    }
}

impl PartialOrd for RationalNs {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RationalNs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{} ns", self.numerator, self.denominator)
    }
}

impl<'de> Deserialize<'de> for RationalNs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Parts {
            numerator: U64,
            denominator: U64,
        }
        let parts: Parts = object_only(deserializer)?;
        let (numerator, denominator) = (parts.numerator.0, parts.denominator.0);
        let value = Self::new(numerator, denominator).map_err(serde::de::Error::custom)?;
        if value.denominator.0 != denominator {
            return Err(serde::de::Error::custom(RationalError::NotReduced {
                numerator,
                denominator,
                divisor: denominator / value.denominator.0,
            }));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(numerator: u64, denominator: u64) -> RationalNs {
        RationalNs::new(numerator, denominator).unwrap()
    }

    /// Ticks and remainders of `count` steps, each carrying the remainder of the last.
    fn accumulate(step: RationalNs, tick: RationalNs, count: usize) -> Vec<(u64, RationalNs)> {
        let mut remainder = RationalNs::ZERO;
        (0..count)
            .map(|_| {
                let (ticks, left) = remainder
                    .checked_add(step)
                    .unwrap()
                    .div_floor(tick)
                    .unwrap();
                remainder = left;
                (ticks, left)
            })
            .collect()
    }

    #[test]
    fn sixty_hertz_over_one_millisecond_is_16_17_17() {
        assert_eq!(
            accumulate(ns(50_000_000, 3), ns(1_000_000, 1), 3),
            [
                (16, ns(2_000_000, 3)),
                (17, ns(1_000_000, 3)),
                (17, RationalNs::ZERO)
            ]
        );
    }

    #[test]
    fn the_other_recorded_cadences() {
        let tick = ns(1_000_000, 1);
        assert_eq!(
            accumulate(ns(16_000_000, 1), tick, 2),
            [(16, RationalNs::ZERO), (16, RationalNs::ZERO)]
        );
        let half = accumulate(ns(500_000, 1), tick, 2);
        assert_eq!(half, [(0, ns(500_000, 1)), (1, RationalNs::ZERO)]);
        let handheld: Vec<u64> = accumulate(ns(8_572_265_625, 512), tick, 6)
            .into_iter()
            .map(|(ticks, _)| ticks)
            .collect();
        assert_eq!(handheld, [16, 17, 17, 16, 17, 17]);
    }

    #[test]
    fn arithmetic_is_checked() {
        let largest = ns(u64::MAX, 1);
        assert!(matches!(
            largest.checked_add(ns(1, 2)),
            Err(RationalError::Overflow { operation: '+', .. })
        ));
        assert!(largest.checked_mul_u64(2).is_err());
        assert!(matches!(
            ns(1, 3).checked_sub(ns(1, 2)),
            Err(RationalError::Negative { .. })
        ));
        assert_eq!(ns(1, 2).checked_sub(ns(1, 3)), Ok(ns(1, 6)));
        assert_eq!(ns(1, 6).checked_add(ns(1, 3)), Ok(ns(1, 2)));
        assert_eq!(ns(1, 6).checked_mul_u64(4), Ok(ns(2, 3)));
        assert_eq!(
            RationalNs::new(1, 0),
            Err(RationalError::ZeroDenominator { numerator: 1 })
        );
        assert_eq!(RationalNs::duration(0, 5), Err(RationalError::ZeroDuration));
        assert_eq!(
            ns(5, 1).div_floor(RationalNs::ZERO),
            Err(RationalError::ZeroDuration)
        );
    }

    #[test]
    fn extreme_parts_neither_panic_nor_wrap() {
        let extremes = [0, 1, 2, 3, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let values: Vec<RationalNs> = extremes
            .iter()
            .flat_map(|&numerator| {
                extremes
                    .iter()
                    .filter_map(move |&denominator| RationalNs::new(numerator, denominator).ok())
            })
            .collect();
        let mut compared = 0;
        for &left in &values {
            for &right in &values {
                if let Ok(sum) = left.checked_add(right) {
                    assert_eq!(sum.checked_sub(right), Ok(left));
                    assert!(sum >= left && sum >= right);
                    compared += 1;
                }
                if let Ok((count, remainder)) = left.div_floor(right) {
                    assert!(remainder < right);
                    if let Ok(product) = right.checked_mul_u64(count) {
                        assert_eq!(product.checked_add(remainder), Ok(left));
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 500, "only {compared} results were compared");
    }

    #[test]
    fn only_the_reduced_spelling_is_read() {
        let read = |text: &str| serde_json::from_str::<RationalNs>(text);
        assert_eq!(
            read(r#"{"numerator":"50000000","denominator":"3"}"#).unwrap(),
            ns(50_000_000, 3)
        );
        assert!(read(r#"{"numerator":"2","denominator":"4"}"#).is_err());
        assert!(read(r#"{"numerator":"0","denominator":"2"}"#).is_err());
        assert!(read(r#"{"numerator":"1","denominator":"0"}"#).is_err());
        assert!(read(r#"["1","2"]"#).is_err());
        assert!(read(r#"{"numerator":"1","denominator":"1","unit":"ns"}"#).is_err());
        assert_eq!(
            serde_json::to_string(&RationalNs::ZERO).unwrap(),
            r#"{"numerator":"0","denominator":"1"}"#
        );
    }
}
