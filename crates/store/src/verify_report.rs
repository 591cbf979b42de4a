//! Whether a generation is whole, in the shape a front end shows.

use serde::Serialize;
use wellwritten_envelope::{Digest, Id, U64};

use crate::damage::Damage;

/// What [`StoreReader::verify`](crate::StoreReader::verify) found. Every check of length, digest,
/// envelope and record passed, or `damage` says which did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct VerifyReport {
    /// The generation.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// Its file.
    pub file: String,
    /// Its length as committed, in bytes; a decimal string in JSON.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub byte_length: U64,
    /// BLAKE3 of the file as committed.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub envelope_digest: Digest,
    /// Whether it is whole.
    pub verified: bool,
    /// The first thing wrong with it.
    pub damage: Option<DamageReport>,
}

impl VerifyReport {
    /// Whether the file is gone.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        let damage = self.damage.as_ref();
        damage.is_some_and(|damage| damage.kind == DamageKind::Missing)
    }
}

/// [`Damage`] for a front end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(
    feature = "wire",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct DamageReport {
    /// Its kind.
    pub kind: DamageKind,
    /// In words, with both values.
    pub message: String,
}

/// The kinds of [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
#[cfg_attr(feature = "wire", derive(serde::Deserialize))]
pub enum DamageKind {
    /// The file is gone.
    Missing,
    /// The medium cannot read the file.
    Unreadable,
    /// Another length than was committed.
    Length,
    /// Other bytes than were committed.
    Digest,
    /// Not an envelope.
    Envelope,
    /// The store's record differs from the envelope.
    Record,
}

impl From<&Damage> for DamageReport {
    fn from(damage: &Damage) -> Self {
        let kind = match damage {
            Damage::Missing { .. } => DamageKind::Missing,
            Damage::Unreadable { .. } => DamageKind::Unreadable,
            Damage::Length { .. } => DamageKind::Length,
            Damage::Digest { .. } => DamageKind::Digest,
            Damage::Envelope { .. } => DamageKind::Envelope,
            Damage::Record { .. } => DamageKind::Record,
        };
        Self {
            kind,
            message: damage.to_string(),
        }
    }
}
