//! Conversations with one participant, spelled by the fuzzer, one byte a choice: whatever is asked in whatever order is answered
//! as the model of `tests/conversation` says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spoken::converse;

#[path = "../../tests/conversation/spoken/mod.rs"]
mod spoken;

fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = converse(bytes, None) {
        panic!("{what}");
    }
});
