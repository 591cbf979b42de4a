//! Canonical JSON (RFC 8785) and the digest of a value.

use serde::Serialize;
use serde_json::Value;

use crate::canonical_writer::CanonicalWriter;
use crate::{Digest, PlainError};

/// Why a value has no canonical JSON. Nothing is written; retrying the same value fails again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The value does not map to JSON: a non-finite number, a key that is neither text nor an integer, or its
    /// own `Serialize` refused.
    #[error("the value has no canonical JSON: {0}")]
    NotJson(#[from] PlainError),
}

/// The one spelling of `value` under RFC 8785: keys in UTF-16 order, ECMAScript numbers, no space.
///
/// # Errors
/// [`CanonicalError::NotJson`].
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    Ok(CanonicalWriter::text_of(value)?.into_bytes())
}

/// BLAKE3 of the canonical JSON of `value`.
///
/// # Errors
/// As [`canonical_json`].
pub fn digest_json<T: Serialize + ?Sized>(value: &T) -> Result<Digest, CanonicalError> {
    Ok(Digest::blake3(&canonical_json(value)?))
}

/// The canonical spelling of a JSON value; every one has it.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    CanonicalWriter::text_of(value).expect("a JSON value holds only what JSON can say")
}
