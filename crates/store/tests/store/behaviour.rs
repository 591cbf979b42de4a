//! Oracle: what store.md promises, sentence by sentence, each against a disk that misbehaves in the one
//! way the sentence is about.

use crate::sample_store::{commit, id, io_error, listing, open, sample, store_with};
use futures::FutureExt;
use futures::executor::block_on;
use wellwritten_store::testing::{Fault, Operation, SimulatedMedium};
use wellwritten_store::{
    Certainty, CommitError, CommitStep, KeptReason, LockError, MediumError, MemoryMedium,
    ReadError, Resolution, Selection, Store, StoreConfig, StoreError, StoreReader, UNLISTED_IDS,
    file_name,
};

fn config(keep_generations: usize) -> StoreConfig {
    StoreConfig { keep_generations }
}

/// Faults the next operation like `operation`, counted from now.
fn fault_next(
    medium: &SimulatedMedium,
    ahead: &[Operation],
    operation: &Operation,
    nth: usize,
    fault: Fault,
) {
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
            read("~generation"),
            sync("~generation"),
            rename("~generation", "x.flysess"),
            Operation::SyncDir,
            write("~manifest"),
            read("~manifest"),
            sync("~manifest"),
            rename("~manifest", "manifest.json"),
            Operation::SyncDir,
        ]
    );
}

#[test]
fn a_store_keeps_at_least_one_generation() {
    let refused = open(&SimulatedMedium::new(), 0).unwrap_err();
    assert_eq!(
        refused,
        StoreError::KeepGenerations {
            keep_generations: 0
        }
    );
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 1, &["a", "b", "c"]);
    assert_eq!(listing(&store), ["c"]);
    assert_eq!(
        medium.files().keys().collect::<Vec<_>>(),
        ["c.flysess", "manifest.json"]
    );
}

#[test]
fn a_second_opener_is_told_who_owns_the_store_and_may_look() {
    block_on(async {
        let medium = MemoryMedium::new();
        let (mut store, _) = Store::open(medium.clone(), config(2)).await.unwrap();
        store.save(&sample("a").to_save()).await.unwrap();
        let refused = Store::open(medium.clone(), config(2)).await.unwrap_err();
        assert!(matches!(
            refused,
            StoreError::Lock {
                source: LockError::Held { .. }
            }
        ));
        assert!(refused.to_string().contains("read-only"), "{refused}");
        let mut reader = StoreReader::open(medium.clone()).await.unwrap();
        assert_eq!(reader.read(&id("a")).await.unwrap(), sample("a").bytes);
        store.save(&sample("b").to_save()).await.unwrap();
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
        assert_eq!(
            refused,
            CommitError::CheckpointIdUsed {
                checkpoint_id: id(known)
            }
        );
    }
    assert_eq!(medium.operations().len(), operations);
    assert_eq!(store.resolution(&id("a")), Resolution::RotatedOut);
    assert!(matches!(
        block_on(store.read(&id("a"))),
        Err(ReadError::RotatedOut { .. })
    ));
    assert!(matches!(
        block_on(store.read(&id("d"))),
        Err(ReadError::Unknown { .. })
    ));
}

#[test]
fn ids_that_look_like_file_names_are_ids() {
    let names = [
        "manifest",
        "manifest.json",
        "generation",
        "tmp-x",
        "x",
        "a.flysess",
        "0..",
    ];
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, names.len(), &names);
    for name in names {
        assert_eq!(block_on(store.read(&id(name))).unwrap(), sample(name).bytes);
    }
    assert_eq!(medium.files().len(), names.len() + 1);
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
                Err(other) => panic!("{fault:?} at {at}: {other}"),
            };
            *outcomes.entry(kind).or_default() += 1;
            let shown = if outcome.is_ok() {
                vec!["x", "b", "a"]
            } else {
                vec!["b", "a"]
            };
            assert_eq!(listing(&store), shown, "{fault:?} at {at}: {outcome:?}");
            let reader = block_on(StoreReader::open(medium.clone())).unwrap();
            assert_eq!(listing(&reader), shown, "{fault:?} at {at}, by the disk");
            commit(&mut store, "y").unwrap();
            let shown = if outcome.is_ok() {
                vec!["y", "x", "b"]
            } else {
                vec!["y", "b", "a"]
            };
            assert_eq!(listing(&store), shown, "{fault:?} at {at}");
            assert_eq!(
                medium.files().len(),
                4,
                "{fault:?} at {at}: {:?}",
                medium.files().keys()
            );
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
        assert!(store.save(&sample("x").to_save()).now_or_never().is_none());
        let resolution = block_on(store.resolve(&id("x"))).unwrap();
        let committed = matches!(resolution, Resolution::Committed(_));
        assert_eq!(
            committed,
            at == operations_of_a_commit().len() - 1,
            "dropped at {at}"
        );
        commit(&mut store, "y").unwrap();
        let shown = if committed {
            vec!["y", "x", "b"]
        } else {
            vec!["y", "b", "a"]
        };
        assert_eq!(listing(&store), shown, "dropped at {at}");
        assert_eq!(
            medium.files().len(),
            4,
            "dropped at {at}: {:?}",
            medium.files().keys()
        );
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
    fault_next(
        &medium,
        &ahead,
        &Operation::SyncDir,
        1,
        Fault::Fails(io_error()),
    );
    let outcome = commit(&mut store, "b").unwrap();
    assert_eq!(outcome, Certainty::NameUncertain { cause: io_error() });
    assert!(medium.files().contains_key("a.flysess"));
    let images = medium.snapshot().crash_images();
    assert!(images.len() > 1);
    for image in images {
        let medium = SimulatedMedium::after_crash(&image);
        let (store, _) = open(&medium, 1).unwrap();
        let latest = store.latest().unwrap().checkpoint_id.clone();
        assert_eq!(
            block_on(store.read(&latest)).unwrap(),
            sample(latest.as_str()).bytes
        );
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
                assert!(
                    matches!(source, MediumError::QuotaExceeded { .. }),
                    "{source}"
                );
                assert!(matches!(
                    step,
                    CommitStep::WriteGeneration | CommitStep::WriteManifest
                ));
            }
            other => panic!("{other}"),
        }
        assert_eq!(
            block_on(store.usage()).unwrap().used_bytes,
            used,
            "what was written is removed"
        );
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
    assert_eq!(
        medium.files().keys().collect::<Vec<_>>(),
        ["last.flysess", "manifest.json"]
    );
}

