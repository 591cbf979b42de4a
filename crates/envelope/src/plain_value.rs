//! [`PlainValue`]: what a value says of itself through `Serialize`, once, for every format.
//!
//! Each type's `Serialize` is compiled for this one serializer, not once for every format there is: canonical
//! JSON, `serde_json` values and whatever a front end wants are all made from the plain value. That keeps the
//! module that every visitor downloads small.

use std::borrow::Cow;
use std::fmt::Display;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value};

use crate::plain_serializer::PlainSerializer;

/// A value in plain parts. Numbers keep the width they were declared with, since some formats spell 64-bit
/// counters in their own way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlainValue {
    /// Nothing: `None`, `()` and unit structs.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of at most 32 bits.
    Small(i64),
    /// A signed integer of 64 bits.
    Signed(i64),
    /// An unsigned integer of 64 bits.
    Unsigned(u64),
    /// A double, finite or not.
    Float(f64),
    /// Text.
    Text(Cow<'static, str>),
    /// A list.
    List(Vec<PlainValue>),
    /// Names and values in the order they were given.
    Object(Vec<(Cow<'static, str>, PlainValue)>),
}

/// Why a value has no plain or JSON form. Retrying the same value fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlainError {
    /// Its own `Serialize` refused.
    #[error("{message}")]
    Refused {
        /// What it said.
        message: Box<str>,
    },
    /// A key that is neither text nor an integer.
    #[error("a key is neither text nor an integer")]
    Key,
    /// A number that JSON cannot write.
    #[error("{number} is no JSON number")]
    NotFinite {
        /// The number: not finite.
        number: &'static str,
    },
}

impl serde::ser::Error for PlainError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Refused {
            message: message.to_string().into(),
        }
    }
}

impl PlainValue {
    /// What `value` says of itself.
    ///
    /// # Errors
    /// Its `Serialize` refused, or a map has keys that are neither text nor integers.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, PlainError> {
        value.serialize(PlainSerializer)
    }

    /// The same as a `serde_json` value.
    ///
    /// # Errors
    /// [`PlainError::NotFinite`].
    pub fn into_json(self) -> Result<Value, PlainError> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Small(value) | Self::Signed(value) => Value::Number(value.into()),
            Self::Unsigned(value) => Value::Number(value.into()),
            Self::Float(value) => Value::Number(finite(value)?),
            Self::Text(text) => Value::String(text.into_owned()),
            Self::List(list) => {
                let mut values = Vec::with_capacity(list.len());
                for value in list {
                    values.push(value.into_json()?);
                }
                Value::Array(values)
            }
            Self::Object(fields) => {
                let mut object = Map::new();
                for (key, value) in fields {
                    object.insert(key.into_owned(), value.into_json()?);
                }
                Value::Object(object)
            }
        })
    }
}

impl Serialize for PlainValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Small(value) | Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Self::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    object.serialize_entry(key, value)?;
                }
                object.end()
            }
        }
    }
}

/// `value` as a `serde_json` value.
///
/// # Errors
/// As [`PlainValue::of`] and [`PlainValue::into_json`].
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Value, PlainError> {
    PlainValue::of(value)?.into_json()
}

pub(crate) fn finite(value: f64) -> Result<Number, PlainError> {
    Number::from_f64(value).ok_or(PlainError::NotFinite {
        number: if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    //! Oracle: `serde_json`'s own serializer, on a value with every shape serde knows.

    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Newtype(u8);

    #[derive(Serialize)]
    struct Pair(i16, char);

    #[derive(Serialize)]
    enum Variants {
        Unit,
        Newtype(f64),
        Tuple(bool, u64),
        Struct { a: i64, b: Option<u32> },
    }

    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Struct { deep: Vec<Newtype> },
        Newtype(Flat),
    }

    #[derive(Serialize)]
    struct Flat {
        own: &'static str,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
    }

    #[derive(Serialize)]
    pub(crate) struct Everything {
        unit: Unit,
        nothing: (),
        pair: Pair,
        variants: Vec<Variants>,
        tagged: Vec<Tagged>,
        by_number: BTreeMap<u32, i8>,
        by_name: BTreeMap<String, f32>,
        bytes: [u8; 3],
        texts: (String, char),
    }

    fn flat() -> Flat {
        let rest = serde_json::json!({"n": 7, "m": -7, "x": 1.5, "deep": {"a": [null, true]}});
        Flat {
            own: "own",
            rest: serde_json::from_value(rest).unwrap(),
            absent: None,
        }
    }

    /// A value with every shape serde knows.
    pub(crate) fn everything() -> Everything {
        Everything {
            unit: Unit,
            nothing: (),
            pair: Pair(-3, 'p'),
            variants: vec![
                Variants::Unit,
                Variants::Newtype(0.5),
                Variants::Tuple(true, u64::MAX),
                Variants::Struct {
                    a: i64::MIN,
                    b: None,
                },
            ],
            tagged: vec![
                Tagged::Struct {
                    deep: vec![Newtype(9)],
                },
                Tagged::Newtype(flat()),
            ],
            by_number: [(1, -1), (10, 2)].into(),
            by_name: [("half".to_owned(), 0.5)].into(),
            bytes: [1, 2, 3],
            texts: ("\u{e9}\"".to_owned(), '\u{1f41d}'),
        }
    }

    #[test]
    fn every_shape_is_spelled_as_serde_json_spells_it() {
        let value = everything();
        assert_eq!(
            to_json(&value).unwrap(),
            serde_json::to_value(&value).unwrap()
        );
    }

    #[test]
    fn what_json_cannot_say_is_refused_by_name() {
        for (number, name) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let refused = PlainError::NotFinite { number: name };
            assert_eq!(to_json(&vec![number]).unwrap_err(), refused);
        }
        let keys = BTreeMap::from([(vec![1_u8], 1)]);
        assert_eq!(to_json(&keys).unwrap_err(), PlainError::Key);
    }

    #[test]
    fn integers_keep_their_width() {
        let widths = (1_u32, 1_i64, 1_u64, 1.0_f64);
        let expected = PlainValue::List(vec![
            PlainValue::Small(1),
            PlainValue::Signed(1),
            PlainValue::Unsigned(1),
            PlainValue::Float(1.0),
        ]);
        assert_eq!(PlainValue::of(&widths).unwrap(), expected);
    }
}
