//! [`from_json`]: a typed value out of a JSON value, and where in it the first mismatch is.

use std::fmt::{self, Display};

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Number, Value};

use crate::canonical_text;

/// Where and why a JSON value is not of the type wanted. Retrying the same value fails again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonShapeError(Box<Mismatch>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mismatch {
    path: String,
    message: String,
}

impl JsonShapeError {
    /// Where the mismatch is, such as `agents[0].seed`; empty for the value as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What is wrong there.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same mismatch, seen from the value that holds this one under `step`: a name, or `[index]`.
    pub(crate) fn under(mut self, step: &str) -> Self {
        let below = &mut self.0.path;
        if !below.is_empty() && !below.starts_with('[') {
            below.insert(0, '.');
        }
        below.insert_str(0, step);
        self
    }
}

impl Display for JsonShapeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path().is_empty() {
            formatter.write_str(self.path())?;
            formatter.write_str(": ")?;
        }
        formatter.write_str(self.message())
    }
}

impl std::error::Error for JsonShapeError {}

impl serde::de::Error for JsonShapeError {
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Mismatch {
            path: String::new(),
            message: message.to_string(),
        }))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        mismatch("type", unexpected, expected)
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        mismatch("value", unexpected, expected)
    }
}

/// Characters of a text that are quoted where it does not belong: enough to know it by.
const MAX_QUOTED: usize = 64;

/// In `serde_json`'s words, but for values that JSON does not have.
#[cold]
#[inline(never)]
fn mismatch(what: &str, unexpected: Unexpected<'_>, expected: &dyn Expected) -> JsonShapeError {
    let found = match unexpected {
        Unexpected::Unit => "null".to_owned(),
        Unexpected::Bool(value) => format!("boolean `{value}`"),
        Unexpected::Unsigned(value) => format!("integer `{value}`"),
        Unexpected::Signed(value) => format!("integer `{value}`"),
        Unexpected::Float(value) => {
            let number = Number::from_f64(value).map_or(Value::Null, Value::Number);
            format!("floating point `{}`", canonical_text(&number))
        }
        Unexpected::Str(text) => match text.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => format!("string {:?} and more, {} bytes", &text[..end], text.len()),
            None => format!("string {text:?}"),
        },
        Unexpected::Seq => "sequence".to_owned(),
        Unexpected::Map => "map".to_owned(),
        _ => "something else".to_owned(),
    };
    serde::de::Error::custom(format_args!("invalid {what}: {found}, expected {expected}"))
}

/// Reads a `T` out of `value`. A struct is read from an object and nothing else: an array of its fields in
/// order would give one value two spellings.
///
/// Every type is compiled for this one reader, which keeps the module that every visitor downloads small.
///
/// # Errors
/// The first mismatch, with its path.
pub fn from_json<T: DeserializeOwned>(value: Value) -> Result<T, JsonShapeError> {
    T::deserialize(Reader(value))
}

/// A JSON value that is read.
struct Reader(Value);

/// The error of a value of the wrong kind.
#[cold]
#[inline(never)]
pub(crate) fn unexpected(value: &Value, expected: &dyn Expected) -> JsonShapeError {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => {
            if let Some(value) = number.as_u64() {
                Unexpected::Unsigned(value)
            } else if let Some(value) = number.as_i64() {
                Unexpected::Signed(value)
            } else {
                Unexpected::Float(number.as_f64().unwrap_or(f64::NAN))
            }
        }
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    serde::de::Error::invalid_type(found, expected)
}

fn read_number<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, JsonShapeError> {
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}

fn read_list<'de, V: Visitor<'de>>(
    list: Vec<Value>,
    visitor: V,
) -> Result<V::Value, JsonShapeError> {
    let length = list.len();
    let mut elements = Elements {
        left: list.into_iter(),
        index: 0,
    };
    let read = visitor.visit_seq(&mut elements)?;
    elements.require_end(length)?;
    Ok(read)
}

fn read_object<'de, V: Visitor<'de>>(
    object: Map<String, Value>,
    visitor: V,
) -> Result<V::Value, JsonShapeError> {
    visitor.visit_map(Fields {
        left: object.into_iter(),
        field: None,
    })
}

/// Methods that read one kind of JSON value and refuse the others.
macro_rules! reads {
    ($($kind:ident($content:ident) by $read:expr => $($method:ident($($unused:ident: $type:ty),*))*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, $($unused: $type,)* visitor: V) -> Result<V::Value, JsonShapeError> {
            $(let _ = $unused;)*
            match self.0 {
                Value::$kind($content) => $read($content, visitor),
                other => Err(unexpected(&other, &visitor)),
            }
        }
    )*)*};
}

