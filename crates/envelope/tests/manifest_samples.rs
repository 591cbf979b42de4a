//! Oracle: every shape a manifest can have, and every rule a file can break, as files that are written here by a
//! second, naive writer. `web/test/envelope-samples.test.ts` reads the same files through the TypeScript API.

mod generated_file;
mod sample_envelope;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use generated_file::{in_repository, is_stale, keep_up_to_date};
use sample_envelope::{Forgery, id, manifest, payloads, views};
use serde_json::{Map, Value, json};
use wellwritten_envelope::{
    BrokenRule, DigestAlgorithm, EnvelopeRule, EnvelopeVersion, EventWatermarks, Id, Manifest,
    RationalNs, U64, UnknownFields, decode, encode,
};

const FOLDER: &str = "web/test/generated/envelopes";

type Payloads = Vec<(Id, Vec<u8>)>;

fn unknown(value: Value) -> UnknownFields {
    let Value::Object(fields) = value else {
        panic!("fields are an object")
    };
    UnknownFields(fields)
}

/// What older writers leave out or have instead.
fn older(version: EnvelopeVersion) -> (Manifest, Payloads) {
    let mut manifest = manifest(version);
    manifest.coordinator.admission_state = None;
    manifest.coordinator.event_watermarks = EventWatermarks::LastEvent {
        last_event_id: id("evt-1"),
        last_ordinal: U64(7),
        unknown: UnknownFields::none(),
    };
    manifest.agents[0].index_digest = None;
    let mut payloads = payloads();
    payloads.retain(|(name, _)| name.as_str() != "coordinator-admission");
    (manifest, payloads)
}

/// A field of a later amendment at every level that keeps one.
fn extended(mut manifest: Manifest) -> Manifest {
    let amendment = |level: &str| unknown(json!({ "amendment": level }));
    manifest.unknown = unknown(json!({
        "amendment": {"deep": [null, true, "text", {"": []}], "numbers": [0, -1, 0.1, 1e21, 5e-324, 9_007_199_254_740_991_i64]},
        "\u{20ac} \u{fb33} \u{1f600}": "\u{7f}\n\"\\\u{1}",
        "zz-last": {},
    }));
    manifest.port_map[0].unknown = amendment("port");
    manifest.compatibility.unknown = amendment("compatibility");
    manifest.environment.unknown = amendment("environment");
    manifest.agents[0].unknown = amendment("agent");
    manifest.coordinator.unknown = amendment("coordinator");
    manifest.coordinator.executor_state[0].unknown = amendment("executor");
    match &mut manifest.coordinator.event_watermarks {
        EventWatermarks::Issued { unknown, .. } | EventWatermarks::LastEvent { unknown, .. } => {
            *unknown = amendment("watermarks");
        }
    }
    manifest
}

/// The largest and smallest values of every scalar.
fn extreme() -> (Manifest, Payloads) {
    let mut manifest = manifest(EnvelopeVersion::Two);
    let longest = "z".repeat(Id::MAX_BYTES);
    manifest.checkpoint_id = id("0");
    manifest.episode_id = id(&longest);
    manifest.source_scope.step = U64(u64::MAX);
    manifest.world_time = RationalNs::new(u64::MAX, u64::MAX - 1).unwrap();
    manifest.agents[0].remainder = RationalNs::ZERO;
    manifest.agents[0].brain_ticks = U64(0);
    manifest.agents[0].model_version = String::new();
    manifest.agents[0].plasticity_version = String::from("\u{1f600} \"quoted\"\\\u{0}");
    manifest.agents[0].seed = i32::MIN;
    let mut second = manifest.agents[0].clone();
    second.agent_id = id("b");
    second.seed = i32::MAX;
    second.payload = id("a.b_c-d");
    manifest.agents.push(second);
    manifest.environment.payload = id(&longest);
    let mut payloads = payloads();
    payloads[0].0 = id(&longest);
    payloads.push((id("a.b_c-d"), (0..=255).collect()));
    (manifest, payloads)
}

/// As many payloads as an envelope holds.
fn crowded() -> (Manifest, Payloads) {
    let mut manifest = manifest(EnvelopeVersion::Two);
    let mut payloads = payloads();
    for index in 0..64 - payloads.len() {
        let name = id(&format!("helper-{index}"));
        manifest.helper_state.push(name.clone());
        payloads.push((name, vec![0; index % 9]));
    }
    (manifest, payloads)
}

