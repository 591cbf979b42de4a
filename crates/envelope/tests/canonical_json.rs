//! Oracle: a second canonicalizer, slow and built differently: it sorts keys by comparing UTF-16 units
//! one by one, escapes by table, and finds the shortest number by trying every precision.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};
use wellwritten_envelope::{
    MAX_DEPTH, MAX_SAFE_INTEGER, StrictJsonError, canonical_json, parse_strict_json,
};

fn slow_canonical(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => slow_number(number.as_f64().unwrap()),
        Value::String(text) => slow_string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(slow_canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
            let members: Vec<String> = members
                .into_iter()
                .map(|(key, value)| format!("{}:{}", slow_string(key), slow_canonical(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn slow_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\u{8}' => quoted += "\\b",
            '\t' => quoted += "\\t",
            '\n' => quoted += "\\n",
            '\u{c}' => quoted += "\\f",
            '\r' => quoted += "\\r",
            control if control < ' ' => {
                let escape = format!("\\u{:04x}", u32::from(control));
                quoted.push_str(&escape);
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// ECMAScript's `Number::toString`, from its definition: digits `s`, count `k`, exponent `n`.
fn slow_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value < 0.0 {
        return format!("-{}", slow_number(-value));
    }
    // Up to 17 digits are enough for any double; the fewest that read back are the shortest.
    let spelled = (0..17)
        .map(|precision| format!("{value:.precision$e}"))
        .find(|spelled| spelled.parse::<f64>().unwrap().to_bits() == value.to_bits())
        .unwrap();
    let (mantissa, exponent) = spelled.split_once('e').unwrap();
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap();
    let point = exponent.parse::<i32>().unwrap() + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap());
    if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap());
        format!("{whole}.{part}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() {
            String::new()
        } else {
            format!(".{rest}")
        };
        format!("{first}{rest}e{:+}", point - 1)
    }
}

fn any_number() -> impl Strategy<Value = Number> {
    let limit = i64::try_from(MAX_SAFE_INTEGER).unwrap();
    prop_oneof![
        (-limit..=limit).prop_map(Number::from),
        (-1000_i64..1000).prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (-1e7..1e7).prop_filter_map("finite", Number::from_f64),
        (-25_i32..25).prop_filter_map("finite", |power| Number::from_f64(10_f64.powi(power))),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any_number().prop_map(Value::Number),
        any::<String>().prop_map(Value::String),
        "[\u{0}-\u{2f}\u{7f}\u{e000}-\u{10ffff}\"\\\\]{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop_oneof![any::<String>(), "[a-c\u{fb33}\u{1f600}]{0,3}"];
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            btree_map(key, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// The comparison of the two canonicalizers.
fn agree(text: &[u8], value: &Value) -> bool {
    text == slow_canonical(value).as_bytes()
}

/// Whether the strict reader refuses a number of this canonical spelling as an unsafe integer.
fn has_unsafe_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let value = number.as_f64().unwrap().abs();
            // The first unsafe integer is 2^53.
            value.fract() == 0.0 && value < 1e21 && value >= 2_f64.powi(53)
        }
        Value::Array(items) => items.iter().any(has_unsafe_integer),
        Value::Object(members) => members.values().any(has_unsafe_integer),
        _ => false,
    }
}

#[test]
fn canary_the_second_canonicalizer_notices_a_wrong_answer() {
    let value = json!({"b": 1, "a": [0.000_001, "\u{20ac}"]});
    assert!(agree(
        "{\"a\":[0.000001,\"\u{20ac}\"],\"b\":1}".as_bytes(),
        &value
    ));
    for wrong in [
        "{\"b\":1,\"a\":[0.000001,\"\u{20ac}\"]}",
        "{\"a\":[1e-6,\"\u{20ac}\"],\"b\":1}",
        "{\"a\":[0.000001,\"\\u20ac\"],\"b\":1}",
        "{\"a\":[0.000001,\"\u{20ac}\"],\"b\":1.0}",
        "{\"a\": [0.000001,\"\u{20ac}\"],\"b\":1}",
    ] {
        assert!(!agree(wrong.as_bytes(), &value), "{wrong}");
    }
}

#[test]
fn the_examples_of_rfc_8785() {
    let numbers = [
        (0.0, "0"),
        (-0.0, "0"),
        (f64::from_bits(1), "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9_007_199_254_740_992.0, "9007199254740992"),
        (295_147_905_179_352_830_000.0, "295147905179352830000"),
        (9.999_999_999_999_997e22, "9.999999999999997e+22"),
        (1e21, "1e+21"),
        (0.000_001, "0.000001"),
        (1e-7, "1e-7"),
        (333_333_333.333_333_3, "333333333.3333333"),
    ];
    for (number, spelled) in numbers {
        assert_eq!(canonical_json(&number).unwrap(), spelled.as_bytes());
        assert_eq!(slow_number(number), spelled);
    }
    let keys = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
    let text = String::from_utf8(canonical_json(&keys).unwrap()).unwrap();
    assert_eq!(
        text,
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
    );
    assert!(canonical_json(&f64::NAN).is_err());
    assert!(canonical_json(&f64::INFINITY).is_err());
}

/// Keys in which the orders of UTF-8 and of UTF-16 differ, as many as make an insertion at a time felt.
#[test]
fn many_keys_are_written_in_the_order_of_utf16() {
    let high = |from: u32| (0..6000).filter_map(move |index| char::from_u32(from + index));
    let mut keys: Vec<String> = high(0xe000)
        .chain(high(0x1_f000))
        .map(String::from)
        .collect();
    let members: Map<String, Value> = keys
        .iter()
        .map(|key| (key.clone(), Value::from(key.len())))
        .collect();
    let text = canonical_json(&members).unwrap();
    keys.sort_by_key(|key| key.encode_utf16().collect::<Vec<u16>>());
    let spelled: Vec<String> = keys
        .iter()
        .map(|key| format!("\"{key}\":{}", key.len()))
        .collect();
    assert!(text == format!("{{{}}}", spelled.join(",")).as_bytes());
}

#[test]
fn of_two_members_of_one_name_the_later_counts() {
    struct Pairs(Vec<(&'static str, u8)>);

    impl Serialize for Pairs {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().copied())
        }
    }

    for (pairs, expected) in [
        (vec![("a", 1), ("a", 2)], "{\"a\":2}"),
        (
            vec![("b", 1), ("a", 2), ("b", 3), ("b", 4)],
            "{\"a\":2,\"b\":4}",
        ),
        (
            vec![("\u{fb33}", 1), ("\u{1f600}", 2), ("\u{fb33}", 3)],
            "{\"\u{1f600}\":2,\"\u{fb33}\":3}",
        ),
    ] {
        assert_eq!(canonical_json(&Pairs(pairs)).unwrap(), expected.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_canonicalizers_agree(value in any_value()) {
        let text = canonical_json(&value).unwrap();
        prop_assert!(agree(&text, &value), "{} against {}", String::from_utf8_lossy(&text), slow_canonical(&value));
    }

    #[test]
    fn the_strict_reader_reads_canonical_text(value in any_value()) {
        let text = canonical_json(&value).unwrap();
        match parse_strict_json(&text) {
            Ok(read) => {
                prop_assert!(!has_unsafe_integer(&value));
                prop_assert_eq!(canonical_json(&read).unwrap(), text);
            }
            Err(error) => {
                prop_assert!(matches!(error, StrictJsonError::UnsafeInteger { .. }), "{}", error);
                prop_assert!(has_unsafe_integer(&value));
            }
        }
    }

    /// What the strict reader takes, `serde_json` takes with the same value (numbers within rounding).
    #[test]
    fn the_strict_reader_takes_nothing_malformed(text in "[\\[\\]{}:,\"\\\\a-fntru0-9eE.+ -]{0,24}") {
        if let Ok(read) = parse_strict_json(text.as_bytes()) {
            let other: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(same_but_rounding(&read, &other), "{} against {}", read, other);
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..64)) {
        if let Err(error) = parse_strict_json(&bytes) {
            prop_assert!(error.offset() <= bytes.len());
        }
    }
}

fn same_but_rounding(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= left.abs() * 1e-15
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same_but_rounding(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((key, left), (other, right))| {
                    key == other && same_but_rounding(left, right)
                })
        }
        _ => left == right,
    }
}

#[test]
fn what_strict_means() {
    let offset = |text: &[u8]| parse_strict_json(text).expect_err("refused").offset();
    let refused: [(&[u8], usize); 22] = [
        (b"", 0),
        (b" ", 1),
        (b"nul", 0),
        (b"{\"a\":1,\"a\":1}", 7),
        (b"{\"a\":1,\"\\u0061\":1}", 7),
        (b"\"\xff\"", 1),
        (b"\xef\xbb\xbf1", 0),
        (b"1 2", 2),
        (b"{} ,", 3),
        (b"01", 1),
        (b"+1", 0),
        (b".5", 0),
        (b"1.", 2),
        (b"1e", 2),
        (b"[1,]", 3),
        (b"{\"a\":1,}", 7),
        (b"{a:1}", 1),
        (b"\"\\x\"", 2),
        (b"\"\n\"", 1),
        (b"9007199254740992", 0),
        (b"1e999", 0),
        (b"[NaN]", 1),
    ];
    for (text, at) in refused {
        assert_eq!(offset(text), at, "{}", String::from_utf8_lossy(text));
    }
    for surrogate in [
        "\"\\ud83d\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ude00\"",
        "\"\\ud83dx\"",
    ] {
        assert_eq!(
            parse_strict_json(surrogate.as_bytes()),
            Err(StrictJsonError::LoneSurrogate { offset: 1 }),
            "{surrogate}"
        );
    }
    assert_eq!(
        parse_strict_json(b"\"\\ud83d\\ude00\""),
        Ok(json!("\u{1f600}"))
    );
    assert_eq!(
        parse_strict_json(b"-9007199254740991"),
        Ok(json!(-9_007_199_254_740_991_i64))
    );
    let deepest = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert!(parse_strict_json(deepest.as_bytes()).is_ok());
    assert_eq!(offset(format!("[{deepest}]").as_bytes()), MAX_DEPTH);
}
