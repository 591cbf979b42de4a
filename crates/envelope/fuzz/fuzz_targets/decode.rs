//! Files of any kind, as good as whole: every reader agrees on them, and an accepted one has one encoding.

#![no_main]

use fuzzed::check_decode;
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/fuzzed/mod.rs"]
#[expect(dead_code, reason = "each target checks one thing")]
mod fuzzed;
#[path = "../../tests/sample_envelope/mod.rs"]
mod sample_envelope;

fuzz_target!(|input: &[u8]| check_decode(input));
