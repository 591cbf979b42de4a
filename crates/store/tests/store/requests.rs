//! Oracle: every operation asked through a [`StoreClient`] answers what the store on the same medium says itself, and
//! a store that is open read-only or gone says so by type.

use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use wellwritten_envelope::U64;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    CommitError, ImportError, OpenStore, ReadError, Resolution, SelectError, Selection,
    StoreClient, StoreError, StoreGone, StoreReader, StoreReply, StoreRequest, StoreRoute,
    UsageError, compatibility_digest, file_name, serve_request,
};

use crate::sample_store::{id, open, sample};

fn client(medium: &SimulatedMedium, keep: usize) -> StoreClient {
    StoreClient::local(open(medium, keep).unwrap().0)
}

fn read_only(medium: &SimulatedMedium) -> StoreClient {
    let reader = block_on(StoreReader::open(medium.clone())).unwrap();
    StoreClient::local(reader)
}

#[test]
fn a_save_is_the_envelope_that_encoding_makes_with_the_record_of_its_manifest() {
    let medium = SimulatedMedium::new();
    let client = client(&medium, 3);
    let first = sample("a");
    assert_eq!(first.to_save().byte_length(), 7 + 6 + 10 + 9);
    let committed = block_on(client.save(first.to_save())).unwrap();
    assert!(committed.certainty.is_durable());
    let info = &committed.generation;
    assert_eq!(info.checkpoint_id, id("a"));
    assert_eq!(info.boundary, U64(10));
    assert_eq!(
        info.compatibility_digest,
        compatibility_digest(&first.manifest.compatibility)
    );
    assert_eq!(medium.files()["a.flysess"].as_ref(), first.bytes.as_slice());
    assert_eq!(block_on(client.read(&id("a"))).unwrap(), first.bytes);
    let report = block_on(client.verify(&id("a"))).unwrap();
    assert!(report.verified, "{report:?}");
    assert_eq!(
        block_on(client.resolve(&id("a"))).unwrap(),
        Resolution::Committed(Box::new(info.clone()))
    );
    assert_eq!(
        block_on(client.save(first.to_save())),
        Err(CommitError::CheckpointIdUsed {
            checkpoint_id: id("a")
        })
    );
    let mut without = sample("b").to_save();
    without.payloads.remove(0);
    let files = medium.files();
    let refused = block_on(client.save(without)).unwrap_err();
    assert!(
        matches!(&refused, CommitError::NotEncodable { reason } if reason.contains("world")),
        "{refused}"
    );
    assert_eq!(medium.files(), files);
}

#[test]
fn every_operation_goes_through_a_client() {
    let medium = SimulatedMedium::new();
    let client = client(&medium, 2);
    for name in ["a", "b"] {
        block_on(client.save(sample(name).to_save())).unwrap();
    }
    assert!(
        block_on(client.set_pinned(&id("a"), true))
            .unwrap()
            .is_durable()
    );
    block_on(client.save(sample("c").to_save())).unwrap();
    let committed = block_on(client.save(sample("d").to_save())).unwrap();
    assert_eq!(committed.rotated_out, [id("b")]);
    assert!(
        block_on(client.mark_resumed(&id("c")))
            .unwrap()
            .is_durable()
    );
    let list = block_on(client.generations()).unwrap();
    let shown: Vec<_> = list
        .generations
        .iter()
        .map(|one| {
            let id = one.info.checkpoint_id.as_str();
            (id, one.pinned, one.abandoned, one.is_latest)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", true, false, false),
            ("c", false, false, true),
            ("d", false, true, false)
        ]
    );
    assert_eq!(list.resumed_from, Some(id("c")));
    let selected = block_on(client.select(Selection::default())).unwrap();
    assert_eq!(selected.bytes, sample("c").bytes);
    assert_eq!(block_on(client.prune(1)).unwrap().dropped, [id("d")]);
    assert_eq!(
        block_on(client.resolve(&id("d"))).unwrap(),
        Resolution::RotatedOut
    );
    let foreign: Arc<Vec<u8>> = Arc::new(SampleGeneration::new("x", "e7", 3).bytes);
    let imported = block_on(client.import(foreign.clone())).unwrap();
    assert_eq!(imported.generation.checkpoint_id, id("x"));
    assert_eq!(block_on(client.read(&id("x"))).unwrap(), *foreign);
    assert!(block_on(client.is_epoch_used(&id("e7"))).unwrap());
    assert!(!block_on(client.is_epoch_used(&id("e8"))).unwrap());
    assert_eq!(
        block_on(client.next_epoch_after(&id("e1"))).unwrap(),
        Some(id("e8"))
    );
    assert!(
        block_on(client.claim_epoch(&id("e8")))
            .unwrap()
            .is_durable()
    );
    assert_eq!(
        block_on(client.claim_epoch(&id("e8"))),
        Err(CommitError::EpochUsed { epoch: id("e8") })
    );
    assert!(block_on(client.is_episode_used(&id("demo"), &id("episode-1"))).unwrap());
    assert!(!block_on(client.is_episode_used(&id("demo"), &id("episode-2"))).unwrap());
    let used: usize = medium.files().values().map(|bytes| bytes.len()).sum();
    assert_eq!(block_on(client.usage()).unwrap().used_bytes, used as u64);
}

