//! [`Scope`]: which boundary of which timeline.

use serde::{Deserialize, Serialize};

use crate::{Id, U64};

/// One boundary of one epoch of one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Scope {
    /// The session.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub session_id: Id,
    /// The uninterrupted timeline within it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The boundary: how many transitions the timeline has behind it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub step: U64,
}
