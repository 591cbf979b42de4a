//! The identities that cross this crate's surface. None is ever reused by one manager.

use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};

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

/// Identity of one unit of work: a launch, a copy or a host write. Never reused, and of no effect with any
/// manager but the one that handed it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitId {
    pub(crate) key: UnitKey,
    /// The number of the manager, which no other has in this process.
    pub(crate) manager: usize,
}

/// A unit of work inside its manager: the slot of the unit table, and how many units had that slot before, so
/// that finding the unit takes no search. The number says nothing about age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UnitKey(NonZeroU64);

/// Identity of one logical stream of work. Callers choose it; a bounded number of pooled streams serve all of
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct StreamId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] pub u64);

/// Identity of one submission. The device mints it, and uses each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SubmissionId(#[cfg_attr(feature = "typescript", tsify(type = "bigint"))] pub u64);

/// What every identity that this crate hands out can do.
macro_rules! minted {
    ($name:ident, $word:literal) => {
        impl $name {
            /// The number itself.
            #[must_use]
            pub fn get(self) -> u64 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!($word, " {}"), self.0)
            }
        }
    };
}

/// Identities handed out one after the other.
macro_rules! counted {
    ($name:ident) => {
        impl $name {
            /// The id with this number; `None` for zero, which no id has.
            #[must_use]
            pub fn from_u64(number: u64) -> Option<Self> {
                NonZeroU64::new(number).map(Self)
            }

            /// The first id a counter hands out.
            pub(crate) const FIRST: Self = Self(NonZeroU64::MIN);

            /// Hands out the counter's value and moves it on. 2^64 ids outlast any process.
            #[inline]
            pub(crate) fn mint(counter: &mut Self) -> Self {
                let minted = *counter;
                counter.0 = counter
                    .0
                    .checked_add(1)
                    .expect("2^64 identities were minted");
                minted
            }
        }
    };
}

minted!(BufferId, "buffer");
minted!(FailureId, "failure");
impl BufferId {
    /// An id that is never handed out: minting it would take 2^64 buffers.
    pub(crate) const LAST: Self = Self(NonZeroU64::MAX);
}

counted!(BufferId);
counted!(FailureId);

impl UnitKey {
    /// The unit in `slot`, whose tenants are counted from 1 by `generation`.
    #[inline]
    pub(crate) fn new(slot: u32, generation: NonZeroU32) -> Self {
        let generation = NonZeroU64::from(generation).get() << 32;
        Self(NonZeroU64::new(generation | u64::from(slot)).expect("the generation is not zero"))
    }

    /// The slot of the unit table that this unit has or had.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low half is the slot, the high half the generation"
    )]
    pub(crate) fn slot(self) -> u32 {
        self.0.get() as u32
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "stream {}", self.0)
    }
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "submission {}", self.0)
    }
}
