//! Oracle: a count of the bytes hashed, and the addresses of what a medium is given, against what the formats ask for.
//!
//! Of a save: two hash passes over each payload byte, one for the envelope's own table and one for the store's record of
//! the whole file, and no copy; the medium reads the file back once, and that is compared, not hashed. Of a restore:
//! one read and the same two passes.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use wellwritten_envelope::hashed_bytes;
use wellwritten_store::testing::SampleGeneration;
use wellwritten_store::{
    FileEntry, LockError, MediumError, MemoryLock, MemoryMedium, PayloadBytes, Selection, Store,
    StoreConfig, StoreMedium, Usage,
};

/// Address and length of what was given.
type Place = (usize, usize);

fn place(bytes: &[u8]) -> Place {
    (bytes.as_ptr() as usize, bytes.len())
}

/// Remembers what it was given to write and to read.
#[derive(Clone, Default)]
struct Watched {
    inner: MemoryMedium,
    given: Rc<RefCell<Vec<Place>>>,
    reads: Rc<RefCell<Vec<String>>>,
}

#[async_trait(?Send)]
impl StoreMedium for Watched {
    type Lock = MemoryLock;

    async fn lock(&self) -> Result<MemoryLock, LockError> {
        self.inner.lock().await
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        let places = parts.iter().map(|part| place(part));
        self.given.borrow_mut().extend(places);
        self.inner.write_new(name, parts).await
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        self.inner.sync(name).await
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        self.inner.rename_over(from, to).await
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        self.inner.sync_dir().await
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        self.reads.borrow_mut().push(name.to_owned());
        self.inner.read(name).await
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        self.inner.list().await
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        self.inner.remove(name).await
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        self.inner.usage().await
    }
}

const PAYLOAD_BYTES: usize = 1 << 20;

/// What is hashed besides payloads: head, footer, and a store manifest or two.
const BESIDES: usize = 1 << 15;

fn large() -> SampleGeneration {
    let small = SampleGeneration::new("a", "e1", 1);
    let mut payloads = small.payloads;
    payloads[0].1 = vec![7; PAYLOAD_BYTES];
    SampleGeneration::of(small.manifest, payloads)
}

/// How often `work` hashes each payload byte.
fn passes<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = hashed_bytes();
    let result = work();
    let hashed = hashed_bytes() - before;
    let passes = hashed / PAYLOAD_BYTES;
    assert!(
        hashed - passes * PAYLOAD_BYTES < BESIDES,
        "{hashed} bytes are no whole number of passes"
    );
    (result, passes)
}

#[test]
fn a_save_hashes_each_payload_byte_twice_and_copies_none() {
    let medium = Watched::default();
    let (mut store, _) = block_on(Store::open(medium.clone(), StoreConfig::default())).unwrap();
    let request = large().to_save();
    let saved = passes(|| block_on(store.save(&request)).unwrap());
    assert_eq!(saved.1, 2);
    let given = medium.given.borrow();
    for (name, bytes) in &request.payloads {
        let own = place((**bytes).as_ref());
        let times = given.iter().filter(|place| **place == own).count();
        assert_eq!(times, 1, "{name} is given as it is, once");
    }
    let given_bytes: usize = given.iter().map(|(_, length)| length).sum();
    assert!(
        given_bytes < PAYLOAD_BYTES + BESIDES,
        "and nothing else that long"
    );
    let reads = medium.reads.borrow();
    let read_back = reads.iter().filter(|name| *name == "~generation").count();
    assert_eq!(read_back, 1);
    // Nobody but the caller owns them any more.
    for (_, bytes) in &request.payloads {
        assert_eq!(Arc::strong_count(bytes), 1);
    }
}

#[test]
fn a_restore_reads_once_and_hashes_twice() {
    let medium = Watched::default();
    let (mut store, _) = block_on(Store::open(medium.clone(), StoreConfig::default())).unwrap();
    block_on(store.save(&large().to_save())).unwrap();
    medium.reads.borrow_mut().clear();
    let selected = passes(|| block_on(store.select(&Selection::default())).unwrap());
    assert_eq!(selected.1, 2);
    assert_eq!(selected.0.bytes, large().bytes);
    assert_eq!(*medium.reads.borrow(), ["a.flysess"]);
}

#[test]
fn an_import_hashes_twice_and_copies_nothing() {
    let medium = Watched::default();
    let (mut store, _) = block_on(Store::open(medium.clone(), StoreConfig::default())).unwrap();
    let bytes: PayloadBytes = Arc::new(large().bytes);
    let bytes = (*bytes).as_ref();
    assert_eq!(passes(|| block_on(store.import(bytes)).unwrap()).1, 2);
    assert!(medium.given.borrow().contains(&place(bytes)));
}

/// Canary: a pass more, a pass less and a copy are seen.
#[test]
fn a_pass_and_a_copy_too_many_are_noticed() {
    let bytes = large().bytes;
    let hash = || wellwritten_envelope::Digest::blake3(&bytes);
    assert_eq!(passes(hash).1, 1);
    assert_eq!(passes(|| (hash(), hash(), hash())).1, 3);
    let copy = bytes.clone();
    let medium = Watched::default();
    block_on(medium.write_new("a", &[&copy])).unwrap();
    assert!(!medium.given.borrow().contains(&place(&bytes)));
}
