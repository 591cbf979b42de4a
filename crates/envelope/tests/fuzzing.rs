//! Oracle: that of the fuzzer's targets, over what they once found and over inputs drawn here.

mod fuzzed;
mod sample_envelope;

use fuzzed::{
    Spelling, check_canonical, check_decode, check_describe, check_round_trip, cook, spelling,
};
use sample_envelope::{BOTH, encoded};
use wellwritten_envelope::decode;

/// A target's name, which its folder of findings bears too, and what it checks.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("canonical", check_canonical),
    ("decode", check_decode),
    ("describe", check_describe),
    ("round_trip", check_round_trip),
];

/// What the fuzzer once found. There are no such folders until something was found.
#[test]
fn what_fuzzing_found_stays_fixed() {
    for (name, check) in TARGETS {
        let folder = format!("{}/fuzz/regressions/{name}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("a readable folder").path();
            println!("{}", path.display());
            check(&std::fs::read(&path).expect("a readable file"));
        }
    }
}

#[test]
fn inputs_drawn_here_pass() {
    for (_, check) in TARGETS {
        arbtest::arbtest(|choices| {
            check(choices.bytes(choices.len())?);
            Ok(())
        })
        .budget_ms(500);
    }
}

#[test]
fn canary_a_recipe_reaches_what_it_changes() {
    // No change at all: both versions, sound.
    for (how, version) in [(2, BOTH[0]), (0, BOTH[1])] {
        assert_eq!(cook(&[how]), encoded(version));
        assert!(decode(&cook(&[how])).is_ok());
    }
    let rule = |input: &[u8]| decode(&cook(input)).unwrap_err().rule();
    let mut reached = Vec::new();
    let length = encoded(BOTH[1]).len();
    for at in (0..length).step_by(5) {
        let [high, low] = u16::try_from(at).unwrap().to_be_bytes();
        for how in [0, 4, 8, 16] {
            if decode(&cook(&[how, 1, high, low, 0])).is_err() {
                reached.push(rule(&[how, 1, high, low, 0]));
            }
        }
    }
    reached.sort();
    reached.dedup();
    assert!(reached.len() >= 15, "only {reached:?}");
}

#[test]
fn canary_the_spelling_of_a_manifest_is_told_apart() {
    assert_eq!(spelling(b"{\"a\":1.5,\"b\":[]}"), Spelling::Canonical);
    for (text, at) in [
        ("{\"a\":1.50}", 8),
        ("{\"a\": 1}", 5),
        ("{\"b\":1,\"a\":1}", 2),
        ("{}\n", 2),
        ("{\"\u{ffff}\":1,\"\u{1f600}\":1}", 2),
        ("[\"\\u0041\"]", 2),
    ] {
        assert_eq!(spelling(text.as_bytes()), Spelling::DiffersAt(at), "{text}");
    }
    let text = "{\"\u{1f600}\":1,\"\u{ffff}\":1}";
    assert_eq!(spelling(text.as_bytes()), Spelling::Canonical);
    assert!(matches!(spelling(b"{"), Spelling::NotStrict(_)));
}
