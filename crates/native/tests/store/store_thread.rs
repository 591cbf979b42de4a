//! A store on its thread: what is asked is answered there, and its end is told to whoever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::executor::block_on;
use futures::future::join_all;
use wellwritten_native::{FileMedium, OpenStoreError, StoreThread};
use wellwritten_store::testing::SampleGeneration;
use wellwritten_store::{
    CommitError, FileEntry, LockError, MediumError, MemoryMedium, OpenReport, ReadError,
    Resolution, SaveRequest, Store, StoreClient, StoreConfig, StoreError, StoreMedium, Usage,
};

/// A checkpoint without payloads of its own, of that boundary.
fn request(name: &str, boundary: u64) -> SaveRequest {
    SampleGeneration::new(name, "e1", boundary).to_save()
}

async fn listed(client: &StoreClient) -> Vec<String> {
    let list = client.generations().await.unwrap();
    let ids = list.generations.iter();
    ids.map(|one| one.info.checkpoint_id.to_string()).collect()
}

#[test]
fn what_is_asked_is_done_in_the_order_of_asking_on_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let opened = StoreThread::open(folder.path(), StoreConfig::default()).await;
        let StoreThread {
            client,
            report,
            end,
        } = opened.unwrap();
        assert!(!report.manifest_found);
        let names = ["a", "b", "c", "d"];
        let saves = names
            .iter()
            .zip(1..)
            .map(|(name, boundary)| client.save(request(name, boundary)));
        for saved in join_all(saves).await {
            assert!(saved.unwrap().certainty.is_durable());
        }
        assert_eq!(listed(&client).await, ["b", "c", "d"]);
        let gone = client.resolve(&"a".parse().unwrap()).await.unwrap();
        assert_eq!(gone, Resolution::RotatedOut);
        drop(client);
        end.wait().await.unwrap();

        // Whoever looks can look, and cannot change anything.
        let looking = StoreThread::open_read_only(folder.path()).await.unwrap();
        assert_eq!(listed(&looking.client).await, ["b", "c", "d"]);
        let refused = looking.client.save(request("e", 5)).await;
        assert_eq!(refused.unwrap_err(), CommitError::ReadOnly);
        let verified = looking.client.verify(&"d".parse().unwrap()).await.unwrap();
        assert!(verified.verified);
    });
}

#[test]
fn what_was_asked_before_everyone_left_is_done_and_then_the_lock_is_free() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let opened = StoreThread::open(folder.path(), StoreConfig::default()).await;
        let StoreThread { client, end, .. } = opened.unwrap();
        let another = client.clone();
        // Nobody waits for the answers: asked is asked.
        assert!(client.save(request("a", 1)).now_or_never().is_none());
        assert!(another.save(request("b", 2)).now_or_never().is_none());
        drop((client, another));
        end.wait().await.unwrap();
        let medium = FileMedium::open(folder.path()).unwrap();
        let medium = medium.with_lock_patience(Duration::ZERO);
        let (store, report) = Store::open(medium, StoreConfig::default()).await.unwrap();
        assert!(report.removed.is_empty(), "{report:?}");
        let ids: Vec<_> = store
            .generations()
            .map(|one| one.checkpoint_id.to_string())
            .collect();
        assert_eq!(ids, ["b", "a"], "newest first");
    });
}

#[test]
fn who_cannot_open_it_is_told_why_and_no_thread_is_left() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let missing = folder.path().join("missing");
        let refused = StoreThread::open_read_only(&missing).await.unwrap_err();
        assert!(
            matches!(&refused, OpenStoreError::Folder(error) if error.is_not_found()),
            "{refused}"
        );
        assert!(!missing.exists(), "looking makes no folder");
        let _held = StoreThread::open(folder.path(), StoreConfig::default())
            .await
            .unwrap();
        let refused = StoreThread::open(folder.path(), StoreConfig::default())
            .await
            .unwrap_err();
        let OpenStoreError::Store(StoreError::Lock {
            source: LockError::Held { owner },
        }) = refused
        else {
            panic!("{refused}");
        };
        assert!(owner.contains(&std::process::id().to_string()), "{owner}");
        let refused = StoreThread::start(async || -> Result<(_, OpenReport), _> {
            let store = Store::open(no_medium(), StoreConfig::default()).await?;
            Ok((store.0.into(), store.1))
        });
        let refused = refused.await.unwrap_err().to_string();
        assert_eq!(
            refused,
            "the store's thread panicked: no medium today while it opened the store"
        );
    });
}

fn no_medium() -> MemoryMedium {
    panic!("no medium today")
}

/// A medium whose syncs wait until they may go on, and panic when they are told to.
struct Gated {
    files: MemoryMedium,
    gate: mpsc::Receiver<()>,
    panics: Arc<AtomicBool>,
}

#[async_trait(?Send)]
impl StoreMedium for Gated {
    type Lock = wellwritten_store::MemoryLock;

    async fn lock(&self) -> Result<Self::Lock, LockError> {
        self.files.lock().await
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        self.files.write_new(name, parts).await
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        // A gate that is gone is open.
        let _ = self.gate.recv();
        assert!(!self.panics.load(Ordering::SeqCst), "the disk caught fire");
        self.files.sync(name).await
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        self.files.rename_over(from, to).await
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        self.files.sync_dir().await
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        self.files.read(name).await
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        self.files.list().await
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        self.files.remove(name).await
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        self.files.usage().await
    }
}

async fn gated() -> (StoreThread, mpsc::Sender<()>, Arc<AtomicBool>) {
    let (open, gate) = mpsc::channel();
    let panics = Arc::new(AtomicBool::new(false));
    let told = panics.clone();
    let opened = StoreThread::start(async move || {
        let medium = Gated {
            files: MemoryMedium::new(),
            gate,
            panics: told,
        };
        let (store, report) = Store::open(medium, StoreConfig::default()).await?;
        Ok((store.into(), report))
    });
    (opened.await.unwrap(), open, panics)
}

#[test]
fn who_asks_does_not_wait_for_the_disk() {
    block_on(async {
        let (StoreThread { client, end, .. }, gate, _) = gated().await;
        let mut saving = Box::pin(client.save(request("a", 1)));
        for _ in 0..100 {
            assert!(saving.as_mut().now_or_never().is_none(), "the gate is shut");
        }
        drop(gate);
        assert!(saving.await.is_ok());
        drop(client);
        end.wait().await.unwrap();
    });
}

#[test]
fn a_panic_is_told_to_everyone_who_waits_and_to_everyone_who_asks_later() {
    block_on(async {
        let (StoreThread { client, end, .. }, gate, panics) = gated().await;
        let saves = [client.save(request("a", 1)), client.save(request("b", 2))];
        let looking = client.generations();
        panics.store(true, Ordering::SeqCst);
        let saves = join_all(saves);
        let ((all_saved, looked), ()) =
            futures::join!(async { futures::join!(saves, looking) }, async {
                drop(gate);
            });
        let words = "the store is gone: its thread panicked: the disk caught fire";
        for refused in all_saved {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, CommitError::Gone(_)), "{refused}");
            assert_eq!(refused.to_string(), words);
        }
        assert!(matches!(looked.unwrap_err(), ReadError::Gone(_)));
        assert_eq!(
            client.usage().await.unwrap_err().to_string(),
            words,
            "later, too"
        );
        assert_eq!(end.wait().await.unwrap_err().to_string(), words);
    });
}
