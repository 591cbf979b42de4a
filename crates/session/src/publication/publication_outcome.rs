//! [`PublicationOutcome`]: what became of publishing a boundary.

use serde::Serialize;
use wellwritten_envelope::U64;

/// What became of publishing a boundary. None of these changes anything about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicationOutcome {
    /// It stands: it is what queries answer, and every subscription has it or will.
    Accepted {
        /// Its sequence number.
        sequence: U64,
        /// Subscriptions in which it took the place of an earlier one nobody had taken.
        replaced: u32,
    },
    /// The host's gate has no room. What was published before still stands; the next boundary is offered anew.
    RefusedByObserver,
    /// It could not be shown: it was not coherent, or the host's gate failed. What was published before still stands; the
    /// next boundary is offered anew.
    Faulted {
        /// Why, for a person.
        reason: String,
    },
}

impl PublicationOutcome {
    /// Whether the boundary was published.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }
}

/// Publications so far, by outcome, over every epoch of a coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct PublicationCounts {
    /// Accepted: the sequence number of the last one.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub accepted: u64,
    /// Refused by the host's gate.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub refused: u64,
    /// Faulted.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub faulted: u64,
    /// Why the last one that faulted did, for a person.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub last_fault: Option<String>,
    /// Subscriptions there are.
    pub subscriptions: u32,
}