#[test]
fn a_read_only_store_needs_no_lock_sees_what_its_owner_does_and_refuses_every_change() {
    let medium = SimulatedMedium::new();
    let owner = client(&medium, 2);
    let view = read_only(&medium);
    assert_eq!(
        block_on(view.select(Selection::default())),
        Err(SelectError::Empty)
    );
    block_on(owner.save(sample("a").to_save())).unwrap();
    assert_eq!(
        block_on(view.generations()),
        block_on(owner.generations()),
        "without opening it again"
    );
    assert_eq!(block_on(view.read(&id("a"))).unwrap(), sample("a").bytes);
    assert!(block_on(view.verify(&id("a"))).unwrap().verified);
    assert_eq!(
        block_on(view.resolve(&id("a"))),
        block_on(owner.resolve(&id("a")))
    );
    assert!(block_on(view.is_epoch_used(&id("e1"))).unwrap());
    assert!(block_on(view.usage()).is_ok());
    let files = medium.files();
    let operations = medium.operations().len();
    let refused = CommitError::ReadOnly;
    assert_eq!(
        block_on(view.save(sample("b").to_save())).unwrap_err(),
        refused
    );
    assert_eq!(
        block_on(view.import(Arc::new(sample("b").bytes))).unwrap_err(),
        ImportError::Commit(refused.clone())
    );
    assert_eq!(
        block_on(view.set_pinned(&id("a"), true)).unwrap_err(),
        refused
    );
    assert_eq!(block_on(view.prune(1)).unwrap_err(), refused);
    assert_eq!(block_on(view.claim_epoch(&id("e9"))).unwrap_err(), refused);
    assert_eq!(block_on(view.mark_resumed(&id("a"))).unwrap_err(), refused);
    assert_eq!(medium.operations().len(), operations, "nothing was asked");
    assert_eq!(medium.files(), files);
    medium.tamper(file_name::MANIFEST, Some(b"{}".to_vec()));
    assert!(matches!(
        block_on(view.generations()),
        Err(ReadError::View {
            source: StoreError::ManifestUnreadable { .. }
        })
    ));
    medium.tamper(file_name::MANIFEST, None);
    assert_eq!(
        block_on(view.resolve(&id("a"))),
        Err(CommitError::ManifestVanished)
    );
    assert_eq!(
        block_on(view.select(Selection::default())),
        Err(SelectError::View {
            source: StoreError::ManifestVanished
        })
    );
}

/// Answers whatever it is asked with how full the medium is; or nothing any more.
struct Liar {
    store: futures::lock::Mutex<OpenStore<SimulatedMedium>>,
    gone: bool,
}

#[async_trait(?Send)]
impl StoreRoute for Liar {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        if self.gone {
            return Err(StoreGone {
                reason: format!("it ended over {request:?}"),
            });
        }
        let mut store = self.store.lock().await;
        let lie = match request {
            StoreRequest::Usage => StoreRequest::Generations,
            _ => StoreRequest::Usage,
        };
        Ok(serve_request(&mut store, lie).await)
    }
}

/// What each method says of a store at the end of `client` that is no use; at least one of each error.
fn complaints(client: &StoreClient) -> Vec<(&'static str, String)> {
    let a = id("a");
    let commit = |outcome: CommitError| match outcome {
        CommitError::Gone(gone) => gone.reason,
        other => panic!("{other}"),
    };
    let read = |outcome: ReadError| match outcome {
        ReadError::Gone(gone) => gone.reason,
        other => panic!("{other}"),
    };
    block_on(async {
        let save = commit(client.save(sample("a").to_save()).await.unwrap_err());
        let import = match client.import(Arc::new(Vec::new())).await.unwrap_err() {
            ImportError::Commit(error) => commit(error),
            other => panic!("{other}"),
        };
        let select = match client.select(Selection::default()).await.unwrap_err() {
            SelectError::Gone(gone) => gone.reason,
            other => panic!("{other}"),
        };
        let usage = match client.usage().await.unwrap_err() {
            UsageError::Gone(gone) => gone.reason,
            other => panic!("{other}"),
        };
        vec![
            ("Save", save),
            ("Import", import),
            ("Resolve", commit(client.resolve(&a).await.unwrap_err())),
            ("Select", select),
            ("Generations", read(client.generations().await.unwrap_err())),
            ("Read", read(client.read(&a).await.unwrap_err())),
            ("Verify", read(client.verify(&a).await.unwrap_err())),
            (
                "SetPinned",
                commit(client.set_pinned(&a, true).await.unwrap_err()),
            ),
            ("Prune", commit(client.prune(1).await.unwrap_err())),
            (
                "EpochUsed",
                read(client.is_epoch_used(&a).await.unwrap_err()),
            ),
            (
                "NextEpochAfter",
                read(client.next_epoch_after(&a).await.unwrap_err()),
            ),
            (
                "EpisodeUsed",
                read(client.is_episode_used(&a, &a).await.unwrap_err()),
            ),
            (
                "ClaimEpoch",
                commit(client.claim_epoch(&a).await.unwrap_err()),
            ),
            (
                "MarkResumed",
                commit(client.mark_resumed(&a).await.unwrap_err()),
            ),
            ("Usage", usage),
        ]
    })
}

fn liar(gone: bool) -> StoreClient {
    let store = open(&SimulatedMedium::new(), 1).unwrap().0;
    StoreClient::new(Rc::new(Liar {
        store: futures::lock::Mutex::new(store.into()),
        gone,
    }))
}

#[test]
fn an_owner_that_ended_is_said_by_every_method() {
    for (operation, reason) in complaints(&liar(true)) {
        assert_eq!(reason, format!("it ended over {operation}"));
    }
}

#[test]
fn an_owner_that_answers_another_question_is_as_good_as_none() {
    for (operation, reason) in complaints(&liar(false)) {
        let other = if operation == "Usage" {
            "Generations"
        } else {
            "Usage"
        };
        assert_eq!(reason, format!("it answered another question, `{other}`"));
    }
}