#[test]
fn opening_removes_leftovers_and_says_so_and_touches_nothing_else() {
    let medium = SimulatedMedium::new();
    drop(store_with(&medium, 3, &["a", "b"]));
    for leftover in ["~generation", "~manifest", "orphan.flysess"] {
        medium.tamper(leftover, Some(vec![1, 2, 3]));
    }
    for foreign in ["readme.txt", "~notes", "~", "~generation.txt"] {
        medium.tamper(foreign, Some(vec![4]));
    }
    medium.tamper("a.flysess", None);
    medium.refuse_removal("~manifest");
    let (store, report) = open(&medium, 3).unwrap();
    assert!(report.manifest_found);
    let removed: Vec<_> = report
        .removed
        .iter()
        .map(|file| (file.file.as_str(), file.byte_length.get()))
        .collect();
    assert_eq!(removed, [("orphan.flysess", 3), ("~generation", 3)]);
    assert_eq!(report.kept.len(), 1);
    assert_eq!(report.kept[0].reason, KeptReason::RemovalFailed);
    assert_eq!(report.missing, [id("a")]);
    drop(store);
    assert_eq!(
        medium.files().keys().collect::<Vec<_>>(),
        [
            "b.flysess",
            "manifest.json",
            "readme.txt",
            "~",
            "~generation.txt",
            "~manifest",
            "~notes"
        ]
    );
}

