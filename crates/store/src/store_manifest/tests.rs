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
            "continues",
            "digest",
            "epochs",
            "generations",
            "highWater",
            "resumedFrom",
            "retired",
            "stateFormatId",
            "storeManifestVersion",
            "unlisted"
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
    assert_eq!(value["resumedFrom"], Value::Null);
    assert_eq!(value["continues"], json!(["b.x", "b.x"]));
    assert_eq!(value["retired"], json!(["a"]));
    assert_eq!(value["unlisted"], json!([]));
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
    let lines: [fn(&mut Value); 5] = [
        |value| value["continues"] = json!([]),
        |value| value["continues"] = json!(["b.x", "b.x", "b.x"]),
        |value| value["continues"] = json!(["c-1", "b.x"]),
        |value| value["continues"] = json!(["b.x", "a"]),
        |value| value["continues"] = json!(["../b.x", "b.x"]),
    ];
    for (index, change) in lines.into_iter().enumerate() {
        let fault = fault(change);
        let expected = match index {
            4 => matches!(fault, ManifestFault::Fields { .. }),
            _ => fault == ManifestFault::Continues,
        };
        assert!(expected, "lines {index}: {fault}");
    }
    let resumed: [fn(&mut Value); 3] = [
        |value| value["resumedFrom"] = json!("a"),
        |value| value["highWater"] = Value::Null,
        |value| value["continues"] = json!(["b.x", "c-1"]),
    ];
    for (index, change) in resumed.into_iter().enumerate() {
        let bytes = forged(|value| {
            value["resumedFrom"] = json!("b.x");
            change(value);
        });
        let fault = StoreManifest::decode(&bytes).unwrap_err();
        assert!(
            matches!(fault, ManifestFault::ResumedFrom { .. }),
            "resumed {index}: {fault}"
        );
    }
    let many: Vec<_> = (0..=UNLISTED_IDS).map(|n| format!("u{n:04}")).collect();
    for unlisted in [json!(["y", "x"]), json!(many)] {
        let bytes = forged(|value| value["unlisted"] = unlisted);
        assert_eq!(StoreManifest::decode(&bytes), Err(ManifestFault::Unlisted));
    }
    for unlisted in [json!(["x", "x"]), json!(["b.x"]), json!(["a"])] {
        let bytes = forged(|value| value["unlisted"] = unlisted);
        let fault = StoreManifest::decode(&bytes).unwrap_err();
        assert!(matches!(fault, ManifestFault::IdTwice { .. }), "{fault}");
    }
    let bytes = forged(|value| value["unlisted"] = json!(&many[1..]));
    assert!(StoreManifest::decode(&bytes).is_ok());
    let fields: [fn(&mut Value); 9] = [
        |value| value["unlisted"] = json!(["../x"]),
        |value| drop(value.as_object_mut().unwrap().remove("unlisted")),
        |value| drop(value.as_object_mut().unwrap().remove("resumedFrom")),
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

/// `generations`, oldest first; abandoned ones with a star.
fn shown(manifest: &StoreManifest) -> String {
    let timeline = manifest.timeline();
    let mark = |generation: &GenerationInfo| {
        let star = if timeline.contains(&generation) {
            ""
        } else {
            "*"
        };
        format!("{}{star}", generation.checkpoint_id)
    };
    let marked: Vec<_> = manifest.generations().iter().map(mark).collect();
    marked.join(" ")
}

#[test]
fn abandonment_follows_the_line_and_rotation_drops_it_first() {
    let mut manifest = StoreManifest::default();
    for name in ["a", "b", "c"] {
        manifest.add(generation(name), 9);
    }
    manifest.resume(&id("a"));
    assert_eq!(shown(&manifest), "a b* c*");
    manifest.add(generation("d"), 9);
    assert_eq!(shown(&manifest), "a b* c* d");
    manifest.resume(&id("c"));
    assert_eq!(shown(&manifest), "a b c d*");
    manifest.resume(&id("b"));
    assert_eq!(shown(&manifest), "a b c* d*");
    manifest.add(generation("e"), 9);
    assert_eq!(shown(&manifest), "a b c* d* e");
    assert_eq!(
        StoreManifest::decode(&manifest.encode()).as_ref(),
        Ok(&manifest)
    );
    for (name, expected) in [
        ("f", "a b d* e f"),
        ("g", "a b e f g"),
        ("h", "b e f g h"),
        ("i", "b f g h i"),
    ] {
        manifest.add(generation(name), 5);
        assert_eq!(shown(&manifest), expected);
        assert_eq!(
            StoreManifest::decode(&manifest.encode()).as_ref(),
            Ok(&manifest)
        );
    }
    manifest.add(generation("j"), 2);
    assert_eq!(shown(&manifest), "b j");
    manifest.add(generation("k"), 1);
    assert_eq!(shown(&manifest), "k");
    assert_eq!(manifest.resumed_from, None);
    assert_eq!(
        StoreManifest::decode(&manifest.encode()).as_ref(),
        Ok(&manifest)
    );
}
