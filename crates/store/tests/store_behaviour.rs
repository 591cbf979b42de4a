//! Oracle: what store.md promises, sentence by sentence, each against a disk that misbehaves in the one
//! way the sentence is about.

use futures::FutureExt;
use futures::executor::block_on;
use wellwritten_envelope::{Digest, Id};
use wellwritten_store::testing::{Fault, Operation, SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    Certainty, CommitError, CommitStep, DamageKind, GenerationFilter, KeptReason, LockError, MediumError,
    MemoryMedium, Mismatch, OpenReport, ReadError, Resolution, SelectError, Selection, Store, StoreConfig,
    StoreError, StoreMedium, StoreReader, compatibility_digest, file_name,
};

type Opened = (Store<SimulatedMedium>, OpenReport);

fn id(text: &str) -> Id {
    text.parse().unwrap()
}

fn sample(name: &str) -> SampleGeneration {
    SampleGeneration::new(name, "e1", 10)
}

fn config(keep_generations: usize) -> StoreConfig {
    StoreConfig { keep_generations }
}

fn open(medium: &SimulatedMedium, keep_generations: usize) -> Result<Opened, StoreError> {
    block_on(Store::open(medium.clone(), config(keep_generations)))
}

fn store_with(medium: &SimulatedMedium, keep_generations: usize, names: &[&str]) -> Store<SimulatedMedium> {
    let (mut store, _) = open(medium, keep_generations).unwrap();
    for name in names {
        commit(&mut store, name).unwrap();
    }
    store
}

fn commit<M: StoreMedium>(store: &mut Store<M>, name: &str) -> Result<Certainty, CommitError> {
    block_on(store.commit(sample(name).to_commit())).map(|committed| committed.certainty)
}

fn listing<M: StoreMedium>(store: &StoreReader<M>) -> Vec<String> {
    store.generations().map(|generation| generation.checkpoint_id.to_string()).collect()
}

fn io_error() -> MediumError {
    MediumError::Io {
        file: "disk".to_owned(),
        name: "EIO".to_owned(),
        message: "injected".to_owned(),
    }
}

/// Faults the next operation like `operation`, counted from now.
fn fault_next(medium: &SimulatedMedium, ahead: &[Operation], operation: &Operation, nth: usize, fault: Fault) {
    let (at, _) = ahead
        .iter()
        .enumerate()
        .filter(|(_, candidate)| *candidate == operation)
        .nth(nth)
        .expect("the operation is one of a commit");
    medium.inject(medium.operations().len() + at, fault);
}

/// The operations of a commit into a store that has a manifest and rotates nothing out.
fn operations_of_a_commit() -> Vec<Operation> {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 9, &["a"]);
    let before = medium.operations().len();
    commit(&mut store, "x").unwrap();
    medium.operations()[before..].to_vec()
}

#[test]
fn the_commit_order_is_the_one_promised() {
    let write = |name: &str| Operation::WriteNew(name.to_owned());
    let read = |name: &str| Operation::Read(name.to_owned());
    let sync = |name: &str| Operation::Sync(name.to_owned());
    let rename = |from: &str, to: &str| Operation::RenameOver(from.to_owned(), to.to_owned());
    assert_eq!(
        operations_of_a_commit(),
        [
            write("~generation"),
            sync("~generation"),
            read("~generation"),
            rename("~generation", "x.flysess"),
            Operation::SyncDir,
            write("~manifest"),
            sync("~manifest"),
            read("~manifest"),
            rename("~manifest", "manifest.json"),
            Operation::SyncDir,
        ]
    );
}

#[test]
fn a_store_keeps_at_least_one_generation() {
    let refused = open(&SimulatedMedium::new(), 0).unwrap_err();
    assert_eq!(refused, StoreError::KeepGenerations { keep_generations: 0 });
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 1, &["a", "b", "c"]);
    assert_eq!(listing(&store), ["c"]);
    assert_eq!(medium.files().keys().collect::<Vec<_>>(), ["c.flysess", "manifest.json"]);
}

