//! Who may do what to a store at the same time, and to one that cannot be written to.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::sample_file::Folder;
use crate::saving_session::SavingSession;
use crate::small_disk::SmallDisk;
use crate::wellwritten::{Answer, run};

fn store(arguments: &[&str]) -> Answer {
    run(["--json", "store"].iter().chain(arguments))
}

fn session(arguments: &[&str]) -> Answer {
    let fixed = ["--json", "session", "run", "--composition", "counter"];
    run(fixed.iter().chain(arguments))
}

#[test]
fn a_second_process_is_refused_by_the_number_of_the_first_and_may_look() {
    let folder = Folder::new();
    let path = folder.file("store");
    let dir = path.to_str().unwrap();
    let endless = [
        "--until",
        "1000000",
        "--rate",
        "50",
        "--checkpoint-every",
        "5",
    ];
    let mut owner = SavingSession::start(&path, &endless);
    let saved = owner.wait_for_save();
    let id = saved.checkpoint_id.as_str();
    let envelope = folder.file("outside.flysess");
    let envelope = envelope.to_str().unwrap();
    // It may be dropped meanwhile, but not as fast as that.
    let exported = store(&["export", dir, id, "--output", envelope]);
    assert_eq!(exported.exit, 0, "{}", exported.stdout);
    assert_eq!(run(["envelope", "verify", envelope]).exit, 0);
    assert_eq!(store(&["verify", dir]).exit, 0);
    let listed = store(&["ls", dir]).json();
    let count = listed["generations"].as_array().unwrap().len();
    assert!((1..=3).contains(&count), "{listed:#}");
    for refused in [
        store(&["prune", dir, "--keep", "1"]),
        store(&["import", dir, envelope]),
        store(&["pin", dir, id]),
        store(&["unpin", dir, id]),
        session(&["--store", dir, "--resume", "--steps", "1"]),
    ] {
        let report = refused.json();
        assert_eq!(
            (refused.exit, &report["error"]["code"]),
            (3, &"locked".into()),
            "{report:#}"
        );
        let message = report["error"]["message"].as_str().unwrap();
        let words = format!("owned by another process (pid {})", owner.pid());
        assert!(message.contains(&words), "{message}");
        assert!(message.contains("open this one read-only"), "{message}");
    }
    // Killed, it locks nobody out.
    owner.signal(Signal::KILL);
    assert_eq!(owner.end(), None);
    let pruned = store(&["prune", dir, "--keep", "1"]);
    assert_eq!(pruned.exit, 0, "{}", pruned.stdout);
}

