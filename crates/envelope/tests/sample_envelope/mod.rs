//! A small manifest with its payloads, and a second, naive writer that can also write wrong files.
#![allow(
    dead_code,
    reason = "each test file is a crate of its own and uses a part of this"
)]

use wellwritten_envelope::{
    AgentEntry, Compatibility, CoordinatorEntry, Digest, DigestAlgorithm, EnvelopeVersion,
    EnvironmentEntry, EventWatermarks, ExecutorEntry, Id, Manifest, PortBinding, RationalNs, Scope,
    U64, UnknownFields, canonical_json,
};

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

pub const BOTH: [EnvelopeVersion; 2] = [EnvelopeVersion::One, EnvelopeVersion::Two];

/// A complete manifest without payload rows, in the shapes both versions allow.
pub fn manifest(version: EnvelopeVersion) -> Manifest {
    Manifest {
        envelope_version: version,
        digest_algorithm: (version == EnvelopeVersion::Two).then_some(DigestAlgorithm::Blake3),
        checkpoint_id: id("c1"),
        source_scope: Scope {
            session_id: id("s"),
            epoch: id("e1"),
            step: U64(42),
        },
        episode_id: id("ep1"),
        world_time: RationalNs::new(700_000_000, 3).unwrap(),
        scheduler_id: id("lockstep-v1"),
        composition_digest: Digest::blake3(b"composition"),
        port_map: vec![PortBinding {
            port_id: id("p1"),
            agent_id: id("a"),
            unknown: UnknownFields::none(),
        }],
        compatibility: Compatibility {
            backend_digest: Digest::blake3(b"backend"),
            content_digest: Digest::blake3(b"content"),
            patch_digest: Digest::blake3(b"patch"),
            controller_digest: Digest::blake3(b"controller"),
            parser_digest: Digest::blake3(b"parser"),
            state_format_id: id("f1"),
            unknown: UnknownFields::none(),
        },
        environment: EnvironmentEntry {
            worker_id: id("arena"),
            payload: id("world"),
            unknown: UnknownFields::none(),
        },
        agents: vec![AgentEntry {
            agent_id: id("a"),
            profile_digest: Digest::blake3(b"profile"),
            dataset_digest: Digest::blake3(b"dataset"),
            index_digest: Some(Digest::blake3(b"index")),
            model_version: "m1".to_owned(),
            plasticity_version: "p1".to_owned(),
            seed: -184_946_063,
            brain_ticks: U64(2534),
            remainder: RationalNs::new(1_000_000, 3).unwrap(),
            payload: id("agent-a"),
            unknown: UnknownFields::none(),
        }],
        coordinator: CoordinatorEntry {
            task_ledger: id("task-ledger"),
            prior_inspection: id("prior-inspection"),
            executor_state: vec![ExecutorEntry {
                agent_id: id("a"),
                payload: id("executor-a"),
                unknown: UnknownFields::none(),
            }],
            admission_state: Some(id("coordinator-admission")),
            event_watermarks: EventWatermarks::Issued {
                last_source_step: U64(41),
                issued: U64(7),
                unknown: UnknownFields::none(),
            },
            unknown: UnknownFields::none(),
        },
        helper_state: vec![],
        payloads: vec![],
        unknown: UnknownFields::none(),
    }
}

/// Payloads for [`manifest`]: lengths 0, 1, 7, 8, 9 and 15, so that every kind of padding occurs.
pub fn payloads() -> Vec<(Id, Vec<u8>)> {
    let names = [
        ("world", 9),
        ("agent-a", 8),
        ("task-ledger", 1),
        ("prior-inspection", 0),
        ("executor-a", 7),
        ("coordinator-admission", 15),
    ];
    let bytes = |length: u8| {
        (0..length)
            .map(|index| index.wrapping_mul(37) ^ 0xa5)
            .collect()
    };
    names
        .map(|(name, length)| (id(name), bytes(length)))
        .to_vec()
}

pub fn views(payloads: &[(Id, Vec<u8>)]) -> Vec<(Id, &[u8])> {
    payloads
        .iter()
        .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
        .collect()
}

pub fn encoded(version: EnvelopeVersion) -> Vec<u8> {
    wellwritten_envelope::encode(&manifest(version), &views(&payloads())).unwrap()
}

