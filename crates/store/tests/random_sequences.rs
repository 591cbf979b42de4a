//! Oracle: a model that keeps nothing but the set of states the store may show and the set it may show
//! after a crash; a state knows who went on from whom for every name there ever was. Random sequences of
//! commits, resumptions, faults, reopenings, kills and crashes must never show a listing or a timeline
//! outside that set, other bytes than were committed, or a folder that grows.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store --test
//! random_sequences -- --nocapture`; `WELLWRITTEN_LONG=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};

use futures::executor::block_on;
use wellwritten_store::testing::{Fault, SampleGeneration, SimulatedMedium, SyncIgnored};
use wellwritten_store::{
    Certainty, CommitError, GenerationFilter, MediumError, Resolution, Store, StoreConfig,
    StoreError, file_name,
};

/// Checkpoint ids, oldest first.
type Listing = Vec<String>;

/// What the store may be. Nothing is ever taken out of `went_on_from`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    listing: Listing,
    head: Option<String>,
    resumed: Option<String>,
    went_on_from: BTreeMap<String, Option<String>>,
}

impl State {
    /// Everything the head ever went on from, then what of it is listed; newest first.
    fn timeline(&self) -> Listing {
        let before = |name: &String| self.went_on_from[name].clone();
        std::iter::successors(self.head.clone(), before)
            .filter(|name| self.listing.contains(name))
            .collect()
    }

    fn resume(&self, name: &str) -> Option<Self> {
        self.listing
            .iter()
            .any(|listed| listed == name)
            .then(|| Self {
                head: Some(name.to_owned()),
                resumed: Some(name.to_owned()),
                ..self.clone()
            })
    }

    /// `None` where the name was committed before: the store is not in this state if it accepts it.
    fn commit(&self, name: &str, keep: usize) -> Option<Self> {
        if self.went_on_from.contains_key(name) {
            return None;
        }
        let mut state = self.clone();
        state
            .went_on_from
            .insert(name.to_owned(), self.head.clone());
        state.head = Some(name.to_owned());
        state.listing.push(name.to_owned());
        while state.listing.len() > keep {
            let timeline = state.timeline();
            // The worst to lose comes last; the sort is stable, so that the oldest of a kind is first.
            let mut by_worth = state.listing.clone();
            by_worth.sort_by_key(|candidate| {
                if candidate == name {
                    3
                } else if state.resumed.as_ref() == Some(candidate) {
                    2
                } else {
                    usize::from(timeline.contains(candidate))
                }
            });
            let lost = by_worth[0].clone();
            state.listing.retain(|candidate| *candidate != lost);
        }
        Some(state)
    }
}

/// `SplitMix64`: a published generator of a few lines, so that a seed means the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("less than a usize")
    }
}

/// What the store may show now, and what it may show after a crash of the machine.
struct Model {
    keep: usize,
    now: BTreeSet<State>,
    after_crash: BTreeSet<State>,
}

impl Model {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            now: BTreeSet::from([State::default()]),
            after_crash: BTreeSet::from([State::default()]),
        }
    }

    fn change(
        &mut self,
        change: impl Fn(&State) -> Option<State>,
        outcome: &Result<Certainty, CommitError>,
    ) {
        // Lazily: a refusal changes nothing, and may be of what makes no sense to the model either.
        let committed = || self.now.iter().filter_map(change).collect::<BTreeSet<_>>();
        match outcome {
            Ok(Certainty::Durable) => {
                self.now = committed();
                self.after_crash.clone_from(&self.now);
            }
            Ok(Certainty::NameUncertain { .. }) => {
                self.now = committed();
                self.after_crash.extend(self.now.iter().cloned());
            }
            Err(CommitError::OutcomeUnknown { .. }) => {
                let committed = committed();
                self.after_crash.extend(committed.iter().cloned());
                self.now.extend(committed);
            }
            Err(_) => {}
        }
    }

    fn show(&mut self, listing: &Listing, timeline: &Listing) -> Result<(), String> {
        let may_show = self.now.clone();
        self.now
            .retain(|state| state.listing == *listing && state.timeline() == *timeline);
        if self.now.is_empty() {
            return Err(format!(
                "shows {listing:?} with {timeline:?}, may show {may_show:?}"
            ));
        }
        Ok(())
    }

    fn crash(&mut self) {
        self.now.clone_from(&self.after_crash);
    }
}

