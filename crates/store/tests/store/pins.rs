//! Generations that no rotation drops, and pruning.

use futures::executor::block_on;
use wellwritten_store::testing::{Operation, SimulatedMedium};
use wellwritten_store::{
    Certainty, CommitError, CommitStep, MediumError, PINNED_GENERATIONS, Resolution,
};

use crate::sample_store::{commit, id, listing, open, store_with};

#[test]
fn a_pinned_generation_outlives_every_rotation_and_opening_until_it_is_let_go() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a", "b"]);
    let pinned = block_on(store.set_pinned(&id("a"), true)).unwrap();
    assert_eq!(pinned, Certainty::Durable);
    for name in ["c", "d", "e"] {
        commit(&mut store, name).unwrap();
    }
    assert_eq!(listing(&store), ["e", "d", "a"]);
    drop(store);
    let (mut store, report) = open(&medium, 1).unwrap();
    assert!(report.removed.is_empty());
    commit(&mut store, "f").unwrap();
    assert_eq!(listing(&store), ["f", "a"]);
    assert!(medium.files().contains_key("a.flysess"));
    block_on(store.set_pinned(&id("a"), false)).unwrap();
    assert_eq!(
        listing(&store),
        ["f", "a"],
        "it goes with the next rotation"
    );
    commit(&mut store, "g").unwrap();
    assert_eq!(listing(&store), ["g"]);
    assert_eq!(store.resolution(&id("a")), Resolution::RotatedOut);
    assert!(!medium.files().contains_key("a.flysess"));
}

#[test]
fn pinning_what_is_pinned_writes_nothing_and_what_is_not_there_is_refused() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a"]);
    block_on(store.set_pinned(&id("a"), true)).unwrap();
    let operations = medium.operations().len();
    block_on(store.set_pinned(&id("a"), true)).unwrap();
    assert_eq!(medium.operations().len(), operations);
    for pinned in [true, false] {
        assert_eq!(
            block_on(store.set_pinned(&id("b"), pinned)),
            Err(CommitError::UnknownGeneration {
                checkpoint_id: id("b")
            })
        );
    }
    assert_eq!(medium.operations().len(), operations);
}

#[test]
fn as_many_can_be_pinned_as_may_be_and_no_more() {
    let medium = SimulatedMedium::new();
    let (mut store, _) = open(&medium, 2).unwrap();
    for number in 0..PINNED_GENERATIONS {
        let name = format!("g{number}");
        commit(&mut store, &name).unwrap();
        block_on(store.set_pinned(&id(&name), true)).unwrap();
    }
    commit(&mut store, "last").unwrap();
    let refused = CommitError::TooManyPinned {
        limit: PINNED_GENERATIONS,
    };
    assert_eq!(
        block_on(store.set_pinned(&id("last"), true)),
        Err(refused.clone())
    );
    assert!(refused.to_string().contains("64 generations are pinned"));
    block_on(store.set_pinned(&id("g0"), false)).unwrap();
    block_on(store.set_pinned(&id("last"), true)).unwrap();
    assert_eq!(store.generations().count(), PINNED_GENERATIONS + 1);
}

#[test]
fn pruning_removes_the_files_of_what_it_drops_and_nothing_it_must_not() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 9, &["a", "b", "c", "d", "e"]);
    block_on(store.set_pinned(&id("a"), true)).unwrap();
    block_on(store.mark_resumed(&id("d"))).unwrap();
    let operations = medium.operations().len();
    assert_eq!(
        block_on(store.prune(0)),
        Err(CommitError::KeepGenerations {
            keep_generations: 0
        })
    );
    let nothing = block_on(store.prune(4)).unwrap();
    assert_eq!(
        (nothing.dropped, nothing.certainty),
        (vec![], Certainty::Durable)
    );
    assert_eq!(medium.operations().len(), operations, "nothing was written");
    let pruned = block_on(store.prune(1)).unwrap();
    assert_eq!(pruned.dropped, [id("e"), id("b"), id("c")]);
    assert_eq!(listing(&store), ["d", "a"]);
    assert_eq!(
        medium.files().keys().collect::<Vec<_>>(),
        ["a.flysess", "d.flysess", "manifest.json"]
    );
    let after = medium.operations();
    let renamed = after
        .iter()
        .rposition(|one| matches!(one, Operation::RenameOver(..)));
    let removed = after
        .iter()
        .position(|one| *one == Operation::Remove("e.flysess".to_owned()));
    assert!(
        matches!(after[renamed.unwrap() + 1], Operation::SyncDir)
            && removed.unwrap() > renamed.unwrap() + 1,
        "files go after the list without them is durable"
    );
}

#[test]
fn a_pruning_that_fails_drops_nothing() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 9, &["a", "b", "c"]);
    let used = block_on(store.usage()).unwrap().used_bytes;
    medium.set_quota(Some(used));
    let refused = block_on(store.prune(1)).unwrap_err();
    assert!(
        matches!(
            refused,
            CommitError::Medium {
                step: CommitStep::WriteManifest,
                source: MediumError::QuotaExceeded { .. }
            }
        ),
        "{refused}"
    );
    assert_eq!(listing(&store), ["c", "b", "a"]);
    assert_eq!(medium.files().len(), 4);
    medium.set_quota(None);
    assert_eq!(
        block_on(store.prune(1)).unwrap().dropped,
        [id("a"), id("b")]
    );
}
