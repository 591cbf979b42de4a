//! What an envelope says of itself, against what the store says of it.

use wellwritten_envelope::{
    Compatibility, Digest, Id, Manifest, U64, decode, decode_header, digest_json,
};

use crate::commit::CommitError;
use crate::damage::Damage;
use crate::file_name;
use crate::generation_info::GenerationInfo;
use crate::record_field::RecordField;

/// The `compatibilityDigest` of a generation: BLAKE3 of the canonical JSON of its envelope's
/// `compatibility` block.
#[must_use]
pub fn compatibility_digest(compatibility: &Compatibility) -> Digest {
    digest_json(compatibility).expect("a compatibility block is an object of strings")
}

/// The record of the envelope with this manifest.
pub(crate) fn record_of(
    manifest: &Manifest,
    envelope_digest: Digest,
    byte_length: u64,
) -> GenerationInfo {
    let scope = &manifest.source_scope;
    GenerationInfo {
        checkpoint_id: manifest.checkpoint_id.clone(),
        file: file_name::generation(&manifest.checkpoint_id),
        session_id: scope.session_id.clone(),
        epoch: scope.epoch.clone(),
        episode_id: manifest.episode_id.clone(),
        boundary: scope.step,
        compatibility_digest: compatibility_digest(&manifest.compatibility),
        envelope_digest,
        byte_length: U64(byte_length),
    }
}

/// A field of a generation's record, and both values.
struct Difference {
    field: RecordField,
    recorded: String,
    found: String,
}

/// Checks the record of a commit against the envelope it comes with, without hashing the payloads: the
/// writer just encoded them, and a second pass over them would be for nothing.
pub(crate) fn require_stated(record: &GenerationInfo, bytes: &[u8]) -> Result<(), CommitError> {
    let head =
        decode_header(bytes, bytes.len() as u64).map_err(|error| CommitError::NotAnEnvelope {
            source: error.into(),
        })?;
    first_difference(record, &head.manifest).map_or(Ok(()), |difference| {
        Err(CommitError::RecordDisagrees {
            field: difference.field,
            stated: difference.recorded,
            found: difference.found,
        })
    })
}

/// Checks a generation's bytes by every rule of the format, payload digests included, and its record
/// against them.
pub(crate) fn require_recorded(record: &GenerationInfo, bytes: &[u8]) -> Result<(), Damage> {
    let envelope = decode(bytes).map_err(|error| Damage::Envelope {
        source: error.into(),
    })?;
    first_difference(record, &envelope.manifest).map_or(Ok(()), |difference| {
        Err(Damage::Record {
            field: difference.field,
            recorded: difference.recorded,
            found: difference.found,
        })
    })
}

fn first_difference(record: &GenerationInfo, manifest: &Manifest) -> Option<Difference> {
    let said = record_of(manifest, record.envelope_digest, record.byte_length.get());
    let difference = |field, recorded: String, found: String| {
        (recorded != found).then_some(Difference {
            field,
            recorded,
            found,
        })
    };
    let of_ids = |field, recorded: &Id, found: &Id| {
        difference(field, recorded.to_string(), found.to_string())
    };
    of_ids(
        RecordField::CheckpointId,
        &record.checkpoint_id,
        &said.checkpoint_id,
    )
    .or_else(|| of_ids(RecordField::SessionId, &record.session_id, &said.session_id))
    .or_else(|| of_ids(RecordField::Epoch, &record.epoch, &said.epoch))
    .or_else(|| of_ids(RecordField::EpisodeId, &record.episode_id, &said.episode_id))
    .or_else(|| {
        difference(
            RecordField::Boundary,
            record.boundary.to_string(),
            said.boundary.to_string(),
        )
    })
    .or_else(|| {
        difference(
            RecordField::CompatibilityDigest,
            record.compatibility_digest.to_string(),
            said.compatibility_digest.to_string(),
        )
    })
}