/// However many are to be kept, and however few leftovers that leaves room for in a number.
#[test]
fn a_store_may_keep_as_many_as_there_are_numbers() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, usize::MAX, &["a", "b"]);
    assert_eq!(listing(&store), ["b", "a"]);
    // What a leftover that stays is counted against.
    medium.tamper("~generation", Some(vec![1]));
    medium.refuse_removal("~generation");
    drop(store);
    store = open(&medium, usize::MAX).unwrap().0;
    let error = commit(&mut store, "c").unwrap_err();
    assert!(
        matches!(
            error,
            CommitError::Medium {
                step: CommitStep::WriteGeneration,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn generations_whose_manifest_vanished_stay_for_good() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 3, &["a"]);
    medium.tamper(file_name::MANIFEST, None);
    // The owner still knows what it holds, and does not take the store as empty when it must look.
    let ahead = operations_of_a_commit();
    let point = Operation::RenameOver("~manifest".to_owned(), "manifest.json".to_owned());
    fault_next(&medium, &ahead, &point, 0, Fault::Fails(io_error()));
    assert!(matches!(
        commit(&mut store, "b"),
        Err(CommitError::OutcomeUnknown { .. })
    ));
    assert_eq!(commit(&mut store, "b"), Err(CommitError::ManifestVanished));
    drop(store);
    medium.tamper("b.flysess", None);
    let (mut store, report) = open(&medium, 3).unwrap();
    assert_eq!(listing(&store), Vec::<String>::new());
    assert!(!report.manifest_found);
    assert_eq!(report.kept.len(), 1);
    assert_eq!(
        (report.kept[0].file.as_str(), report.kept[0].reason),
        ("a.flysess", KeptReason::NoManifest)
    );
    assert_eq!(store.resolution(&id("a")), Resolution::Unlisted);
    let whole = medium.files()["a.flysess"].clone();
    let taken = commit(&mut store, "a").unwrap_err();
    assert!(matches!(taken, CommitError::CheckpointIdUsed { .. }));
    for number in 0..5 {
        commit(&mut store, &format!("c{number}")).unwrap();
        drop(store);
        medium.tamper("orphan.flysess", Some(vec![1]));
        let (opened, report) = open(&medium, 3).unwrap();
        store = opened;
        assert_eq!(medium.files().get("a.flysess"), Some(&whole));
        let kept: Vec<_> = report.kept.iter().map(|kept| kept.file.as_str()).collect();
        assert_eq!(kept, ["a.flysess"]);
        let removed: Vec<_> = report.removed.iter().map(|left| &left.file).collect();
        assert_eq!(removed, ["orphan.flysess"]);
    }
    drop(store);
    // It vanishes again: what was listed is kept as well, and what was kept is not forgotten.
    medium.tamper(file_name::MANIFEST, None);
    let (mut store, report) = open(&medium, 3).unwrap();
    assert_eq!(report.kept.len(), 4);
    assert!(block_on(store.claim_epoch(&id("e7"))).unwrap().is_durable());
    drop(store);
    let (_, report) = open(&medium, 3).unwrap();
    assert_eq!((report.kept.len(), report.removed.len()), (4, 0));
}

#[test]
fn a_crash_never_takes_a_generation_that_was_found_without_a_manifest() {
    let before = SimulatedMedium::new();
    drop(store_with(&before, 3, &["a", "b"]));
    before.tamper(file_name::MANIFEST, None);
    let medium = SimulatedMedium::after_kill(&before.snapshot());
    let (mut store, _) = open(&medium, 3).unwrap();
    commit(&mut store, "x").unwrap();
    commit(&mut store, "y").unwrap();
    let mut images = 0;
    for (moment, snapshot) in medium.snapshots().iter().enumerate() {
        for image in snapshot.crash_images() {
            images += 1;
            let medium = SimulatedMedium::after_crash(&image);
            for opening in 0..3 {
                let (mut store, report) = open(&medium, 3).unwrap();
                for name in ["a", "b"] {
                    let file = format!("{name}.flysess");
                    let whole = medium.files().get(&file).map(|bytes| bytes.to_vec());
                    assert_eq!(
                        whole,
                        Some(sample(name).bytes),
                        "{file} at opening {opening} after {moment} operations"
                    );
                    assert!(report.kept.iter().any(|kept| kept.file == file));
                }
                commit(&mut store, &format!("z{opening}")).unwrap();
            }
        }
    }
    assert!(images > 20, "{images} disks are too few to be all");
}

#[test]
fn more_generations_without_a_manifest_than_can_be_kept_aside_refuse_the_opening() {
    let medium = SimulatedMedium::new();
    for number in 0..=UNLISTED_IDS {
        medium.tamper(&format!("g{number}.flysess"), Some(vec![1]));
    }
    let before = medium.files();
    let refused = open(&medium, 3).unwrap_err();
    assert_eq!(
        refused,
        StoreError::TooManyUnlisted {
            count: UNLISTED_IDS + 1,
            limit: UNLISTED_IDS
        }
    );
    assert_eq!(medium.files(), before);
    medium.tamper("g0.flysess", None);
    let (mut store, _) = open(&medium, 3).unwrap();
    commit(&mut store, "x").unwrap();
    drop(store);
    let (_, report) = open(&medium, 3).unwrap();
    assert_eq!(report.kept.len(), UNLISTED_IDS);
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
    assert!(
        text.contains("Put back a copy") && text.contains("move this store's folder away"),
        "{text}"
    );
    assert_eq!(medium.files(), before);
    medium.tamper(file_name::MANIFEST, None);
    assert!(
        open(&medium, 3).is_ok(),
        "the lock of the failed opening was released"
    );
}

#[test]
fn the_manifest_does_not_grow_with_the_number_of_commits() {
    let medium = SimulatedMedium::new();
    let (mut store, _) = open(&medium, 2).unwrap();
    let mut lengths = Vec::new();
    for number in 0..300 {
        commit(&mut store, &format!("g{number:03}")).unwrap();
        lengths.push(medium.files()[file_name::MANIFEST].len());
    }
    assert_eq!(
        lengths[299], lengths[100],
        "once as many ids are retired as are kept"
    );
    assert!(lengths[299] < 4096, "{} bytes", lengths[299]);
}
