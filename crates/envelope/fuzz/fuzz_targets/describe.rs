//! Files of any kind, described: in agreement with the reader, in memory and out of it.

#![no_main]

use fuzzed::check_describe;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/fuzzed/mod.rs"]
#[expect(dead_code, reason = "each target checks one thing")]
mod fuzzed;
#[path = "../../tests/sample_envelope/mod.rs"]
mod sample_envelope;

fuzz_target!(|input: &[u8]| check_describe(input));
