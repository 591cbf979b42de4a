//! The serializer behind [`PlainValue::of`].

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::plain_value::{PlainError, PlainValue};

type Outcome = Result<PlainValue, PlainError>;
type Key = Cow<'static, str>;

/// Makes a [`PlainValue`].
pub(crate) struct PlainSerializer;

/// A list under construction, inside the variant that holds it.
pub(crate) struct PlainList {
    variant: Option<&'static str>,
    values: Vec<PlainValue>,
}

/// An object under construction, inside the variant that holds it.
pub(crate) struct PlainObject {
    variant: Option<&'static str>,
    fields: Vec<(Key, PlainValue)>,
    key: Option<Key>,
}

fn list(variant: Option<&'static str>, length: usize) -> PlainList {
    PlainList {
        variant,
        values: Vec::with_capacity(length),
    }
}

fn object(variant: Option<&'static str>, length: usize) -> PlainObject {
    PlainObject {
        variant,
        fields: Vec::with_capacity(length),
        key: None,
    }
}

fn in_variant(variant: Option<&'static str>, value: PlainValue) -> PlainValue {
    match variant {
        Some(variant) => PlainValue::Object(vec![(Cow::Borrowed(variant), value)]),
        None => value,
    }
}

fn key_of(value: PlainValue) -> Result<Key, PlainError> {
    match value {
        PlainValue::Text(text) => Ok(text),
        PlainValue::Small(key) | PlainValue::Signed(key) => Ok(Cow::Owned(key.to_string())),
        PlainValue::Unsigned(key) => Ok(Cow::Owned(key.to_string())),
        _ => Err(PlainError::Key),
    }
}

impl PlainList {
    fn push(&mut self, value: PlainValue) {
        self.values.push(value);
    }

    fn finish(self) -> PlainValue {
        in_variant(self.variant, PlainValue::List(self.values))
    }
}

impl PlainObject {
    fn push(&mut self, key: Key, value: PlainValue) {
        self.fields.push((key, value));
    }

    fn finish(self) -> PlainValue {
        in_variant(self.variant, PlainValue::Object(self.fields))
    }
}

impl Serializer for PlainSerializer {
    type Ok = PlainValue;
    type Error = PlainError;
    type SerializeSeq = PlainList;
    type SerializeTuple = PlainList;
    type SerializeTupleStruct = PlainList;
    type SerializeTupleVariant = PlainList;
    type SerializeMap = PlainObject;
    type SerializeStruct = PlainObject;
    type SerializeStructVariant = PlainObject;

    fn serialize_bool(self, value: bool) -> Outcome {
        Ok(PlainValue::Bool(value))
    }

    fn serialize_i8(self, value: i8) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_i16(self, value: i16) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_i32(self, value: i32) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_i64(self, value: i64) -> Outcome {
        Ok(PlainValue::Signed(value))
    }

    fn serialize_u8(self, value: u8) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_u16(self, value: u16) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_u32(self, value: u32) -> Outcome {
        Ok(PlainValue::Small(value.into()))
    }

    fn serialize_u64(self, value: u64) -> Outcome {
        Ok(PlainValue::Unsigned(value))
    }

    fn serialize_f32(self, value: f32) -> Outcome {
        Ok(PlainValue::Float(value.into()))
    }

    fn serialize_f64(self, value: f64) -> Outcome {
        Ok(PlainValue::Float(value))
    }

    fn serialize_char(self, value: char) -> Outcome {
        Ok(PlainValue::Text(Cow::Owned(value.to_string())))
    }

    fn serialize_str(self, value: &str) -> Outcome {
        Ok(PlainValue::Text(Cow::Owned(value.to_owned())))
    }

    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        let bytes = value.iter().map(|byte| PlainValue::Small((*byte).into()));
        Ok(PlainValue::List(bytes.collect()))
    }

    fn serialize_none(self) -> Outcome {
        Ok(PlainValue::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Outcome {
        Ok(PlainValue::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Outcome {
        Ok(PlainValue::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Outcome {
        Ok(PlainValue::Text(Cow::Borrowed(variant)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Outcome {
        Ok(in_variant(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<PlainList, PlainError> {
        Ok(list(None, length.unwrap_or(0)))
    }

    fn serialize_tuple(self, length: usize) -> Result<PlainList, PlainError> {
        Ok(list(None, length))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        length: usize,
    ) -> Result<PlainList, PlainError> {
        Ok(list(None, length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<PlainList, PlainError> {
        Ok(list(Some(variant), length))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<PlainObject, PlainError> {
        Ok(object(None, length.unwrap_or(0)))
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        length: usize,
    ) -> Result<PlainObject, PlainError> {
        Ok(object(None, length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<PlainObject, PlainError> {
        Ok(object(Some(variant), length))
    }
}

/// Every kind of list takes its elements alike.
macro_rules! takes_elements {
    ($($kind:ident::$method:ident),*) => {$(
        impl $kind for PlainList {
            type Ok = PlainValue;
            type Error = PlainError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), PlainError> {
                self.push(value.serialize(PlainSerializer)?);
                Ok(())
            }

            fn end(self) -> Outcome {
                Ok(self.finish())
            }
        }
    )*};
}

takes_elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// Structs and struct variants take their fields alike.
macro_rules! takes_fields {
    ($($kind:ident),*) => {$(
        impl $kind for PlainObject {
            type Ok = PlainValue;
            type Error = PlainError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), PlainError> {
                self.push(Cow::Borrowed(key), value.serialize(PlainSerializer)?);
                Ok(())
            }

            fn end(self) -> Outcome {
                Ok(self.finish())
            }
        }
    )*};
}

takes_fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for PlainObject {
    type Ok = PlainValue;
    type Error = PlainError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), PlainError> {
        self.key = Some(key_of(key.serialize(PlainSerializer)?)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), PlainError> {
        let key = self.key.take().ok_or(PlainError::Key)?;
        self.push(key, value.serialize(PlainSerializer)?);
        Ok(())
    }

    fn end(self) -> Outcome {
        Ok(self.finish())
    }
}
