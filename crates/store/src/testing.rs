//! A medium that fails and crashes on request, for the tests of this crate and of those above it.

mod crash_images;
mod medium_contract;
mod sample_generation;
mod simulated_medium;

pub use crash_images::DiskImage;
pub use medium_contract::{assert_medium_contract, assert_only_plain_names};
pub use sample_generation::SampleGeneration;
pub use simulated_medium::{
    Fault, Operation, SimulatedLock, SimulatedMedium, Snapshot, SyncIgnored,
};
