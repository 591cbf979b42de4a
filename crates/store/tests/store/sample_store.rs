//! A store of sample generations on a simulated disk.

use futures::executor::block_on;
use wellwritten_envelope::Id;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    Certainty, CommitError, MediumError, OpenReport, Store, StoreConfig, StoreError, StoreMedium,
    StoreReader,
};

type Opened = (Store<SimulatedMedium>, OpenReport);

pub fn id(text: &str) -> Id {
    text.parse().unwrap()
}

pub fn sample(name: &str) -> SampleGeneration {
    SampleGeneration::new(name, "e1", 10)
}

pub fn open(medium: &SimulatedMedium, keep_generations: usize) -> Result<Opened, StoreError> {
    block_on(Store::open(
        medium.clone(),
        StoreConfig { keep_generations },
    ))
}

pub fn store_with(
    medium: &SimulatedMedium,
    keep_generations: usize,
    names: &[&str],
) -> Store<SimulatedMedium> {
    let (mut store, _) = open(medium, keep_generations).unwrap();
    for name in names {
        commit(&mut store, name).unwrap();
    }
    store
}

pub fn commit<M: StoreMedium>(store: &mut Store<M>, name: &str) -> Result<Certainty, CommitError> {
    block_on(store.save(&sample(name).to_save())).map(|committed| committed.certainty)
}

pub fn listing<M: StoreMedium>(store: &StoreReader<M>) -> Vec<String> {
    store
        .generations()
        .map(|generation| generation.checkpoint_id.to_string())
        .collect()
}

pub fn io_error() -> MediumError {
    MediumError::Io {
        file: "disk".to_owned(),
        name: "EIO".to_owned(),
        message: "injected".to_owned(),
    }
}
