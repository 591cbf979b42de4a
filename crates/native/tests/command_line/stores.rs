//! `store ...`: the oracle of what a store holds is the session that saved it, and the envelope commands.

use std::fs;

use serde_json::{Value, json};

use crate::sample_file::Folder;
use crate::wellwritten::{Answer, run};

fn store(arguments: &[&str]) -> Answer {
    run(["store"].iter().chain(arguments))
}

fn store_json(arguments: &[&str]) -> (i32, Value) {
    let answer = run(["--json", "store"].iter().chain(arguments));
    (answer.exit, answer.json())
}

fn session(arguments: &[&str]) -> Answer {
    let fixed = ["session", "run", "--composition", "counter"];
    run(fixed.iter().chain(arguments))
}

fn session_json(arguments: &[&str]) -> (i32, Value) {
    let answer = session(&[&["--json"], arguments].concat());
    (answer.exit, answer.json())
}

/// A store with checkpoints at boundaries 2, 4 and 5.
fn three(folder: &Folder) -> String {
    let dir = folder.file("store").to_str().unwrap().to_owned();
    let made = session(&["--store", &dir, "--steps", "5", "--checkpoint-every", "2"]);
    assert_eq!((made.exit, &*made.stderr), (0, ""));
    let saved: Vec<_> = made.stdout.lines().take(3).collect();
    for (line, boundary) in saved.iter().zip([2, 4, 5]) {
        let expected = format!("saved ckpt-e1-{boundary}: boundary {boundary} of epoch e1, ");
        assert!(line.starts_with(&expected), "{line}");
    }
    dir
}

fn ids(report: &Value) -> Vec<&str> {
    let generations = report["generations"].as_array().unwrap();
    generations
        .iter()
        .map(|one| one["checkpointId"].as_str().unwrap())
        .collect()
}

fn error_code(report: &Value) -> &str {
    report["error"]["code"].as_str().unwrap()
}

#[test]
fn what_a_session_saved_is_listed_for_a_person_and_for_a_program() {
    let folder = Folder::new();
    let dir = three(&folder);
    let answer = store(&["ls", &dir]);
    assert_eq!((answer.exit, &*answer.stderr), (0, ""));
    let lines: Vec<_> = answer.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "CHECKPOINT  SESSION  EPISODE  EPOCH  BOUNDARY  LENGTH"
    );
    assert!(
        lines[1].starts_with("ckpt-e1-2   demo     ep1      e1     2         "),
        "{lines:?}"
    );
    assert!(
        lines[3].starts_with("ckpt-e1-5   demo     ep1      e1     5         "),
        "{lines:?}"
    );
    assert!(lines[3].ends_with("  latest"), "{lines:?}");
    assert!(lines[4].contains(" in use, room for "), "{lines:?}");
    assert_eq!(lines.len(), 5);
    let (exit, report) = store_json(&["ls", &dir]);
    assert_eq!(exit, 0);
    assert_eq!(ids(&report), ["ckpt-e1-2", "ckpt-e1-4", "ckpt-e1-5"]);
    for one in report["generations"].as_array().unwrap() {
        let file = format!("{dir}/{}.flysess", one["checkpointId"].as_str().unwrap());
        assert_eq!(
            one["byteLength"],
            fs::metadata(&file).unwrap().len().to_string()
        );
        assert_eq!(one["isLatest"], one["boundary"] == "5");
        assert_eq!(run(["envelope", "verify", &file]).exit, 0);
    }
    let verified = store(&["verify", &dir]);
    assert_eq!((verified.exit, &*verified.stderr), (0, ""));
    assert_eq!(verified.stdout.matches(": whole, ").count(), 3);
    let (_, one) = store_json(&["verify", &dir, "ckpt-e1-4"]);
    assert_eq!(ids(&one), ["ckpt-e1-4"]);
    assert_eq!(one["generations"][0]["verified"], true);
}