fn word(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

/// One entry as it will be written, right or wrong.
#[derive(Clone)]
pub struct ForgedEntry {
    pub name: Vec<u8>,
    pub offset: u64,
    pub byte_length: u64,
    pub digest: Digest,
}

/// An envelope taken apart, written back without any check, its footer made to fit.
#[derive(Clone)]
pub struct Forgery {
    pub version: u32,
    pub algorithm: DigestAlgorithm,
    pub header_bytes: u32,
    pub reserved: u32,
    pub payload_count: Option<u32>,
    pub table_offset: Option<u32>,
    pub manifest_bytes: Option<u32>,
    pub manifest: Vec<u8>,
    pub entries: Vec<ForgedEntry>,
    /// Everything between the table and the footer.
    pub area: Vec<u8>,
}

impl Forgery {
    /// A correct envelope, made without the crate's writer: the layout is recomputed here.
    pub fn of(version: EnvelopeVersion) -> Self {
        Self::with(&manifest(version), &payloads())
    }

    pub fn with(manifest: &Manifest, payloads: &[(Id, Vec<u8>)]) -> Self {
        let version = manifest.envelope_version;
        let algorithm = version.digest_algorithm();
        let mut value = serde_json::to_value(manifest).unwrap();
        value["payloads"] = payloads
            .iter()
            .map(|(name, bytes)| {
                serde_json::json!({
                    "name": name.as_str(),
                    "byteLength": bytes.len().to_string(),
                    "digest": algorithm.digest(bytes).to_string(),
                })
            })
            .collect();
        let mut forgery = Self {
            version: version.number(),
            algorithm,
            header_bytes: 32,
            reserved: 0,
            payload_count: None,
            table_offset: None,
            manifest_bytes: None,
            manifest: canonical_json(&value).unwrap(),
            entries: Vec::new(),
            area: Vec::new(),
        };
        let area_start = forgery.laid_out_table() + 112 * payloads.len();
        for (name, bytes) in payloads {
            while !forgery.area.len().is_multiple_of(8) {
                forgery.area.push(0);
            }
            forgery.entries.push(ForgedEntry {
                name: name.as_str().as_bytes().to_vec(),
                offset: (area_start + forgery.area.len()) as u64,
                byte_length: bytes.len() as u64,
                digest: algorithm.digest(bytes),
            });
            forgery.area.extend_from_slice(bytes);
        }
        forgery
    }

    /// The same envelope around another manifest; offsets move along.
    pub fn remanifest(mut self, text: Vec<u8>) -> Self {
        let before = self.laid_out_table() as u64;
        self.manifest = text;
        let after = self.laid_out_table() as u64;
        for entry in &mut self.entries {
            entry.offset = entry.offset - before + after;
        }
        self
    }

    /// The manifest changed as JSON, and spelled canonically again.
    pub fn edit(self, change: impl FnOnce(&mut serde_json::Value)) -> Self {
        let mut value = serde_json::from_slice(&self.manifest).unwrap();
        change(&mut value);
        let text = canonical_json(&value).unwrap();
        self.remanifest(text)
    }

    pub fn laid_out_table(&self) -> usize {
        let mut offset = 32 + self.manifest.len();
        while !offset.is_multiple_of(8) {
            offset += 1;
        }
        offset
    }

    pub fn write(&self) -> Vec<u8> {
        let table = self.laid_out_table();
        let mut file = b"FLYSESS1".to_vec();
        let count = self.payload_count.unwrap_or(word(self.entries.len()));
        let manifest_bytes = self.manifest_bytes.unwrap_or(word(self.manifest.len()));
        let table_offset = self.table_offset.unwrap_or(word(table));
        for word in [
            self.version,
            self.header_bytes,
            manifest_bytes,
            count,
            table_offset,
            self.reserved,
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&self.manifest);
        while file.len() < table {
            file.push(0);
        }
        for entry in &self.entries {
            let start = file.len();
            file.extend(&entry.name);
            while file.len() < start + 64 {
                file.push(0);
            }
            file.extend(entry.offset.to_le_bytes());
            file.extend(entry.byte_length.to_le_bytes());
            file.extend(entry.digest.as_bytes());
        }
        let table_end = file.len();
        file.extend(&self.area);
        let covered = if self.version == 2 {
            table_end
        } else {
            file.len()
        };
        let digest = self.algorithm.digest(&file[..covered]);
        let total = file.len() as u64 + 48;
        file.extend(total.to_le_bytes());
        file.extend(digest.as_bytes());
        file.extend(b"FLYSESSF");
        file
    }
}
