//! Names that are a prefix and a number: `req-7`, `call-7`, `art-7`.

use wellwritten_envelope::U64;

/// The number in `text` after `prefix`; none where it is not written the one way a number is written.
pub(crate) fn number_after(prefix: &str, text: &str) -> Option<u64> {
    text.strip_prefix(prefix)?
        .parse::<U64>()
        .ok()
        .map(|it| it.0)
}

/// Serializes a one-number type as its `Display`, and reads it back from exactly that.
macro_rules! numbered_id {
    ($type:ident, $prefix:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $crate::wire::number_after($prefix, &text)
                    .map(Self)
                    .ok_or_else(|| {
                        serde::de::Error::custom(format_args!(
                            "{text:?} is not {} and a number",
                            $prefix
                        ))
                    })
            }
        }
    };
}

pub(crate) use numbered_id;
