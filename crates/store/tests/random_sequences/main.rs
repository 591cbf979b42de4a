//! Oracle: a model that keeps nothing but the set of states the store may show and the set it may show
//! after a crash; a state knows who went on from whom for every name there ever was. Random sequences of
//! commits, imports, pins, prunings, resumptions, faults, reopenings, kills and crashes must never show a listing or a timeline
//! outside that set, other bytes than were committed, or a folder that grows.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store --test
//! random_sequences -- --nocapture`; `WELLWRITTEN_LONG=1` runs many more.

mod model;
mod run;

use std::collections::BTreeSet;

use wellwritten_store::testing::SyncIgnored;
use wellwritten_store::{Certainty, file_name};

use model::{Listing, Model};
use run::Run;

fn seeds() -> Vec<u64> {
    if let Some(seed) = std::env::var("WELLWRITTEN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        return vec![seed];
    }
    let count = if std::env::var_os("WELLWRITTEN_LONG").is_some() {
        20_000
    } else {
        150
    };
    (0..count).collect()
}

#[test]
fn random_sequences_show_nothing_the_model_does_not() {
    let (mut committed, mut failed, mut crashes, mut abandoned) = (0, 0, 0, 0);
    let (mut imported, mut pinned, mut pruned) = (0, 0, 0);
    for seed in seeds() {
        let mut run = Run::new(seed, None);
        if let Err(violation) = run.go(30) {
            panic!("seed {seed}: {violation}; replay with WELLWRITTEN_SEED={seed}");
        }
        committed += run.committed;
        failed += run.failed;
        crashes += run.crashes;
        abandoned += run.abandoned;
        imported += run.imported;
        pinned += run.pinned;
        pruned += run.pruned;
    }
    println!(
        "{committed} commits, {imported} imports, {failed} failed, {pruned} pruned, {crashes} crashes, \
         {abandoned} abandoned and {pinned} pinned seen"
    );
    for tried in [
        committed, imported, failed, pruned, crashes, abandoned, pinned,
    ] {
        assert!(tried > 0, "something of each was tried");
    }
}

/// Canary: the model notices a store that forgets what was abandoned, in its timeline or its rotation.
#[test]
fn a_forgotten_abandonment_is_noticed() {
    let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Listing>();
    let mut model = Model::new(3);
    for name in ["a", "b", "c"] {
        model.change(|state| state.commit(name, 3), &Ok(Certainty::Durable));
    }
    model.change(|state| state.resume("a"), &Ok(Certainty::Durable));
    model.change(|state| state.commit("d", 3), &Ok(Certainty::Durable));
    let mut shows = |listing, timeline| {
        let now = model.now.clone();
        let pinned = BTreeSet::new();
        let shown = model
            .show(&names(listing), &names(timeline), &pinned)
            .is_ok();
        model.now = now;
        shown
    };
    assert!(shows("a c d", "d a"));
    assert!(!shows("a c d", "d c a"), "an abandoned one in the timeline");
    assert!(!shows("b c d", "d"), "the one resumed from rotated out");
}

/// Canary: the model notices a store that loses what is pinned, or the pin, or drops what it must not.
#[test]
fn a_forgotten_pin_is_noticed() {
    let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Listing>();
    let mut model = Model::new(1);
    model.change(|state| state.commit("a", 1), &Ok(Certainty::Durable));
    model.change(|state| state.pin("a", true), &Ok(Certainty::Durable));
    model.change(|state| state.commit("b", 1), &Ok(Certainty::Durable));
    model.change(|state| state.import("x"), &Ok(Certainty::Durable));
    model.change(|state| state.resume("a"), &Ok(Certainty::Durable));
    model.change(|state| state.commit("c", 1), &Ok(Certainty::Durable));
    model.change(|state| Some(state.prune(1)), &Ok(Certainty::Durable));
    let mut shows = |listing, timeline, pinned: &[&str]| {
        let now = model.now.clone();
        let pinned = pinned.iter().map(|name| (*name).to_owned()).collect();
        let shown = model
            .show(&names(listing), &names(timeline), &pinned)
            .is_ok();
        model.now = now;
        shown
    };
    assert!(shows("a x c", "c a", &["a", "x"]));
    assert!(!shows("a x c", "c a", &["a"]), "an import is pinned");
    assert!(!shows("x c", "c", &["x"]), "a pinned one was lost");
    assert!(!shows("a b x c", "c a", &["a", "x"]), "one too many");
    assert!(
        !shows("a x c", "c x", &["a", "x"]),
        "an import in the timeline"
    );
}

/// Canary: the model notices a medium that leaves out a sync.
#[test]
fn a_medium_that_lies_is_noticed() {
    for ignored in [
        SyncIgnored::File(file_name::GENERATION_TEMPORARY.to_owned()),
        SyncIgnored::File(file_name::MANIFEST_TEMPORARY.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::GENERATION_SUFFIX.to_owned()),
        SyncIgnored::DirectoryAfterRenameTo(file_name::MANIFEST.to_owned()),
    ] {
        let noticed = (0..200).any(|seed| Run::new(seed, Some(ignored.clone())).go(30).is_err());
        assert!(noticed, "{ignored:?} was not noticed");
    }
}