struct Run {
    random: Random,
    model: Model,
    medium: SimulatedMedium,
    store: Option<Store<SimulatedMedium>>,
    names: usize,
    committed: usize,
    failed: usize,
    crashes: usize,
    abandoned: usize,
    ignored: Option<SyncIgnored>,
}

fn name_of(number: usize) -> String {
    format!("g{number}")
}

fn sample(name: &str) -> SampleGeneration {
    let number = name[1..].parse().expect("a name is g and a number");
    SampleGeneration::new(name, "e1", number)
}

impl Run {
    fn new(seed: u64, ignored: Option<SyncIgnored>) -> Self {
        let mut random = Random(seed);
        let keep = 1 + random.below(3);
        Self {
            random,
            model: Model::new(keep),
            medium: SimulatedMedium::new(),
            store: None,
            names: 0,
            committed: 0,
            failed: 0,
            crashes: 0,
            abandoned: 0,
            ignored,
        }
    }

    fn go(&mut self, actions: usize) -> Result<(), String> {
        self.use_medium(SimulatedMedium::new());
        for _ in 0..actions {
            match self.random.below(10) {
                0 => self.store = None,
                1 => {
                    self.store = None;
                    self.use_medium(SimulatedMedium::after_kill(&self.medium.snapshot()));
                }
                2 => {
                    self.crash();
                }
                3 | 4 => self.resume()?,
                _ => self.commit()?,
            }
            self.check()?;
        }
        self.medium.heal();
        self.store = None;
        self.check()
    }

    fn use_medium(&mut self, medium: SimulatedMedium) {
        if let Some(ignored) = &self.ignored {
            medium.ignore(ignored.clone());
        }
        self.medium = medium;
    }

    fn crash(&mut self) {
        self.store = None;
        self.crashes += 1;
        let random = &mut self.random;
        let image = self
            .medium
            .snapshot()
            .crash_image(|count| random.below(count));
        self.use_medium(SimulatedMedium::after_crash(&image));
        self.model.crash();
    }

    fn inject_faults(&mut self) {
        for _ in 0..self.random.below(3) {
            let at = self.medium.operations().len() + self.random.below(13);
            let error = MediumError::Io {
                file: "somewhere".to_owned(),
                name: "EIO".to_owned(),
                message: "injected".to_owned(),
            };
            let length = self.random.below(3000);
            let fault = match self.random.below(5) {
                0 => Fault::Fails(error),
                1 => Fault::HappensAndFails(error),
                2 => Fault::ShortWrite(length),
                3 => Fault::LosesTail(length),
                _ => Fault::FlipsBit(length),
            };
            self.medium.inject(at, fault);
        }
        if self.random.below(8) == 0 {
            let name = name_of(self.random.below(self.names + 1));
            self.medium
                .refuse_removal(&format!("{name}{}", file_name::GENERATION_SUFFIX));
        }
    }

    fn commit(&mut self) -> Result<(), String> {
        if self.store.is_none() {
            self.open()?;
        }
        self.inject_faults();
        // Now and then a name again whose commit may have failed.
        let again = self.names > 0 && self.random.below(4) == 0;
        self.names += usize::from(!again);
        let name = name_of(self.names - 1);
        let store = self.store.as_mut().ok_or("the store is open")?;
        let outcome =
            block_on(store.commit(sample(&name).to_commit())).map(|committed| committed.certainty);
        let keep = self.model.keep;
        self.model
            .change(|state| state.commit(&name, keep), &outcome);
        match outcome {
            Ok(Certainty::NameUncertain { .. }) => {
                self.committed += 1;
                // The moment at which most depends on what was kept.
                if self.random.below(2) == 0 {
                    self.crash();
                }
            }
            Ok(Certainty::Durable) => self.committed += 1,
            Err(CommitError::OutcomeUnknown { .. }) => {
                self.failed += 1;
                self.medium.heal();
                let store = self.store.as_mut().ok_or("the store is open")?;
                let resolution = block_on(store.resolve(sample(&name).checkpoint_id()))
                    .map_err(|error| error.to_string())?;
                let committed = matches!(resolution, Resolution::Committed(_));
                self.model
                    .now
                    .retain(|state| state.listing.contains(&name) == committed);
            }
            Err(_) => self.failed += 1,
        }
        if self.random.below(2) == 0 {
            self.medium.heal();
        }
        Ok(())
    }