#[test]
fn a_second_opener_is_told_who_owns_the_store_and_may_look() {
    block_on(async {
        let medium = MemoryMedium::new();
        let (mut store, _) = Store::open(medium.clone(), config(2)).await.unwrap();
        store.commit(sample("a").to_commit()).await.unwrap();
        let refused = Store::open(medium.clone(), config(2)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Lock { source: LockError::Held { .. } }));
        assert!(refused.to_string().contains("read-only"), "{refused}");
        let mut reader = StoreReader::open(medium.clone()).await.unwrap();
        assert_eq!(reader.read(&id("a")).await.unwrap(), sample("a").bytes);
        store.commit(sample("b").to_commit()).await.unwrap();
        assert_eq!(listing(&reader), ["a"]);
        reader.refresh().await.unwrap();
        assert_eq!(listing(&reader), ["b", "a"]);
        drop(store);
        assert!(Store::open(medium, config(2)).await.is_ok());
    });
}

#[test]
fn a_known_id_is_refused_before_anything_is_written() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a", "b", "c"]);
    let operations = medium.operations().len();
    for known in ["a", "b", "c"] {
        let refused = commit(&mut store, known).unwrap_err();
        assert_eq!(refused, CommitError::CheckpointIdUsed { checkpoint_id: id(known) });
    }
    assert_eq!(medium.operations().len(), operations);
    assert_eq!(store.resolution(&id("a")), Resolution::RotatedOut);
    assert!(matches!(block_on(store.read(&id("a"))), Err(ReadError::RotatedOut { .. })));
    assert!(matches!(block_on(store.read(&id("d"))), Err(ReadError::Unknown { .. })));
}

#[test]
fn ids_that_look_like_file_names_are_ids() {
    let names = ["manifest", "manifest.json", "generation", "tmp-x", "x", "a.flysess", "0.."];
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, names.len(), &names);
    for name in names {
        assert_eq!(block_on(store.read(&id(name))).unwrap(), sample(name).bytes);
    }
    assert_eq!(medium.files().len(), names.len() + 1);
}

#[test]
fn a_record_that_is_not_the_envelopes_is_refused_before_anything_is_written() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a"]);
    let before = medium.files();
    let whole = sample("b");
    let mut refuse = |change: fn(&mut wellwritten_store::GenerationBytes<'_>)| {
        let mut generation = whole.to_commit();
        change(&mut generation);
        match block_on(store.commit(generation)).unwrap_err() {
            CommitError::RecordDisagrees { field, .. } => field,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refuse(|generation| generation.checkpoint_id = id("c")), "checkpointId");
    assert_eq!(refuse(|generation| generation.session_id = id("c")), "sessionId");
    assert_eq!(refuse(|generation| generation.epoch = id("c")), "epoch");
    assert_eq!(refuse(|generation| generation.episode_id = id("c")), "episodeId");
    assert_eq!(refuse(|generation| generation.boundary = 11), "boundary");
    let other = |generation: &mut wellwritten_store::GenerationBytes<'_>| {
        generation.compatibility_digest = Digest::blake3(b"other");
    };
    assert_eq!(refuse(other), "compatibilityDigest");
    let mut generation = whole.to_commit();
    generation.bytes = b"FLYSESS0";
    let refused = block_on(store.commit(generation)).unwrap_err();
    assert!(matches!(refused, CommitError::NotAnEnvelope { .. }));
    assert_eq!(medium.files(), before);
}

/// Every operation of a commit fails in every way; afterwards the store shows what the outcome says,
/// the next commit works, and nothing is left over.
#[test]
fn whatever_fails_the_outcome_is_true_and_the_next_commit_works() {
    let ahead = operations_of_a_commit();
    let faults = [
        Fault::Fails(io_error()),
        Fault::HappensAndFails(io_error()),
        Fault::ShortWrite(7),
        Fault::LosesTail(7),
        Fault::FlipsBit(40),
    ];
    let mut outcomes = std::collections::BTreeMap::<&str, usize>::new();
    for at in 0..ahead.len() {
        for fault in &faults {
            let medium = SimulatedMedium::new();
            let mut store = store_with(&medium, 3, &["a", "b"]);
            medium.inject(medium.operations().len() + at, fault.clone());
            let outcome = commit(&mut store, "x");
            let kind = match &outcome {
                Ok(Certainty::Durable) => "durable",
                Ok(Certainty::NameUncertain { .. }) => "name uncertain",
                Err(CommitError::Medium { .. } | CommitError::ReadBack { .. }) => "not committed",
                Err(other) => panic!("{:?} at {at}: {other}", fault),
            };
            *outcomes.entry(kind).or_default() += 1;
            let shown = if outcome.is_ok() { vec!["x", "b", "a"] } else { vec!["b", "a"] };
            assert_eq!(listing(&store), shown, "{fault:?} at {at}: {outcome:?}");
            let reader = block_on(StoreReader::open(medium.clone())).unwrap();
            assert_eq!(listing(&reader), shown, "{fault:?} at {at}, by the disk");
            commit(&mut store, "y").unwrap();
            let shown = if outcome.is_ok() { vec!["y", "x", "b"] } else { vec!["y", "b", "a"] };
            assert_eq!(listing(&store), shown, "{fault:?} at {at}");
            assert_eq!(medium.files().len(), 4, "{fault:?} at {at}: {:?}", medium.files().keys());
        }
    }
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
}

