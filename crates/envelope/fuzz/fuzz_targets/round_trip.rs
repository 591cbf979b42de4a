//! Checkpoints of any shape: written each way, read, converted there and back.

#![no_main]

use fuzzed::check_round_trip;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/fuzzed/mod.rs"]
#[expect(dead_code, reason = "each target checks one thing")]
mod fuzzed;
#[path = "../../tests/sample_envelope/mod.rs"]
mod sample_envelope;

fuzz_target!(|input: &[u8]| check_round_trip(input));
