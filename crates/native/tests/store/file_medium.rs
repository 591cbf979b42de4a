//! The medium alone: its promises, and what a folder can do to it.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use tempfile::TempDir;
use wellwritten_native::FileMedium;
use wellwritten_store::testing::{
    SampleGeneration, assert_medium_contract, assert_only_plain_names,
};
use wellwritten_store::{
    LockError, MediumError, Selection, Store, StoreConfig, StoreError, StoreMedium, StoreReader,
};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn medium(folder: &Path) -> FileMedium {
    FileMedium::create(folder)
        .unwrap()
        .with_lock_patience(Duration::ZERO)
}

#[test]
fn a_folder_keeps_every_promise_of_a_medium() {
    let folder = folder();
    block_on(assert_medium_contract(&medium(folder.path())));
    block_on(assert_only_plain_names(&medium(folder.path())));
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(names, [".lock"], "the lock's file stays");
}

#[test]
fn a_folder_is_made_with_what_is_above_it_and_is_the_same_when_it_is_there() {
    let above = folder();
    let deep = above.path().join("a/b/store");
    block_on(medium(&deep).write_new("x", &[b"kept"])).unwrap();
    assert_eq!(block_on(medium(&deep).read("x")).unwrap(), b"kept");
    assert_eq!(
        block_on(FileMedium::open(&deep).unwrap().read("x")).unwrap(),
        b"kept"
    );
}

#[test]
fn a_folder_that_cannot_be_had_is_named_and_why() {
    let above = folder();
    let missing = above.path().join("missing");
    let refused = FileMedium::open(&missing).unwrap_err();
    assert!(refused.is_not_found());
    let text = refused.to_string();
    let expected = format!(
        "the folder {} cannot be opened: No such file",
        missing.display()
    );
    assert!(text.starts_with(&expected), "{text}");
    let file = above.path().join("file");
    fs::write(&file, b"").unwrap();
    for refused in [
        FileMedium::open(&file),
        FileMedium::create(&file),
        FileMedium::create(&file.join("store")),
    ] {
        let text = refused.unwrap_err().to_string();
        assert!(
            text.contains("file cannot be opened: Not a directory")
                || text.contains("store cannot be opened: Not a directory"),
            "{text}"
        );
    }
    let refused = FileMedium::create(Path::new("/proc/nothing/store")).unwrap_err();
    assert_eq!(refused.doing, "created");
}

#[test]
fn a_store_lives_on_a_folder_and_is_found_again() {
    let folder = folder();
    let sample = SampleGeneration::new("first", "e1", 10);
    let (mut store, report) =
        block_on(Store::open(medium(folder.path()), StoreConfig::default())).unwrap();
    assert!(!report.manifest_found);
    let committed = block_on(store.save(&sample.to_save())).unwrap();
    assert!(committed.certainty.is_durable());
    // A second opener is refused by name, and may look.
    let refused = block_on(Store::open(medium(folder.path()), StoreConfig::default())).unwrap_err();
    let StoreError::Lock {
        source: LockError::Held { owner },
    } = refused
    else {
        panic!("{refused}");
    };
    assert_eq!(
        owner,
        format!("opener in this process (pid {})", std::process::id())
    );
    let reader = block_on(StoreReader::open(FileMedium::open(folder.path()).unwrap())).unwrap();
    assert!(
        block_on(reader.verify(&sample.manifest.checkpoint_id))
            .unwrap()
            .verified
    );
    drop(store);
    let (store, report) =
        block_on(Store::open(medium(folder.path()), StoreConfig::default())).unwrap();
    assert!(report.manifest_found && report.removed.is_empty() && report.kept.is_empty());
    assert_eq!(
        block_on(store.select(&Selection::default())).unwrap().bytes,
        sample.bytes
    );
}

#[test]
fn links_are_not_followed_and_pipes_are_not_waited_for() {
    let (folder, elsewhere) = (folder(), folder());
    let outside = elsewhere.path().join("outside");
    fs::write(&outside, b"private").unwrap();
    symlink(&outside, folder.path().join("link")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let medium = medium(folder.path());
    for name in ["link", "dangling", "socket", "pipe", "folder"] {
        let refused = block_on(medium.read(name)).unwrap_err();
        assert!(
            matches!(&refused, MediumError::Io { file, .. } if file == name),
            "{name}: {refused}"
        );
        let taken = block_on(medium.write_new(name, &[b"x"])).unwrap_err();
        assert!(
            matches!(taken, MediumError::AlreadyExists { .. }),
            "{name}: {taken}"
        );
    }
    let mut listed: Vec<_> = block_on(medium.list())
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    listed.sort();
    assert_eq!(listed, ["dangling", "link", "pipe", "socket"]);
    // What takes their place is the link's name, not what it points at.
    block_on(medium.write_new("new", &[b"new"])).unwrap();
    block_on(medium.rename_over("new", "link")).unwrap();
    assert_eq!(block_on(medium.read("link")).unwrap(), b"new");
    block_on(medium.remove("dangling")).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"private");
}

#[test]
fn a_lock_file_that_is_a_link_or_was_removed_is_no_way_around_the_lock() {
    let folder = folder();
    let medium = medium(folder.path());
    let held = block_on(medium.lock()).unwrap();
    drop(held);
    fs::remove_file(folder.path().join(".lock")).unwrap();
    symlink("/tmp/elsewhere", folder.path().join(".lock")).unwrap();
    let refused = block_on(medium.lock()).unwrap_err();
    assert!(refused.to_string().contains("ELOOP"), "{refused}");
}

#[test]
fn a_lock_that_is_released_in_time_is_waited_for() {
    let folder = folder();
    let held = block_on(medium(folder.path()).lock()).unwrap();
    let patient = medium(folder.path()).with_lock_patience(Duration::from_secs(20));
    let began = Instant::now();
    let waiting = std::thread::spawn(move || block_on(patient.lock()).map(|_| began.elapsed()));
    std::thread::sleep(Duration::from_millis(150));
    drop(held);
    let waited = waiting.join().unwrap().unwrap();
    assert!(waited >= Duration::from_millis(150), "{waited:?}");
    assert!(waited < Duration::from_secs(10), "{waited:?}");
}

#[test]
fn a_folder_that_is_gone_is_a_fault_and_one_in_its_place_is_not_taken() {
    let above = folder();
    let path = above.path().join("store");
    let medium = medium(&path);
    block_on(medium.write_new("x", &[b"mine"])).unwrap();
    let moved = above.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("x"), b"another's").unwrap();
    assert_eq!(block_on(medium.read("x")).unwrap(), b"mine");
    fs::remove_dir_all(&moved).unwrap();
    let refused = block_on(medium.write_new("y", &[b"lost"])).unwrap_err();
    assert!(
        matches!(&refused, MediumError::Io { name, .. } if name == "ENOENT"),
        "{refused}"
    );
    assert!(block_on(medium.read("x")).unwrap_err().is_not_found());
}