/// Nothing that may be left out.
fn bare() -> (Manifest, Payloads) {
    let mut manifest = manifest(EnvelopeVersion::Two);
    manifest.agents.clear();
    manifest.port_map.clear();
    manifest.coordinator.executor_state.clear();
    let mut payloads = payloads();
    payloads.retain(|(name, _)| !matches!(name.as_str(), "agent-a" | "executor-a"));
    (manifest, payloads)
}

/// One sample per shape.
fn samples() -> Vec<(&'static str, Manifest, Payloads)> {
    let one = || manifest(EnvelopeVersion::One);
    let mut stated = one();
    stated.digest_algorithm = Some(DigestAlgorithm::Sha256);
    let mut no_index = manifest(EnvelopeVersion::Two);
    no_index.agents[0].index_digest = None;
    let (older_two, _) = older(EnvelopeVersion::Two);
    let (older_one, older_payloads) = older(EnvelopeVersion::One);
    let older_extended = extended(older_one.clone());
    let (bare, bare_payloads) = bare();
    let (extreme, extreme_payloads) = extreme();
    let (crowded, crowded_payloads) = crowded();
    vec![
        ("version-2", manifest(EnvelopeVersion::Two), payloads()),
        ("version-2-no-index", no_index, payloads()),
        ("version-2-bare", bare, bare_payloads),
        ("version-2-extreme", extreme, extreme_payloads),
        ("version-2-crowded", crowded, crowded_payloads),
        ("version-1", one(), payloads()),
        ("version-1-names-sha256", stated, payloads()),
        ("version-1-older", older_one, older_payloads.clone()),
        ("version-2-older", older_two, older_payloads.clone()),
        ("version-1-extended", extended(one()), payloads()),
        ("version-1-older-extended", older_extended, older_payloads),
    ]
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

fn sample_file(name: &str, manifest: &Manifest, payloads: &Payloads) -> (String, String) {
    let forged = Forgery::with(manifest, payloads);
    let bytes = forged.write();
    assert_eq!(
        encode(manifest, &views(payloads)).unwrap(),
        bytes,
        "{name}: the writer and the naive one agree"
    );
    let read = decode(&bytes).unwrap();
    let rows: Vec<Value> = payloads
        .iter()
        .map(|(name, bytes)| json!({"name": name, "base64": STANDARD.encode(bytes)}))
        .collect();
    let file = json!({
        "version": manifest.envelope_version,
        "manifest": read.manifest,
        "payloads": rows,
        "base64": STANDARD.encode(bytes),
    });
    (format!("{FOLDER}/{name}.json"), pretty(&file))
}

/// One file per rule that a reader enforces, which breaks that one.
fn refused() -> Vec<(&'static str, Vec<u8>)> {
    let sound = || Forgery::of(EnvelopeVersion::Two);
    let written = || sound().write();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = written();
        change(&mut bytes);
        bytes
    };
    let forged = |change: &dyn Fn(&mut Forgery)| {
        let mut forgery = sound();
        change(&mut forgery);
        forgery.write()
    };
    let edited = |change: &dyn Fn(&mut Value)| sound().edit(|value| change(value)).write();
    let text = |from: &str, to: &str| {
        let text = String::from_utf8(sound().manifest).unwrap();
        assert!(text.contains(from));
        sound()
            .remanifest(text.replacen(from, to, 1).into_bytes())
            .write()
    };
    let first_padding = sound().entries[2].offset + sound().entries[2].byte_length;
    vec![
        ("length", b"FLYSESS1".to_vec()),
        ("magic", damaged(&|bytes| bytes[0] = b'f')),
        ("version", forged(&|file| file.version = 3)),
        ("header-bytes", forged(&|file| file.header_bytes = 40)),
        ("reserved-word", forged(&|file| file.reserved = 1)),
        (
            "payload-count",
            forged(&|file| file.payload_count = Some(65)),
        ),
        (
            "footer-magic",
            damaged(&|bytes| {
                bytes.pop();
            }),
        ),
        (
            "file-bytes",
            damaged(&|bytes| {
                let length = bytes.len();
                bytes[length - 48] ^= 1;
            }),
        ),
        ("footer-digest", damaged(&|bytes| bytes[40] ^= 1)),
        (
            "manifest-bounds",
            forged(&|file| file.manifest_bytes = Some(1 << 20)),
        ),
        ("manifest-json", text("{", "{\"agents\":[],")),
        ("manifest-canonical", text(":", ": ")),
        ("table-offset", forged(&|file| file.table_offset = Some(40))),
        (
            "table-bounds",
            forged(&|file| file.payload_count = Some(60)),
        ),
        (
            "entry-name",
            forged(&|file| file.entries[0].name = b"World".to_vec()),
        ),
        (
            "entry-unique",
            forged(&|file| file.entries[1].name = file.entries[0].name.clone()),
        ),
        ("entry-offset", forged(&|file| file.entries[1].offset += 8)),
        (
            "entry-bounds",
            forged(&|file| file.entries[5].byte_length = u64::MAX),
        ),
        ("payload-digest", forged(&|file| file.area[0] ^= 1)),
        (
            "padding",
            damaged(&|bytes| bytes[usize::try_from(first_padding).unwrap()] = 1),
        ),
        ("footer-gap", forged(&|file| file.area.extend([0; 8]))),
        (
            "manifest-field",
            edited(&|value| value["agents"][0]["seed"] = json!(1.5)),
        ),
        (
            "manifest-version",
            edited(&|value| value["envelopeVersion"] = json!(1)),
        ),
        (
            "digest-algorithm",
            edited(&|value| value["digestAlgorithm"] = json!("sha256")),
        ),
        (
            "unknown-field",
            edited(&|value| value["agents"][0]["colour"] = json!("red")),
        ),
        (
            "payload-rows",
            edited(&|value| value["payloads"][1]["byteLength"] = json!("9")),
        ),
        (
            "payload-reference",
            edited(&|value| value["environment"]["payload"] = json!("agent-a")),
        ),
    ]
}

