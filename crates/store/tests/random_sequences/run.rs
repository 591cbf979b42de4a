//! One random sequence of what can happen to a store, beside the model.

use std::collections::BTreeSet;

use futures::executor::block_on;
use wellwritten_store::testing::{Fault, SampleGeneration, SimulatedMedium, SyncIgnored};
use wellwritten_store::{
    Certainty, CommitError, GenerationFilter, ImportError, MediumError, Resolution, Store,
    StoreConfig, StoreError, file_name,
};

use crate::model::{Listing, Model, State};

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

pub struct Run {
    random: Random,
    model: Model,
    medium: SimulatedMedium,
    store: Option<Store<SimulatedMedium>>,
    names: usize,
    pub committed: usize,
    pub failed: usize,
    pub crashes: usize,
    pub abandoned: usize,
    pub imported: usize,
    pub pinned: usize,
    pub pruned: usize,
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
    pub fn new(seed: u64, ignored: Option<SyncIgnored>) -> Self {
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
            imported: 0,
            pinned: 0,
            pruned: 0,
            ignored,
        }
    }

    pub fn go(&mut self, actions: usize) -> Result<(), String> {
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
                3 | 4 => self.change_one()?,
                5 => self.prune()?,
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
        let keep = self.model.keep;
        let imports = self.random.below(5) == 0;
        let store = self.store.as_mut().ok_or("the store is open")?;
        let outcome = if imports {
            self.imported += 1;
            block_on(store.import(&sample(&name).bytes)).map_err(|error| match error {
                ImportError::Commit(error) => error,
                other => panic!("{other}"),
            })
        } else {
            block_on(store.save(&sample(&name).to_save()))
        };
        let outcome = outcome.map(|committed| committed.certainty);
        let change = |state: &State| {
            if imports {
                state.import(&name)
            } else {
                state.commit(&name, keep)
            }
        };
        self.model.change(change, &outcome);
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

    /// Resumes from any generation that is listed, abandoned ones included, or pins it, or lets it go.
    fn change_one(&mut self) -> Result<(), String> {
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
        let pin = [None, None, Some(true), Some(false)][self.random.below(4)];
        let outcome = block_on(async {
            match pin {
                Some(pinned) => store.set_pinned(id, pinned).await,
                None => store.mark_resumed(id).await,
            }
        });
        let change = |state: &State| match pin {
            Some(pinned) => state.pin(id.as_str(), pinned),
            None => state.resume(id.as_str()),
        };
        self.model.change(change, &outcome);
        self.look_again(&outcome)
    }

    fn prune(&mut self) -> Result<(), String> {
        if self.store.is_none() {
            self.open()?;
        }
        self.inject_faults();
        let keep = 1 + self.random.below(3);
        let store = self.store.as_mut().ok_or("the store is open")?;
        let outcome = block_on(store.prune(keep)).map(|pruned| {
            self.pruned += pruned.dropped.len();
            pruned.certainty
        });
        self.model.change(|state| Some(state.prune(keep)), &outcome);
        self.look_again(&outcome)
    }

    /// After a change of unknown outcome the store reads what became of it.
    fn look_again(&mut self, outcome: &Result<Certainty, CommitError>) -> Result<(), String> {
        if let Err(CommitError::OutcomeUnknown { .. }) = outcome {
            self.failed += 1;
            self.medium.heal();
            let store = self.store.as_mut().ok_or("the store is open")?;
            block_on(store.resolve(&"any".parse().map_err(|_| "no id")?))
                .map_err(|error| error.to_string())?;
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
        let pinned: BTreeSet<String> = store
            .generations()
            .filter(|generation| store.is_pinned(generation))
            .map(|generation| generation.checkpoint_id.to_string())
            .collect();
        self.pinned += pinned.len();
        self.model.show(&listing, &timeline, &pinned)?;
        // This listing's, the one's before it that may come back, and what could not be removed.
        let limit = 2 * (self.model.keep + pinned.len()) + 4 + 3;
        let files = self.medium.files().len();
        if files > limit {
            return Err(format!("{files} files, at most {limit} may be there"));
        }
        Ok(())
    }
}
