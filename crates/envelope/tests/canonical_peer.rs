//! Oracle: canonical JSON is what an independent, widely used implementation of RFC 8785 writes, for any
//! value; above all for numbers, whose spelling is the hard part. Replay: proptest prints the failing value
//! and keeps its seed.

use proptest::prelude::*;
use serde_json::{Value, json};
use wellwritten_envelope::canonical_json;

fn peer(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("the peer writes it")
}

fn ours(value: &Value) -> Vec<u8> {
    canonical_json(value).expect("we write it")
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(|bits| json!(f64::from_bits(bits))),
        any::<f64>().prop_map(|number| json!(number)),
        (-400..400_i32, any::<i64>()).prop_map(|(exponent, mantissa)| {
            json!(
                format!("{mantissa}e{exponent}")
                    .parse::<f64>()
                    .unwrap_or(0.0)
            )
        }),
        (-(1_i64 << 53)..(1_i64 << 53)).prop_map(|number| json!(number)),
        any::<i32>().prop_map(|number| json!(f64::from(number) / 256.0)),
    ]
    // Not a number in JSON: serde_json makes null of it, and both write null.
    .prop_map(|value| if value.is_null() { json!(0) } else { value })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers(),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn cases(quick: u32) -> ProptestConfig {
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    ProptestConfig::with_cases(if long { quick * 100 } else { quick })
}

proptest! {
    #![proptest_config(cases(20_000))]
    #[test]
    fn every_number_is_spelled_alike(number in numbers()) {
        prop_assert_eq!(ours(&number), peer(&number));
    }
}

proptest! {
    #![proptest_config(cases(1_000))]
    #[test]
    fn every_value_is_written_alike(value in values()) {
        prop_assert_eq!(ours(&value), peer(&value));
    }
}

#[test]
fn the_numbers_on_the_borders_are_spelled_alike() {
    for number in [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.225_073_858_507_201e-308,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        1e21,
        1e20,
        999_999_999_999_999_900_000.0,
        9_007_199_254_740_992.0,
        9_007_199_254_740_993.0,
        1e-6,
        1e-7,
        0.000_001_234,
        4.35,
        333_333_333.333_333_3,
        // Two shortest spellings are equally near: the even one is right.
        1_126_356_071_588_773.0 + 0.25,
    ] {
        assert_eq!(ours(&json!(number)), peer(&json!(number)), "{number:e}");
    }
}

#[test]
fn canary_another_spelling_is_noticed() {
    assert_ne!(ours(&json!(1e21)), b"1000000000000000000000");
    assert_eq!(ours(&json!(1e21)), b"1e+21");
    assert_ne!(ours(&json!({"b": 1, "a": 2})), br#"{"b":1,"a":2}"#);
}
