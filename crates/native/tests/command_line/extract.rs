//! `envelope extract`: what was copied is what was written, and what is damaged is not copied.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sample_file::{Content, Folder, SampleFile, flip};
use crate::wellwritten::{Answer, envelope};

fn extract(file: &Path, rest: &[&str], output: &Path) -> Answer {
    let mut arguments = vec!["extract", file.to_str().unwrap()];
    arguments.extend(rest);
    arguments.extend(["--output", output.to_str().unwrap()]);
    envelope(arguments)
}

#[test]
fn one_payload_to_a_file_or_into_a_folder() {
    for version in [1, 2] {
        let folder = Folder::new();
        let (path, _) = folder.sample(version);
        let sample = SampleFile::small(version);
        let output = folder.file("world.bin");
        let answer = extract(&path, &["--payload", "world"], &output);
        assert_eq!((answer.exit, answer.stderr.as_str()), (0, ""));
        assert!(
            answer.stdout.contains("world.bin, 9 bytes"),
            "{}",
            answer.stdout
        );
        assert_eq!(fs::read(&output).unwrap(), sample.payload("world"));

        let into = folder.file("into");
        fs::create_dir(&into).unwrap();
        let json = extract(&path, &["--payload", "prior-inspection", "--json"], &into).json();
        let target = into.join("prior-inspection");
        assert_eq!(fs::read(&target).unwrap(), b"");
        assert_eq!(
            json,
            json!({
                "command": "envelope extract", "exitCode": 0, "file": path.to_str().unwrap(), "error": null,
                "written": [{
                    "file": target.to_str().unwrap(), "payload": "prior-inspection", "byteLength": "0",
                }],
            })
        );
    }
}

#[test]
fn everything_into_a_folder_that_is_made_for_it() {
    for version in [1, 2] {
        let folder = Folder::new();
        let (path, _) = folder.sample(version);
        let output = folder.file("all");
        let json = extract(&path, &["--all", "--manifest", "--json"], &output).json();
        assert_eq!(json["exitCode"], 0);
        assert_eq!(json["written"].as_array().unwrap().len(), 7);
        assert_eq!(json["written"][6]["payload"], Value::Null);
        for (name, content) in SampleFile::small(version).payloads {
            let Content::Bytes(bytes) = content else {
                panic!("all of the sample is in memory")
            };
            assert_eq!(fs::read(output.join(name)).unwrap(), bytes, "{name}");
        }
        let text = fs::read(output.join("_manifest.json")).unwrap();
        assert_eq!(fs::read_dir(&output).unwrap().count(), 7);
        // Byte for byte: it is in the file as it is.
        assert_eq!(fs::read(&path).unwrap()[32..32 + text.len()], text);
    }
}

#[test]
fn the_manifest_alone_and_with_one_payload() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let output = folder.file("manifest.json");
    assert_eq!(extract(&path, &["--manifest"], &output).exit, 0);
    let manifest: Value = serde_json::from_slice(&fs::read(&output).unwrap()).unwrap();
    assert_eq!(manifest["checkpointId"], "c1");

    let both = folder.file("both");
    assert_eq!(
        extract(&path, &["--manifest", "--payload", "world"], &both).exit,
        0
    );
    assert!(both.join("world").is_file() && both.join("_manifest.json").is_file());
}

#[test]
fn nothing_is_overwritten_unless_it_is_said() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let output = folder.file("output");
    fs::write(&output, b"mine").unwrap();
    let json = extract(&path, &["--payload", "world", "--json"], &output).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"]),
        (&json!(3), &json!("output-exists"))
    );
    assert_eq!(json["written"], json!([]));
    assert_eq!(fs::read(&output).unwrap(), b"mine");

    assert_eq!(
        extract(&path, &["--payload", "world", "--force"], &output).exit,
        0
    );
    assert_eq!(
        fs::read(&output).unwrap(),
        SampleFile::small(2).payload("world")
    );

    // One of several files: none is written.
    let all = folder.file("all");
    fs::create_dir(&all).unwrap();
    fs::write(all.join("executor-a"), b"mine").unwrap();
    let answer = extract(&path, &["--all"], &all);
    assert_eq!(answer.exit, 3);
    assert!(
        answer.stderr.contains("--force replaces it"),
        "{}",
        answer.stderr
    );
    assert_eq!(fs::read_dir(&all).unwrap().count(), 1);
    assert_eq!(extract(&path, &["--all", "--force"], &all).exit, 0);
    assert_eq!(
        fs::read(all.join("executor-a")).unwrap(),
        SampleFile::small(2).payload("executor-a")
    );
}

#[test]
fn not_even_force_replaces_what_is_no_file() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let link = folder.file("link");
    let kept = folder.file("kept");
    fs::write(&kept, b"mine").unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    let socket = folder.file("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for output in [&link, &socket] {
        let json = extract(&path, &["--payload", "world", "--force", "--json"], output).json();
        assert_eq!(json["error"]["code"], "output-not-a-file", "{output:?}");
    }
    assert!(link.is_symlink() && !socket.is_file());
    assert_eq!(fs::read(&kept).unwrap(), b"mine");
}

#[test]
fn a_damaged_payload_is_not_copied_and_its_neighbours_are() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    flip(&path, layout.payloads[0] + 8);
    let output = folder.file("world");
    let json = extract(&path, &["--payload", "world", "--json"], &output).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["rule"]),
        (&json!(1), &json!("payload-digest"))
    );
    let all = folder.file("all");
    assert_eq!(extract(&path, &["--all"], &all).exit, 1);
    assert_eq!(
        folder.names(),
        ["sample-2.flysess"],
        "neither a file nor a folder"
    );

    // Version 2 vouches for each payload alone.
    assert_eq!(extract(&path, &["--payload", "agent-a"], &output).exit, 0);
    assert_eq!(
        fs::read(&output).unwrap(),
        SampleFile::small(2).payload("agent-a")
    );

    // In version 1 the footer vouches for all or nothing.
    let (path, layout) = folder.sample(1);
    flip(&path, layout.payloads[0] + 8);
    let json = extract(
        &path,
        &["--payload", "agent-a", "--json"],
        &folder.file("agent"),
    )
    .json();
    assert_eq!(json["error"]["rule"], "footer-digest");
    assert!(!folder.file("agent").exists());
}

#[test]
fn a_payload_that_is_not_there_is_wrong_usage() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let answer = extract(&path, &["--payload", "worlds"], &folder.file("output"));
    assert_eq!(answer.exit, 2);
    for name in ["no payload worlds", "world, agent-a, task-ledger"] {
        assert!(answer.stderr.contains(name), "{}", answer.stderr);
    }
}

#[test]
fn outputs_that_cannot_be_written_exit_with_3() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    let nowhere = folder.file("missing").join("output");
    let json = extract(&path, &["--payload", "world", "--json"], &nowhere).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"]),
        (&json!(3), &json!("write"))
    );
    // A folder where a file stands.
    let json = extract(&path, &["--all", "--json"], &path).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"]),
        (&json!(3), &json!("write"))
    );
    assert_eq!(
        envelope(["verify", path.to_str().unwrap()]).exit,
        0,
        "the input is untouched"
    );
}
