//! Command lines that make no sense, and what the help promises.

use crate::sample_file::Folder;
use crate::wellwritten::{answer, command, envelope};

#[test]
fn command_lines_that_make_no_sense_exit_with_2_and_write_nothing() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    let sample = sample.to_str().unwrap();
    let output = folder.file("output");
    let output = output.to_str().unwrap();
    let wrong: [&[&str]; 15] = [
        &[],
        &["verify"],
        &["inspect"],
        &["inspect", sample, sample],
        &["guess", sample],
        &["verify", sample, "--loudly"],
        &["extract", sample, "--output", output],
        &["extract", sample, "--all"],
        &["extract", sample, "--all", "--output", ""],
        &["extract", sample, "--all", "--output", "-"],
        &[
            "extract",
            sample,
            "--all",
            "--payload",
            "world",
            "-o",
            output,
        ],
        &["extract", sample, "--payload", "../world", "-o", output],
        &["convert", sample, "--output", output],
        &["convert", sample, "--to", "3", "--output", output],
        &["convert", sample, "--to", "1", "--output", "-"],
    ];
    for arguments in wrong {
        let answer = envelope(arguments);
        assert_eq!(answer.exit, 2, "{arguments:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, "", "{arguments:?}");
        assert!(!answer.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(folder.names(), ["sample-2.flysess"]);
}

#[test]
fn a_payload_name_that_could_leave_the_folder_is_no_name() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    for name in [
        "../world",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "",
        "World",
        "a b",
        "-a",
        "a\u{7f}",
    ] {
        let mut arguments = vec!["extract".into(), sample.clone().into_os_string()];
        arguments.push(format!("--payload={name}").into());
        arguments.extend(["--output".into(), folder.file("output").into_os_string()]);
        let answer = envelope(arguments);
        assert_eq!(answer.exit, 2, "{name:?}");
        assert!(answer.stderr.contains("id"), "{name:?}: {}", answer.stderr);
    }
    assert_eq!(folder.names(), ["sample-2.flysess"]);
}

#[test]
fn help_states_every_exit_status_and_every_command() {
    for arguments in [
        &["--help"][..],
        &["envelope", "--help"],
        &["envelope", "verify", "--help"],
    ] {
        let answer = answer(&mut command(arguments));
        assert_eq!(answer.exit, 0);
        for status in ["  0  ", "  1  ", "  2  ", "  3  "] {
            assert!(answer.stdout.contains(status), "{}", answer.stdout);
        }
    }
    let help = envelope(["--help"]).stdout;
    for part in [
        "inspect", "verify", "extract", "convert", "--json", "exitCode",
    ] {
        assert!(help.contains(part), "no {part}: {help}");
    }
    let version = answer(&mut command(["--version"]));
    assert_eq!(version.exit, 0);
    assert_eq!(
        version.stdout,
        concat!("wellwritten ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn flags_for_the_answer_stand_anywhere() {
    let folder = Folder::new();
    let (sample, _) = folder.sample(2);
    let sample = sample.to_str().unwrap();
    for arguments in [
        ["--json", "envelope", "verify", sample],
        ["envelope", "--json", "verify", sample],
        ["envelope", "verify", "--json", sample],
        ["envelope", "verify", sample, "--json"],
    ] {
        let json = answer(&mut command(arguments)).json();
        assert_eq!(json["command"], "envelope verify");
    }
}
