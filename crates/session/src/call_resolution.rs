//! [`CallResolution`]: how it ended with a call whose answer did not come in time.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, U64};

/// How an uncertain call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum ResolutionOutcome {
    /// The first dispatch or a later one was answered.
    Answered,
    /// The route ended.
    RouteEnded,
    /// The participant got no further for as long as may be.
    BudgetExpired,
    /// As many questions were asked as may be.
    AttemptsExhausted,
}

/// A call whose answer did not come in time, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct CallResolution {
    /// Who was asked.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub participant: Id,
    /// What.
    pub method: String,
    /// Under which name: `req-<n>`.
    pub request_id: String,
    /// How often it was sent, the first time included.
    pub dispatches: u32,
    /// Questions about its status.
    pub status_queries: u32,
    /// How long it took in all, in nanoseconds.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub waited_ns: U64,
    /// How it ended.
    pub outcome: ResolutionOutcome,
}
