//! [`RestoreReport`]: what a restore did.

use serde::Serialize;
use wellwritten_envelope::Id;

/// What to restore, and as what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreRequest {
    /// The checkpoint; the newest one that fits where none is named.
    pub checkpoint_id: Option<Id>,
    /// The epoch to go on under; the next unused one where none is named.
    pub epoch: Option<Id>,
    /// Whether an older generation may stand in for a damaged newest one.
    pub fallback: bool,
}

/// A generation that was passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SkippedGeneration {
    /// The checkpoint.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// Why.
    pub reason: String,
}

/// Transitions that were taken and are no part of the timeline any more: from boundary `from` to boundary `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct AbandonedSteps {
    /// The boundary that was restored.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub from: u64,
    /// The last boundary that had been committed.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub to: u64,
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct RestoreReport {
    /// The checkpoint that was restored.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// The epoch the checkpoint was taken in.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub source_epoch: Id,
    /// The epoch that was left: the one that failed, or, for a coordinator that just came up, the checkpoint's.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub from_epoch: Id,
    /// The epoch that goes on.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub to_epoch: Id,
    /// The boundary it goes on from.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub boundary: u64,
    /// What was abandoned, where this coordinator knows of any.
    pub abandoned: Option<AbandonedSteps>,
    /// Newer generations that were passed over.
    pub skipped: Vec<SkippedGeneration>,
    /// What the store could not record about the restore. The session runs; a restart would take the newest
    /// generation instead of continuing from this one.
    pub store_warning: Option<String>,
}
