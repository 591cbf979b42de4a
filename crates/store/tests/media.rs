//! Oracle: what [`StoreMedium`](wellwritten_store::StoreMedium) promises, asked of the media that are memory.

use futures::executor::block_on;
use wellwritten_store::MemoryMedium;
use wellwritten_store::testing::{SimulatedMedium, assert_medium_contract};

#[test]
fn memory_keeps_every_promise_of_a_medium() {
    block_on(assert_medium_contract(&MemoryMedium::new()));
    block_on(assert_medium_contract(&MemoryMedium::with_quota(2_000_000)));
}

#[test]
fn a_simulated_disk_without_faults_keeps_every_promise_of_a_medium() {
    block_on(assert_medium_contract(&SimulatedMedium::new()));
}
