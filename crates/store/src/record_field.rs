//! [`RecordField`]: what a store's record and the envelope it is of both say.

use std::fmt;

/// A field of a generation's record that the envelope itself says too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "wire", serde(rename_all = "camelCase"))]
pub enum RecordField {
    /// `checkpointId`.
    CheckpointId,
    /// `sessionId`.
    SessionId,
    /// `epoch`.
    Epoch,
    /// `episodeId`.
    EpisodeId,
    /// `boundary`.
    Boundary,
    /// `compatibilityDigest`.
    CompatibilityDigest,
}

impl fmt::Display for RecordField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CheckpointId => "checkpointId",
            Self::SessionId => "sessionId",
            Self::Epoch => "epoch",
            Self::EpisodeId => "episodeId",
            Self::Boundary => "boundary",
            Self::CompatibilityDigest => "compatibilityDigest",
        })
    }
}
