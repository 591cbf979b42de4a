//! The oracle of canonical writing: a whole tree first, then its text, with keys sorted by their UTF-16 units.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::canonical_writer::CanonicalWriter;
use crate::plain_value::tests::everything;
use crate::{MAX_SAFE_INTEGER, PlainError, PlainValue};

fn slow<T: Serialize + ?Sized>(value: &T) -> Result<String, PlainError> {
    spell(&PlainValue::of(value)?)
}

fn spell(value: &PlainValue) -> Result<String, PlainError> {
    Ok(match value {
        PlainValue::Null => "null".to_owned(),
        PlainValue::Bool(value) => value.to_string(),
        PlainValue::Small(value) | PlainValue::Signed(value) => {
            whole(*value, value.unsigned_abs(), &Number::from(*value))
        }
        PlainValue::Unsigned(value) => whole(*value, *value, &Number::from(*value)),
        PlainValue::Float(value) => {
            crate::plain_value::finite(*value)?;
            ryu_js::Buffer::new().format(*value).to_owned()
        }
        PlainValue::Text(text) => quoted(text),
        PlainValue::List(values) => {
            let values: Result<Vec<String>, _> = values.iter().map(spell).collect();
            format!("[{}]", values?.join(","))
        }
        PlainValue::Object(fields) => {
            let fields: HashMap<&str, &PlainValue> =
                fields.iter().map(|(key, value)| (&**key, value)).collect();
            let fields: BTreeMap<Vec<u16>, (&str, &PlainValue)> = fields
                .into_iter()
                .map(|(key, value)| (key.encode_utf16().collect(), (key, value)))
                .collect();
            let fields: Result<Vec<String>, PlainError> = fields
                .into_values()
                .map(|(key, value)| Ok(format!("{}:{}", quoted(key), spell(value)?)))
                .collect();
            format!("{{{}}}", fields?.join(","))
        }
    })
}

fn whole(digits: impl Display, magnitude: u64, number: &Number) -> String {
    if magnitude <= MAX_SAFE_INTEGER {
        digits.to_string()
    } else {
        let double = number.as_f64().unwrap();
        ryu_js::Buffer::new().format(double).to_owned()
    }
}

/// `serde_json` spells strings as RFC 8785 does.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn is_spelled_alike<T: Serialize + ?Sized>(value: &T) -> Result<String, PlainError> {
    let written = CanonicalWriter::text_of(value);
    assert_eq!(written, slow(value));
    written
}

#[test]
fn every_shape_is_spelled_alike() {
    let text = is_spelled_alike(&everything()).unwrap();
    assert!(text.len() > 300, "{text}");
    let nested = [everything(), everything()];
    is_spelled_alike(&nested).unwrap();
}

#[test]
fn the_oracle_is_the_peer_where_both_can_read() {
    let text = is_spelled_alike(&everything()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap(), text);
}

#[test]
fn keys_of_every_kind() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Key {
        Unit,
        Newtype(u8),
    }
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Wrapped(Option<u64>);
    let ok = is_spelled_alike(&BTreeMap::from([
        (Wrapped(Some(u64::MAX)), 1),
        (Wrapped(Some(9)), 2),
    ]));
    assert_eq!(ok.unwrap(), format!("{{\"{}\":1,\"9\":2}}", u64::MAX));
    is_spelled_alike(&BTreeMap::from([(i64::MIN, 1), (-9, 2), (10, 3), (9, 4)])).unwrap();
    is_spelled_alike(&BTreeMap::from([
        ('\u{10000}', 1),
        ('\u{ffff}', 2),
        ('"', 3),
    ]))
    .unwrap();
    is_spelled_alike(&BTreeMap::from([(Key::Unit, 1)])).unwrap();
    assert_eq!(
        is_spelled_alike(&BTreeMap::from([(Key::Newtype(1), 1)])),
        Err(PlainError::Key)
    );
    assert_eq!(
        is_spelled_alike(&BTreeMap::from([(Wrapped(None), 1)])),
        Err(PlainError::Key)
    );
    assert_eq!(
        is_spelled_alike(&BTreeMap::from([(true, 1)])),
        Err(PlainError::Key)
    );
    assert_eq!(
        is_spelled_alike(&BTreeMap::from([(vec![1], 1)])),
        Err(PlainError::Key)
    );
    let many: BTreeMap<u32, u32> = (0..300).map(|key| (key, key % 7)).collect();
    is_spelled_alike(&many).unwrap();
}

/// Refuses itself in a place where nothing of it may be left.
struct Refuses;