/// A commit whose future is dropped at any of its operations leaves a store that commits again.
#[test]
fn a_dropped_commit_is_settled_by_the_next() {
    for at in 0..operations_of_a_commit().len() {
        let medium = SimulatedMedium::new();
        let mut store = store_with(&medium, 3, &["a", "b"]);
        medium.inject(medium.operations().len() + at, Fault::Hangs);
        assert!(store.commit(sample("x").to_commit()).now_or_never().is_none());
        let resolution = block_on(store.resolve(&id("x"))).unwrap();
        let committed = matches!(resolution, Resolution::Committed(_));
        assert_eq!(committed, at == operations_of_a_commit().len() - 1, "dropped at {at}");
        commit(&mut store, "y").unwrap();
        let shown = if committed { vec!["y", "x", "b"] } else { vec!["y", "b", "a"] };
        assert_eq!(listing(&store), shown, "dropped at {at}");
        assert_eq!(medium.files().len(), 4, "dropped at {at}: {:?}", medium.files().keys());
    }
}

#[test]
fn a_rename_of_unknown_outcome_is_resolved_by_asking_about_the_same_id() {
    let ahead = operations_of_a_commit();
    let point = Operation::RenameOver("~manifest".to_owned(), "manifest.json".to_owned());
    for (fault, happened) in [
        (Fault::HappensAndFails(io_error()), true),
        (Fault::Fails(io_error()), false),
    ] {
        let medium = SimulatedMedium::new();
        let mut store = store_with(&medium, 3, &["a"]);
        let next = medium.operations().len() + ahead.len() - 1;
        fault_next(&medium, &ahead, &point, 0, fault);
        medium.inject(next, Fault::Fails(io_error()));
        let outcome = commit(&mut store, "x").unwrap_err();
        assert_eq!(outcome, CommitError::OutcomeUnknown { source: io_error() });
        let resolution = block_on(store.resolve(&id("x"))).unwrap();
        assert_eq!(matches!(resolution, Resolution::Committed(_)), happened);
        assert_eq!(resolution == Resolution::NotCommitted, !happened);
    }
}

#[test]
fn while_a_name_is_uncertain_nothing_the_older_manifest_lists_is_deleted() {
    let ahead = operations_of_a_commit();
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 1, &["a"]);
    fault_next(&medium, &ahead, &Operation::SyncDir, 1, Fault::Fails(io_error()));
    let outcome = commit(&mut store, "b").unwrap();
    assert_eq!(outcome, Certainty::NameUncertain { cause: io_error() });
    assert!(medium.files().contains_key("a.flysess"));
    let images = medium.snapshot().crash_images();
    assert!(images.len() > 1);
    for image in images {
        let medium = SimulatedMedium::after_crash(&image);
        let (store, _) = open(&medium, 1).unwrap();
        let latest = store.latest().unwrap().checkpoint_id.clone();
        assert_eq!(block_on(store.read(&latest)).unwrap(), sample(latest.as_str()).bytes);
    }
}

#[test]
fn a_full_medium_is_named_and_the_generation_before_still_loads() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a"]);
    let used = block_on(store.usage()).unwrap().used_bytes;
    for free in [0, 100, sample("b").bytes.len() as u64 + 10] {
        medium.set_quota(Some(used + free));
        match commit(&mut store, "b").unwrap_err() {
            CommitError::Medium { step, source } => {
                assert!(matches!(source, MediumError::QuotaExceeded { .. }), "{source}");
                assert!(matches!(step, CommitStep::WriteGeneration | CommitStep::WriteManifest));
            }
            other => panic!("{other}"),
        }
        assert_eq!(block_on(store.usage()).unwrap().used_bytes, used, "what was written is removed");
        let selected = block_on(store.select(&Selection::default())).unwrap();
        assert_eq!(selected.bytes, sample("a").bytes);
    }
    medium.set_quota(None);
    commit(&mut store, "b").unwrap();
    assert_eq!(listing(&store), ["b", "a"]);
}

