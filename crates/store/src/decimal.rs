//! Whole numbers as decimal text, as everywhere in this project: JSON's own stop at 2^53.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wellwritten_envelope::U64;

pub(crate) fn serialize<T, S>(number: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + TryInto<u64>,
    S: Serializer,
{
    text_of(*number).serialize(serializer)
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    number_of(U64::deserialize(deserializer)?)
}

fn text_of(number: impl TryInto<u64>) -> U64 {
    U64(number.try_into().unwrap_or(u64::MAX))
}

fn number_of<T: TryFrom<u64>, E: Error>(text: U64) -> Result<T, E> {
    T::try_from(text.get()).map_err(|_| E::custom(format_args!("{text} is too large here")))
}

/// The same of a number that may be missing, which is null.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Serialize, Serializer, U64};

    #[expect(clippy::ref_option, reason = "serde asks for this signature")]
    pub(crate) fn serialize<S: Serializer>(
        number: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number.map(U64).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(Option::<U64>::deserialize(deserializer)?.map(U64::get))
    }
}
