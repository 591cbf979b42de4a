//! [`Digest`]: 32 bytes that identify content, and the two functions that make them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

/// A 32-byte digest; 64 lowercase hexadecimal characters in JSON and in text.
///
/// It does not remember which function made it: the envelope's version does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The functions that make a [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DigestAlgorithm {
    /// SHA-256: envelope version 1 and seed derivation.
    Sha256,
    /// BLAKE3: everything else.
    Blake3,
}

/// Why a text is not a [`Digest`]. Retrying the same text fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The text does not have 64 bytes.
    #[error("a digest is 64 lowercase hexadecimal characters, this text has {length_bytes} bytes")]
    WrongLength {
        /// Length of the refused text, in bytes.
        length_bytes: usize,
    },
    /// A character that is not one of `0-9a-f`.
    #[error("a digest is lowercase hexadecimal, found byte 0x{found:02x} at {offset}")]
    NotHexadecimal {
        /// Byte offset of the character.
        offset: usize,
        /// The byte found there.
        found: u8,
    },
}

impl DigestAlgorithm {
    /// The digest of `bytes` under this function.
    #[must_use]
    pub fn digest(self, bytes: &[u8]) -> Digest {
        match self {
            Self::Sha256 => Digest::sha256(bytes),
            Self::Blake3 => Digest::blake3(bytes),
        }
    }

    /// The name a manifest uses: `sha256` or `blake3`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Blake3 => "blake3",
        }
    }
}

impl fmt::Display for DigestAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Digest {
    /// Length in bytes.
    pub const BYTES: usize = 32;

    /// BLAKE3 of `bytes`.
    #[must_use]
    pub fn blake3(bytes: &[u8]) -> Self {
        #[cfg(any(test, feature = "testing"))]
        crate::hashed_bytes::count(bytes.len());
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// BLAKE3 of `parts`, one after the other.
    #[must_use]
    pub fn blake3_of_parts(parts: &[&[u8]]) -> Self {
        let mut state = DigestState::new(DigestAlgorithm::Blake3);
        for part in parts {
            state.update(part);
        }
        state.finish()
    }

    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn sha256(bytes: &[u8]) -> Self {
        #[cfg(any(test, feature = "testing"))]
        crate::hashed_bytes::count(bytes.len());
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Takes a digest computed elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its spelling, in a buffer of the caller's.
    fn text<'a>(&self, buffer: &'a mut [u8; 64]) -> &'a str {
        const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
        for (pair, byte) in buffer.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEXADECIMAL[usize::from(byte >> 4)];
            pair[1] = HEXADECIMAL[usize::from(byte & 15)];
        }
        std::str::from_utf8(buffer).unwrap_or_default()
    }

    /// Reads 64 lowercase hexadecimal characters.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let characters: &[u8; 64] =
            text.as_bytes()
                .try_into()
                .map_err(|_| DigestError::WrongLength {
                    length_bytes: text.len(),
                })?;
        let mut bytes = [0; 32];
        let mut any = 0;
        for (byte, pair) in bytes.iter_mut().zip(characters.chunks_exact(2)) {
            let (high, low) = (nibble(pair[0]), nibble(pair[1]));
            any |= high | low;
            *byte = high << 4 | low;
        }
        if any > 15 {
            let wrong = characters.iter().position(|&found| nibble(found) > 15);
            let offset = wrong.unwrap_or_default();
            let found = characters[offset];
            return Err(DigestError::NotHexadecimal { offset, found });
        }
        Ok(Self(bytes))
    }
}

/// What a lowercase hexadecimal digit stands for; more than 15 for any other byte.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => u8::MAX,
    }
}

/// A SHA-256 in the making, for bytes that come in parts.
pub(crate) struct Sha256State(sha2::Sha256);

impl Sha256State {
    pub(crate) fn new() -> Self {
        Self(sha2::Sha256::new())
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        #[cfg(any(test, feature = "testing"))]
        crate::hashed_bytes::count(bytes.len());
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// A digest of either kind in the making. What reads and writes in memory does without: the module that every visitor
/// downloads needs no BLAKE3 of bytes that come in parts.
pub(crate) enum DigestState {
    Sha256(Sha256State),
    /// Boxed: it is two kilobytes.
    Blake3(Box<blake3::Hasher>),
}

impl DigestState {
    pub(crate) fn new(algorithm: DigestAlgorithm) -> Self {
        match algorithm {
            DigestAlgorithm::Sha256 => Self::Sha256(Sha256State::new()),
            DigestAlgorithm::Blake3 => Self::Blake3(Box::new(blake3::Hasher::new())),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Blake3(state) => {
                #[cfg(any(test, feature = "testing"))]
                crate::hashed_bytes::count(bytes.len());
                state.update(bytes);
            }
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self {
            Self::Sha256(state) => state.finish(),
            Self::Blake3(state) => Digest(*state.finalize().as_bytes()),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text(&mut [0; 64]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::parse(text)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests_of_nothing() {
        // Published test vectors: FIPS 180-4 and the BLAKE3 paper, empty input.
        assert_eq!(
            Digest::sha256(b"").to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            Digest::blake3(b"").to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    #[test]
    fn text_round_trips_and_other_spellings_are_refused() {
        let digest = Digest::blake3(b"wellwritten");
        let text = digest.to_string();
        assert_eq!(Digest::parse(&text), Ok(digest));
        assert!(Digest::parse(&text.to_uppercase()).is_err());
        assert!(Digest::parse(&text[1..]).is_err());
        assert!(Digest::parse(&format!("{text}0")).is_err());
        assert_eq!(
            Digest::parse(&format!("0g{}", &text[2..])),
            Err(DigestError::NotHexadecimal {
                offset: 1,
                found: b'g'
            })
        );
    }
}