#[test]
fn a_medium_that_does_not_remove_fills_only_so_far() {
    let medium = SimulatedMedium::new();
    let (mut store, _) = open(&medium, 1).unwrap();
    for number in 0..30 {
        medium.refuse_removal(&format!("g{number}.flysess"));
    }
    let mut committed = 0;
    for number in 0..30 {
        match commit(&mut store, &format!("g{number}")) {
            Ok(_) => committed += 1,
            Err(CommitError::LeftoversRemain { count, limit, .. }) => assert!(count > limit),
            Err(other) => panic!("{other}"),
        }
    }
    assert!((1..30).contains(&committed), "{committed}");
    assert!(medium.files().len() <= 8, "{:?}", medium.files().keys());
    medium.heal();
    commit(&mut store, "last").unwrap();
    assert_eq!(medium.files().keys().collect::<Vec<_>>(), ["last.flysess", "manifest.json"]);
}

#[test]
fn opening_removes_leftovers_and_says_so_and_touches_nothing_else() {
    let medium = SimulatedMedium::new();
    drop(store_with(&medium, 3, &["a", "b"]));
    for leftover in ["~generation", "~manifest", "orphan.flysess"] {
        medium.tamper(leftover, Some(vec![1, 2, 3]));
    }
    medium.tamper("readme.txt", Some(vec![4]));
    medium.tamper("a.flysess", None);
    medium.refuse_removal("~manifest");
    let (store, report) = open(&medium, 3).unwrap();
    assert!(report.manifest_found);
    let removed: Vec<_> = report.removed.iter().map(|file| (file.file.as_str(), file.byte_length.get())).collect();
    assert_eq!(removed, [("orphan.flysess", 3), ("~generation", 3)]);
    assert_eq!(report.kept.len(), 1);
    assert_eq!(report.kept[0].reason, KeptReason::RemovalFailed);
    assert_eq!(report.missing, [id("a")]);
    drop(store);
    assert_eq!(
        medium.files().keys().collect::<Vec<_>>(),
        ["b.flysess", "manifest.json", "readme.txt", "~manifest"]
    );
}

#[test]
fn generations_whose_manifest_vanished_stay_for_one_opening() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 3, &["a"]);
    medium.tamper(file_name::MANIFEST, None);
    // The owner still knows what it holds, and does not take the store as empty when it must look.
    let ahead = operations_of_a_commit();
    let point = Operation::RenameOver("~manifest".to_owned(), "manifest.json".to_owned());
    fault_next(&medium, &ahead, &point, 0, Fault::Fails(io_error()));
    assert!(matches!(commit(&mut store, "b"), Err(CommitError::OutcomeUnknown { .. })));
    assert_eq!(commit(&mut store, "b"), Err(CommitError::ManifestVanished));
    drop(store);
    medium.tamper("b.flysess", None);
    let (mut store, report) = open(&medium, 3).unwrap();
    assert_eq!(listing(&store), Vec::<String>::new());
    assert!(!report.manifest_found);
    assert_eq!(report.kept.len(), 1);
    assert_eq!((report.kept[0].file.as_str(), report.kept[0].reason), ("a.flysess", KeptReason::NoManifest));
    commit(&mut store, "c").unwrap();
    assert!(medium.files().contains_key("a.flysess"));
    drop(store);
    let (_, report) = open(&medium, 3).unwrap();
    assert_eq!(report.removed.len(), 1);
}

#[test]
fn an_unreadable_manifest_is_an_error_that_says_what_to_do() {
    let medium = SimulatedMedium::new();
    drop(store_with(&medium, 3, &["a"]));
    medium.tamper(file_name::MANIFEST, Some(b"{}".to_vec()));
    let before = medium.files();
    let refused = open(&medium, 3).unwrap_err();
    assert!(matches!(refused, StoreError::ManifestUnreadable { .. }));
    let text = refused.to_string();
    assert!(text.contains("Put back a copy") && text.contains("move this store's folder away"), "{text}");
    assert_eq!(medium.files(), before);
    medium.tamper(file_name::MANIFEST, None);
    assert!(open(&medium, 3).is_ok(), "the lock of the failed opening was released");
}

