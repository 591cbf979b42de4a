//! `envelope convert`: there and back is where it began, and an interrupted one leaves nothing.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::sample_file::{Folder, SampleFile, flip};
use crate::wellwritten::{Answer, command, envelope};

fn convert(file: &Path, to: &str, rest: &[&str], output: &Path) -> Answer {
    let mut arguments = vec!["convert", file.to_str().unwrap(), "--to", to];
    arguments.extend(rest);
    arguments.extend(["--output", output.to_str().unwrap()]);
    envelope(arguments)
}

#[test]
fn each_version_becomes_the_other_and_is_what_the_second_writer_writes() {
    let folder = Folder::new();
    for (from, to) in [(1, 2), (2, 1)] {
        let (path, _) = folder.sample(from);
        let output = folder.file(&format!("to-{to}"));
        let json = convert(&path, &to.to_string(), &["--json"], &output).json();
        let length = fs::metadata(&output).unwrap().len();
        assert_eq!(
            json,
            json!({
                "command": "envelope convert", "exitCode": 0, "file": path.to_str().unwrap(), "error": null,
                "output": {"file": output.to_str().unwrap()},
                "fromVersion": from, "toVersion": to, "fileBytes": length.to_string(),
            })
        );
        let (expected, _) = folder.sample(to);
        assert_eq!(fs::read(&output).unwrap(), fs::read(expected).unwrap());
    }
    let answer = convert(&folder.file("to-1"), "2", &[], &folder.file("back"));
    assert_eq!((answer.exit, answer.stderr.as_str()), (0, ""));
    assert_eq!(answer.stdout.lines().count(), 2, "{}", answer.stdout);
    assert_eq!(
        fs::read(folder.file("back")).unwrap(),
        fs::read(folder.file("to-2")).unwrap()
    );
}

#[test]
fn to_its_own_version_is_a_copy() {
    let folder = Folder::new();
    for version in ["1", "2"] {
        let (path, _) = folder.sample(version.parse().unwrap());
        let output = folder.file(version);
        let answer = convert(&path, version, &[], &output);
        assert_eq!(answer.exit, 0, "{}", answer.stderr);
        assert!(
            answer.stdout.contains("copy, byte for byte"),
            "{}",
            answer.stdout
        );
        assert_eq!(fs::read(&output).unwrap(), fs::read(&path).unwrap());
    }
}

#[test]
fn everything_that_version_2_cannot_hold_is_named_and_nothing_is_written() {
    let folder = Folder::new();
    let path = folder.file("old.flysess");
    let output = folder.file("output");
    let watermarks = json!({"lastEventId": "evt-1", "lastOrdinal": "7", "more": 1});
    let note = || json!("kept");
    let places = [
        ("/digestAlgorithm", json!("sha256"), "digestAlgorithm"),
        ("/note", note(), "note"),
        ("/portMap/0/note", note(), "portMap[0].note"),
        ("/compatibility/note", note(), "compatibility.note"),
        ("/environment/note", note(), "environment.note"),
        ("/agents/0/note", note(), "agents[0].note"),
        ("/coordinator/note", note(), "coordinator.note"),
        (
            "/coordinator/executorState/0/note",
            note(),
            "coordinator.executorState[0].note",
        ),
        (
            "/coordinator/eventWatermarks/note",
            note(),
            "coordinator.eventWatermarks.note",
        ),
        (
            "/coordinator/eventWatermarks",
            watermarks,
            "coordinator.eventWatermarks.more",
        ),
    ];
    let add = |sample: &mut SampleFile, pointer: &str, value| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        sample.manifest.pointer_mut(parent).unwrap()[key] = value;
    };
    // Each alone, so that the library and the list cannot disagree about one of them unnoticed.
    for (pointer, value, field) in &places {
        let mut sample = SampleFile::small(1);
        add(&mut sample, pointer, value.clone());
        sample.write(&path);
        assert_eq!(envelope(["verify", path.to_str().unwrap()]).exit, 0);
        let json = convert(&path, "2", &["--json"], &output).json();
        assert_eq!(json["exitCode"], 2, "{json:#}");
        assert_eq!(json["error"]["code"], "would-lose");
        assert_eq!(json["error"]["field"], *field);
        assert_eq!(json["error"]["lostFields"], json!([field]));
    }
    // All of them at once, for a person.
    let mut sample = SampleFile::small(1);
    for (pointer, value, _) in &places {
        add(&mut sample, pointer, value.clone());
    }
    sample.write(&path);
    let answer = convert(&path, "2", &[], &output);
    assert_eq!(answer.exit, 2);
    let named = "without loss of digestAlgorithm, note, portMap[0].note, compatibility.note, environment.note, agents[0].note, \
                 coordinator.note, coordinator.executorState[0].note, coordinator.eventWatermarks.more: ";
    assert!(answer.stderr.contains(named), "{}", answer.stderr);
    assert_eq!(folder.names(), ["old.flysess"]);
}

