//! A disk that is full: it is said by name, nothing that is saved is lost, and saving goes on when there is room again.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::Value;

use crate::sample_file::Folder;
use crate::saving_session::{Said, Saved, SavingSession};
use crate::small_disk::SmallDisk;
use crate::wellwritten::run;

/// Steps without end, slow enough that what happens to the disk happens between two of them.
const ENDLESS: [&str; 8] = [
    "--until",
    "1000000",
    "--rate",
    "200",
    "--checkpoint-every",
    "1",
    "--keep",
    "2",
];

/// The complaint about a checkpoint that was not saved.
fn not_saved(said: &Said) -> Option<String> {
    let Said::Complaint(text) = said else {
        return None;
    };
    text.contains(" was not saved: ").then(|| text.clone())
}

fn boundary_of(complaint: &str) -> u64 {
    let (_, rest) = complaint.split_once(" of boundary ").unwrap();
    rest.split_once(' ').unwrap().0.parse().unwrap()
}

fn newest(store: &Path) -> Value {
    let verified = run(["store", "verify", "--json", store.to_str().unwrap()]);
    assert_eq!(verified.exit, 0, "{}", verified.stdout);
    let report = run(["store", "ls", "--json", store.to_str().unwrap()]).json();
    let generations = report["generations"].as_array().unwrap();
    generations
        .iter()
        .find(|one| one["isLatest"] == true)
        .unwrap()
        .clone()
}

fn boundary(generation: &Value) -> u64 {
    generation["boundary"].as_str().unwrap().parse().unwrap()
}

/// Saves, has the room taken away, steps on without saving, has it given back, and saves again.
fn a_full_disk_stops_no_step(
    mut session: SavingSession,
    store: &Path,
    words: &str,
    fill: impl FnOnce(&SavingSession),
    free: impl FnOnce(&SavingSession),
) {
    session.wait_for_save();
    fill(&session);
    let first = session.wait_for(not_saved);
    assert!(first.contains(words), "{first}");
    assert!(
        first.contains("`~generation`") || first.contains("`~manifest`"),
        "{first}"
    );
    // It steps on, and says so of each checkpoint.
    let mut last = boundary_of(&first);
    for _ in 0..10 {
        let next = boundary_of(&session.wait_for(not_saved));
        assert!(next > last, "{next} after {last}");
        last = next;
    }
    // What was saved before is whole, and is what is there; some may have been saved before the room was gone.
    let saved: Vec<_> = session.said.iter().filter_map(Saved::in_line).collect();
    let before = newest(store);
    assert_eq!(boundary(&before), saved.last().unwrap().boundary);
    free(&session);
    let again = session.wait_for_save();
    assert!(again.boundary > last);
    session.signal(Signal::INT);
    // It was interrupted, and checkpoints are missing: the second is worse.
    assert_eq!(session.end(), Some(3), "{:#?}", session.said);
    // In whichever order the two streams are read.
    let missing = "checkpoints were not saved; of the last: ";
    assert!(
        session
            .said
            .iter()
            .any(|said| said.text().contains(missing)),
        "{:#?}",
        session.said
    );
    let saved: Vec<_> = session.said.iter().filter_map(Saved::in_line).collect();
    let newest = newest(store);
    assert_eq!(newest["checkpointId"], saved.last().unwrap().checkpoint_id);
    let until = (boundary(&newest) + 5).to_string();
    let mut resumed = SavingSession::start(store, &["--resume", "--until", &until]);
    assert_eq!(resumed.end(), Some(0), "{:#?}", resumed.said);
}

#[test]
fn a_file_system_without_room_is_named_and_stops_no_step() {
    let folder = Folder::new();
    let Some(disk) = SmallDisk::mount(folder.path(), 256 << 10) else {
        return;
    };
    let store = disk.path().join("store");
    let filler = disk.path().join("filler");
    let session = SavingSession::start(&store, &ENDLESS);
    a_full_disk_stops_no_step(
        session,
        &store,
        "the storage quota is used up",
        |_| {
            // Until not even a byte has room.
            let full = fs::write(&filler, vec![0; 1 << 20]);
            assert_eq!(full.unwrap_err().raw_os_error(), Some(28), "ENOSPC");
        },
        |_| fs::remove_file(&filler).unwrap(),
    );
    // Nothing of what failed is left.
    let left: Vec<_> = fs::read_dir(&store)
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_str().unwrap().starts_with('~')),
        "{left:?}"
    );
}

#[test]
fn a_limit_on_the_length_of_files_is_named_and_stops_no_step() {
    let folder = Folder::new();
    let store = folder.file("store");
    let session = SavingSession::start(&store, &ENDLESS);
    let limit = |session: &SavingSession, bytes: Option<u64>| {
        let pid = Pid::from_raw(i32::try_from(session.pid()).unwrap()).unwrap();
        let maximum = getrlimit(Resource::Fsize).maximum;
        let limit = Rlimit {
            current: bytes.or(maximum),
            maximum,
        };
        prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    };
    a_full_disk_stops_no_step(
        session,
        &store,
        "no room to write",
        |session| limit(session, Some(4096)),
        |session| limit(session, None),
    );
}