fn damage(medium: &SimulatedMedium, file: &str) {
    let mut bytes = medium.files()[file].to_vec();
    bytes[100] ^= 1;
    medium.tamper(file, Some(bytes));
}

#[test]
fn a_damaged_newest_generation_is_reported_and_the_next_is_taken_only_if_asked_for() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 3, &["a", "b", "c"]);
    damage(&medium, "c.flysess");
    let select = |selection: &Selection| block_on(store.select(selection));
    match select(&Selection::default()).unwrap_err() {
        SelectError::Damaged { checkpoint_id, older, .. } => {
            assert_eq!((checkpoint_id, older), (id("c"), Some(id("b"))));
        }
        other => panic!("{other}"),
    }
    let fallback = Selection {
        fallback: true,
        ..Selection::default()
    };
    let selected = select(&fallback).unwrap();
    assert_eq!((selected.generation.checkpoint_id, selected.bytes), (id("b"), sample("b").bytes));
    assert_eq!(selected.damaged.len(), 1);
    assert_eq!(selected.damaged[0].checkpoint_id, id("c"));
    let named = |name: &str| Selection {
        checkpoint_id: Some(id(name)),
        fallback: true,
        ..Selection::default()
    };
    assert!(matches!(select(&named("c")), Err(SelectError::Damaged { .. })), "no stand-in for a named one");
    assert_eq!(select(&named("a")).unwrap().bytes, sample("a").bytes);
    assert_eq!(select(&named("z")), Err(SelectError::Unknown { checkpoint_id: id("z") }));
    damage(&medium, "b.flysess");
    medium.tamper("a.flysess", None);
    match select(&fallback).unwrap_err() {
        SelectError::AllDamaged { damaged } => assert_eq!(damaged.len(), 3),
        other => panic!("{other}"),
    }
}

#[test]
fn the_newest_compatible_generation_is_taken_and_a_refusal_names_field_and_both_values() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 3, &["a"]);
    let other = SampleGeneration::of_backend("b", "e1", 20, "another backend");
    block_on(store.commit(other.to_commit())).unwrap();
    let filter = |generation: &SampleGeneration| GenerationFilter {
        compatibility_digest: Some(compatibility_digest(&generation.manifest.compatibility)),
        ..GenerationFilter::default()
    };
    let selection = Selection {
        filter: filter(&sample("a")),
        ..Selection::default()
    };
    let selected = block_on(store.select(&selection)).unwrap();
    assert_eq!(selected.generation.checkpoint_id, id("a"));
    let mismatch = Mismatch {
        checkpoint_id: id("b"),
        field: "compatibilityDigest",
        required: compatibility_digest(&sample("a").manifest.compatibility).to_string(),
        found: compatibility_digest(&other.manifest.compatibility).to_string(),
    };
    assert_eq!(selected.incompatible, [mismatch.clone()]);
    let named = Selection {
        checkpoint_id: Some(id("b")),
        ..selection
    };
    let refused = block_on(store.select(&named)).unwrap_err();
    assert_eq!(refused, SelectError::Incompatible { refused: vec![mismatch.clone()] });
    let text = refused.to_string();
    for part in ["compatibilityDigest", &mismatch.required, &mismatch.found] {
        assert!(text.contains(part), "{text}");
    }
    let nothing = Selection {
        filter: GenerationFilter {
            session_id: Some(id("another")),
            ..GenerationFilter::default()
        },
        ..Selection::default()
    };
    match block_on(store.select(&nothing)).unwrap_err() {
        SelectError::Incompatible { refused } => {
            let fields: Vec<_> = refused.iter().map(|mismatch| mismatch.field).collect();
            assert_eq!(fields, ["sessionId", "sessionId"]);
        }
        other => panic!("{other}"),
    }
    let (empty, _) = open(&SimulatedMedium::new(), 3).unwrap();
    assert_eq!(block_on(empty.select(&Selection::default())), Err(SelectError::Empty));
}