impl<'de> Deserializer<'de> for Reader {
    type Error = JsonShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonShapeError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => read_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(list) => read_list(list, visitor),
            Value::Object(object) => read_object(object, visitor),
        }
    }

    reads! {
        Bool(value) by |value, visitor: V| visitor.visit_bool(value) => deserialize_bool();
        Number(number) by |number, visitor| read_number(&number, visitor) =>
            deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
            deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
            deserialize_f32() deserialize_f64();
        String(text) by |text, visitor: V| visitor.visit_string(text) =>
            deserialize_char() deserialize_str() deserialize_string() deserialize_identifier();
        Array(list) by read_list =>
            deserialize_seq() deserialize_tuple(length: usize)
            deserialize_tuple_struct(name: &'static str, length: usize);
        Object(object) by read_object =>
            deserialize_map() deserialize_struct(name: &'static str, fields: &'static [&'static str]);
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonShapeError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonShapeError> {
        let (variant, content) = match self.0 {
            Value::String(variant) => (variant, None),
            Value::Object(object) if object.len() == 1 => {
                let (variant, content) = object.into_iter().next().expect("it holds one entry");
                (variant, Some(content))
            }
            other => return Err(unexpected(&other, &"a variant's name, or an object of it")),
        };
        visitor.visit_enum(Variant { variant, content })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, JsonShapeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bytes byte_buf unit unit_struct }
}

impl IntoDeserializer<'_, JsonShapeError> for Reader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The elements of a list that are still to be read.
struct Elements {
    left: std::vec::IntoIter<Value>,
    index: usize,
}

impl Elements {
    fn require_end(&self, length: usize) -> Result<(), JsonShapeError> {
        if self.left.len() == 0 {
            return Ok(());
        }
        Err(serde::de::Error::invalid_length(
            length,
            &"fewer elements in array",
        ))
    }
}

impl<'de> SeqAccess<'de> for &mut Elements {
    type Error = JsonShapeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, JsonShapeError> {
        let Some(value) = self.left.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        match seed.deserialize(Reader(value)) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(error.under(&format!("[{index}]"))),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The fields of an object that are still to be read.
struct Fields {
    left: serde_json::map::IntoIter,
    field: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = JsonShapeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, JsonShapeError> {
        let Some((key, value)) = self.left.next() else {
            return Ok(None);
        };
        match seed.deserialize(StrDeserializer::new(&key)) {
            Ok(read) => {
                self.field = Some((key, value));
                Ok(Some(read))
            }
            Err(error) => Err(JsonShapeError::under(error, &key)),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, JsonShapeError> {
        let (key, value) = self
            .field
            .take()
            .expect("a value is asked for after its key");
        seed.deserialize(Reader(value))
            .map_err(|error| error.under(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant of an enum, by name.
struct Variant {
    variant: String,
    content: Option<Value>,
}

/// The content of a variant.
struct Content {
    variant: String,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = JsonShapeError;
    type Variant = Content;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Content), JsonShapeError> {
        let Self { variant, content } = self;
        let read = seed.deserialize(StrDeserializer::new(&variant))?;
        Ok((read, Content { variant, content }))
    }
}

impl Content {
    fn read<T>(
        self,
        read: impl FnOnce(Reader) -> Result<T, JsonShapeError>,
    ) -> Result<T, JsonShapeError> {
        read(Reader(self.content.unwrap_or(Value::Null)))
            .map_err(|error| error.under(&self.variant))
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = JsonShapeError;

    fn unit_variant(self) -> Result<(), JsonShapeError> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(other) => {
                Err(unexpected(&other, &"a variant without content").under(&self.variant))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, JsonShapeError> {
        self.read(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, JsonShapeError> {
        self.read(|reader| reader.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonShapeError> {
        self.read(|reader| reader.deserialize_map(visitor))
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: `serde_json`'s own reader, on values of every shape and on each of them with a part replaced.

    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::to_json;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Newtype(i8);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Variants {
        Unit,
        Newtype(f64),
        Tuple(bool, u64),
        Struct { a: i64, b: Option<u32> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Unit,
        Struct { deep: Vec<Newtype> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        own: String,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Everything {
        nothing: (),
        pair: (i16, char),
        variants: Vec<Variants>,
        tagged: Vec<Tagged>,
        flat: Flat,
        by_name: BTreeMap<String, f32>,
        #[serde(default)]
        perhaps: Option<Newtype>,
    }

    fn everything() -> Value {
        json!({
            "nothing": null,
            "pair": [-3, "p"],
            "variants": [
                "Unit", {"Newtype": 1}, {"Newtype": 0.5}, {"Tuple": [true, u64::MAX]},
                {"Struct": {"a": i64::MIN, "b": null}}, {"Struct": {"a": 1, "b": 2}},
            ],
            "tagged": [{"kind": "Unit"}, {"kind": "Struct", "deep": [1, -2]}],
            "flat": {"own": "x", "more": {"a": [1, null]}},
            "by_name": {"half": 0.5},
            "perhaps": 7,
        })
    }

    /// Every value that differs from `value` in one part.
    fn damaged(value: &Value) -> Vec<Value> {
        let mut all: Vec<Value> = [
            json!(null),
            json!(true),
            json!(3),
            json!(-3),
            json!(1e300),
            json!("text"),
            json!([]),
            json!([1, 2, 3]),
            json!({}),
            json!({"extra": 1}),
        ]
        .into();
        match value {
            Value::Array(list) => {
                for (index, part) in list.iter().enumerate() {
                    for part in damaged(part) {
                        let mut list = list.clone();
                        list[index] = part;
                        all.push(Value::Array(list));
                    }
                }
            }
            Value::Object(object) => {
                for (key, part) in object {
                    let mut without = object.clone();
                    without.remove(key);
                    all.push(Value::Object(without.clone()));
                    without.insert(format!("{key}x"), part.clone());
                    all.push(Value::Object(without));
                    for part in damaged(part) {
                        let mut object = object.clone();
                        object.insert(key.clone(), part);
                        all.push(Value::Object(object));
                    }
                }
            }
            _ => {}
        }
        all
    }

    #[test]
    fn it_reads_and_refuses_what_serde_json_does() {
        let sound = everything();
        let read: Everything = from_json(sound.clone()).unwrap();
        assert_eq!(to_json(&read).unwrap(), {
            let mut sound = sound.clone();
            sound["variants"][1] = json!({"Newtype": 1.0});
            sound
        });
        let (mut accepted, mut refused) = (0, 0);
        for value in damaged(&sound) {
            let expected = serde_json::from_value::<Everything>(value.clone());
            match (from_json::<Everything>(value.clone()), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found, expected, "{value}");
                    accepted += 1;
                }
                (Err(_), Err(_)) => refused += 1,
                (found, expected) => panic!("{value}: {found:?}, but serde_json: {expected:?}"),
            }
        }
        assert!(accepted > 10 && refused > 100, "{accepted} {refused}");
    }

    #[test]
    fn a_mismatch_is_named_by_its_path() {
        let cases = [
            (
                json!([]),
                "",
                "invalid type: sequence, expected struct Everything",
            ),
            (
                json!(null),
                "",
                "invalid type: null, expected struct Everything",
            ),
            (json!({"nothing": null}), "", "missing field `pair`"),
            (
                json!({"pair": [1, 2]}),
                "pair[1]",
                "invalid type: integer `2`, expected a character",
            ),
            (
                json!({"by_name": {"a": "b"}}),
                "by_name.a",
                "invalid type: string \"b\", expected f32",
            ),
            (
                json!({"variants": ["Unit", {"Struct": {"a": "x"}}]}),
                "variants[1].Struct.a",
                "invalid type: string \"x\", expected i64",
            ),
        ];
        for (value, path, message) in cases {
            let error = from_json::<Everything>(value).unwrap_err();
            assert_eq!((error.path(), error.message()), (path, message));
        }
        let error = from_json::<Everything>(json!({"extra": 1})).unwrap_err();
        assert_eq!(error.path(), "extra");
        assert!(
            error
                .to_string()
                .starts_with("extra: unknown field `extra`"),
            "{error}"
        );
    }

    #[test]
    fn a_long_text_where_none_belongs_is_quoted_in_part() {
        let text = "\u{e9}".repeat(100_000);
        let error = from_json::<Vec<u8>>(json!(text)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("and more, 200000 bytes"), "{message}");
        assert!(message.len() < 400, "{}", message.len());
        let short = from_json::<Vec<u8>>(json!("short")).unwrap_err();
        assert!(short.to_string().contains("string \"short\","), "{short}");
    }
}
