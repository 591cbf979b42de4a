//! The variants that the reader of an enum knows, as it says itself.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

/// The names of all variants of `T`; none where `T` is no enum.
pub(super) fn variants_of<T: DeserializeOwned>() -> Vec<String> {
    let mut names = Vec::new();
    let _ = T::deserialize(Asked(&mut names));
    names
}

/// Writes down what it is asked for, and answers nothing.
struct Asked<'a>(&'a mut Vec<String>);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is nothing to read"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        self.0
            .extend(variants.iter().map(|&variant| variant.to_owned()));
        Err(Error::custom("there is nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
