//! What an envelope says of itself, against what the store says of it.

use wellwritten_envelope::{Compatibility, Digest, Id, Manifest, U64, decode, digest_json};

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

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::testing::SampleGeneration;

    type Change = fn(&mut GenerationInfo);

    fn other() -> Id {
        "other".parse().unwrap()
    }

    #[test]
    fn every_field_that_both_say_is_compared() {
        let sample = SampleGeneration::new("a", "e1", 10);
        let digest = Digest::blake3(&sample.bytes);
        let record = record_of(&sample.manifest, digest, sample.bytes.len() as u64);
        assert_eq!(require_recorded(&record, &sample.bytes), Ok(()));
        let changes: [(RecordField, Change); 6] = [
            (RecordField::CheckpointId, |one| one.checkpoint_id = other()),
            (RecordField::SessionId, |one| one.session_id = other()),
            (RecordField::Epoch, |one| one.epoch = other()),
            (RecordField::EpisodeId, |one| one.episode_id = other()),
            (RecordField::Boundary, |one| one.boundary = U64(11)),
            (RecordField::CompatibilityDigest, |one| {
                one.compatibility_digest = Digest::blake3(b"other");
            }),
        ];
        for (expected, change) in changes {
            let mut differing = record.clone();
            change(&mut differing);
            match require_recorded(&differing, &sample.bytes) {
                Err(Damage::Record {
                    field,
                    recorded,
                    found,
                }) => assert!(field == expected && recorded != found, "{field}"),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }
}
