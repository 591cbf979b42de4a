//! What opening a store found and did.

use serde::Serialize;
use wellwritten_envelope::Id;

/// What [`Store::open`](crate::Store::open) found and removed, for a person to see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct OpenReport {
    /// Whether there was a store manifest; without one the store is empty.
    pub manifest_found: bool,
    /// Leftovers of commits that did not finish and of rotations, now removed.
    pub removed: Vec<LeftoverFile>,
    /// Leftovers that stayed, each with the reason.
    pub kept: Vec<KeptFile>,
    /// Generations that are listed and whose file is gone.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub missing: Vec<Id>,
}

/// A file that no manifest lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct LeftoverFile {
    /// Its name.
    pub file: String,
    /// Its length in bytes; a decimal string in JSON.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub byte_length: wellwritten_envelope::U64,
}

/// A leftover that was not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct KeptFile {
    /// Its name.
    pub file: String,
    /// Why it stayed.
    pub reason: KeptReason,
    /// The reason in words.
    pub message: String,
}

/// Why a leftover stayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "wire", derive(serde::Deserialize))]
#[non_exhaustive]
pub enum KeptReason {
    /// It is a generation that was there when the store manifest was not, so it may be all that is left of
    /// a store whose manifest vanished. It stays, whatever is committed since, until a person removes it.
    NoManifest,
    /// The medium could not confirm that the manifest in place survives a crash, and the one before it
    /// may list this file.
    ManifestNotDurable,
    /// The medium did not remove it; the next commit tries again.
    RemovalFailed,
}
