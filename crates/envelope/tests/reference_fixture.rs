//! Oracle: the fixtures of the reference implementation, read where they are kept. Its envelope decodes
//! to the layout it recorded, every corruption it recorded is refused for the recorded reason, and
//! writing the envelope again gives its bytes, also by way of version 2.

use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use base64::Engine as _;
use serde_json::{Value, json};
use wellwritten_envelope::{
    Digest, DigestAlgorithm, Envelope, EnvelopeRule, EnvelopeVersion, Id, Manifest, PartKind,
    PartState, convert, decode, decode_header, derive_seed, describe, encode, head_bytes,
};

/// A fixture's JSON; where it is missing, says so on a line that begins with `SKIPPED `.
fn fixture(test: &str, name: &str) -> Option<Value> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/flysess1");
    let path = folder.join(name);
    if let Ok(text) = std::fs::read(&path) {
        return Some(serde_json::from_slice(&text).expect("the fixture is JSON"));
    }
    // Straight to the stream: what a passing test prints is otherwise captured and lost.
    let notice = format!(
        "\nSKIPPED {test}: fixture not found at {}\n",
        path.display()
    );
    std::io::stdout()
        .write_all(notice.as_bytes())
        .expect("standard output is open");
    None
}

fn envelope_bytes(fixture: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(fixture["envelope"]["base64"].as_str().unwrap())
        .unwrap()
}