fn refused_file(name: &str, bytes: &[u8]) -> (String, String) {
    let error = decode(bytes).unwrap_err();
    let broken = BrokenRule::from(&error);
    assert_eq!(serde_json::to_value(broken.rule).unwrap(), name, "{error}");
    let file = json!({
        "message": error.to_string(),
        "context": broken,
        "base64": STANDARD.encode(bytes),
    });
    (format!("{FOLDER}/refused/{name}.json"), pretty(&file))
}

#[test]
fn the_committed_samples_are_what_rust_writes() {
    let samples = samples();
    let refused = refused();
    let mut files: Vec<(String, String)> = samples
        .iter()
        .map(|(name, manifest, payloads)| sample_file(name, manifest, payloads))
        .collect();
    files.extend(
        refused
            .iter()
            .map(|(name, bytes)| refused_file(name, bytes)),
    );
    keep_up_to_date(&files);
    let expected: BTreeSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let mut found = BTreeSet::new();
    for folder in [FOLDER.to_owned(), format!("{FOLDER}/refused")] {
        for entry in in_repository(&folder).read_dir().unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                found.insert(format!("{folder}/{}", entry.file_name().display()));
            }
        }
    }
    assert_eq!(
        found, expected,
        "files that no sample stands behind any more"
    );
}

#[test]
fn canary_a_sample_that_changed_is_noticed() {
    let (path, text) = sample_file("version-2", &manifest(EnvelopeVersion::Two), &payloads());
    assert!(!is_stale(&path, &text));
    let mut other = manifest(EnvelopeVersion::Two);
    other.agents[0].seed += 1;
    assert!(is_stale(
        &path,
        &sample_file("version-2", &other, &payloads()).1
    ));
}

/// The rules are a closed list: a new one must get a file here.
#[test]
fn every_rule_has_a_file_that_breaks_it() {
    let last = serde_json::to_value(EnvelopeRule::PayloadReference).unwrap();
    let broken: Vec<Value> = refused()
        .iter()
        .map(|(_, bytes)| serde_json::to_value(decode(bytes).unwrap_err().rule()).unwrap())
        .collect();
    assert_eq!(broken.last(), Some(&last));
    let names: BTreeSet<String> = broken.iter().map(Value::to_string).collect();
    assert_eq!(names.len(), EnvelopeRule::PayloadReference as usize + 1);
}

/// Each error says where, and both values wherever there are two.
#[test]
fn every_broken_rule_is_named_with_its_place_and_values() {
    let mut placed = 0;
    for (name, bytes) in refused() {
        let broken = BrokenRule::from(&decode(&bytes).unwrap_err());
        let facts: Map<String, Value> = match serde_json::to_value(&broken).unwrap() {
            Value::Object(facts) => facts,
            other => panic!("{other}"),
        };
        let said = facts.values().filter(|value| !value.is_null()).count();
        assert!(said >= 2, "{name}: {broken:?} says only the rule");
        placed += usize::from(
            broken.offset.is_some() || broken.field.is_some() || broken.payload.is_some(),
        );
    }
    // A file that is too short has no place to name.
    assert_eq!(placed, refused().len() - 1);
}