#[test]
fn a_resumed_session_goes_on_from_the_newest_under_an_epoch_that_never_was() {
    let folder = Folder::new();
    let dir = three(&folder);
    let (exit, report) =
        session_json(&["--store", &dir, "--resume", "--until", "8", "--keep", "9"]);
    assert_eq!(exit, 0, "{report:#}");
    let resumed = &report["resumed"];
    assert_eq!(resumed["checkpointId"], "ckpt-e1-5");
    assert_eq!(
        (
            &resumed["boundary"],
            &resumed["sourceEpoch"],
            &resumed["toEpoch"]
        ),
        (&json!("5"), &json!("e1"), &json!("e2"))
    );
    assert_eq!(report["session"]["boundary"], "8");
    assert_eq!(report["saves"]["committed"], "1");
    assert_eq!(report["saves"]["newest"]["boundary"], "8");
    // Once there, there is nothing to do, and nothing is saved twice.
    let answer = session(&["--store", &dir, "--resume", "--until", "8", "--keep", "9"]);
    assert_eq!(answer.exit, 0);
    let first = answer.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        "resumed ckpt-e2-8: boundary 8 of epoch e2 goes on as epoch e3"
    );
    assert!(!answer.stdout.contains("saved"), "{}", answer.stdout);
    let (_, report) = store_json(&["ls", &dir]);
    assert_eq!(
        ids(&report),
        ["ckpt-e1-2", "ckpt-e1-4", "ckpt-e1-5", "ckpt-e2-8"]
    );
    assert_eq!(report["resumedFrom"], "ckpt-e2-8");
}

#[test]
fn what_does_not_fit_is_refused_by_name_and_changes_nothing() {
    let folder = Folder::new();
    let dir = three(&folder);
    let (_, before) = store_json(&["ls", &dir]);
    let (exit, report) = session_json(&["--store", &dir, "--steps", "1"]);
    assert_eq!((exit, error_code(&report)), (2, "store-not-empty"));
    assert!(
        report["error"]["message"]
            .as_str()
            .unwrap()
            .contains("--resume")
    );
    let (exit, report) =
        session_json(&["--store", &dir, "--resume", "--steps", "1", "--agents", "3"]);
    assert_eq!(
        (exit, error_code(&report)),
        (2, "not-resumed"),
        "{report:#}"
    );
    let (exit, report) = session_json(&["--store", &dir, "--resume=ckpt-e1-3", "--steps", "1"]);
    assert_eq!(
        (exit, error_code(&report)),
        (2, "not-resumed"),
        "it was rotated out: {report:#}"
    );
    let empty = folder.file("empty");
    let empty = empty.to_str().unwrap();
    let answer = session(&["--store", empty, "--resume", "--steps", "1"]);
    assert!(
        answer
            .stderr
            .contains("without --resume, or with --or-begin too, a session begins"),
        "{}",
        answer.stderr
    );
    let (exit, report) = session_json(&["--store", empty, "--resume", "--steps", "1"]);
    assert_eq!((exit, error_code(&report)), (2, "nothing-to-resume"));
    let (_, after) = store_json(&["ls", &dir]);
    assert_eq!(ids(&before), ids(&after));
    for wrong in [
        &["--steps", "1", "--resume"][..],
        &["--steps", "1", "--keep", "2"],
        &["--steps", "1", "--checkpoint-every", "1"],
        &["--steps", "1", "--store", empty, "--keep", "0"],
        &["--steps", "1", "--store", empty, "--checkpoint-every", "0"],
        &["--steps", "1", "--until", "1"],
    ] {
        assert_eq!(session(wrong).exit, 2, "{wrong:?}");
    }
}

#[test]
fn a_session_goes_on_from_the_checkpoint_that_is_named() {
    let folder = Folder::new();
    let dir = three(&folder);
    let answer = session(&["--store", &dir, "--resume=ckpt-e1-4", "--until", "6"]);
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let first = answer.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        "resumed ckpt-e1-4: boundary 4 of epoch e1 goes on as epoch e2"
    );
    let (_, report) = store_json(&["ls", &dir]);
    assert_eq!(report["resumedFrom"], "ckpt-e1-4");
    // One command for the first time and for every later one.
    let again = folder.file("again").to_str().unwrap().to_owned();
    for (until, told) in [("2", "saved ckpt-e1-2"), ("4", "resumed ckpt-e1-2")] {
        let answer = session(&[
            "--store",
            &again,
            "--resume",
            "--or-begin",
            "--until",
            until,
        ]);
        assert_eq!(answer.exit, 0, "{}", answer.stderr);
        assert!(answer.stdout.starts_with(told), "{}", answer.stdout);
    }
    assert_eq!(
        session(&["--store", &again, "--or-begin", "--steps", "1"]).exit,
        2
    );
    // Without its list a store is not taken for an empty one.
    fs::remove_file(format!("{again}/manifest.json")).unwrap();
    for more in [&["--resume"][..], &["--resume", "--or-begin"], &[]] {
        let mut arguments = vec!["--store", &again, "--steps", "1"];
        arguments.extend(more);
        let (exit, report) = session_json(&arguments);
        assert_eq!((exit, error_code(&report)), (1, "store-without-list"));
    }
    for wrong in ["--resume=", "--resume=Not-An-Id"] {
        assert_eq!(session(&["--store", &dir, wrong, "--steps", "1"]).exit, 2);
    }
}

