//! The identities that cross this crate's surface. None is ever reused by one manager.

use core::fmt;
use core::num::NonZeroU64;

/// Identity of one allocation: never reused, also not after a device loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct BufferId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] NonZeroU64);

/// Identity of one failure in the error graph: never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct FailureId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] NonZeroU64);

/// Identity of one unit of work: a launch, a copy or a host write. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct UnitId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] NonZeroU64);

/// Identity of one submission. The device mints it, and uses each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SubmissionId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] pub u64);

macro_rules! minted {
    ($name:ident, $word:literal) => {
        impl $name {
            /// The number itself.
            #[must_use]
            pub fn get(self) -> u64 {
                self.0.get()
            }

            /// The id with this number; `None` for zero, which no id has.
            #[must_use]
            pub fn from_u64(number: u64) -> Option<Self> {
                NonZeroU64::new(number).map(Self)
            }

            /// The first id a counter hands out.
            pub(crate) const FIRST: Self = Self(NonZeroU64::MIN);

            /// Hands out the counter's value and moves it on. 2^64 ids outlast any process.
            pub(crate) fn mint(counter: &mut Self) -> Self {
                let minted = *counter;
                counter.0 = counter
                    .0
                    .checked_add(1)
                    .expect("2^64 identities were minted");
                minted
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!($word, " {}"), self.0)
            }
        }
    };
}

minted!(BufferId, "buffer");
minted!(FailureId, "failure");
minted!(UnitId, "unit");

impl fmt::Display for SubmissionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "submission {}", self.0)
    }
}
