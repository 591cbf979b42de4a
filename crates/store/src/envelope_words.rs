//! What an envelope says of itself, against what the store says of it.

use wellwritten_envelope::{
    Compatibility, Digest, EnvelopeError, Manifest, decode, decode_header, digest_json,
};

use crate::commit::{CommitError, GenerationBytes};
use crate::damage::Damage;
use crate::generation_info::GenerationInfo;

/// The `compatibilityDigest` of a generation: BLAKE3 of the canonical JSON of its envelope's
/// `compatibility` block.
#[must_use]
pub fn compatibility_digest(compatibility: &Compatibility) -> Digest {
    digest_json(compatibility).expect("a compatibility block is an object of strings")
}

/// A field of a generation's record, and both values.
struct Difference {
    field: &'static str,
    recorded: String,
    found: String,
}

/// Checks the record of a commit against the envelope it comes with, without hashing the payloads: the
/// writer just encoded them, and a second pass over them would be for nothing.
pub(crate) fn require_stated(generation: &GenerationBytes<'_>) -> Result<(), CommitError> {
    let head =
        decode_header(generation.bytes, generation.bytes.len() as u64).map_err(|source| {
            CommitError::NotAnEnvelope {
                source: Box::new(source),
            }
        })?;
    let recorded = [
        generation.checkpoint_id.to_string(),
        generation.session_id.to_string(),
        generation.epoch.to_string(),
        generation.episode_id.to_string(),
        generation.boundary.to_string(),
        generation.compatibility_digest.to_string(),
    ];
    first_difference(recorded, &head.manifest).map_or(Ok(()), |difference| {
        Err(CommitError::RecordDisagrees {
            field: difference.field,
            stated: difference.recorded,
            found: difference.found,
        })
    })
}

/// Checks a generation's bytes by every rule of the format, payload digests included, and its record
/// against them.
pub(crate) fn require_recorded(generation: &GenerationInfo, bytes: &[u8]) -> Result<(), Damage> {
    let not_an_envelope = |source: EnvelopeError| Damage::Envelope {
        source: Box::new(source),
    };
    let envelope = decode(bytes).map_err(not_an_envelope)?;
    let recorded = [
        generation.checkpoint_id.to_string(),
        generation.session_id.to_string(),
        generation.epoch.to_string(),
        generation.episode_id.to_string(),
        generation.boundary.to_string(),
        generation.compatibility_digest.to_string(),
    ];
    first_difference(recorded, &envelope.manifest).map_or(Ok(()), |difference| {
        Err(Damage::Record {
            field: difference.field,
            recorded: difference.recorded,
            found: difference.found,
        })
    })
}

/// The order of `recorded` is that of the fields here.
fn first_difference(recorded: [String; 6], manifest: &Manifest) -> Option<Difference> {
    let scope = &manifest.source_scope;
    let said = [
        ("checkpointId", manifest.checkpoint_id.to_string()),
        ("sessionId", scope.session_id.to_string()),
        ("epoch", scope.epoch.to_string()),
        ("episodeId", manifest.episode_id.to_string()),
        ("boundary", scope.step.to_string()),
        (
            "compatibilityDigest",
            compatibility_digest(&manifest.compatibility).to_string(),
        ),
    ];
    recorded
        .into_iter()
        .zip(said)
        .find(|(recorded, (_, found))| recorded != found)
        .map(|(recorded, (field, found))| Difference {
            field,
            recorded,
            found,
        })
}
