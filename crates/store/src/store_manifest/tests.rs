//! Oracle: a manifest is read if and only if it is, byte for byte, what the store would write for some
//! consistent content.

use serde_json::{Value, json};
use wellwritten_envelope::U64;

use super::*;

fn id(text: &str) -> Id {
    text.parse().unwrap()
}

fn generation(name: &str) -> GenerationInfo {
    GenerationInfo {
        checkpoint_id: id(name),
        file: file_name::generation(&id(name)),
        session_id: id("demo"),
        epoch: id("e1"),
        episode_id: id("episode-1"),
        boundary: U64(u64::MAX),
        compatibility_digest: Digest::blake3(b"compatibility"),
        envelope_digest: Digest::blake3(name.as_bytes()),
        byte_length: U64(7),
    }
}

fn manifest() -> StoreManifest {
    let mut manifest = StoreManifest::default();
    for name in ["a", "b.x", "c-1"] {
        manifest.add(generation(name), 2);
    }
    manifest
}

/// The bytes of a manifest with `change` made to its fields, and a digest that fits.
fn forged(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&manifest().encode()).unwrap();
    value.as_object_mut().unwrap().remove("digest");
    change(&mut value);
    let digest = Digest::blake3(&canonical(&value));
    value["digest"] = json!(digest.to_string());
    canonical(&value)
}

#[test]
fn what_is_written_is_read_and_has_the_fields_of_the_format() {
    let manifest = manifest();
    assert_eq!(
        StoreManifest::decode(&manifest.encode()),
        Ok(manifest.clone())
    );
    assert_eq!(StoreManifest::decode(&forged(|_| ())), Ok(manifest.clone()));
    let value: Value = serde_json::from_slice(&manifest.encode()).unwrap();
    let names = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&value),
        [
            "digest",
            "epochs",
            "generations",
            "highWater",
            "retired",
            "stateFormatId",
            "storeManifestVersion"
        ]
    );
    assert_eq!(
        names(&value["generations"][0]),
        [
            "boundary",
            "byteLength",
            "checkpointId",
            "compatibilityDigest",
            "envelopeDigest",
            "episodeId",
            "epoch",
            "file",
            "sessionId"
        ]
    );
    assert_eq!(value["highWater"], "c-1");
    assert_eq!(value["retired"], json!(["a"]));
    assert_eq!(value["epochs"], json!([{"lastOrdinal": "1", "stem": "e"}]));
    assert_eq!(value["generations"][1]["boundary"], "18446744073709551615");
    let empty = StoreManifest::default();
    assert_eq!(StoreManifest::decode(&empty.encode()), Ok(empty));
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let bytes = manifest().encode();
    for index in 0..bytes.len() {
        assert!(
            StoreManifest::decode(&bytes[..index]).is_err(),
            "cut at {index}"
        );
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[index] ^= 1 << bit;
            assert!(
                StoreManifest::decode(&flipped).is_err(),
                "bit {bit} of byte {index}"
            );
        }
    }
    let longer = [bytes.as_slice(), b"\n"].concat();
    assert!(StoreManifest::decode(&longer).is_err());
}

#[test]
fn a_digest_that_fits_does_not_excuse_a_broken_rule() {
    let fault = |change: fn(&mut Value)| StoreManifest::decode(&forged(change)).unwrap_err();
    for name in [
        "../b.x.flysess",
        "/etc/passwd",
        "b.x",
        "manifest.json",
        "~generation",
        "c-1.flysess",
        "",
    ] {
        let bytes = forged(|value| value["generations"][0]["file"] = json!(name));
        let fault = StoreManifest::decode(&bytes).unwrap_err();
        assert!(
            matches!(fault, ManifestFault::File { .. }),
            "{name}: {fault}"
        );
    }
    assert!(matches!(
        fault(|value| value["generations"][1] = value["generations"][0].clone()),
        ManifestFault::IdTwice { .. }
    ));
    assert!(matches!(
        fault(|value| value["retired"] = json!(["c-1"])),
        ManifestFault::IdTwice { .. }
    ));
    assert!(matches!(
        fault(|value| value["highWater"] = json!("a")),
        ManifestFault::HighWater { .. }
    ));
    assert!(matches!(
        fault(|value| value["stateFormatId"] = json!("flysess-2")),
        ManifestFault::StateFormat { .. }
    ));
    assert!(matches!(
        fault(|value| value["storeManifestVersion"] = json!(2)),
        ManifestFault::Version { .. }
    ));
    let unsorted = json!([{"lastOrdinal": null, "stem": "f"}, {"lastOrdinal": "1", "stem": "e"}]);
    let bytes = forged(|value| value["epochs"] = unsorted);
    assert_eq!(StoreManifest::decode(&bytes), Err(ManifestFault::Epochs));
    let fields: [fn(&mut Value); 6] = [
        |value| value["unknown"] = json!(1),
        |value| value["generations"][0]["unknown"] = json!(1),
        |value| drop(value.as_object_mut().unwrap().remove("highWater")),
        |value| value["generations"][0]["boundary"] = json!(3),
        |value| value["generations"][0]["boundary"] = json!("03"),
        |value| value["generations"][0]["envelopeDigest"] = json!("00"),
    ];
    for (index, change) in fields.into_iter().enumerate() {
        assert!(
            matches!(fault(change), ManifestFault::Fields { .. }),
            "change {index}"
        );
    }
}

#[test]
fn another_spelling_of_the_same_content_is_refused() {
    let text = String::from_utf8(manifest().encode()).unwrap();
    for (other, why) in [
        (text.replacen(',', ", ", 1), "a space"),
        (text.replacen("\"demo\"", "\"d\\u0065mo\"", 1), "an escape"),
        (format!("{text}\n"), "a newline"),
    ] {
        let fault = StoreManifest::decode(other.as_bytes()).unwrap_err();
        assert!(
            matches!(fault, ManifestFault::NotCanonical { offset } if offset > 0),
            "{why}: {fault}"
        );
    }
    // A struct may also be read from an array of its fields; that is another spelling too.
    let array = forged(|value| value["epochs"] = json!([["e", "1"]]));
    assert!(StoreManifest::decode(&array).is_err());
}

#[test]
fn retired_ids_are_the_newest_and_no_more_than_the_limit() {
    let mut manifest = StoreManifest::default();
    for number in 0..100 {
        manifest.add(generation(&format!("g{number}")), 1);
    }
    assert_eq!(manifest.retired.len(), RETIRED_IDS);
    assert_eq!(manifest.retired.last(), Some(&id("g98")));
    assert_eq!(manifest.high_water().unwrap().checkpoint_id, id("g99"));
}
