//! Canonical JSON (RFC 8785) and the digest of a value.

use serde::Serialize;

use crate::Digest;

/// Why a value has no canonical JSON. Nothing is written; retrying the same value fails again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The value does not map to JSON: a non-finite number, a key that is not a string, or its own
    /// `Serialize` refused.
    #[error("the value has no canonical JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

/// The one spelling of `value` under RFC 8785: keys in UTF-16 order, ECMAScript numbers, no space.
pub fn canonical_json<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    Ok(serde_json_canonicalizer::to_vec(value)?)
}

/// BLAKE3 of the canonical JSON of `value`.
pub fn digest_json<T: Serialize>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::blake3(&canonical_json(value)?))
}
