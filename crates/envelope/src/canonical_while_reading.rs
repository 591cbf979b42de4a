//! What [`crate::strict_json`] sees while it reads. Oracle of what is canonical: the text is what its value is written
//! as. Over texts in every spelling; a failure prints the text, and each seed from 0 on makes the same one again.

use arbtest::arbitrary::{Result, Unstructured};
use serde_json::Value;

use crate::canonical_text;
use crate::strict_json::{StrictRead, read_strict_json};

const SPELLED: [&str; 24] = [
    "null",
    "true",
    "0",
    "7",
    "-1",
    "-0",
    "9007199254740991",
    "1.5",
    "1.0",
    "-0.0",
    "1e21",
    "1e+21",
    "1E3",
    "100000000000000000000",
    "1e-7",
    "\"\"",
    "\"a\\nb\"",
    "\"\\u000a\"",
    "\"\\u001f\"",
    "\"\\u001F\"",
    "\"\\u0041\"",
    "\"\\/\"",
    "\"\\\"\\\\\u{7f}\u{e9}\"",
    "\"\\ud83d\\ude00\"",
];
const KEYS: [&str; 12] = [
    "",
    "a",
    "ab",
    "b",
    "c",
    "d\\t",
    "d\\u0009",
    "\u{e9}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ffff}",
    "\u{1f600}",
];

/// Mostly canonical: keys mostly ascend, and blanks are few.
fn draw(choices: &mut Unstructured<'_>, text: &mut String, depth: u8) -> Result<()> {
    if choices.ratio(1, 24)? {
        text.push(' ');
    }
    let shape = if depth == 0 {
        0
    } else {
        choices.int_in_range(0..=5)?
    };
    match shape {
        0..=1 => text.push_str(choices.choose(&SPELLED)?),
        2 => {
            text.push('[');
            for index in 0..choices.int_in_range(0..=3)? {
                if index > 0 {
                    text.push(',');
                }
                draw(choices, text, depth - 1)?;
            }
            text.push(']');
        }
        _ => {
            text.push('{');
            let mut at = 0;
            for index in 0..choices.int_in_range(0..=4)? {
                at = if choices.ratio(1, 12)? {
                    choices.choose_index(KEYS.len())?
                } else {
                    (at + choices.int_in_range(1..=3)?).min(KEYS.len() - 1)
                };
                text.push_str(if index > 0 { ",\"" } else { "\"" });
                text.push_str(KEYS[at]);
                text.push_str("\":");
                draw(choices, text, depth - 1)?;
            }
            text.push('}');
        }
    }
    Ok(())
}

/// The text of one seed, in one of four with a byte replaced.
fn drawn(seed: u64) -> String {
    // Successive states of a linear congruential generator, their better half.
    let bytes: Vec<u8> =
        std::iter::successors(Some(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), |state| {
            Some(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        })
        .skip(2)
        .take(128)
        .flat_map(|state| state.to_be_bytes()[..4].to_vec())
        .collect();
    let mut choices = Unstructured::new(&bytes);
    let mut text = String::new();
    draw(&mut choices, &mut text, 3).expect("choices do not end");
    if choices.ratio(1, 4) == Ok(true) && text.is_ascii() {
        let at = choices.choose_index(text.len()).expect("a text");
        let damage =
            choices.choose(&["0", "1", "a", "E", "-", ".", ",", "\"", "\\", "u", "}", " "]);
        text.replace_range(at..=at, damage.expect("one of them"));
    }
    text
}

/// Whether the reader leaves it to a writer to say whether this is canonical.
fn is_left_to_a_writer(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(is_left_to_a_writer),
        Value::Object(members) => members.iter().any(|(key, value)| {
            key.chars().any(|character| character >= '\u{e000}') || is_left_to_a_writer(value)
        }),
        _ => false,
    }
}

/// Compares what the reader says of a text with the oracle; the oracle's answer, or none where it says nothing
/// surely, though the text is canonical.
fn agreed(text: &str, read: &StrictRead) -> Option<bool> {
    let is_canonical = canonical_text(&read.value) == text;
    if is_canonical && is_left_to_a_writer(&read.value) {
        assert!(!read.is_surely_canonical, "{text}");
        return None;
    }
    assert_eq!(read.is_surely_canonical, is_canonical, "{text}");
    Some(is_canonical)
}

#[test]
fn what_is_canonical_is_seen_while_reading() {
    let (mut canonical, mut other, mut left, mut refused) = (0, 0, 0, 0);
    for seed in 0..20_000 {
        let text = drawn(seed);
        match read_strict_json(text.as_bytes()).map(|read| agreed(&text, &read)) {
            Ok(Some(true)) => canonical += 1,
            Ok(Some(false)) => other += 1,
            Ok(None) => left += 1,
            Err(_) => refused += 1,
        }
    }
    let seen = [canonical, other, left, refused];
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
}

#[test]
fn each_way_not_to_be_canonical_is_seen() {
    let sound = r#"{"a":[-1,"\n\u001f\"\\/","\u0000"],"b":{"c":null}}"#;
    let read = read_strict_json(sound.as_bytes()).unwrap();
    assert_eq!(agreed(sound, &read), Some(true));
    for (part, damage) in [
        ("{", " {"),
        ("{", "{ "),
        (":[", ": ["),
        (":[", " :["),
        (",\"b", ", \"b"),
        ("-1", "-1 "),
        ("}}", "}}\n"),
        ("}}", "} }"),
        ("-1", "-0"),
        ("-1", "-1.0"),
        ("-1", "-1e0"),
        ("\\n", "\\u000a"),
        ("\\n", "\\u000A"),
        ("\\u001f", "\\u001F"),
        ("\\\"", "\\u0022"),
        ("/", "\\/"),
        ("/", "\\u002f"),
        ("\"a\"", "\"b0\""),
        ("\"a\"", "\"\\u0061\""),
        ("\"c\":null", "\"c\":null,\"\":0"),
    ] {
        let text = sound.replacen(part, damage, 1);
        let read = read_strict_json(text.as_bytes()).unwrap();
        assert_eq!(agreed(&text, &read), Some(false), "{text}");
    }
}

#[test]
#[should_panic(expected = "[1 ]")]
fn canary_a_reader_that_sees_nothing_is_noticed() {
    let mut read = read_strict_json(b"[1 ]").unwrap();
    read.is_surely_canonical = true;
    agreed("[1 ]", &read);
}

#[test]
#[should_panic(expected = "[1]")]
fn canary_a_reader_that_doubts_everything_is_noticed() {
    let mut read = read_strict_json(b"[1]").unwrap();
    read.is_surely_canonical = false;
    agreed("[1]", &read);
}
