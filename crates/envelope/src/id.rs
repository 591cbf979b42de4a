//! [`Id`]: the one spelling of a name.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name matching `^[a-z0-9][a-z0-9._-]{0,63}$`: sessions, epochs, agents, checkpoints, payloads.
///
/// The spelling is closed so that an id is also a legal payload name, file stem and JSON key without
/// escaping. Nothing is normalised: a name that does not match is refused. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Arc<str>);

/// Why a text is not an [`Id`]. Nothing is left behind; retrying the same text fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text has no characters.
    #[error("an id has 1 to 64 characters, this one is empty")]
    Empty,
    /// The text is longer than [`Id::MAX_BYTES`].
    #[error("an id has 1 to 64 characters, this one has {length_bytes} bytes")]
    TooLong {
        /// Length of the refused text, in bytes.
        length_bytes: usize,
    },
    /// A character outside the alphabet, or one that may not come first.
    #[error(
        "an id is a-z, 0-9, '.', '_' or '-' and starts with a letter or digit; found {found:?} at byte {offset}"
    )]
    IllegalCharacter {
        /// Byte offset of the character in the text.
        offset: usize,
        /// The character found there.
        found: char,
    },
}

impl Id {
    /// Longest id, in bytes (and characters: the alphabet is ASCII).
    pub const MAX_BYTES: usize = 64;

    /// Reads an id. The text must already be in the one legal spelling.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(IdError::TooLong {
                length_bytes: text.len(),
            });
        }
        let illegal = text.char_indices().find(|&(offset, character)| {
            let plain = character.is_ascii_lowercase() || character.is_ascii_digit();
            !(plain || offset > 0 && matches!(character, '.' | '_' | '-'))
        });
        match illegal {
            Some((offset, found)) => Err(IdError::IllegalCharacter { offset, found }),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// The text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Id({})", self.0)
    }
}

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl TryFrom<&str> for Id {
    type Error = IdError;

    fn try_from(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl AsRef<str> for Id {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

// Sound: `Ord` and `Hash` of `Arc<str>` are those of `str`.
impl Borrow<str> for Id {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_closed_and_the_first_character_is_plain() {
        for byte in 0..=127_u8 {
            let character = char::from(byte);
            let plain = "abcdefghijklmnopqrstuvwxyz0123456789".contains(character);
            let inner = plain || "._-".contains(character);
            assert_eq!(
                Id::parse(&character.to_string()).is_ok(),
                plain,
                "{character:?} first"
            );
            assert_eq!(
                Id::parse(&format!("a{character}")).is_ok(),
                inner,
                "{character:?} inside"
            );
        }
        assert_eq!(
            Id::parse("fly-ä"),
            Err(IdError::IllegalCharacter {
                offset: 4,
                found: 'ä'
            })
        );
    }

    #[test]
    fn the_length_is_1_to_64() {
        assert_eq!(Id::parse(""), Err(IdError::Empty));
        assert!(Id::parse(&"a".repeat(64)).is_ok());
        assert_eq!(
            Id::parse(&"a".repeat(65)),
            Err(IdError::TooLong { length_bytes: 65 })
        );
    }

    #[test]
    fn serde_validates() {
        assert_eq!(
            serde_json::to_string(&Id::parse("fly-a").unwrap()).unwrap(),
            "\"fly-a\""
        );
        assert!(serde_json::from_str::<Id>("\"Fly-A\"").is_err());
        assert!(serde_json::from_str::<Id>("7").is_err());
    }
}