#[test]
fn a_store_that_cannot_be_written_to_can_be_looked_at_and_says_why_it_cannot_be_changed() {
    let folder = Folder::new();
    let Some(mut disk) = SmallDisk::mount(folder.path(), 4 << 20) else {
        return;
    };
    let path = disk.path().join("store");
    let dir = path.to_str().unwrap();
    let made = session(&["--store", dir, "--steps", "4", "--checkpoint-every", "2"]);
    assert_eq!(made.exit, 0, "{}", made.stdout);
    let envelope = folder.file("outside.flysess");
    let envelope = envelope.to_str().unwrap();
    disk.make_read_only();
    assert_eq!(
        store(&["ls", dir]).json()["generations"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(store(&["verify", dir]).exit, 0);
    let exported = store(&["export", dir, "ckpt-e1-4", "--output", envelope]);
    assert_eq!(exported.exit, 0, "{}", exported.stdout);
    for refused in [
        store(&["prune", dir, "--keep", "1"]),
        store(&["import", dir, envelope]),
        session(&["--store", dir, "--resume", "--steps", "1"]),
        session(&[
            "--store",
            disk.path().join("new").to_str().unwrap(),
            "--steps",
            "1",
        ]),
    ] {
        let report = refused.json();
        assert_eq!(refused.exit, 3, "{report:#}");
        let message = report["error"]["message"].as_str().unwrap();
        assert!(message.contains("Read-only file system"), "{message}");
    }
    assert_eq!(store(&["verify", dir]).exit, 0, "as it was");
}

/// A store of generations at boundaries 2, 4 and 6.
fn three(folder: &Folder) -> String {
    let path = folder.file("store").to_str().unwrap().to_owned();
    let made = session(&["--store", &path, "--steps", "6", "--checkpoint-every", "2"]);
    assert_eq!(made.exit, 0, "{}", made.stdout);
    path
}

fn skipped(report: &Value) -> Vec<&str> {
    let skipped = report["resumed"]["skipped"].as_array().unwrap();
    skipped
        .iter()
        .map(|one| one["checkpointId"].as_str().unwrap())
        .collect()
}

#[test]
fn a_file_that_vanished_is_said_and_an_older_one_is_gone_on_from() {
    let folder = Folder::new();
    let dir = three(&folder);
    fs::remove_file(format!("{dir}/ckpt-e1-6.flysess")).unwrap();
    let verified = store(&["verify", &dir]);
    let report = verified.json();
    assert_eq!(verified.exit, 1);
    let generations = report["generations"].as_array().unwrap();
    let whole: Vec<_> = generations
        .iter()
        .map(|one| one["verified"].as_bool().unwrap())
        .collect();
    assert_eq!(whole, [true, true, false]);
    assert_eq!(generations[2]["damage"]["kind"], "missing");
    let resumed = session(&["--store", &dir, "--resume", "--steps", "1"]).json();
    assert_eq!(resumed["resumed"]["boundary"], "4");
    assert_eq!(skipped(&resumed), ["ckpt-e1-6"]);
    assert_eq!(
        resumed["opened"]["missing"],
        serde_json::json!(["ckpt-e1-6"])
    );
}

#[test]
fn a_file_with_one_bit_wrong_is_found_and_never_gone_on_from() {
    let folder = Folder::new();
    let dir = three(&folder);
    let path = format!("{dir}/ckpt-e1-6.flysess");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let verified = store(&["verify", &dir, "ckpt-e1-6"]);
    assert_eq!(verified.exit, 1);
    assert_eq!(
        verified.json()["generations"][0]["damage"]["kind"],
        "digest"
    );
    let output = folder.file("output");
    let exported = store(&[
        "export",
        &dir,
        "ckpt-e1-6",
        "--output",
        output.to_str().unwrap(),
    ]);
    assert_eq!(
        (exported.exit, &exported.json()["error"]["code"]),
        (1, &"damaged".into())
    );
    assert!(!output.exists());
    let resumed = session(&["--store", &dir, "--resume", "--steps", "1"]).json();
    assert_eq!(
        (&resumed["resumed"]["boundary"], skipped(&resumed)),
        (&"4".into(), vec!["ckpt-e1-6"])
    );
}

#[test]
fn a_list_that_vanished_or_is_damaged_is_no_empty_store() {
    let folder = Folder::new();
    let dir = three(&folder);
    let manifest = format!("{dir}/manifest.json");
    let text = fs::read(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() - 1]).unwrap();
    for refused in [
        store(&["ls", &dir]),
        store(&["verify", &dir]),
        store(&["prune", &dir, "--keep", "1"]),
        session(&["--store", &dir, "--resume", "--steps", "1"]),
        session(&["--store", &dir, "--steps", "1"]),
    ] {
        let report = refused.json();
        assert_eq!(
            (refused.exit, &report["error"]["code"]),
            (1, &"manifest-unreadable".into()),
            "{report:#}"
        );
    }
    fs::remove_file(&manifest).unwrap();
    let listed = store(&["ls", &dir]).json();
    assert_eq!(listed["manifestFound"], false);
    assert_eq!(
        listed["unlisted"],
        serde_json::json!(["ckpt-e1-2", "ckpt-e1-4", "ckpt-e1-6"])
    );
    // Put back, everything is there.
    fs::write(&manifest, text).unwrap();
    assert_eq!(store(&["verify", &dir]).exit, 0);
    let resumed = session(&["--store", &dir, "--resume", "--steps", "1"]).json();
    assert_eq!(resumed["resumed"]["boundary"], "6");
}
