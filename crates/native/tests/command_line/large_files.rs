//! Files that do not fit into memory: every command under a limit of the address space far below the file's length.
//! `WELLWRITTEN_LONG=1` makes the files 5 GiB, beyond 32 bits.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::sample_file::{Folder, SampleFile, flip};
use crate::wellwritten::{Answer, answer};

/// How much address space a command gets, in KiB: its program, its stack, and some buffers.
const LIMIT_KIB: u32 = 48 * 1024;

fn world_bytes() -> u64 {
    if std::env::var_os("WELLWRITTEN_LONG").is_some() {
        5 << 30
    } else {
        256 << 20
    }
}

/// A program under the limit.
fn limited(program: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {LIMIT_KIB} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, program]);
    command
}

fn envelope(arguments: &[&str], path: &Path) -> Answer {
    let mut command = limited(env!("CARGO_BIN_EXE_wellwritten"));
    command.arg("envelope").args(arguments).arg(path);
    answer(&mut command)
}

/// The canary: the limit bites where a program takes as much memory as the smallest of these files has bytes.
#[test]
fn the_limit_stops_a_program_that_takes_a_file_into_memory() {
    let mut dd = limited("dd");
    dd.args(["if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"]);
    let output = dd.output().unwrap();
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("memory"), "{stderr}");
}

#[test]
fn memory_stays_flat_in_every_command() {
    let length = world_bytes();
    let folder = Folder::new();
    let path = folder.file("large.flysess");
    let layout = SampleFile::large(2, length).write(&path);
    let json = envelope(&["verify", "--json"], &path).json();
    assert_eq!(json["exitCode"], 0, "{json:#}");
    let file_bytes = &json["files"][0]["fileBytes"];
    assert_eq!(*file_bytes, json!((layout.footer + 48).to_string()));
    assert_eq!(envelope(&["inspect"], &path).exit, 0);

    let output = folder.file("output");
    let output_text = output.to_str().unwrap();
    let extract = ["extract", "--payload", "world", "-o", output_text];
    let extracted = envelope(&extract, &path);
    assert_eq!(extracted.exit, 0, "{}", extracted.stderr);
    assert_eq!(output.metadata().unwrap().len(), length);

    // To version 1 over the payload, and that back over itself.
    let convert = |to| ["convert", "--force", "--to", to, "-o", output_text];
    let converted = envelope(&convert("1"), &path);
    assert_eq!(converted.exit, 0, "{}", converted.stderr);
    let converted = envelope(&convert("2"), &output);
    assert_eq!(converted.exit, 0, "{}", converted.stderr);
    assert_eq!(envelope(&["verify"], &output).exit, 0);
    assert_eq!(output.metadata().unwrap().len(), layout.footer + 48);
    std::fs::remove_file(&output).unwrap();

    // One byte in the middle of everything.
    flip(&path, layout.payloads[0] + length / 2);
    let json = envelope(&["inspect", "--json"], &path).json();
    assert_eq!(json["error"]["rule"], "payload-digest");
    assert_eq!(envelope(&extract, &path).exit, 1);
    assert!(!output.exists());
}

/// Lengths of exabytes and manifests of 4 GiB are claims, and are checked before they are believed.
#[test]
fn lengths_that_are_only_claimed_take_no_memory() {
    use std::os::unix::fs::FileExt as _;
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    let length_field = layout.table + 72;
    for (offset, claim) in [
        (length_field, u64::MAX.to_le_bytes().to_vec()),
        (length_field, (1_u64 << 40).to_le_bytes().to_vec()),
        (16, u32::MAX.to_le_bytes().to_vec()),
        (20, u32::MAX.to_le_bytes().to_vec()),
        (24, u32::MAX.to_le_bytes().to_vec()),
    ] {
        let (path, _) = folder.sample(2);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&claim, offset).unwrap();
        for command in ["verify", "inspect"] {
            let json = envelope(&[command, "--json"], &path).json();
            assert_eq!(json["exitCode"], 1, "{offset}: {json:#}");
        }
    }
    // A manifest of 3 GiB in a file that is long enough for it: beyond what is taken into memory.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&(3_u32 << 30).to_le_bytes(), 16).unwrap();
    file.set_len(4 << 30).unwrap();
    for command in ["verify", "inspect"] {
        let json = envelope(&[command, "--json"], &path).json();
        let exit = json["exitCode"].as_u64().unwrap();
        assert!(exit == 1 || exit == 3, "{json:#}");
    }
}
