//! Streams that close early, that are full, or that were never open; and paths that are no text.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use crate::sample_file::{Folder, flip, hexadecimal};
use crate::wellwritten::{answer, command, envelope};

#[test]
fn a_reader_that_leaves_early_does_not_change_the_verdict() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    let (damaged, layout) = folder.sample(1);
    flip(&damaged, layout.payloads[0]);
    for (path, expected) in [(&sound, 0), (&damaged, 1)] {
        for form in [&[][..], &["--json"]] {
            let mut child = command(["envelope", "inspect"])
                .args(form)
                .arg(path)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap())
                .read_line(&mut first)
                .unwrap();
            assert!(!first.is_empty());
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(expected), "{stderr}");
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    }
}

/// A pipe that nobody reads: every write fails, from the first on.
#[test]
fn a_pipe_closed_before_the_first_word_is_no_panic() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    for arguments in [
        &["inspect"][..],
        &["inspect", "--json"],
        &["verify"],
        &["verify", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = command(["envelope"]);
        child.args(arguments).arg(&sound).stdout(writer);
        let output = child.stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn an_answer_that_cannot_be_written_exits_with_3() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    for form in [&[][..], &["--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut child = command(["envelope", "verify"]);
        child
            .args(form)
            .arg(&sound)
            .stdout(full)
            .stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("standard output"), "{stderr}");
    }
}

#[test]
fn complaints_that_nobody_hears_do_not_change_the_verdict() {
    let folder = Folder::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command(["envelope", "verify"]);
    child.arg(folder.file("missing")).stderr(writer);
    assert_eq!(child.status().unwrap().code(), Some(3));
}

#[test]
fn paths_that_are_no_text_work() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    let odd = folder
        .path()
        .join(OsStr::from_bytes(b"odd-\xff\xfe.flysess"));
    fs::rename(&sample, &odd).unwrap();
    let output = folder.path().join(OsStr::from_bytes(b"out-\xff"));

    let json = envelope(["verify".as_ref(), "--json".as_ref(), odd.as_os_str()]).json();
    let file = &json["files"][0];
    assert_eq!(file["sound"], true);
    assert!(
        file["file"]
            .as_str()
            .unwrap()
            .ends_with("odd-\u{fffd}\u{fffd}.flysess")
    );
    let hex = hexadecimal(odd.as_os_str().as_bytes());
    assert_eq!(file["fileHex"], hex);

    assert_eq!(envelope(["inspect".as_ref(), odd.as_os_str()]).exit, 0);
    let mut convert = command(["envelope", "convert", "--to", "1", "--output"]);
    assert_eq!(answer(convert.args([&output, &odd])).exit, 0);
    let mut extract = command(["envelope", "extract", "--all", "--output"]);
    let all = folder.path().join(OsStr::from_bytes(b"all-\xff"));
    assert_eq!(answer(extract.args([&all, &output])).exit, 0);
    assert_eq!(fs::read_dir(all).unwrap().count(), 6);
}
