//! Oracle: a restore takes the newest whole generation that fits and was not abandoned, or says which
//! one is in the way and why; and whatever byte of a generation changes, it is found.

use crate::sample_store::{commit, id, io_error, listing, open, sample, store_with};
use futures::executor::block_on;
use wellwritten_envelope::Digest;
use wellwritten_store::testing::{Fault, SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    CommitError, Damage, DamageKind, GenerationFilter, Mismatch, RecordField, SelectError,
    Selection, Store, compatibility_digest, file_name,
};

fn damage(medium: &SimulatedMedium, file: &str) {
    let mut bytes = medium.files()[file].to_vec();
    bytes[100] ^= 1;
    medium.tamper(file, Some(bytes));
}

#[test]
fn what_cannot_be_read_now_is_not_passed_over() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 3, &["a", "b", "c"]);
    let fallback = Selection {
        fallback: true,
        ..Selection::default()
    };
    medium.inject(medium.operations().len(), Fault::Fails(io_error()));
    let unreadable = SelectError::Damaged {
        checkpoint_id: id("c"),
        damage: Damage::Unreadable { source: io_error() },
        older: Some(id("b")),
    };
    assert_eq!(block_on(store.select(&fallback)), Err(unreadable));
    // A moment later it is read, and is what was committed last.
    let selected = block_on(store.select(&fallback)).unwrap();
    assert_eq!(selected.generation.checkpoint_id, id("c"));
}

#[test]
fn a_damaged_newest_generation_is_reported_and_the_next_is_taken_only_if_asked_for() {
    let medium = SimulatedMedium::new();
    let store = store_with(&medium, 3, &["a", "b", "c"]);
    damage(&medium, "c.flysess");
    let select = |selection: &Selection| block_on(store.select(selection));
    match select(&Selection::default()).unwrap_err() {
        SelectError::Damaged {
            checkpoint_id,
            older,
            ..
        } => {
            assert_eq!((checkpoint_id, older), (id("c"), Some(id("b"))));
        }
        other => panic!("{other}"),
    }
    let fallback = Selection {
        fallback: true,
        ..Selection::default()
    };
    let selected = select(&fallback).unwrap();
    assert_eq!(
        (selected.generation.checkpoint_id, selected.bytes),
        (id("b"), sample("b").bytes)
    );
    assert_eq!(selected.damaged.len(), 1);
    assert_eq!(selected.damaged[0].checkpoint_id, id("c"));
    let named = |name: &str| Selection {
        checkpoint_id: Some(id(name)),
        fallback: true,
        ..Selection::default()
    };
    assert!(
        matches!(select(&named("c")), Err(SelectError::Damaged { .. })),
        "no stand-in for a named one"
    );
    assert_eq!(select(&named("a")).unwrap().bytes, sample("a").bytes);
    assert_eq!(
        select(&named("z")),
        Err(SelectError::Unknown {
            checkpoint_id: id("z")
        })
    );
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
    block_on(store.save(&other.to_save())).unwrap();
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
        field: RecordField::CompatibilityDigest,
        required: compatibility_digest(&sample("a").manifest.compatibility).to_string(),
        found: compatibility_digest(&other.manifest.compatibility).to_string(),
    };
    assert_eq!(selected.incompatible, std::slice::from_ref(&mismatch));
    let named = Selection {
        checkpoint_id: Some(id("b")),
        ..selection
    };
    let refused = block_on(store.select(&named)).unwrap_err();
    assert_eq!(
        refused,
        SelectError::Incompatible {
            refused: vec![mismatch.clone()]
        }
    );
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
            assert_eq!(fields, [RecordField::SessionId; 2]);
        }
        other => panic!("{other}"),
    }
    let (empty, _) = open(&SimulatedMedium::new(), 3).unwrap();
    assert_eq!(
        block_on(empty.select(&Selection::default())),
        Err(SelectError::Empty)
    );
}

