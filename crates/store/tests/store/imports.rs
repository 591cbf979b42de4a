//! Envelopes from elsewhere, and the way out.

use futures::executor::block_on;
use wellwritten_envelope::EnvelopeRule;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    CommitError, ImportError, MediumError, PINNED_GENERATIONS, ReadError, SelectError, Selection,
};

use crate::sample_store::{commit, id, listing, open, sample, store_with};

/// A checkpoint of another session, whole.
fn of_session(name: &str, session: &str) -> Vec<u8> {
    let sample = sample(name);
    let mut manifest = sample.manifest;
    manifest.source_scope.session_id = id(session);
    SampleGeneration::of(manifest, sample.payloads).bytes
}

#[test]
fn what_is_exported_is_imported_elsewhere_and_is_the_same() {
    let from = SimulatedMedium::new();
    let store = store_with(&from, 3, &["a", "b"]);
    let exported = block_on(store.read_whole(&id("a"))).unwrap();
    assert_eq!(exported, sample("a").bytes);
    let to = SimulatedMedium::new();
    let (mut other, _) = open(&to, 3).unwrap();
    let imported = block_on(other.import(&exported)).unwrap();
    assert!(imported.certainty.is_durable() && imported.rotated_out.is_empty());
    assert_eq!(Some(&imported.generation), store.find(&id("a")));
    // Into a store that was empty: what a restore takes without being told a name.
    let selected = block_on(other.select(&Selection::default())).unwrap();
    assert_eq!(
        (selected.bytes, selected.generation),
        (exported, imported.generation)
    );
    assert!(
        other.epochs().is_used(&id("e1")),
        "its epoch is never new again"
    );
}

#[test]
fn an_import_beside_a_timeline_is_taken_by_its_name_only_and_stays() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a", "b"]);
    block_on(store.import(&sample("x").bytes)).unwrap();
    assert_eq!(store.latest().unwrap().checkpoint_id, id("b"));
    for name in ["c", "d", "e"] {
        commit(&mut store, name).unwrap();
    }
    assert_eq!(listing(&store), ["e", "d", "x"]);
    let named = Selection {
        checkpoint_id: Some(id("x")),
        ..Selection::default()
    };
    assert_eq!(
        block_on(store.select(&named)).unwrap().bytes,
        sample("x").bytes
    );
    block_on(store.mark_resumed(&id("x"))).unwrap();
    commit(&mut store, "f").unwrap();
    assert_eq!(listing(&store), ["f", "e", "x"]);
    let timeline: Vec<_> = store
        .generations()
        .filter(|one| !store.is_abandoned(one))
        .map(|one| one.checkpoint_id.as_str())
        .collect();
    assert_eq!(timeline, ["f", "x"]);
}

#[test]
fn what_cannot_be_imported_is_refused_by_kind_and_changes_nothing() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 2, &["a"]);
    let files = medium.files();
    let import = |store: &mut wellwritten_store::Store<_>, bytes: &[u8]| {
        block_on(store.import(bytes)).unwrap_err()
    };
    let mut damaged = sample("x").bytes;
    let last = damaged.len() - 49;
    damaged[last] ^= 1;
    for (bytes, rule) in [
        (&b""[..], EnvelopeRule::Length),
        (&[b'x'; 200][..], EnvelopeRule::Magic),
        (&damaged[..], EnvelopeRule::PayloadDigest),
        (&sample("x").bytes[..400], EnvelopeRule::FooterMagic),
    ] {
        match import(&mut store, bytes) {
            ImportError::Damaged { source } => assert_eq!(source.rule, rule, "{source}"),
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        import(&mut store, &sample("a").bytes),
        ImportError::Commit(CommitError::CheckpointIdUsed {
            checkpoint_id: id("a")
        })
    );
    let refused = import(&mut store, &of_session("x", "other"));
    assert_eq!(
        refused,
        ImportError::OtherSession {
            stored: id("demo"),
            found: id("other")
        }
    );
    assert_eq!(
        refused.to_string(),
        "it is a checkpoint of session `other`, this store holds session `demo`"
    );
    let used = block_on(store.usage()).unwrap().used_bytes;
    medium.set_quota(Some(used + 100));
    assert!(matches!(
        import(&mut store, &sample("x").bytes),
        ImportError::Commit(CommitError::Medium {
            source: MediumError::QuotaExceeded { .. },
            ..
        })
    ));
    medium.set_quota(None);
    assert_eq!(medium.files(), files);
    assert_eq!(listing(&store), ["a"]);
    assert!(!store.epochs().is_used(&id("f1")));
    block_on(store.import(&sample("x").bytes)).unwrap();
    assert_eq!(
        import(&mut store, &sample("x").bytes),
        ImportError::Commit(CommitError::CheckpointIdUsed {
            checkpoint_id: id("x")
        })
    );
}

#[test]
fn there_is_room_for_as_many_imports_as_for_pins() {
    let medium = SimulatedMedium::new();
    let (mut store, _) = open(&medium, 1).unwrap();
    for number in 0..PINNED_GENERATIONS {
        let sample = sample(&format!("x{number}"));
        block_on(store.import(&sample.bytes)).unwrap();
    }
    let files = medium.files();
    assert_eq!(
        block_on(store.import(&sample("more").bytes)),
        Err(ImportError::Commit(CommitError::TooManyPinned {
            limit: PINNED_GENERATIONS
        }))
    );
    assert_eq!(medium.files(), files);
}

#[test]
fn what_is_damaged_is_not_exported() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 2, &["a"]);
    let mut bytes = sample("a").bytes;
    bytes[700] ^= 4;
    medium.tamper("a.flysess", Some(bytes));
    let refused = block_on(store.read_whole(&id("a"))).unwrap_err();
    assert!(matches!(refused, ReadError::Damaged { .. }), "{refused}");
    assert!(matches!(
        block_on(store.read_whole(&id("b"))),
        Err(ReadError::Unknown { .. })
    ));
    assert!(matches!(
        block_on(store.select(&Selection::default())),
        Err(SelectError::Damaged { .. })
    ));
}
