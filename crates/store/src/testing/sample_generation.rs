//! A small whole generation to commit.

use std::sync::Arc;

use wellwritten_envelope::{
    Compatibility, CoordinatorEntry, Digest, EnvelopeVersion, EnvironmentEntry, EventWatermarks,
    Id, Manifest, RationalNs, Scope, U64, UnknownFields, encode,
};

use crate::save_request::{PayloadBytes, SaveRequest};

/// An envelope of a session without agents, whose payloads say its id and boundary, and the record that
/// fits it.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleGeneration {
    /// What the envelope says of itself.
    pub manifest: Manifest,
    /// The payloads, in the envelope's order.
    pub payloads: Vec<(Id, Vec<u8>)>,
    /// The envelope.
    pub bytes: Vec<u8>,
}

impl SampleGeneration {
    /// A checkpoint of session `demo`, episode `episode-1`.
    ///
    /// # Panics
    ///
    /// When a name is not an [`Id`]: a test has no business with that.
    #[must_use]
    pub fn new(checkpoint_id: &str, epoch: &str, boundary: u64) -> Self {
        Self::of_backend(checkpoint_id, epoch, boundary, "backend")
    }

    /// The same with a world's backend of another name, and so another compatibility.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    #[must_use]
    pub fn of_backend(checkpoint_id: &str, epoch: &str, boundary: u64, backend: &str) -> Self {
        let manifest = Manifest {
            envelope_version: EnvelopeVersion::Two,
            digest_algorithm: Some(EnvelopeVersion::Two.digest_algorithm()),
            checkpoint_id: id(checkpoint_id),
            source_scope: Scope {
                session_id: id("demo"),
                epoch: id(epoch),
                step: U64(boundary),
            },
            episode_id: id("episode-1"),
            world_time: RationalNs::ZERO,
            scheduler_id: id("lockstep-v1"),
            composition_digest: Digest::blake3(b"composition"),
            port_map: Vec::new(),
            compatibility: Compatibility {
                backend_digest: Digest::blake3(backend.as_bytes()),
                content_digest: Digest::blake3(b"content"),
                patch_digest: Digest::blake3(b"patch"),
                controller_digest: Digest::blake3(b"controller"),
                parser_digest: Digest::blake3(b"parser"),
                state_format_id: id("sample-1"),
                unknown: UnknownFields::none(),
            },
            environment: EnvironmentEntry {
                worker_id: id("world"),
                payload: id("world"),
                unknown: UnknownFields::none(),
            },
            agents: Vec::new(),
            coordinator: CoordinatorEntry {
                task_ledger: id("task-ledger"),
                prior_inspection: id("prior-inspection"),
                executor_state: Vec::new(),
                admission_state: Some(id("coordinator-admission")),
                event_watermarks: EventWatermarks::Issued {
                    last_source_step: U64(boundary),
                    issued: U64::ZERO,
                    unknown: UnknownFields::none(),
                },
                unknown: UnknownFields::none(),
            },
            helper_state: Vec::new(),
            payloads: Vec::new(),
            unknown: UnknownFields::none(),
        };
        let world = format!("{checkpoint_id} at {boundary}");
        let payloads = vec![
            (id("world"), world.into_bytes()),
            (id("task-ledger"), b"ledger".to_vec()),
            (id("prior-inspection"), b"inspection".to_vec()),
            (id("coordinator-admission"), b"admission".to_vec()),
        ];
        Self::of(manifest, payloads)
    }

    /// The envelope of this manifest and these payloads.
    ///
    /// # Panics
    ///
    /// When they break a rule of the format.
    #[must_use]
    pub fn of(manifest: Manifest, payloads: Vec<(Id, Vec<u8>)>) -> Self {
        let views: Vec<(Id, &[u8])> = payloads
            .iter()
            .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
            .collect();
        let bytes = encode(&manifest, &views).expect("the sample follows the rules of the format");
        Self {
            manifest,
            payloads,
            bytes,
        }
    }

    /// What to save: the store makes [`bytes`](Self::bytes) of it.
    #[must_use]
    pub fn to_save(&self) -> SaveRequest {
        let owned = |bytes: &Vec<u8>| -> PayloadBytes { Arc::new(bytes.clone()) };
        SaveRequest {
            manifest: self.manifest.clone(),
            payloads: self
                .payloads
                .iter()
                .map(|(name, bytes)| (name.clone(), owned(bytes)))
                .collect(),
        }
    }

    /// The name of the checkpoint.
    #[must_use]
    pub fn checkpoint_id(&self) -> &Id {
        &self.manifest.checkpoint_id
    }
}

fn id(text: &str) -> Id {
    text.parse().expect("a sample's names are ids")
}
