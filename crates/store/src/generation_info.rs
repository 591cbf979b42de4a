//! One committed generation, as the store manifest lists it and a front end shows it.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Digest, Id, U64};

/// The record of one generation. Every word of it but `file`, `envelopeDigest` and `byteLength` is also
/// said by the envelope itself; [`StoreReader::verify`](crate::StoreReader::verify) compares the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct GenerationInfo {
    /// The checkpoint's name; used once in a store.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// The file that holds it: a plain name inside the store.
    pub file: String,
    /// The session that was saved.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub session_id: Id,
    /// The timeline it belongs to.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The episode it belongs to.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub episode_id: Id,
    /// The committed boundary it holds; a decimal string in JSON.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub boundary: U64,
    /// BLAKE3 of the canonical JSON of the envelope's `compatibility` block.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub compatibility_digest: Digest,
    /// BLAKE3 of the whole file, whatever the envelope's version digests with.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub envelope_digest: Digest,
    /// Length of the file in bytes; a decimal string in JSON.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub byte_length: U64,
}
