//! `envelope verify`: sound files, every way to be damaged, and files that cannot be read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::sample_file::{Folder, SampleFile, flip};
use crate::wellwritten::envelope;

fn path_text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn sound_files_of_both_versions_exit_with_0() {
    let folder = Folder::new();
    for version in [1, 2] {
        let (path, layout) = folder.sample(version);
        let path = path_text(&path);
        let answer = envelope(["verify", path]);
        let length = layout.footer + 48;
        let grouped = format!("{},{:03}", length / 1000, length % 1000);
        assert_eq!(
            (answer.exit, answer.stderr.as_str()),
            (0, ""),
            "{}",
            answer.stdout
        );
        assert!(
            answer.stdout.starts_with(&format!(
                "{path}: sound: version {version}, checkpoint c1, 6 payloads, "
            )),
            "{}",
            answer.stdout
        );
        assert!(answer.stdout.contains(&grouped), "{}", answer.stdout);
        assert_eq!(
            envelope(["verify", "--json", path]).json(),
            json!({
                "command": "envelope verify", "exitCode": 0,
                "files": [{
                    "file": path, "sound": true, "version": version, "fileBytes": length.to_string(),
                    "checkpointId": "c1", "payloadCount": 6, "error": null,
                }],
            })
        );
    }
}

#[test]
fn a_damaged_payload_is_named_with_its_offset_and_both_digests() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    let sound = envelope(["inspect", "--json", path_text(&path)]).json();
    let recorded = &sound["manifest"]["payloads"][1]["digest"];
    flip(&path, layout.payloads[1] + 3);

    let json = envelope(["verify", "--json", path_text(&path)]).json();
    let error = &json["files"][0]["error"];
    assert_eq!(json["exitCode"], 1);
    assert_eq!(json["files"][0]["sound"], false);
    assert_eq!(error["code"], "not-sound");
    assert_eq!(error["rule"], "payload-digest");
    assert_eq!(error["payload"], "agent-a");
    assert_eq!(error["offset"], layout.payloads[1].to_string());
    let values = [&error["expected"], &error["found"]];
    assert!(values.contains(&recorded), "{error}");
    assert_ne!(values[0], values[1]);

    let answer = envelope(["verify", path_text(&path)]);
    assert_eq!((answer.exit, answer.stdout.as_str()), (1, ""));
    for part in [
        path_text(&path),
        "not sound",
        "payload agent-a",
        recorded.as_str().unwrap(),
    ] {
        assert!(answer.stderr.contains(part), "no {part}: {}", answer.stderr);
    }
}

#[test]
fn every_flipped_byte_and_every_truncation_exits_with_1() {
    // One process for all of the files of a version, since verify takes several.
    for version in [1, 2] {
        let folder = Folder::new();
        let (path, layout) = folder.sample(version);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, layout.footer + 48);
        let mut arguments = vec!["verify".to_owned(), "--json".to_owned()];
        for position in 0..bytes.len() {
            let flipped = folder.file(&format!("flipped-{position}"));
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << (position % 8);
            fs::write(&flipped, damaged).unwrap();
            let cut = folder.file(&format!("cut-{position}"));
            fs::write(&cut, &bytes[..position]).unwrap();
            arguments.extend([flipped, cut].map(|path| path_text(&path).to_owned()));
        }
        let mut longer = bytes.clone();
        longer.push(0);
        fs::write(folder.file("longer"), longer).unwrap();
        arguments.push(path_text(&folder.file("longer")).to_owned());
        // The canary: the file that is not damaged, among all that are.
        arguments.push(path_text(&path).to_owned());

        let json = envelope(&arguments).json();
        let files = json["files"].as_array().unwrap();
        assert_eq!(json["exitCode"], 1);
        assert_eq!(files.len(), 2 * bytes.len() + 2);
        let (intact, damaged) = files.split_last().unwrap();
        assert_eq!(intact["sound"], true);
        for file in damaged {
            assert_eq!(file["sound"], false, "{file:#}");
            let rule = file["error"]["rule"].as_str();
            assert!(rule.is_some(), "{file:#}");
        }
    }
}

