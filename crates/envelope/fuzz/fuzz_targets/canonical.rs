//! Texts of any kind: strict reading and canonical spelling against a second implementation of both.

#![no_main]

use fuzzed::check_canonical;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/fuzzed/mod.rs"]
#[expect(dead_code, reason = "each target checks one thing")]
mod fuzzed;
#[path = "../../tests/sample_envelope/mod.rs"]
mod sample_envelope;

fuzz_target!(|input: &[u8]| check_canonical(input));
