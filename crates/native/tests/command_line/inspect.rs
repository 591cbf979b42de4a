//! `envelope inspect`: the layout and the manifest of sound files, and how far damaged ones are sound.

use std::fs;

use serde_json::Value;
use wellwritten_envelope::describe;

use crate::sample_file::{Folder, SampleFile, flip};
use crate::wellwritten::envelope;

/// Kind, name, offset, length and state of each part, as text.
fn parts(json: &Value) -> Vec<[String; 5]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parts = json["layout"]["parts"].as_array().unwrap();
    parts
        .iter()
        .map(|part| {
            [
                text(&part["kind"]),
                text(&part["name"]),
                text(&part["offset"]),
                text(&part["byteLength"]),
                text(&part["state"]["is"]),
            ]
        })
        .collect()
}

#[test]
fn every_part_is_where_the_writer_put_it() {
    for version in [1, 2] {
        let folder = Folder::new();
        let (path, layout) = folder.sample(version);
        let sample = SampleFile::small(version);
        let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
        assert_eq!(json["exitCode"], 0);
        assert_eq!(json["error"], Value::Null);
        assert_eq!(json["layout"]["version"], version);
        let mut manifest = json["manifest"].clone();
        manifest.as_object_mut().unwrap().remove("payloads");
        assert_eq!(manifest, sample.manifest);

        let found = parts(&json);
        let mut end = 0;
        for [kind, name, offset, length, state] in &found {
            assert_eq!(
                offset,
                &end.to_string(),
                "{kind} {name} begins where the last part ends"
            );
            assert_eq!(state, "verified");
            end += length.parse::<u64>().unwrap();
        }
        assert_eq!(end, layout.footer + 48);
        let payloads = found.iter().filter(|[kind, ..]| kind == "payload");
        let payloads: Vec<(&str, u64)> = payloads
            .map(|[_, name, offset, ..]| (name.as_str(), offset.parse().unwrap()))
            .collect();
        let names = sample.payloads.iter().map(|(name, _)| *name);
        let expected: Vec<(&str, u64)> = names.zip(layout.payloads).collect();
        assert_eq!(payloads, expected);
    }
}

#[test]
fn a_person_reads_the_same() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    let answer = envelope(["inspect", path.to_str().unwrap()]);
    assert_eq!((answer.exit, answer.stderr.as_str()), (0, ""));
    let row = |offset: u64, length: u64, part: &str| {
        format!("{offset:>14} {length:>14}  {part:<32} verified")
    };
    for expected in [
        "envelope version 2",
        "sound: every rule of the format holds",
        &row(0, 32, "header"),
        &row(layout.table, 6 * 112, "table"),
        &row(layout.payloads[0], 9, "payload world"),
        &row(layout.footer, 48, "footer"),
        "checkpoint    c1",
        "session       demo",
        "epoch         e1",
        "step          42",
        "world time    700000000/3 ns in episode ep1",
        "environment   arena                    world, 9 bytes",
        "agent         a                        agent-a, 8 bytes",
        "executor      of a                     executor-a, 7 bytes",
        "coordinator   admission state          coordinator-admission, 15 bytes",
    ] {
        assert!(
            answer.stdout.contains(expected),
            "no {expected:?} in\n{}",
            answer.stdout
        );
    }
    assert_eq!(
        envelope(["inspect", "--quiet", path.to_str().unwrap()]).stdout,
        ""
    );
}

#[test]
fn a_damaged_payload_leaves_the_others_sound() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    flip(&path, layout.payloads[4]);
    let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
    assert_eq!(json["exitCode"], 1);
    assert_eq!(json["error"]["rule"], "payload-digest");
    assert_eq!(json["error"]["payload"], "executor-a");
    assert_eq!(json["error"]["offset"], layout.payloads[4].to_string());
    for [kind, name, .., state] in parts(&json) {
        let expected = if name == "executor-a" {
            "broken"
        } else {
            "verified"
        };
        assert_eq!(state, expected, "{kind} {name}");
    }
    assert_eq!(json["layout"]["soundBytes"], layout.payloads[4].to_string());

    let answer = envelope(["inspect", path.to_str().unwrap()]);
    assert_eq!(answer.exit, 1);
    assert_eq!(
        answer.stdout.matches("BROKEN").count(),
        1,
        "{}",
        answer.stdout
    );
    assert!(
        answer.stdout.contains("nothing is known to be wrong"),
        "{}",
        answer.stdout
    );
    assert!(
        answer.stderr.contains("not sound: payload executor-a"),
        "{}",
        answer.stderr
    );
}

#[test]
fn a_file_cut_in_a_payload_still_shows_its_manifest() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    let bytes = fs::read(&path).unwrap();
    let cut = usize::try_from(layout.payloads[3]).unwrap();
    fs::write(&path, &bytes[..cut]).unwrap();
    let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
    assert_eq!(json["exitCode"], 1);
    assert_eq!(json["manifest"]["checkpointId"], "c1");
    let states = parts(&json);
    let state = |name: &str| &states.iter().find(|part| part[1] == name).unwrap()[4];
    assert_ne!(state("coordinator-admission"), "verified");
    let answer = envelope(["inspect", path.to_str().unwrap()]);
    assert!(
        answer.stdout.contains("manifest (not verified)"),
        "{}",
        answer.stdout
    );
    assert!(
        answer.stdout.contains("session       demo"),
        "{}",
        answer.stdout
    );
}

#[test]
fn anything_at_all_is_described_as_the_library_describes_it() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let bytes = fs::read(&path).unwrap();
    let hostile = {
        let mut bytes = bytes.clone();
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes
    };
    let files = [
        Vec::new(),
        b"FLYSESS1".to_vec(),
        vec![0xff; 5000],
        bytes[..100].to_vec(),
        hostile,
        [bytes.clone(), vec![0; 9]].concat(),
    ];
    for bytes in files {
        fs::write(&path, &bytes).unwrap();
        let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
        assert_eq!(json["exitCode"], 1);
        assert_eq!(
            json["layout"],
            serde_json::to_value(describe(&bytes)).unwrap()
        );
        let answer = envelope(["inspect", path.to_str().unwrap()]);
        assert_eq!(answer.exit, 1);
        assert!(answer.stdout.contains("not sound"), "{}", answer.stdout);
    }
}

#[test]
fn a_missing_file_exits_with_3() {
    let folder = Folder::new();
    let path = folder.file("missing");
    let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
    assert_eq!(json["exitCode"], 3);
    assert_eq!(json["error"]["code"], "open");
    assert_eq!(json["layout"], Value::Null);
}
