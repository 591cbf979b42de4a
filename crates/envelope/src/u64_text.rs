//! [`U64`]: a 64-bit counter that crosses JSON as a decimal string.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_spelling::decimal;

/// A counter, clock part or byte length in `0..=18446744073709551615`.
///
/// In JSON it is a *string*: `"0"`, or digits with no leading zero, because a JSON number loses
/// integers beyond 2^53-1 in most readers. Every value has exactly one spelling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct U64(pub u64);

/// Why a text is not a [`U64`]. Retrying the same text fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum U64Error {
    /// No characters, or one that is not an ASCII digit (a sign included).
    #[error("a 64-bit counter is written as decimal digits only, found {found:?}")]
    NotDecimal {
        /// The refused text, cut to 32 characters.
        found: String,
    },
    /// More than one digit, the first of them zero.
    #[error("a 64-bit counter has no leading zero, found {found:?}")]
    LeadingZero {
        /// The refused text, cut to 32 characters.
        found: String,
    },
    /// The value is above 18446744073709551615.
    #[error("a 64-bit counter is at most 18446744073709551615, found {found:?}")]
    TooLarge {
        /// The refused text, cut to 32 characters.
        found: String,
    },
}

impl U64 {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Reads the canonical decimal spelling.
    pub fn parse(text: &str) -> Result<Self, U64Error> {
        let found = || text.chars().take(32).collect::<String>();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(U64Error::NotDecimal { found: found() });
        }
        if text.len() > 1 && text.starts_with('0') {
            return Err(U64Error::LeadingZero { found: found() });
        }
        text.parse()
            .map(Self)
            .map_err(|_| U64Error::TooLarge { found: found() })
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, or `None` where it does not fit.
    #[must_use]
    pub const fn checked_add(self, other: u64) -> Option<Self> {
        match self.0.checked_add(other) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl From<u64> for U64 {
    fn from(value: u64) -> Self {
        Self(value)
    }
}

impl From<U64> for u64 {
    fn from(value: U64) -> Self {
        value.0
    }
}

impl fmt::Display for U64 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for U64 {
    type Err = U64Error;

    fn from_str(text: &str) -> Result<Self, U64Error> {
        Self::parse(text)
    }
}

impl Serialize for U64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(decimal(self.0, &mut [0; 20]))
    }
}

impl<'de> Deserialize<'de> for U64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_is_read() {
        assert_eq!(U64::parse("0"), Ok(U64(0)));
        assert_eq!(U64::parse("18446744073709551615"), Ok(U64(u64::MAX)));
        for refused in [
            "", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "٣",
        ] {
            assert!(U64::parse(refused).is_err(), "{refused:?}");
        }
        assert!(matches!(
            U64::parse("18446744073709551616"),
            Err(U64Error::TooLarge { .. })
        ));
    }

    #[test]
    fn serde_is_a_string() {
        assert_eq!(
            serde_json::to_string(&U64(u64::MAX)).unwrap(),
            "\"18446744073709551615\""
        );
        assert!(serde_json::from_str::<U64>("7").is_err());
        assert_eq!(serde_json::from_str::<U64>("\"7\"").unwrap(), U64(7));
    }
}
