//! Comparing what a checkpoint needs with what a session has.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Compatibility;

/// A field of [`Compatibility`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum CompatibilityField {
    /// The world's backend.
    Backend,
    /// The world's content.
    Content,
    /// Patches applied to the content.
    Patch,
    /// The controller schema.
    Controller,
    /// The parser of inspections.
    Parser,
    /// The format of the participants' payloads.
    StateFormat,
}

/// One field in which a stored checkpoint and a running session differ: reason enough to refuse a
/// restore before anybody stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[error("the checkpoint's {field} is {stored}, the running session's is {running}")]
pub struct CompatibilityDifference {
    /// Which field.
    pub field: CompatibilityField,
    /// What the checkpoint holds: a digest or a format id.
    pub stored: String,
    /// What the session has.
    pub running: String,
}

impl CompatibilityField {
    /// The name used in JSON and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Content => "content",
            Self::Patch => "patch",
            Self::Controller => "controller",
            Self::Parser => "parser",
            Self::StateFormat => "state-format",
        }
    }
}

impl fmt::Display for CompatibilityField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Every field in which the two differ, in declaration order; empty where a restore may go on.
#[must_use]
pub fn compare_compatibility(
    stored: &Compatibility,
    running: &Compatibility,
) -> Vec<CompatibilityDifference> {
    let fields = |side: &Compatibility| {
        [
            (CompatibilityField::Backend, side.backend_digest.to_string()),
            (CompatibilityField::Content, side.content_digest.to_string()),
            (CompatibilityField::Patch, side.patch_digest.to_string()),
            (
                CompatibilityField::Controller,
                side.controller_digest.to_string(),
            ),
            (CompatibilityField::Parser, side.parser_digest.to_string()),
            (
                CompatibilityField::StateFormat,
                side.state_format_id.to_string(),
            ),
        ]
    };
    fields(stored)
        .into_iter()
        .zip(fields(running))
        .filter(|((_, stored), (_, running))| stored != running)
        .map(|((field, stored), (_, running))| CompatibilityDifference {
            field,
            stored,
            running,
        })
        .collect()
}
