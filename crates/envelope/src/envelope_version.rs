//! [`EnvelopeVersion`]: which of the two formats a file is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DigestAlgorithm;

/// The version of the format; the number 1 or 2 in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum EnvelopeVersion {
    /// The format of the reference implementation: SHA-256 everywhere, and a footer digest over every
    /// byte before the footer.
    One,
    /// The default: BLAKE3, and a footer digest over header, manifest and table, so that each payload
    /// byte is hashed once.
    Two,
}

/// A number that names no version this crate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("envelope version {found} is not known; this program reads versions 1 and 2")]
pub struct UnknownVersion {
    /// The number found.
    pub found: u32,
}

impl EnvelopeVersion {
    /// 1 or 2.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// The function behind every digest of a file of this version.
    #[must_use]
    pub const fn digest_algorithm(self) -> DigestAlgorithm {
        match self {
            Self::One => DigestAlgorithm::Sha256,
            Self::Two => DigestAlgorithm::Blake3,
        }
    }
}

impl TryFrom<u32> for EnvelopeVersion {
    type Error = UnknownVersion;

    fn try_from(number: u32) -> Result<Self, UnknownVersion> {
        match number {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            found => Err(UnknownVersion { found }),
        }
    }
}

impl From<EnvelopeVersion> for u32 {
    fn from(version: EnvelopeVersion) -> Self {
        version.number()
    }
}

impl fmt::Display for EnvelopeVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number())
    }
}
