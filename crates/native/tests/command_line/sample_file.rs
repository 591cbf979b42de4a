//! Envelopes on disk, written piece by piece from the table in the format's description. Payloads may be larger
//! than memory: a stretch of zeros is a hole in the file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::Digest as _;
use wellwritten_envelope::canonical_json;

/// What one payload holds.
#[derive(Clone)]
pub enum Content {
    Bytes(Vec<u8>),
    Zeros(u64),
}

/// An envelope to be.
#[derive(Clone)]
pub struct SampleFile {
    pub version: u32,
    pub manifest: Value,
    pub payloads: Vec<(&'static str, Content)>,
}

/// Where the parts of a written envelope lie.
pub struct Layout {
    pub table: u64,
    pub payloads: Vec<u64>,
    pub footer: u64,
}

/// The folder of one test, and files in it.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A small sound envelope, with its path and its layout.
    pub fn sample(&self, version: u32) -> (PathBuf, Layout) {
        let path = self.file(&format!("sample-{version}.flysess"));
        let layout = SampleFile::small(version).write(&path);
        (path, layout)
    }

    /// The names of everything in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Inverts the bits of one byte.
pub fn flip(path: &Path, offset: u64) {
    use std::os::unix::fs::FileExt;
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[!byte[0]], offset).unwrap();
}

/// The digest of everything a reader gives, as bytes.
fn digest(version: u32, mut reader: impl Read) -> [u8; 32] {
    let mut chunk = vec![0; 1 << 20];
    let mut sha256 = sha2::Sha256::new();
    let mut blake3 = blake3::Hasher::new();
    loop {
        let length = reader.read(&mut chunk).unwrap();
        if length == 0 {
            break;
        }
        if version == 1 {
            sha256.update(&chunk[..length]);
        } else {
            blake3.update(&chunk[..length]);
        }
    }
    if version == 1 {
        sha256.finalize().into()
    } else {
        blake3.finalize().into()
    }
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap();
    let pairs = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    pairs.map(digit).collect()
}

impl Content {
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(length) => *length,
        }
    }

    fn digest(&self, version: u32) -> [u8; 32] {
        match self {
            Self::Bytes(bytes) => digest(version, bytes.as_slice()),
            Self::Zeros(length) => digest(version, std::io::repeat(0).take(*length)),
        }
    }
}

impl SampleFile {
    /// One agent and six payloads of 0 to 15 bytes, so that every kind of padding occurs.
    pub fn small(version: u32) -> Self {
        let names = [
            ("world", 9),
            ("agent-a", 8),
            ("task-ledger", 1),
            ("prior-inspection", 0),
            ("executor-a", 7),
            ("coordinator-admission", 15),
        ];
        let bytes = |length: u8| (0..length).map(|index| index.wrapping_mul(41) ^ 0x5a);
        Self {
            version,
            manifest: manifest(version),
            payloads: names
                .map(|(name, length)| (name, Content::Bytes(bytes(length).collect())))
                .to_vec(),
        }
    }

    /// The same with a world of so many zeros.
    pub fn large(version: u32, world_bytes: u64) -> Self {
        let mut sample = Self::small(version);
        sample.payloads[0].1 = Content::Zeros(world_bytes);
        sample
    }

    pub fn payload(&self, name: &str) -> &[u8] {
        let found = self.payloads.iter().find(|(other, _)| *other == name);
        match found {
            Some((_, Content::Bytes(bytes))) => bytes,
            _ => panic!("{name} is no payload in memory"),
        }
    }

    /// Writes it to a path.
    pub fn write(&self, path: &Path) -> Layout {
        let digests: Vec<[u8; 32]> = self
            .payloads
            .iter()
            .map(|(_, content)| content.digest(self.version))
            .collect();
        let mut manifest = self.manifest.clone();
        let rows = self.payloads.iter().zip(&digests);
        manifest["payloads"] = rows
            .map(|((name, content), digest)| {
                json!({
                    "name": name,
                    "byteLength": content.length().to_string(),
                    "digest": hexadecimal(digest),
                })
            })
            .collect();
        let text = canonical_json(&manifest).unwrap();

        let mut head = b"FLYSESS1".to_vec();
        let table = (32 + text.len()).next_multiple_of(8);
        let word = |length: usize| u32::try_from(length).unwrap();
        for word in [
            self.version,
            32,
            word(text.len()),
            word(self.payloads.len()),
            word(table),
            0,
        ] {
            head.extend(word.to_le_bytes());
        }
        head.extend(&text);
        head.resize(table, 0);
        let mut end = (table + 112 * self.payloads.len()) as u64;
        let mut offsets = Vec::new();
        for ((name, content), digest) in self.payloads.iter().zip(&digests) {
            let offset = end.next_multiple_of(8);
            offsets.push(offset);
            head.extend(name.as_bytes());
            head.resize(head.len() + 64 - name.len(), 0);
            head.extend(offset.to_le_bytes());
            head.extend(content.length().to_le_bytes());
            head.extend(digest);
            end = offset + content.length();
        }

        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .unwrap();
        file.write_all(&head).unwrap();
        for ((_, content), offset) in self.payloads.iter().zip(&offsets) {
            if let Content::Bytes(bytes) = content {
                file.seek(SeekFrom::Start(*offset)).unwrap();
                file.write_all(bytes).unwrap();
            }
        }
        // What was not written is a hole, and reads as zeros.
        file.set_len(end).unwrap();
        let footer_digest = if self.version == 1 {
            file.rewind().unwrap();
            digest(1, &file)
        } else {
            digest(2, head.as_slice())
        };
        file.seek(SeekFrom::Start(end)).unwrap();
        file.write_all(&(end + 48).to_le_bytes()).unwrap();
        file.write_all(&footer_digest).unwrap();
        file.write_all(b"FLYSESSF").unwrap();
        Layout {
            table: table as u64,
            payloads: offsets,
            footer: end,
        }
    }
}

/// A manifest without its payload rows.
fn manifest(version: u32) -> Value {
    let digest = |of: &str| hexadecimal(&digest(2, of.as_bytes()));
    let mut manifest = json!({
        "envelopeVersion": version,
        "checkpointId": "c1",
        "sourceScope": {"sessionId": "demo", "epoch": "e1", "step": "42"},
        "episodeId": "ep1",
        "worldTime": {"numerator": "700000000", "denominator": "3"},
        "schedulerId": "lockstep-v1",
        "compositionDigest": digest("composition"),
        "portMap": [{"portId": "p1", "agentId": "a"}],
        "compatibility": {
            "backendDigest": digest("backend"), "contentDigest": digest("content"),
            "patchDigest": digest("patch"), "controllerDigest": digest("controller"),
            "parserDigest": digest("parser"), "stateFormatId": "f1",
        },
        "environment": {"workerId": "arena", "payload": "world"},
        "agents": [{
            "agentId": "a", "profileDigest": digest("profile"), "datasetDigest": digest("dataset"),
            "modelVersion": "m1", "plasticityVersion": "p1", "seed": -184_946_063, "brainTicks": "2534",
            "remainder": {"numerator": "1000000", "denominator": "3"}, "payload": "agent-a",
        }],
        "coordinator": {
            "taskLedger": "task-ledger", "priorInspection": "prior-inspection",
            "executorState": [{"agentId": "a", "payload": "executor-a"}],
            "admissionState": "coordinator-admission",
            "eventWatermarks": {"lastSourceStep": "41", "issued": "7"},
        },
        "helperState": [],
    });
    if version == 2 {
        manifest["digestAlgorithm"] = "blake3".into();
    }
    manifest
}