#[test]
fn a_generation_goes_out_and_into_another_store_byte_for_byte() {
    let folder = Folder::new();
    let dir = three(&folder);
    let output = folder.file("out.flysess");
    let output = output.to_str().unwrap();
    let answer = store(&["export", &dir, "ckpt-e1-4", "--output", output]);
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let original = fs::read(format!("{dir}/ckpt-e1-4.flysess")).unwrap();
    assert_eq!(fs::read(output).unwrap(), original);
    // Not over a file that is there, and into a folder under its name.
    let (exit, report) = store_json(&["export", &dir, "ckpt-e1-5", "--output", output]);
    assert_eq!((exit, error_code(&report)), (3, "output-exists"));
    assert_eq!(report["output"], Value::Null);
    assert_eq!(fs::read(output).unwrap(), original);
    let into = folder.path().to_str().unwrap();
    assert_eq!(
        store(&["export", &dir, "ckpt-e1-5", "--output", into]).exit,
        0
    );
    let newest = folder.file("ckpt-e1-5.flysess");
    let (exit, report) = store_json(&["export", &dir, "ckpt-e1-3", "--output", into]);
    assert_eq!((exit, error_code(&report)), (2, "no-such-generation"));

    let other = folder.file("other").to_str().unwrap().to_owned();
    let damaged = folder.file("damaged");
    fs::write(&damaged, &original[..original.len() - 1]).unwrap();
    let files = [
        output,
        newest.to_str().unwrap(),
        damaged.to_str().unwrap(),
        output,
    ];
    let (exit, report) = store_json(&[&["import", &other], &files[..]].concat());
    assert_eq!(exit, 2, "the highest of them: {report:#}");
    let verdicts = report["files"].as_array().unwrap();
    assert_eq!(verdicts[0]["checkpointId"], "ckpt-e1-4");
    assert_eq!(verdicts[1]["boundary"], "5");
    assert_eq!(error_code(&verdicts[2]), "not-sound");
    assert_eq!(error_code(&verdicts[3]), "id-used");
    let (_, report) = store_json(&["ls", &other]);
    assert_eq!(ids(&report), ["ckpt-e1-4", "ckpt-e1-5"]);
    for one in report["generations"].as_array().unwrap() {
        assert_eq!(one["pinned"], true, "{report:#}");
    }
    assert_eq!(
        fs::read(format!("{other}/ckpt-e1-4.flysess")).unwrap(),
        original
    );
    // Into an empty store the first begins the timeline.
    let (exit, report) = session_json(&["--store", &other, "--resume", "--steps", "1"]);
    assert_eq!(
        (exit, &report["resumed"]["checkpointId"]),
        (0, &json!("ckpt-e1-4")),
        "{report:#}"
    );
}

/// There the next opening would remove it as a leftover, and a name that is taken is a generation's, or the list's.
#[test]
fn nothing_is_exported_into_the_store_itself() {
    let folder = Folder::new();
    let dir = three(&folder);
    let linked = folder.file("linked").to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(&dir, &linked).unwrap();
    for output in [
        format!("{dir}/copy.flysess"),
        format!("{dir}/ckpt-e1-5.flysess"),
        format!("{dir}/manifest.json"),
        format!("{linked}/copy.flysess"),
        dir.clone(),
    ] {
        let arguments = ["export", &dir, "ckpt-e1-4", "--force", "--output", &output];
        let (exit, report) = store_json(&arguments);
        assert_eq!((exit, error_code(&report)), (2, "output-in-store"));
        assert_eq!(report["output"], Value::Null, "{output}");
    }
    assert_eq!(store(&["verify", &dir]).exit, 0);
    assert!(!folder.file("store/copy.flysess").exists());
}

