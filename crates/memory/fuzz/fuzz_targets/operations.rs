//! The oracle of `tests/oracle`, its choices spelled out by the fuzzer: one byte each, until they are spent.

#![no_main]

use interleaving::{Plan, Spelled, run};
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/oracle/interleaving/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    clippy::cast_possible_truncation,
    reason = "seeded runs and lies are the tests'; a run's numbers are small, as they say"
)]
mod interleaving;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Spelled::new(bytes);
    let plan = Plan::chosen(&mut choices);
    if let Err(what) = run(&plan, &mut choices) {
        panic!("{what}");
    }
});