impl Serialize for Refuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("b", &1)?;
        map.serialize_entry("a", &[f64::NAN])?;
        Err(S::Error::custom("refused"))
    }
}

/// Goes on after what was refused, gives keys without values and values without keys.
struct Careless;

impl Serialize for Careless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        assert!(map.serialize_value(&1).is_err());
        assert!(map.serialize_key(&Refuses).is_err());
        assert!(map.serialize_key(&1.5).is_err());
        map.serialize_key("dropped")?;
        map.serialize_key("kept")?;
        map.serialize_value(&CarelessList)?;
        assert!(map.serialize_entry("refused", &Refuses).is_err());
        assert!(map.serialize_value(&1).is_err());
        map.serialize_entry("another", &[(), ()])?;
        map.serialize_entry("kept", &2)?;
        map.serialize_key("last")?;
        map.end()
    }
}

struct CarelessList;

impl Serialize for CarelessList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        assert!(list.serialize_element(&Refuses).is_err());
        list.serialize_element(&1)?;
        assert!(list.serialize_element(&Refuses).is_err());
        list.serialize_element(&[2, 3])?;
        list.end()
    }
}

#[test]
fn what_was_refused_leaves_nothing() {
    let text = is_spelled_alike(&(CarelessList, Careless, Some(Careless)));
    let careless = r#"{"another":[null,null],"kept":2}"#;
    assert_eq!(text.unwrap(), format!("[[1,[2,3]],{careless},{careless}]"));
    let refused = is_spelled_alike(&("before", Refuses, 1));
    assert!(matches!(refused, Err(PlainError::Refused { .. })));
}

#[test]
fn text_in_pieces_is_quoted_as_a_whole() {
    struct Pieces;
    impl Serialize for Pieces {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{}\"{:?}\\{}", 1, "a\n\u{1}", 'x'))
        }
    }
    is_spelled_alike(&Pieces).unwrap();
    is_spelled_alike(&[Pieces, Pieces]).unwrap();
}

#[test]
fn of_what_json_cannot_say_the_first_in_canonical_order_is_named() {
    let object = |fields: &[(&'static str, f64)]| {
        let field =
            |&(key, value): &(&'static str, f64)| (Cow::from(key), PlainValue::Float(value));
        PlainValue::Object(fields.iter().map(field).collect())
    };
    let late = object(&[
        ("z", f64::INFINITY),
        ("a", f64::NEG_INFINITY),
        ("b", f64::NAN),
    ]);
    let number = "-Infinity";
    assert_eq!(
        is_spelled_alike(&late),
        Err(PlainError::NotFinite { number })
    );
    let replaced = object(&[("a", f64::NAN), ("a", 1.0)]);
    assert_eq!(is_spelled_alike(&replaced).unwrap(), r#"{"a":1}"#);
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{0,2}",
        "[a\"\\\\\t\n\u{0}\u{1f}!\\[\u{e000}\u{ffff}\u{10000}\u{e9}]{0,3}",
        any::<String>(),
    ]
}

fn plain() -> impl Strategy<Value = PlainValue> {
    let number = prop_oneof![
        20 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
        5 => Just(-0.0),
    ];
    let leaf = prop_oneof![
        Just(PlainValue::Null),
        any::<bool>().prop_map(PlainValue::Bool),
        any::<i32>().prop_map(|value| PlainValue::Small(value.into())),
        any::<i64>().prop_map(PlainValue::Signed),
        any::<u64>().prop_map(PlainValue::Unsigned),
        number.prop_map(PlainValue::Float),
        keys().prop_map(|text| PlainValue::Text(Cow::Owned(text))),
    ];
    leaf.prop_recursive(4, 80, 24, |inner| {
        let fields = vec((keys().prop_map(Cow::Owned), inner.clone()), 0..24);
        prop_oneof![
            vec(inner, 0..6).prop_map(PlainValue::List),
            fields.prop_map(PlainValue::Object),
        ]
    })
}

proptest! {
    /// Replay: proptest prints the seed and the smallest case that fails.
    #[test]
    fn any_value_is_spelled_alike(value in plain()) {
        prop_assert_eq!(CanonicalWriter::text_of(&value), slow(&value));
    }
}

#[test]
fn the_oracle_notices_another_order() {
    let fields = [("b", 1), ("a", 2)];
    let fields = fields.map(|(key, value)| (Cow::from(key), PlainValue::Small(value)));
    let text = slow(&PlainValue::Object(fields.into())).unwrap();
    assert_ne!(text, r#"{"b":1,"a":2}"#);
    assert_eq!(text, r#"{"a":2,"b":1}"#);
}
