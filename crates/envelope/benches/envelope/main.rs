//! What an envelope costs, as a ratio to what it cannot do without: one copy of the file's bytes and one BLAKE3
//! pass over them for encoding, one pass for decoding. Each limit is measured in the same run, in turns with what is
//! measured. The same program runs natively and, built for wasm, in Node.js.
//!
//! A goal is a ratio of at least 0.9 where payloads are long. At 1 KiB the manifest is longer than the payload, so
//! there the ratio says little and what is printed is how much more than the limit it takes.

#[path = "../../tests/sample_envelope/mod.rs"]
mod sample_envelope;

mod host;
mod turns;

use host::{exit, say};
use sample_envelope::{manifest, payloads};
use std::hint::black_box;
use turns::{Subject, in_turns};
use wellwritten_envelope::{EnvelopeVersion, Id, decode, encode};

/// The least that a ratio may be.
const GOAL: f64 = 0.9;
const KIB: u32 = 1024;
const MIB: u32 = 1024 * KIB;

fn main() {
    say(&host::machine());
    say(
        "limit of encode: copying the file into new memory, and one BLAKE3 pass; of decode: the pass",
    );
    say("");
    say("payload   what      GB/s   limit, GB/s   ratio   beyond the limit, µs");
    let mut missed = 0;
    for (name, length, required) in [
        ("1 KiB", KIB, false),
        ("1 MiB", MIB, true),
        ("256 MiB", 256 * MIB, true),
    ] {
        missed += measure(name, length, required);
    }
    say("");
    if missed > 0 {
        say(&format!("{missed} ratios below {GOAL}"));
        exit(1);
    }
    say(&format!("every ratio that matters is at least {GOAL}"));
}

/// Measures one length; how many goals were missed.
fn measure(name: &str, length: u32, required: bool) -> u32 {
    let manifest = manifest(EnvelopeVersion::Two);
    let payload: Vec<u8> = (0..length)
        .map(|at| (at.wrapping_mul(at) >> 7).to_le_bytes()[0])
        .collect();
    let mut owned = payloads();
    owned[0].1 = Vec::new();
    let mut views: Vec<(Id, &[u8])> = owned
        .iter()
        .map(|(name, bytes)| (name.clone(), bytes.as_slice()))
        .collect();
    views[0].1 = &payload;
    let file = encode(&manifest, &views).expect("a sound manifest");
    let first = decode(&file).expect("a sound file").payloads[0].bytes;
    assert_eq!(first, payload);
    // The very bytes that the limits read: other ones would have to come from further away than those.
    views[0].1 = first;

    // Version 2 hashes the payload and what is before it; the other payloads are a few bytes.
    let start = file.len() - payload.len();
    let (head, tail) = file.split_at(start);
    let hash = || {
        black_box(blake3::hash(black_box(head)));
        black_box(blake3::hash(black_box(tail)));
    };
    let mut subjects = [
        Subject::new(|| {
            drop(black_box(black_box(&file).clone()));
            hash();
        }),
        Subject::new(|| drop(black_box(encode(&manifest, black_box(&views))))),
        Subject::new(hash),
        Subject::new(|| drop(black_box(decode(black_box(&file))))),
    ];
    let times = in_turns(&mut subjects);
    let mut missed = 0;
    for (what, limit, ours) in [("encode", 0, 1), ("decode", 2, 3)] {
        let (limit, ours) = (times[limit], times[ours]);
        let ratio = limit / ours;
        let verdict = match (required, ratio >= GOAL) {
            (true, false) => {
                missed += 1;
                "  missed"
            }
            _ => "",
        };
        let speed = |seconds: f64| f64::from(length) / seconds / 1e9;
        say(&format!(
            "{name:8}  {what}  {:6.2}  {:12.2}  {ratio:6.3}  {:21.1}{verdict}",
            speed(ours),
            speed(limit),
            (ours - limit) * 1e6,
        ));
    }
    missed
}