fn views<'a>(envelope: &Envelope<'a>) -> Vec<(Id, &'a [u8])> {
    let payloads = envelope.payloads.iter();
    payloads
        .map(|payload| (payload.name.clone(), payload.bytes))
        .collect()
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

#[test]
fn decodes_to_the_recorded_layout() {
    let Some(fixture) = fixture("decodes_to_the_recorded_layout", "checkpoint-envelope.json")
    else {
        return;
    };
    let bytes = envelope_bytes(&fixture);
    let recorded = &fixture["envelope"]["layout"];
    assert_eq!(
        bytes.len() as u64,
        number(&fixture["envelope"]["byteLength"])
    );

    let envelope = decode(&bytes).expect("the reference's envelope decodes");
    assert_eq!(envelope.version, EnvelopeVersion::One);
    assert_eq!(
        serde_json::to_value(&envelope.manifest).unwrap(),
        fixture["manifest"]
    );
    let entries = recorded["entries"].as_array().unwrap();
    assert_eq!(envelope.payloads.len(), entries.len());
    for (payload, entry) in envelope.payloads.iter().zip(entries) {
        assert_eq!(payload.name.as_str(), entry["name"].as_str().unwrap());
        assert_eq!(payload.offset, number(&entry["offset"]));
        assert_eq!(payload.bytes.len() as u64, number(&entry["byteLength"]));
        assert_eq!(
            payload.digest.to_string(),
            entry["digest"].as_str().unwrap()
        );
    }
    for payload in fixture["payloads"].as_array().unwrap() {
        let expected = base64::engine::general_purpose::STANDARD
            .decode(payload["base64"].as_str().unwrap())
            .unwrap();
        let name = Id::parse(payload["name"].as_str().unwrap()).unwrap();
        assert_eq!(envelope.payload(&name), Some(expected.as_slice()));
    }

    let layout = describe(&bytes);
    assert_eq!(layout.refusal, None);
    let part = |kind| layout.parts.iter().find(|part| part.kind == kind).unwrap();
    assert_eq!(
        part(PartKind::Manifest).offset.0,
        number(&recorded["manifestOffset"])
    );
    assert_eq!(
        part(PartKind::Manifest).byte_length.0,
        number(&recorded["manifestBytes"])
    );
    assert_eq!(
        part(PartKind::Table).offset.0,
        number(&recorded["tableOffset"])
    );
    assert_eq!(
        part(PartKind::Footer).offset.0,
        number(&recorded["footerOffset"])
    );
    assert!(
        layout
            .parts
            .iter()
            .all(|part| part.state == PartState::Verified)
    );

    let needed = head_bytes(&bytes[..32], bytes.len() as u64).unwrap();
    assert_eq!(needed, envelope.payloads[0].offset);
    let prefix = &bytes[..usize::try_from(needed).unwrap()];
    let head = decode_header(prefix, bytes.len() as u64).unwrap();
    assert_eq!(head.manifest, envelope.manifest);
}

#[test]
fn every_recorded_corruption_is_refused_for_its_reason() {
    let test = "every_recorded_corruption_is_refused_for_its_reason";
    let Some(fixture) = fixture(test, "checkpoint-envelope.json") else {
        return;
    };
    let expected = |name: &str| match name {
        "a flipped magic byte" => EnvelopeRule::Magic,
        "an unsupported version" => EnvelopeRule::Version,
        "a flipped manifest byte" | "a flipped payload byte" | "a flipped footer digest byte" => {
            EnvelopeRule::FooterDigest
        }
        "a flipped footer magic byte" => EnvelopeRule::FooterMagic,
        other => panic!("the fixture records a corruption this test does not know: {other}"),
    };
    let intact = envelope_bytes(&fixture);
    let corruptions = fixture["corruption"].as_array().unwrap();
    assert!(
        corruptions.len() >= 6,
        "only {} corruptions",
        corruptions.len()
    );
    for corruption in corruptions {
        let name = corruption["name"].as_str().unwrap();
        let mut bytes = intact.clone();
        bytes[usize::try_from(number(&corruption["offset"])).unwrap()] ^= 0xff;
        let error = decode(&bytes).expect_err(name);
        assert_eq!(error.rule(), expected(name), "{name}: {error}");
    }
    // The recorded reason for the payload is its own digest. In version 1 the footer notices first;
    // with a footer that fits, the digest in the table must.
    let payload = corruptions
        .iter()
        .find(|corruption| corruption["name"] == "a flipped payload byte")
        .unwrap();
    let mut bytes = intact;
    bytes[usize::try_from(number(&payload["offset"])).unwrap()] ^= 0xff;
    let footer = bytes.len() - 48;
    let digest = Digest::sha256(&bytes[..footer]);
    bytes[footer + 8..footer + 40].copy_from_slice(digest.as_bytes());
    assert_eq!(
        decode(&bytes).unwrap_err().rule(),
        EnvelopeRule::PayloadDigest
    );
}

#[test]
fn writing_it_again_gives_its_bytes() {
    let Some(fixture) = fixture(
        "writing_it_again_gives_its_bytes",
        "checkpoint-envelope.json",
    ) else {
        return;
    };
    let bytes = envelope_bytes(&fixture);
    let envelope = decode(&bytes).unwrap();
    let payloads = views(&envelope);
    assert_eq!(encode(&envelope.manifest, &payloads).unwrap(), bytes);

    // From the recorded JSON, and with the rows left to the writer.
    let mut manifest: Manifest = serde_json::from_value(fixture["manifest"].clone()).unwrap();
    assert_eq!(encode(&manifest, &payloads).unwrap(), bytes);
    manifest.payloads.clear();
    assert_eq!(encode(&manifest, &payloads).unwrap(), bytes);
}

#[test]
fn converting_it_loses_nothing() {
    let test = "converting_it_loses_nothing";
    let Some(fixture) = fixture(test, "checkpoint-envelope.json") else {
        return;
    };
    let bytes = envelope_bytes(&fixture);
    let convert_to = |version, bytes: &[u8]| {
        let mut sink = Cursor::new(Vec::new());
        let length = convert(&mut { bytes }, version, &mut sink, &mut |_| {}).unwrap();
        assert_eq!(length, sink.get_ref().len() as u64);
        sink.into_inner()
    };
    assert_eq!(convert_to(EnvelopeVersion::One, &bytes), bytes);
    let two = convert_to(EnvelopeVersion::Two, &bytes);
    assert_eq!(convert_to(EnvelopeVersion::One, &two), bytes);

    // In memory, by hand: the version and what follows from it, and nothing else.
    let one = decode(&bytes).unwrap();
    let mut manifest = one.manifest.clone();
    manifest.envelope_version = EnvelopeVersion::Two;
    manifest.digest_algorithm = Some(DigestAlgorithm::Blake3);
    manifest.payloads.clear();
    assert_eq!(encode(&manifest, &views(&one)).unwrap(), two);

    let read = decode(&two).unwrap();
    assert_eq!(read.version, EnvelopeVersion::Two);
    assert_eq!(read.payloads.len(), one.payloads.len());
    for (payload, before) in read.payloads.iter().zip(&one.payloads) {
        assert_eq!((&payload.name, payload.bytes), (&before.name, before.bytes));
        assert_eq!(payload.digest, Digest::blake3(before.bytes));
    }
    // The recorded manifest, but for what the version decides; the shapes of an older writer among the rest.
    let mut recorded = fixture["manifest"].clone();
    assert!(recorded["coordinator"]["admissionState"].is_null());
    assert!(recorded["coordinator"]["eventWatermarks"]["lastEventId"].is_string());
    recorded["envelopeVersion"] = json!(2);
    recorded["digestAlgorithm"] = json!("blake3");
    for (row, payload) in recorded["payloads"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(&one.payloads)
    {
        row["digest"] = json!(Digest::blake3(payload.bytes).to_string());
    }
    assert_eq!(serde_json::to_value(&read.manifest).unwrap(), recorded);

    // And back.
    let mut manifest = read.manifest.clone();
    manifest.envelope_version = EnvelopeVersion::One;
    manifest.digest_algorithm = None;
    manifest.payloads.clear();
    assert_eq!(encode(&manifest, &views(&read)).unwrap(), bytes);
}

#[test]
fn every_recorded_seed() {
    let Some(fixture) = fixture("every_recorded_seed", "seed-vectors.json") else {
        return;
    };
    let vectors = fixture["vectors"].as_array().unwrap();
    assert!(vectors.len() >= 20, "only {} vectors", vectors.len());
    for vector in vectors {
        let agent_id = Id::parse(vector["agentId"].as_str().unwrap()).unwrap();
        let master_seed = number(&vector["masterSeed"]);
        let material = vector["material"].as_str().unwrap();
        let material_digest = Digest::sha256(material.as_bytes()).to_string();
        assert_eq!(material_digest, vector["materialDigest"].as_str().unwrap());
        let seed = derive_seed(master_seed, &agent_id).unwrap();
        assert_eq!(
            i64::from(seed),
            vector["seed"].as_i64().unwrap(),
            "{vector}"
        );
    }
}
