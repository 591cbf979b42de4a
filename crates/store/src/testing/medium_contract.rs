//! What every medium must do, whatever it keeps its files on.

use crate::medium_error::{LockError, MediumError};
use crate::store_medium::{FileEntry, StoreMedium};

/// Every promise of [`StoreMedium`] that can be looked at without a crash, on an empty medium; it is empty again afterwards.
///
/// What a crash leaves is for tests that can crash a medium.
///
/// # Panics
///
/// At the first promise that is not kept.
pub async fn assert_medium_contract<M: StoreMedium>(medium: &M) {
    assert_eq!(medium.list().await, Ok(Vec::new()), "it is to be empty");
    files_come_and_go(medium).await;
    what_is_there_is_not_touched(medium).await;
    a_rename_replaces(medium).await;
    what_is_not_there_is_not_found(medium).await;
    one_holds_the_lock(medium).await;
    assert_eq!(medium.list().await, Ok(Vec::new()), "it is empty again");
}

/// Names that no store gives are refused; for media that keep names which others could read otherwise.
///
/// # Panics
///
/// Where one is not.
pub async fn assert_only_plain_names<M: StoreMedium>(medium: &M) {
    let long = "a".repeat(81);
    for name in [
        "", ".", "..", "../a", "a/b", "/a", ".a", "-a", "_a", "a b", "a\n", "a\0b", "é", "a\\b",
        &long,
    ] {
        let refused = Err(MediumError::InvalidName {
            file: name.to_owned(),
        });
        assert_eq!(medium.write_new(name, &[b"x"]).await, refused, "{name:?}");
        assert_eq!(medium.sync(name).await, refused, "{name:?}");
        assert_eq!(medium.remove(name).await, refused, "{name:?}");
        assert_eq!(medium.rename_over(name, "to").await, refused, "{name:?}");
        assert_eq!(medium.rename_over("from", name).await, refused, "{name:?}");
        let read = medium.read(name).await.map(drop);
        assert_eq!(read, refused, "{name:?}");
    }
    let longest = "a".repeat(80);
    for name in ["~generation", "manifest.json", "0", "A-b_c.d~e", &longest] {
        assert_eq!(medium.write_new(name, &[b"x"]).await, Ok(()), "{name:?}");
        assert_eq!(medium.remove(name).await, Ok(()), "{name:?}");
    }
}

fn not_found(name: &str) -> MediumError {
    MediumError::NotFound {
        file: name.to_owned(),
    }
}

async fn names<M: StoreMedium>(medium: &M) -> Vec<FileEntry> {
    let mut entries = medium.list().await.expect("it can be listed");
    entries.sort();
    entries
}

fn entry(name: &str, byte_length: u64) -> FileEntry {
    FileEntry {
        name: name.to_owned(),
        byte_length,
    }
}

async fn files_come_and_go<M: StoreMedium>(medium: &M) {
    let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    for (name, bytes) in [
        ("empty", &[][..]),
        ("~small", b"small"),
        ("large.flysess", &large),
    ] {
        assert_eq!(medium.write_new(name, &[bytes]).await, Ok(()));
        assert_eq!(medium.sync(name).await, Ok(()));
        assert_eq!(medium.read(name).await.as_deref(), Ok(bytes), "{name}");
        assert_eq!(medium.sync(name).await, Ok(()), "a second time");
    }
    assert_eq!(medium.sync_dir().await, Ok(()));
    let expected = [
        entry("empty", 0),
        entry("large.flysess", 1_200_000),
        entry("~small", 5),
    ];
    assert_eq!(names(medium).await, expected);
    let usage = medium.usage().await.expect("it knows how full it is");
    assert!(usage.used_bytes >= 1_200_005, "{usage:?}");
    assert!(
        usage
            .quota_bytes
            .is_none_or(|quota| quota >= usage.used_bytes),
        "{usage:?}"
    );
    for name in ["empty", "~small", "large.flysess"] {
        assert_eq!(medium.remove(name).await, Ok(()));
    }
    assert_eq!(medium.sync_dir().await, Ok(()));
}

async fn what_is_there_is_not_touched<M: StoreMedium>(medium: &M) {
    assert_eq!(medium.write_new("taken", &[b"old"]).await, Ok(()));
    let refused = Err(MediumError::AlreadyExists {
        file: "taken".to_owned(),
    });
    assert_eq!(medium.write_new("taken", &[b"newer"]).await, refused);
    assert_eq!(medium.read("taken").await.as_deref(), Ok(&b"old"[..]));
    assert_eq!(medium.remove("taken").await, Ok(()));
}

async fn a_rename_replaces<M: StoreMedium>(medium: &M) {
    assert_eq!(medium.write_new("to", &[b"old"]).await, Ok(()));
    for new in [&b"new"[..], b"newer"] {
        assert_eq!(medium.write_new("~from", &[new]).await, Ok(()));
        assert_eq!(medium.sync("~from").await, Ok(()));
        assert_eq!(medium.rename_over("~from", "to").await, Ok(()));
        assert_eq!(medium.read("to").await.as_deref(), Ok(new));
        assert_eq!(medium.sync("to").await, Ok(()));
        assert_eq!(names(medium).await, [entry("to", new.len() as u64)]);
    }
    assert_eq!(
        medium.rename_over("to", "elsewhere").await,
        Ok(()),
        "to a free name"
    );
    assert_eq!(names(medium).await, [entry("elsewhere", 5)]);
    assert_eq!(medium.remove("elsewhere").await, Ok(()));
}

async fn what_is_not_there_is_not_found<M: StoreMedium>(medium: &M) {
    let refused = Err(not_found("nothing"));
    assert_eq!(medium.sync("nothing").await, refused);
    assert_eq!(medium.remove("nothing").await, refused);
    assert_eq!(medium.rename_over("nothing", "to").await, refused);
    assert_eq!(medium.read("nothing").await.map(drop), refused);
}

async fn one_holds_the_lock<M: StoreMedium>(medium: &M) {
    for _ in 0..2 {
        let held = medium.lock().await.expect("nobody holds it");
        match medium.lock().await {
            Err(LockError::Held { owner }) => assert!(!owner.is_empty()),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("two hold the lock"),
        }
        drop(held);
    }
    assert_eq!(
        medium.list().await,
        Ok(Vec::new()),
        "a lock is no file of the store's"
    );
}
