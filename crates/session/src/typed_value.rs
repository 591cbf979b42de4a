//! [`TypedValue`]: a bounded JSON object that names its schema.

use crate::plain_number::first_not_plain;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use wellwritten_envelope::{Digest, Id, JsonShapeError, canonical_json, from_json, to_json};

/// Which schema a value follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SchemaRef {
    /// Its name.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub id: Id,
    /// Its version, from 1.
    pub version: u16,
    /// Digest of its definition.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub digest: Digest,
}

impl SchemaRef {
    /// A schema that has no installed definition: name and version are all there is to digest.
    ///
    /// SHA-256 of `fly-session-schema-v1`, the name and the version, a line each, as in the protocol's
    /// published vectors.
    #[must_use]
    pub fn synthetic(id: Id, version: u16) -> Self {
        let material = format!("fly-session-schema-v1\n{id}\n{version}\n");
        let digest = Digest::sha256(material.as_bytes());
        Self {
            id,
            version,
            digest,
        }
    }
}

/// Why a value is no [`TypedValue`]. Nothing is left behind; the same value fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedValueError {
    /// Its canonical JSON is longer than [`TypedValue::MAX_BYTES`].
    #[error(
        "a typed value of {schema} has {byte_length} bytes of canonical JSON, the limit is {limit}"
    )]
    TooLarge {
        /// The schema it claims.
        schema: Id,
        /// Length found, in bytes.
        byte_length: usize,
        /// [`TypedValue::MAX_BYTES`].
        limit: usize,
    },
    /// It has no canonical JSON.
    #[error("a typed value of {schema} has no canonical JSON: {reason}")]
    NotCanonical {
        /// The schema it claims.
        schema: Id,
        /// What the encoder said.
        reason: String,
    },
    /// It holds a number that does not read back from canonical JSON as what it is: one of 2^53 or more, and below 10^21.
    #[error(
        "a typed value of {schema} holds {number}, which JSON writes as an integer beyond 2^53-1; \
         larger counters are written as strings"
    )]
    UnsafeNumber {
        /// The schema it claims.
        schema: Id,
        /// The number.
        number: String,
    },
    /// The schema version is zero.
    #[error("schema {schema} has version 0; versions start at 1")]
    VersionZero {
        /// The schema.
        schema: Id,
    },
}

/// A JSON object that says which schema it follows: decisions, contexts, inspections, ledgers.
///
/// The canonical JSON of the whole (`{"schema":..,"value":..}`) is at most 32 KiB. Its digest is computed
/// when it is made.
#[derive(Clone, Debug, Serialize)]
pub struct TypedValue {
    schema: SchemaRef,
    value: Map<String, Value>,
    #[serde(skip)]
    digest: Digest,
}

impl TypedValue {
    /// Longest canonical JSON of a typed value, in bytes.
    pub const MAX_BYTES: usize = 32_768;

    /// Checks the bound and seals the value.
    pub fn new(schema: SchemaRef, value: Map<String, Value>) -> Result<Self, TypedValueError> {
        if schema.version == 0 {
            return Err(TypedValueError::VersionZero { schema: schema.id });
        }
        if let Some(number) = value.values().find_map(first_not_plain) {
            return Err(TypedValueError::UnsafeNumber {
                schema: schema.id,
                number: ryu_js::Buffer::new().format(number).to_owned(),
            });
        }
        let mut typed = Self {
            schema,
            value,
            digest: Digest::from_bytes([0; Digest::BYTES]),
        };
        let bytes = canonical_json(&typed).map_err(|error| TypedValueError::NotCanonical {
            schema: typed.schema.id.clone(),
            reason: error.to_string(),
        })?;
        if bytes.len() > Self::MAX_BYTES {
            return Err(TypedValueError::TooLarge {
                schema: typed.schema.id,
                byte_length: bytes.len(),
                limit: Self::MAX_BYTES,
            });
        }
        typed.digest = Digest::blake3(&bytes);
        Ok(typed)
    }

    /// Makes a value out of anything that serializes to a JSON object.
    pub fn from_serialize<T: Serialize>(
        schema: SchemaRef,
        value: &T,
    ) -> Result<Self, TypedValueError> {
        match to_json(value) {
            Ok(Value::Object(object)) => Self::new(schema, object),
            Ok(_) => Err(TypedValueError::NotCanonical {
                schema: schema.id,
                reason: "the value is not an object".to_owned(),
            }),
            Err(error) => Err(TypedValueError::NotCanonical {
                schema: schema.id,
                reason: error.to_string(),
            }),
        }
    }

    /// Reads the value as a Rust type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, JsonShapeError> {
        from_json(Value::Object(self.value.clone()))
    }

    /// The schema it follows.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The object itself.
    #[must_use]
    pub const fn value(&self) -> &Map<String, Value> {
        &self.value
    }

    /// BLAKE3 of the canonical JSON of the whole, schema included.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

/// Equal canonical JSON: `-0`, `0` and `0.0` are one number, so a request that is written anew is the same request.
impl PartialEq for TypedValue {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl<'de> Deserialize<'de> for TypedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            schema: SchemaRef,
            value: Map<String, Value>,
        }
        let parts = Parts::deserialize(deserializer)?;
        Self::new(parts.schema, parts.value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> SchemaRef {
        SchemaRef::synthetic(Id::parse("arena.decision.v1").unwrap(), 1)
    }

    #[test]
    fn the_published_synthetic_schema_digest() {
        assert_eq!(
            schema().digest.to_string(),
            "95cad684e5ab8699c5ce63610ce7fe94fa10ca5c89b907f67e10ff6c739d7651"
        );
    }

    #[test]
    fn spellings_of_one_number_are_one_value_and_numbers_differ() {
        let spelled = |text: &str| {
            let value: Map<String, Value> = serde_json::from_str(text).unwrap();
            TypedValue::new(schema(), value).unwrap()
        };
        for other in ["{\"a\":0}", "{\"a\":0.0}", "{\"a\":0e1}"] {
            assert_eq!(spelled("{\"a\":-0.0}"), spelled(other));
        }
        assert_ne!(spelled("{\"a\":0}"), spelled("{\"a\":1}"));
    }

    #[test]
    fn the_bound_is_on_the_whole_value() {
        let sized = |characters: usize| {
            let mut object = Map::new();
            object.insert("t".to_owned(), Value::String("x".repeat(characters)));
            TypedValue::new(schema(), object)
        };
        let overhead = canonical_json(&sized(0).unwrap()).unwrap().len();
        assert!(sized(TypedValue::MAX_BYTES - overhead).is_ok());
        assert!(matches!(
            sized(TypedValue::MAX_BYTES - overhead + 1),
            Err(TypedValueError::TooLarge {
                byte_length: 32_769,
                ..
            })
        ));
    }

    #[test]
    fn a_round_trip_keeps_the_digest_and_unknown_fields_are_refused() {
        let mut object = Map::new();
        object.insert("n".to_owned(), Value::from(7));
        let value = TypedValue::new(schema(), object).unwrap();
        let text = serde_json::to_string(&value).unwrap();
        let read: TypedValue = serde_json::from_str(&text).unwrap();
        assert_eq!(read.digest(), value.digest());
        assert!(
            serde_json::from_str::<TypedValue>(&text.replacen('{', "{\"extra\":1,", 1)).is_err()
        );
    }
}