#[test]
fn an_abandoned_future_is_taken_only_by_name() {
    let medium = SimulatedMedium::new();
    let mut store = store_with(&medium, 4, &["a", "b", "c"]);
    let refused = block_on(store.mark_resumed(&id("z"))).unwrap_err();
    assert_eq!(
        refused,
        CommitError::UnknownGeneration {
            checkpoint_id: id("z")
        }
    );
    assert!(block_on(store.mark_resumed(&id("a"))).unwrap().is_durable());
    drop(store);
    let (mut store, _) = open(&medium, 4).unwrap();
    assert_eq!(listing(&store), ["c", "b", "a"]);
    assert_eq!(
        block_on(store.select(&Selection::default()))
            .unwrap()
            .generation
            .checkpoint_id,
        id("a")
    );
    let named = Selection {
        checkpoint_id: Some(id("c")),
        ..Selection::default()
    };
    assert_eq!(
        block_on(store.select(&named)).unwrap().bytes,
        sample("c").bytes
    );
    commit(&mut store, "d").unwrap();
    assert_eq!(store.latest().unwrap().checkpoint_id, id("d"));
    let abandoned: Vec<_> = store
        .generations()
        .map(|generation| store.is_abandoned(generation))
        .collect();
    assert_eq!(abandoned, [false, true, true, false]);
    // What was abandoned stays so: a damaged newest one falls back past it.
    damage(&medium, "d.flysess");
    let fallback = Selection {
        fallback: true,
        ..Selection::default()
    };
    let selected = block_on(store.select(&fallback)).unwrap();
    assert_eq!(selected.generation.checkpoint_id, id("a"));
    match block_on(store.select(&Selection::default())).unwrap_err() {
        SelectError::Damaged { older, .. } => assert_eq!(older, Some(id("a"))),
        other => panic!("{other}"),
    }
    let (candidates, _) = store.candidates(&GenerationFilter::default());
    assert_eq!(candidates.len(), 2);
    assert_eq!(
        block_on(store.select(&named)).unwrap().bytes,
        sample("c").bytes
    );
    // Rotation takes it before the one resumed from, and the ids stay used.
    let committed = block_on(store.save(&sample("e").to_save())).unwrap();
    assert_eq!(committed.rotated_out, [id("b")]);
    // Resuming the last of it makes it the timeline, and what came instead is abandoned.
    block_on(store.mark_resumed(&id("c"))).unwrap();
    let selected = block_on(store.select(&Selection::default())).unwrap();
    assert_eq!(selected.generation.checkpoint_id, id("c"));
    let committed = block_on(store.save(&sample("f").to_save())).unwrap();
    assert_eq!(committed.rotated_out, [id("d")]);
    drop(store);
    let (store, _) = open(&medium, 4).unwrap();
    assert_eq!(listing(&store), ["f", "e", "c", "a"]);
    let (candidates, _) = store.candidates(&GenerationFilter::default());
    let timeline = candidates.iter().map(|found| found.checkpoint_id.as_str());
    assert_eq!(timeline.collect::<Vec<_>>(), ["f", "c", "a"]);
}

/// The generations, oldest first; abandoned ones with a star.
fn shown(store: &Store<SimulatedMedium>) -> String {
    let mut names: Vec<_> = store
        .generations()
        .map(|generation| {
            let star = if store.is_abandoned(generation) {
                "*"
            } else {
                ""
            };
            format!("{}{star}", generation.checkpoint_id)
        })
        .collect();
    names.reverse();
    names.join(" ")
}

fn resume(store: &mut Store<SimulatedMedium>, name: &str) {
    assert!(
        block_on(store.mark_resumed(&id(name)))
            .unwrap()
            .is_durable()
    );
}

#[test]
fn a_crash_shows_the_futures_before_or_after_a_change() {
    let medium = SimulatedMedium::new();
    let (mut store, _) = open(&medium, 3).unwrap();
    let mut acknowledged = vec![(0, String::new())];
    let steps: [(&str, &str, &str); 8] = [
        ("commit", "a", "a"),
        ("commit", "b", "a b"),
        ("commit", "c", "a b c"),
        ("resume", "a", "a b* c*"),
        ("commit", "d", "a c* d"),
        ("resume", "c", "a c d*"),
        ("commit", "e", "a c e"),
        ("commit", "f", "c e f"),
    ];
    for (kind, name, expected) in steps {
        if kind == "commit" {
            commit(&mut store, name).unwrap();
        } else {
            resume(&mut store, name);
        }
        assert_eq!(shown(&store), expected, "{kind} {name}");
        acknowledged.push((medium.operations().len(), expected.to_owned()));
    }
    let mut images = 0;
    for (moment, snapshot) in medium.snapshots().iter().enumerate() {
        let done = acknowledged
            .iter()
            .filter(|(at, _)| *at <= moment)
            .count()
            .max(1);
        let allowed: Vec<_> = acknowledged[done - 1..]
            .iter()
            .take(2)
            .map(|(_, state)| state.as_str())
            .collect();
        for image in snapshot.crash_images() {
            images += 1;
            let (store, _) = open(&SimulatedMedium::after_crash(&image), 3).unwrap();
            let shown = shown(&store);
            assert!(
                allowed.contains(&shown.as_str()),
                "after {moment} operations {shown:?}, allowed is {allowed:?}"
            );
        }
    }
    assert!(images > 100, "{images} disks are too few to be all");
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
        block_on(store.save(&generation.to_save())).unwrap();
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
    let kind = |name: &str| {
        block_on(store.verify(&id(name)))
            .unwrap()
            .damage
            .map(|damage| damage.kind)
    };
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
    let value =
        serde_json::from_slice::<serde_json::Value>(&medium.files()[file_name::MANIFEST]).unwrap();
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
        assert!(matches!(
            block_on(store.select(&Selection::default())),
            Err(SelectError::Damaged { .. })
        ));
    }
}
