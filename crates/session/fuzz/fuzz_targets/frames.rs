//! Bytes of any kind, in pieces of any size: what is no message is refused, what is one has one canonical spelling, and nothing
//! is kept for what has not arrived.

#![no_main]

use libfuzzer_sys::fuzz_target;
use opened::check_stream;

#[path = "../../tests/opened/mod.rs"]
mod opened;

fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = check_stream(bytes) {
        panic!("{what}");
    }
});
