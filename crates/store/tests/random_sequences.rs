//! Oracle: a model that keeps nothing but the set of listings the store may show and the set it may show
//! after a crash. Random sequences of commits, faults, reopenings, kills and crashes must never show a
//! listing outside that set, other bytes than were committed, or a folder that grows.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store --test
//! random_sequences -- --nocapture`; `WELLWRITTEN_LONG=1` runs many more.

use std::collections::BTreeSet;

use futures::executor::block_on;
use wellwritten_store::testing::{Fault, SampleGeneration, SimulatedMedium, SyncIgnored};
use wellwritten_store::{
    Certainty, CommitError, MediumError, Resolution, Store, StoreConfig, StoreError, file_name,
};

/// Checkpoint ids, oldest first.
type Listing = Vec<String>;

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
    now: BTreeSet<Listing>,
    after_crash: BTreeSet<Listing>,
}

impl Model {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            now: BTreeSet::from([Listing::new()]),
            after_crash: BTreeSet::from([Listing::new()]),
        }
    }

    fn with(&self, listing: &Listing, name: &str) -> Listing {
        let mut longer: Listing = listing.iter().cloned().chain([name.to_owned()]).collect();
        longer.drain(..longer.len().saturating_sub(self.keep));
        longer
    }

    fn commit(&mut self, name: &str, outcome: &Result<Certainty, CommitError>) {
        let committed: BTreeSet<_> = self
            .now
            .iter()
            .map(|listing| self.with(listing, name))
            .collect();
        match outcome {
            Ok(Certainty::Durable) => {
                self.after_crash.clone_from(&committed);
                self.now = committed;
            }
            Ok(Certainty::NameUncertain { .. }) => {
                self.after_crash.extend(committed.iter().cloned());
                self.now = committed;
            }
            Err(CommitError::OutcomeUnknown { .. }) => {
                self.after_crash.extend(committed.iter().cloned());
                self.now.extend(committed);
            }
            Err(_) => {}
        }
    }

    fn show(&mut self, listing: Listing) -> Result<(), String> {
        if !self.now.contains(&listing) {
            return Err(format!("shows {listing:?}, may show {:?}", self.now));
        }
        self.now = BTreeSet::from([listing]);
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
        self.model.commit(&name, &outcome);
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
                    .retain(|listing| listing.contains(&name) == committed);
            }
            Err(_) => self.failed += 1,
        }
        if self.random.below(2) == 0 {
            self.medium.heal();
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
            listing.push(name);
        }
        self.model.show(listing)?;
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
    let (mut committed, mut failed, mut crashes) = (0, 0, 0);
    for seed in seeds() {
        let mut run = Run::new(seed, None);
        if let Err(violation) = run.go(30) {
            panic!("seed {seed}: {violation}; replay with WELLWRITTEN_SEED={seed}");
        }
        committed += run.committed;
        failed += run.failed;
        crashes += run.crashes;
    }
    println!("{committed} commits, {failed} failed, {crashes} crashes");
    assert!(
        committed > 0 && failed > 0 && crashes > 0,
        "something of each was tried"
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