#[test]
fn a_damaged_file_is_not_converted() {
    for version in [1, 2] {
        let folder = Folder::new();
        let (path, layout) = folder.sample(version);
        flip(&path, layout.payloads[0]);
        for to in ["1", "2"] {
            let json = convert(&path, to, &["--json"], &folder.file("output")).json();
            assert_eq!(
                (&json["exitCode"], &json["error"]["code"]),
                (&json!(1), &json!("not-sound"))
            );
        }
        assert_eq!(folder.names().len(), 1, "{:?}", folder.names());
    }
}

#[test]
fn a_file_may_be_converted_in_place_if_it_is_said() {
    let folder = Folder::new();
    let (path, _) = folder.sample(1);
    let (expected, _) = folder.sample(2);
    let json = convert(&path, "2", &["--json"], &path).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"]),
        (&json!(3), &json!("output-exists"))
    );
    assert_eq!(convert(&path, "2", &["--force"], &path).exit, 0);
    assert_eq!(fs::read(&path).unwrap(), fs::read(&expected).unwrap());
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
}

/// Whether a process has written to a file in a folder, named or not, that is not `input`.
fn is_writing(process: u32, folder: &Path, input: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    open.flatten().any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let length = fs::metadata(entry.path()).map_or(0, |metadata| metadata.len());
        target.starts_with(folder) && target != input && length > 0
    })
}

/// Every way to be ended while writing, the last of which no program can answer.
#[test]
fn an_interrupted_convert_leaves_no_half_file() {
    let folder = Folder::new();
    let path = folder.file("large.flysess");
    SampleFile::large(2, 64 << 20).write(&path);
    let output = folder.file("output");
    let mut interrupted = 0;
    for signal in ["INT", "TERM", "HUP", "KILL"] {
        let mut child = command(["envelope", "convert", "--to", "1", "--output"])
            .args([&output, &path])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !is_writing(child.id(), folder.path(), &path) && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        // It may have ended by itself meanwhile; then there is nobody to signal.
        let _ = std::process::Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        if child.wait().unwrap().success() {
            fs::remove_file(&output).unwrap();
        } else {
            interrupted += 1;
        }
        assert_eq!(folder.names(), ["large.flysess"], "after {signal}");
    }
    assert!(interrupted > 0, "every convert was done before its signal");
}

#[test]
fn a_disk_that_is_full_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.file("large.flysess");
    SampleFile::large(1, 8 << 20).write(&path);
    let output = folder.file("output");
    // A file size limit is the disk that fills up; SIGXFSZ must be ignored for it to be an error.
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"";
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", script, env!("CARGO_BIN_EXE_wellwritten")]);
    limited.args(["envelope", "convert", "--json", "--to", "2", "--output"]);
    let json = crate::wellwritten::answer(limited.args([&output, &path])).json();
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"]),
        (&json!(3), &json!("write"))
    );
    assert_eq!(folder.names(), ["large.flysess"]);
}

#[test]
fn an_output_that_can_be_no_file_is_refused_first_and_in_words() {
    let folder = Folder::new();
    // Damaged, so that whatever is looked at later is another complaint.
    let (path, _) = folder.sample(1);
    flip(&path, 0);
    let file = folder.file("file");
    fs::write(&file, b"mine").unwrap();
    for (name, code, said) in [
        (
            "missing/x",
            "write",
            "no file can be created in the folder {}/missing: No such file or directory",
        ),
        (
            "file/x",
            "write",
            "no file can be created in the folder {}/file: Not a directory",
        ),
        (
            "new/",
            "output-not-a-file",
            "new/ names a folder, and a file is to be written",
        ),
        (
            "new/.",
            "output-not-a-file",
            "new/. names a folder, and a file is to be written",
        ),
        (
            "../",
            "output-not-a-file",
            "is a directory, which is never replaced",
        ),
    ] {
        let output = folder.file(name);
        let json = convert(&path, "2", &["--json"], &output).json();
        let message = json["error"]["message"].as_str().unwrap();
        let said = said.replace("{}", folder.path().to_str().unwrap());
        assert_eq!(
            (&json["exitCode"], &json["error"]["code"]),
            (&json!(3), &json!(code)),
            "{json:#}"
        );
        assert!(message.contains(&said), "{message}");
        assert!(!message.contains(".wellwritten-"), "{message}");
    }
    assert_eq!(folder.names(), ["file", "sample-1.flysess"]);
}
