//! `-`: a file redirected to standard input is read like any other, and a pipe is refused in words.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom};

use crate::sample_file::{Folder, SampleFile};
use crate::wellwritten::{answer, command, envelope_with_input};

#[test]
fn a_redirected_file_is_read_from_its_start_by_every_command() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    let open = || {
        // Wherever a shell left it: an envelope begins at the file's first byte.
        let mut file = File::open(&sample).unwrap();
        file.seek(SeekFrom::Start(7)).unwrap();
        file
    };
    let output = folder.file("output");
    let output = output.to_str().unwrap();
    let answer = envelope_with_input(&["envelope", "verify", "-"], open());
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    assert!(
        answer.stdout.starts_with("standard input: sound"),
        "{}",
        answer.stdout
    );
    assert_eq!(
        envelope_with_input(&["envelope", "inspect", "-"], open()).exit,
        0
    );
    let extract = [
        "envelope",
        "extract",
        "-",
        "--payload",
        "world",
        "-o",
        output,
    ];
    assert_eq!(envelope_with_input(&extract, open()).exit, 0);
    assert_eq!(
        fs::read(output).unwrap(),
        SampleFile::small(2).payload("world")
    );
    let convert = [
        "envelope", "convert", "-", "--to", "1", "--force", "-o", output,
    ];
    assert_eq!(envelope_with_input(&convert, open()).exit, 0);
    let (one, _) = folder.sample(1);
    assert_eq!(fs::read(output).unwrap(), fs::read(one).unwrap());
}

#[test]
fn a_pipe_is_refused_because_its_end_comes_last() {
    let (reader, writer) = std::io::pipe().unwrap();
    for arguments in [["envelope", "verify", "-"], ["envelope", "inspect", "-"]] {
        let answer = answer(command(arguments).stdin(reader.try_clone().unwrap()));
        assert_eq!(answer.exit, 3);
        assert!(
            answer.stderr.contains("standard input: is a pipe"),
            "{}",
            answer.stderr
        );
        assert!(
            answer.stderr.contains("both of its ends"),
            "{}",
            answer.stderr
        );
    }
    drop(writer);
}

#[test]
fn a_file_named_like_standard_input_is_reached_by_its_path() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    fs::rename(sample, folder.file("-")).unwrap();
    let mut verify = command(["envelope", "verify", "./-"]);
    assert_eq!(answer(verify.current_dir(folder.path())).exit, 0);
}
