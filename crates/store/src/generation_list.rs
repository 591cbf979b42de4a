//! [`GenerationList`]: what a store holds, in the shape a front end shows.

use serde::Serialize;
use wellwritten_envelope::Id;

use crate::generation_info::GenerationInfo;

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct GenerationList {
    /// Every generation, oldest commit first.
    pub generations: Vec<ListedGeneration>,
    /// The one a session last resumed from, as long as it is listed.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub resumed_from: Option<Id>,
    /// Checkpoints whose files were there when the store had no manifest: kept aside, and never removed.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub unlisted: Vec<Id>,
}

/// One generation and its place among the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct ListedGeneration {
    /// Its record.
    pub info: GenerationInfo,
    /// Whether no rotation and no pruning drops it.
    pub pinned: bool,
    /// Whether it is in no part of the timeline: a future that was left behind, or an import. It is restored only by
    /// its name.
    pub abandoned: bool,
    /// Whether it is the newest that was not abandoned.
    pub is_latest: bool,
}
