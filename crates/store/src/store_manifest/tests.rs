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

/// Nothing would be gone on from though generations are listed, or an epoch's name would be given out again.
#[test]
fn what_goes_on_from_where_and_which_epochs_were_is_said_of_every_generation() {
    let fault = |change: fn(&mut Value)| StoreManifest::decode(&forged(change)).unwrap_err();
    assert_eq!(
        fault(|value| value["highWater"] = Value::Null),
        ManifestFault::NoHighWater
    );
    let no_epochs = |value: &mut Value| value["epochs"] = json!([]);
    let too_low = |value: &mut Value| value["epochs"][0]["lastOrdinal"] = json!("0");
    for change in [no_epochs as fn(&mut Value), too_low] {
        assert!(matches!(
            fault(change),
            ManifestFault::EpochUnknown { epoch, .. } if epoch == id("e1")
        ));
    }
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
    let resumed: [fn(&mut Value); 2] = [
        |value| value["resumedFrom"] = json!("a"),
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
fn pins_are_listed_sorted_and_few_and_are_not_written_where_there_are_none() {
    let mut pinned = manifest();
    for name in ["c-1", "b.x"] {
        pinned.set_pinned(&id(name), true);
        pinned.set_pinned(&id(name), true);
    }
    let value: Value = serde_json::from_slice(&pinned.encode()).unwrap();
    assert_eq!(value["pinned"], json!(["b.x", "c-1"]));
    assert_eq!(StoreManifest::decode(&pinned.encode()), Ok(pinned.clone()));
    for name in ["c-1", "b.x", "b.x"] {
        pinned.set_pinned(&id(name), false);
    }
    assert_eq!(
        pinned.encode(),
        manifest().encode(),
        "as before there were pins"
    );
    for wrong in [
        json!(["c-1", "b.x"]),
        json!(["b.x", "b.x"]),
        json!(["a"]),
        json!(["unheard-of"]),
    ] {
        let bytes = forged(|value| value["pinned"] = wrong.clone());
        assert_eq!(
            StoreManifest::decode(&bytes),
            Err(ManifestFault::Pinned),
            "{wrong}"
        );
    }
    // Nothing is spelled as nothing: one content, one spelling.
    let bytes = forged(|value| value["pinned"] = json!([]));
    assert!(matches!(
        StoreManifest::decode(&bytes),
        Err(ManifestFault::NotCanonical { .. })
    ));
    let with_pins = |count: usize| {
        let mut manifest = StoreManifest::default();
        for number in 0..count {
            manifest.add_foreign(generation(&format!("g{number:03}")));
        }
        manifest.encode()
    };
    assert!(StoreManifest::decode(&with_pins(PINNED_GENERATIONS)).is_ok());
    assert_eq!(
        StoreManifest::decode(&with_pins(PINNED_GENERATIONS + 1)),
        Err(ManifestFault::Pinned)
    );
}

#[test]
fn a_manifest_of_before_there_were_pins_is_read() {
    let bytes = br#"{"continues":["a"],"digest":"DIGEST","epochs":[{"lastOrdinal":"1","stem":"e"}],"generations":[{"boundary":"3","byteLength":"7","checkpointId":"a","compatibilityDigest":"COMPATIBILITY","envelopeDigest":"ENVELOPE","episodeId":"episode-1","epoch":"e1","file":"a.flysess","sessionId":"demo"}],"highWater":"a","resumedFrom":null,"retired":[],"stateFormatId":"flysess-1","storeManifestVersion":1,"unlisted":[]}"#;
    let text = std::str::from_utf8(bytes)
        .unwrap()
        .replace("COMPATIBILITY", &Digest::blake3(b"c").to_string())
        .replace("ENVELOPE", &Digest::blake3(b"e").to_string());
    let body = text.replace(r#""digest":"DIGEST","#, "");
    let digest = Digest::blake3(body.as_bytes()).to_string();
    let read = StoreManifest::decode(text.replace("DIGEST", &digest).as_bytes()).unwrap();
    assert_eq!(read.high_water().unwrap().boundary, U64(3));
    assert_eq!(read.pinned(), []);
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

/// `generations`, oldest first; pinned ones with an exclamation mark, abandoned ones with a star.
fn shown(manifest: &StoreManifest) -> String {
    let timeline = manifest.timeline();
    let mark = |generation: &GenerationInfo| {
        let id = &generation.checkpoint_id;
        let pin = if manifest.is_pinned(id) { "!" } else { "" };
        let star = if timeline.contains(&generation) {
            ""
        } else {
            "*"
        };
        format!("{id}{pin}{star}")
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

fn names(dropped: &[GenerationInfo]) -> Vec<&str> {
    let names = dropped
        .iter()
        .map(|generation| generation.checkpoint_id.as_str());
    names.collect()
}

#[test]
fn pinned_generations_are_not_counted_and_never_dropped() {
    let mut manifest = StoreManifest::default();
    for name in ["a", "b", "c"] {
        manifest.add(generation(name), 9);
    }
    manifest.resume(&id("b"));
    manifest.set_pinned(&id("c"), true);
    manifest.set_pinned(&id("a"), true);
    assert_eq!(shown(&manifest), "a! b c!*");
    let dropped = manifest.add(generation("d"), 2);
    assert_eq!(
        (names(&dropped), shown(&manifest).as_str()),
        (vec![], "a! b c!* d")
    );
    let dropped = manifest.add(generation("e"), 2);
    assert_eq!(names(&dropped), ["d"], "not the one resumed from");
    assert_eq!(shown(&manifest), "a! b c!* e");
    let dropped = manifest.add(generation("f"), 1);
    assert_eq!(names(&dropped), ["e", "b"], "that one last");
    assert_eq!(shown(&manifest), "a! c!* f");
    manifest.set_pinned(&id("c"), false);
    let dropped = manifest.add(generation("g"), 2);
    assert_eq!(names(&dropped), ["c"]);
    assert_eq!(shown(&manifest), "a! f g");
    assert_eq!(
        StoreManifest::decode(&manifest.encode()).as_ref(),
        Ok(&manifest)
    );
}

#[test]
fn pruning_drops_what_is_worth_least_and_spares_what_a_session_stands_on() {
    let mut manifest = StoreManifest::default();
    for name in ["a", "b", "c", "d"] {
        manifest.add(generation(name), 9);
    }
    manifest.resume(&id("b"));
    manifest.add(generation("e"), 9);
    manifest.add(generation("f"), 9);
    manifest.set_pinned(&id("a"), true);
    assert_eq!(shown(&manifest), "a! b c* d* e f");
    assert_eq!(names(&manifest.prune(5)), Vec::<&str>::new());
    assert_eq!(names(&manifest.prune(4)), ["c"]);
    assert_eq!(names(&manifest.prune(1)), ["d", "e"]);
    assert_eq!(shown(&manifest), "a! b f");
    assert_eq!(manifest.resumed_from(), Some(&id("b")));
    assert_eq!(names(&manifest.prune(1)), Vec::<&str>::new());
    assert_eq!(
        StoreManifest::decode(&manifest.encode()).as_ref(),
        Ok(&manifest)
    );
}

#[test]
fn what_comes_from_elsewhere_is_pinned_and_beside_the_timeline() {
    let mut manifest = StoreManifest::default();
    manifest.add_foreign(generation("x"));
    assert_eq!(
        shown(&manifest),
        "x!",
        "the timeline of a store that was empty"
    );
    manifest.add(generation("a"), 1);
    manifest.add_foreign(generation("y"));
    assert_eq!(shown(&manifest), "x! a y!*");
    manifest.add(generation("b"), 1);
    assert_eq!(shown(&manifest), "x! y!* b");
    manifest.resume(&id("y"));
    manifest.add(generation("c"), 2);
    assert_eq!(shown(&manifest), "x!* y! b* c");
    assert_eq!(
        StoreManifest::decode(&manifest.encode()).as_ref(),
        Ok(&manifest)
    );
}
