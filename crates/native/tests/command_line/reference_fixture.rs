//! The reference implementation's envelope: the program sees what was recorded of it, and refuses every recorded
//! corruption for the recorded reason.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::Value;

use crate::sample_file::{Folder, flip};
use crate::wellwritten::envelope;

/// The fixture; where it is missing, says so on a line that begins with `SKIPPED `.
fn fixture(test: &str) -> Option<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures/flysess1/checkpoint-envelope.json");
    if let Ok(text) = fs::read(&path) {
        return Some(serde_json::from_slice(&text).expect("the fixture is JSON"));
    }
    // Straight to the stream: what a passing test prints is otherwise captured and lost.
    let notice = format!(
        "\nSKIPPED {test}: fixture not found at {}\n",
        path.display()
    );
    std::io::stdout().write_all(notice.as_bytes()).unwrap();
    None
}

fn write(fixture: &Value, path: &Path) {
    let text = fixture["envelope"]["base64"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    fs::write(path, bytes.unwrap()).unwrap();
}

#[test]
fn the_recorded_layout_and_payloads_are_seen() {
    let Some(fixture) = fixture("the_recorded_layout_and_payloads_are_seen") else {
        return;
    };
    let folder = Folder::new();
    let path = folder.file("reference.flysess");
    write(&fixture, &path);
    let json = envelope(["inspect", "--json", path.to_str().unwrap()]).json();
    assert_eq!(json["exitCode"], 0);
    assert_eq!(json["manifest"], fixture["manifest"]);
    let parts = json["layout"]["parts"].as_array().unwrap();
    let payloads: Vec<&Value> = parts
        .iter()
        .filter(|part| part["kind"] == "payload")
        .collect();
    let recorded = fixture["envelope"]["layout"]["entries"].as_array().unwrap();
    assert_eq!(payloads.len(), recorded.len());
    assert!(!recorded.is_empty());
    for (payload, entry) in payloads.iter().zip(recorded) {
        for key in ["name", "offset", "byteLength", "digest"] {
            let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            assert_eq!(text(&payload[key]), text(&entry[key]), "{key}");
        }
    }

    let output = folder.file("all");
    let all = [
        "extract",
        path.to_str().unwrap(),
        "--all",
        "-o",
        output.to_str().unwrap(),
    ];
    assert_eq!(envelope(all).exit, 0);
    for payload in fixture["payloads"].as_array().unwrap() {
        let text = payload["base64"].as_str().unwrap();
        let expected = base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap();
        let name = payload["name"].as_str().unwrap();
        assert_eq!(fs::read(output.join(name)).unwrap(), expected, "{name}");
    }
}

/// It has what older writers leave out or say otherwise, for which version 2 has a place.
#[test]
fn converting_it_there_and_back_loses_nothing() {
    let Some(fixture) = fixture("converting_it_there_and_back_loses_nothing") else {
        return;
    };
    assert!(fixture["manifest"]["coordinator"]["admissionState"].is_null());
    let folder = Folder::new();
    let path = folder.file("reference.flysess");
    write(&fixture, &path);
    let convert = |from: &Path, to: &str, name: &str| {
        let output = folder.file(name);
        let arguments = [
            "convert",
            "--json",
            from.to_str().unwrap(),
            "--to",
            to,
            "-o",
        ];
        let json = envelope(arguments.into_iter().chain([output.to_str().unwrap()])).json();
        assert_eq!(json["exitCode"], 0, "{json:#}");
        output
    };
    let bytes = fs::read(&path).unwrap();
    assert_eq!(fs::read(convert(&path, "1", "copy")).unwrap(), bytes);
    let two = convert(&path, "2", "two");
    assert_eq!(fs::read(convert(&two, "1", "back")).unwrap(), bytes);

    let json = envelope(["inspect", "--json", two.to_str().unwrap()]).json();
    assert_eq!(json["manifest"]["envelopeVersion"], 2);
    assert_eq!(
        json["manifest"]["coordinator"],
        fixture["manifest"]["coordinator"]
    );
}

#[test]
fn every_recorded_corruption_exits_with_1_for_its_reason() {
    let Some(fixture) = fixture("every_recorded_corruption_exits_with_1_for_its_reason") else {
        return;
    };
    let expected = |name: &str| match name {
        "a flipped magic byte" => "magic",
        "an unsupported version" => "version",
        "a flipped manifest byte" | "a flipped payload byte" | "a flipped footer digest byte" => {
            "footer-digest"
        }
        "a flipped footer magic byte" => "footer-magic",
        other => panic!("the fixture records a corruption this test does not know: {other}"),
    };
    let folder = Folder::new();
    let path = folder.file("reference.flysess");
    let corruptions = fixture["corruption"].as_array().unwrap();
    assert!(corruptions.len() >= 6, "only {}", corruptions.len());
    for corruption in corruptions {
        let name = corruption["name"].as_str().unwrap();
        write(&fixture, &path);
        flip(&path, corruption["offset"].as_u64().unwrap());
        for command in ["verify", "inspect"] {
            let json = envelope([command, "--json", path.to_str().unwrap()]).json();
            assert_eq!(json["exitCode"], 1, "{name}");
            let error = match command {
                "verify" => &json["files"][0]["error"],
                _ => &json["error"],
            };
            assert_eq!(error["rule"], expected(name), "{name}: {error:#}");
        }
        let answer = envelope(["verify", path.to_str().unwrap()]);
        assert_eq!(answer.exit, 1, "{name}");
        assert!(
            answer.stderr.contains("not sound"),
            "{name}: {}",
            answer.stderr
        );
        let output = folder.file("output");
        let manifest = [
            "extract",
            path.to_str().unwrap(),
            "--manifest",
            "-o",
            output.to_str().unwrap(),
        ];
        assert_eq!(envelope(manifest).exit, 1, "{name}");
        assert!(!output.exists(), "{name}");
    }
}