#[test]
fn an_abandoned_future_is_taken_only_by_name() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 4, &["a", "b", "c"]);
    let refused = block_on(store.mark_resumed(&id("z"))).unwrap_err();
    assert_eq!(refused, CommitError::UnknownGeneration { checkpoint_id: id("z") });
    assert!(block_on(store.mark_resumed(&id("a"))).unwrap().is_durable());
    drop(store);
    let (mut store, _) = open(&medium, 4).unwrap();
    assert_eq!(listing(&store), ["c", "b", "a"]);
    assert_eq!(block_on(store.select(&Selection::default())).unwrap().generation.checkpoint_id, id("a"));
    let named = Selection {
        checkpoint_id: Some(id("c")),
        ..Selection::default()
    };
    assert_eq!(block_on(store.select(&named)).unwrap().bytes, sample("c").bytes);
    commit(&mut store, "d").unwrap();
    assert_eq!(store.latest().unwrap().checkpoint_id, id("d"));
}

#[test]
fn an_epoch_is_never_new_twice() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 1, &["a"]);
    let e2 = store.epochs().next_after(&id("e1")).unwrap();
    assert_eq!(e2, id("e2"));
    assert!(block_on(store.claim_epoch(&e2)).unwrap().is_durable());
    for number in 0..3 {
        let generation = SampleGeneration::new(&format!("g{number}"), "e3", 10);
        block_on(store.commit(generation.to_commit())).unwrap();
    }
    drop(store);
    let (mut store, _) = open(&medium, 1).unwrap();
    for used in ["e1", "e2", "e3"] {
        let refused = block_on(store.claim_epoch(&id(used))).unwrap_err();
        assert_eq!(refused, CommitError::EpochUsed { epoch: id(used) });
    }
    assert_eq!(store.epochs().next_after(&id("e1")), Some(id("e4")));
}

/// Every flipped bit of a committed file is found, by reading and by verifying; and so is a file that
/// fits its record's digest and is not what the record says.
#[test]
fn verification_finds_what_is_wrong_and_says_which() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 2, &["a", "b"]);
    let kind = |name: &str| block_on(store.verify(&id(name))).unwrap().damage.map(|damage| damage.kind);
    let report = block_on(store.verify(&id("a"))).unwrap();
    assert!(report.verified && report.damage.is_none());
    let whole = medium.files()["a.flysess"].to_vec();
    for index in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[index] ^= 1 << (index % 8);
        medium.tamper("a.flysess", Some(bytes));
        assert!(block_on(store.read(&id("a"))).is_err(), "byte {index}");
    }
    assert_eq!(kind("a"), Some(DamageKind::Digest));
    medium.tamper("a.flysess", Some(whole[1..].to_vec()));
    assert_eq!(kind("a"), Some(DamageKind::Length));
    medium.tamper("a.flysess", None);
    assert_eq!(kind("a"), Some(DamageKind::Missing));
    medium.tamper("a.flysess", Some(whole));
    medium.inject(medium.operations().len(), Fault::Fails(io_error()));
    assert_eq!(kind("a"), Some(DamageKind::Unreadable));
    assert_eq!(kind("a"), None);
    drop(store);

    // The manifest's record of `b` and the bytes of `a`: a store that was put together by hand.
    let value = serde_json::from_slice::<serde_json::Value>(&medium.files()[file_name::MANIFEST]).unwrap();
    for (file, expected) in [
        (medium.files()["a.flysess"].to_vec(), DamageKind::Record),
        (b"not an envelope".to_vec(), DamageKind::Envelope),
    ] {
        let mut value = value.clone();
        value["generations"][1]["envelopeDigest"] = Digest::blake3(&file).to_string().into();
        value["generations"][1]["byteLength"] = file.len().to_string().into();
        value.as_object_mut().unwrap().remove("digest");
        let digest = wellwritten_envelope::digest_json(&value).unwrap();
        value["digest"] = digest.to_string().into();
        let manifest = wellwritten_envelope::canonical_json(&value).unwrap();
        medium.tamper(file_name::MANIFEST, Some(manifest));
        medium.tamper("b.flysess", Some(file));
        let (store, _) = open(&medium, 2).unwrap();
        let report = block_on(store.verify(&id("b"))).unwrap();
        assert_eq!(report.damage.unwrap().kind, expected);
        assert!(matches!(block_on(store.select(&Selection::default())), Err(SelectError::Damaged { .. })));
    }
}
