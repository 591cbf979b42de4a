//! What others do while a command runs: they write to its file, and take the names of its output.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::halted::{Halted, long_file};
use crate::sample_file::Folder;
use crate::wellwritten::command;

/// The answer of a command that was halted and went on.
fn json_of(halted: Halted) -> Value {
    let output = halted.go_on();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        Some(i32::try_from(json["exitCode"].as_i64().unwrap()).unwrap()),
        output.status.code()
    );
    json
}

/// What happened to the file meanwhile.
type Change = fn(&Path);

fn open(path: &Path) -> File {
    File::options()
        .append(false)
        .write(true)
        .open(path)
        .unwrap()
}

const CHANGES: [(&str, Change); 4] = [
    ("it grew", |path| {
        let mut file = File::options().append(true).open(path).unwrap();
        file.write_all(b"more").unwrap();
    }),
    ("it shrank", |path| open(path).set_len(1 << 20).unwrap()),
    ("a byte at its beginning, which was read", |path| {
        open(path).write_all_at(b"G", 0).unwrap();
    }),
    ("a byte at its end, which was not", |path| {
        open(path).write_all_at(b"x", 20 << 20).unwrap();
    }),
];

#[test]
fn a_file_that_changes_while_it_is_read_is_neither_sound_nor_broken() {
    for arguments in [
        &["verify"][..],
        &["inspect"],
        &["extract", "--all", "--output", "OUTPUT"],
        &["convert", "--to", "1", "--output", "OUTPUT"],
        &["convert", "--to", "2", "--output", "OUTPUT"],
    ] {
        for (what, change) in CHANGES {
            let folder = Folder::new();
            let path = long_file(&folder, 1);
            let output = folder.file("output");
            let mut command = command(["--json", "envelope"]);
            for argument in arguments {
                match *argument {
                    "OUTPUT" => command.arg(&output),
                    other => command.arg(other),
                };
            }
            let halted = Halted::start(command.arg(&path), || {
                let _ = fs::remove_file(&output);
                let _ = fs::remove_dir_all(&output);
            });
            change(&path);
            let json = json_of(halted);
            let error = match arguments[0] {
                "verify" => &json["files"][0]["error"],
                _ => &json["error"],
            };
            let found = (&json["exitCode"], &error["code"]);
            assert_eq!(found, (&json!(3), &json!("changed")), "{what}: {json:#}");
            assert_eq!(json["files"][0]["sound"], Value::Null);
            assert_eq!(folder.names(), ["long.flysess"], "{arguments:?}, {what}");
        }
    }
}

/// The canary: being halted alone changes nothing.
#[test]
fn a_file_that_stays_as_it_is_is_sound() {
    let folder = Folder::new();
    let path = long_file(&folder, 1);
    let mut command = command(["--json", "envelope", "verify"]);
    let json = json_of(Halted::start(command.arg(&path), || ()));
    assert_eq!(json["files"][0]["sound"], true, "{json:#}");
}

#[test]
fn a_name_that_somebody_takes_leaves_none_of_the_others() {
    let folder = Folder::new();
    let path = long_file(&folder, 1);
    let output = folder.file("output");
    fs::create_dir(&output).unwrap();
    let mut command = command(["--json", "envelope", "extract", "--all", "--output"]);
    let halted = Halted::start(command.args([&output, &path]), || {
        fs::remove_dir_all(&output).unwrap();
        fs::create_dir(&output).unwrap();
    });
    let taken = output.join("executor-a");
    fs::write(&taken, b"mine").unwrap();
    let json = json_of(halted);
    assert_eq!(
        (&json["exitCode"], &json["error"]["code"], &json["written"]),
        (&json!(3), &json!("output-exists"), &json!([]))
    );
    assert_eq!(fs::read_dir(&output).unwrap().count(), 1);
    assert_eq!(fs::read(&taken).unwrap(), b"mine");
}

#[test]
fn a_killed_extract_leaves_not_even_its_folder() {
    let folder = Folder::new();
    let path = long_file(&folder, 1);
    let output = folder.file("output");
    let mut command = command(["envelope", "extract", "--all", "--output"]);
    let halted = Halted::start(command.args([&output, &path]), || {
        let _ = fs::remove_dir_all(&output);
    });
    halted.kill();
    assert_eq!(folder.names(), ["long.flysess"]);
}