    /// Resumes from any generation that is listed, abandoned ones included.
    fn resume(&mut self) -> Result<(), String> {
        if self.store.is_none() {
            self.open()?;
        }
        self.inject_faults();
        let store = self.store.as_mut().ok_or("the store is open")?;
        let ids: Vec<_> = store
            .generations()
            .map(|generation| generation.checkpoint_id.clone())
            .collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = &ids[self.random.below(ids.len())];
        let outcome = block_on(store.mark_resumed(id));
        self.model
            .change(|state| state.resume(id.as_str()), &outcome);
        if let Err(CommitError::OutcomeUnknown { .. }) = outcome {
            self.failed += 1;
            self.medium.heal();
            let store = self.store.as_mut().ok_or("the store is open")?;
            block_on(store.resolve(id)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        let config = StoreConfig {
            keep_generations: self.model.keep,
        };
        self.inject_faults();
        let mut opened = block_on(Store::open(self.medium.clone(), config));
        if matches!(opened, Err(StoreError::Medium { .. })) {
            self.medium.heal();
            opened = block_on(Store::open(self.medium.clone(), config));
        }
        let (store, report) = opened.map_err(|error| error.to_string())?;
        if !report.missing.is_empty() {
            return Err(format!("{:?} are gone", report.missing));
        }
        self.store = Some(store);
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if self.store.is_none() {
            self.open()?;
        }
        // The faults are for the store's own operations, not for looking at it.
        self.medium.heal();
        let store = self.store.as_ref().ok_or("the store is open")?;
        let mut listing = Listing::new();
        for generation in store.generations().collect::<Vec<_>>().into_iter().rev() {
            let bytes = block_on(store.read(&generation.checkpoint_id))
                .map_err(|error| error.to_string())?;
            let name = generation.checkpoint_id.to_string();
            if bytes != sample(&name).bytes {
                return Err(format!("{name} has other bytes than were committed"));
            }
            if store.is_abandoned(generation) {
                self.abandoned += 1;
            }
            listing.push(name);
        }
        let (candidates, _) = store.candidates(&GenerationFilter::default());
        let timeline: Listing = candidates
            .iter()
            .map(|generation| generation.checkpoint_id.to_string())
            .collect();
        for generation in store.generations() {
            if store.is_abandoned(generation) == candidates.contains(&generation) {
                return Err(format!("{} is both or neither", generation.checkpoint_id));
            }
        }
        if store.latest() != candidates.first().copied() {
            return Err(format!("latest is {:?} of {timeline:?}", store.latest()));
        }
        self.model.show(&listing, &timeline)?;
        // This listing's, the one's before it that may come back, and what could not be removed.
        let limit = 2 * self.model.keep + 4 + 3;
        let files = self.medium.files().len();
        if files > limit {
            return Err(format!("{files} files, at most {limit} may be there"));
        }
        Ok(())
    }
}

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
    for seed in seeds() {
        let mut run = Run::new(seed, None);
        if let Err(violation) = run.go(30) {
            panic!("seed {seed}: {violation}; replay with WELLWRITTEN_SEED={seed}");
        }
        committed += run.committed;
        failed += run.failed;
        crashes += run.crashes;
        abandoned += run.abandoned;
    }
    println!("{committed} commits, {failed} failed, {crashes} crashes, {abandoned} abandoned seen");
    assert!(
        committed > 0 && failed > 0 && crashes > 0 && abandoned > 0,
        "something of each was tried"
    );
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
        let shown = model.show(&names(listing), &names(timeline)).is_ok();
        model.now = now;
        shown
    };
    assert!(shows("a c d", "d a"));
    assert!(!shows("a c d", "d c a"), "an abandoned one in the timeline");
    assert!(!shows("b c d", "d"), "the one resumed from rotated out");
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
