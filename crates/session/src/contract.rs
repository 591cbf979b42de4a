//! The digest of the protocol's messages.

use wellwritten_envelope::Digest;

/// Digest of the declaration of every message: types, fields, bounds, closed enumerations.
pub(crate) fn contract_digest() -> Digest {
    Digest::blake3(b"wellwritten/session-contract-v1")
}