#[test]
fn pruning_drops_the_oldest_and_nothing_that_is_pinned() {
    let folder = Folder::new();
    let dir = three(&folder);
    assert_eq!(
        store(&["pin", &dir, "ckpt-e1-2"]).stdout,
        "ckpt-e1-2: pinned\n"
    );
    let (exit, report) = store_json(&["prune", &dir, "--keep", "1"]);
    assert_eq!(exit, 0);
    assert_eq!(report["dropped"], json!(["ckpt-e1-4"]));
    assert_eq!(report["kept"], json!(["ckpt-e1-2", "ckpt-e1-5"]));
    assert!(!folder.file("store/ckpt-e1-4.flysess").exists());
    let (exit, report) = store_json(&["unpin", &dir, "ckpt-e1-2"]);
    assert_eq!((exit, &report["changed"]), (0, &json!(["ckpt-e1-2"])));
    let answer = store(&["prune", &dir, "--keep", "1"]);
    assert_eq!(answer.stdout, "dropped ckpt-e1-2\n1 generation stays\n");
    let (exit, report) = store_json(&["pin", &dir, "ckpt-e1-2"]);
    assert_eq!((exit, error_code(&report)), (2, "no-such-generation"));
    assert_eq!(store(&["prune", &dir, "--keep", "0"]).exit, 2);
}

#[test]
fn leftovers_of_a_commit_that_did_not_finish_are_removed_and_said() {
    let folder = Folder::new();
    let dir = three(&folder);
    fs::write(format!("{dir}/~generation"), b"half").unwrap();
    fs::write(format!("{dir}/ckpt-e1-9.flysess"), b"never listed").unwrap();
    fs::write(format!("{dir}/notes.txt"), b"a person's").unwrap();
    fs::write(format!("{dir}/~notes"), b"a person's").unwrap();
    let (_, listed) = store_json(&["ls", &dir]);
    assert_eq!(ids(&listed).len(), 3, "looking removes nothing");
    assert!(folder.file("store/~generation").exists());
    let answer = store(&["prune", &dir, "--keep", "3"]);
    let mut lines: Vec<_> = answer.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "3 generations stay",
            "removed a leftover, ckpt-e1-9.flysess: 12 bytes",
            "removed a leftover, ~generation: 4 bytes",
        ]
    );
    for name in ["notes.txt", "~notes"] {
        assert_eq!(
            fs::read(format!("{dir}/{name}")).unwrap(),
            b"a person's",
            "{name}"
        );
    }
}

#[test]
fn a_folder_that_is_no_store_is_said_to_be_none() {
    let folder = Folder::new();
    let missing = folder.file("missing");
    let missing = missing.to_str().unwrap();
    for refused in [
        store_json(&["ls", missing]),
        store_json(&["verify", missing]),
        store_json(&["export", missing, "a", "--output", missing]),
        store_json(&["prune", missing, "--keep", "1"]),
        store_json(&["pin", missing, "a"]),
    ] {
        let (exit, report) = refused;
        assert_eq!((exit, error_code(&report)), (3, "open"), "{report:#}");
        assert!(!folder.file("missing").exists());
    }
    let (exit, report) = store_json(&["ls", folder.path().to_str().unwrap()]);
    assert_eq!((exit, &report["manifestFound"]), (0, &json!(false)));
    assert_eq!(
        store(&["verify", folder.path().to_str().unwrap()]).stdout,
        "no generations\n"
    );
    assert_eq!(folder.names(), [""; 0], "looking leaves nothing");
    for wrong in [
        &["ls"][..],
        &["verify"],
        &["export", missing, "a"],
        &["export", missing, "../a", "--output", "b"],
        &["import", missing],
        &["prune", missing],
        &["pin", missing],
    ] {
        let answer = store(wrong);
        assert_eq!((answer.exit, &*answer.stdout), (2, ""), "{wrong:?}");
    }
}