#[test]
fn each_part_of_the_file_is_refused_for_its_own_rule() {
    let folder = Folder::new();
    let (path, layout) = folder.sample(2);
    let bytes = fs::read(&path).unwrap();
    let padding = layout.payloads[1] - 1;
    for (offset, rule) in [
        (0, "magic"),
        (8, "version"),
        (12, "header-bytes"),
        (28, "reserved-word"),
        (32, "footer-digest"),
        (layout.table, "footer-digest"),
        (layout.payloads[5], "payload-digest"),
        (padding, "padding"),
        (layout.footer, "file-bytes"),
        (layout.footer + 8, "footer-digest"),
        (layout.footer + 47, "footer-magic"),
    ] {
        fs::write(&path, &bytes).unwrap();
        flip(&path, offset);
        let json = envelope(["verify", "--json", path_text(&path)]).json();
        assert_eq!(
            json["files"][0]["error"]["rule"], rule,
            "at {offset}: {json:#}"
        );
    }
}

#[test]
fn files_that_cannot_be_read_exit_with_3_and_the_others_are_still_judged() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    let (damaged, layout) = folder.sample(1);
    flip(&damaged, layout.payloads[0]);
    let missing = folder.file("missing");
    let pipe = folder.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());

    let arguments = [&missing, &sound, folder.path(), &damaged, &pipe].map(path_text);
    let all = ["verify", "--json"].into_iter().chain(arguments);
    let json = envelope(all).json();
    assert_eq!(json["exitCode"], 3);
    let of = |key: &str| -> Vec<Value> {
        let files = json["files"].as_array().unwrap();
        files.iter().map(|file| file[key].clone()).collect()
    };
    assert_eq!(
        of("sound"),
        [
            json!(null),
            json!(true),
            json!(null),
            json!(false),
            json!(null)
        ]
    );
    let codes: Vec<Value> = of("error")
        .iter()
        .map(|error| error["code"].clone())
        .collect();
    assert_eq!(
        codes,
        [
            json!("open"),
            json!(null),
            json!("not-a-file"),
            json!("not-sound"),
            json!("not-a-file")
        ]
    );

    let answer = envelope(["verify"].into_iter().chain(arguments));
    assert_eq!(answer.exit, 3);
    assert_eq!(answer.stdout.lines().count(), 1, "{}", answer.stdout);
    assert_eq!(answer.stderr.lines().count(), 4, "{}", answer.stderr);
    assert!(
        answer.stderr.contains("is a directory"),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.contains("is a pipe"), "{}", answer.stderr);

    let answer = envelope(["verify", path_text(&damaged), path_text(&sound)]);
    assert_eq!(
        answer.exit, 1,
        "a file that is not sound, and none that cannot be read"
    );
}

#[test]
fn a_file_without_permission_exits_with_3() {
    let folder = Folder::new();
    let (path, _) = folder.sample(2);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        let notice =
            "\nSKIPPED a_file_without_permission_exits_with_3: this user may read everything\n";
        std::io::Write::write_all(&mut std::io::stdout(), notice.as_bytes()).unwrap();
        return;
    }
    assert_eq!(envelope(["verify", path_text(&path)]).exit, 3);
}

#[test]
fn quiet_says_only_what_is_wrong() {
    let folder = Folder::new();
    let (sound, _) = folder.sample(2);
    let (damaged, layout) = folder.sample(1);
    flip(&damaged, layout.footer + 8);
    let answer = envelope(["verify", "-q", path_text(&sound), path_text(&damaged)]);
    assert_eq!((answer.exit, answer.stdout.as_str()), (1, ""));
    assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
}

#[test]
fn what_a_manifest_says_reaches_a_terminal_escaped() {
    let folder = Folder::new();
    let path = folder.file("hostile\u{1b}[2J\n.flysess");
    let mut sample = SampleFile::small(2);
    sample.manifest["\u{1b}]0;owned\u{7}"] = json!(true);
    sample.write(&path);
    for command in ["verify", "inspect"] {
        let answer = envelope([command.as_ref(), path.as_os_str()]);
        assert_eq!(answer.exit, 1);
        let text = answer.stdout + &answer.stderr;
        let raw = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(raw, None, "{text:?}");
        assert!(text.contains("owned"), "the field is named: {text}");
        assert!(text.contains("[2J\\n.flysess"), "one line a file: {text}");
    }
}
