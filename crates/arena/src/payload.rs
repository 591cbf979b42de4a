//! The captured state of one participant: an identity, a few scalars, the bytes of its buffers.
//!
//! Layout, little-endian: magic `WWARENA1`; kind (u32); version (u32); digest of the participant's
//! identity (32 bytes); length (u32) and JSON of the scalars; number of buffers (u32); for each its
//! length in words (u32) and its words; BLAKE3 of everything before (32 bytes). Nothing follows.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use wellwritten_envelope::{Digest, canonical_json, from_json, parse_strict_json};

use crate::guarded_words::{bytes_from_words, words_from_bytes};

const MAGIC: [u8; 8] = *b"WWARENA1";
const VERSION: u32 = 1;
const MAX_SCALARS_BYTES: u32 = 65_536;

/// Whose state a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PayloadKind {
    /// The world.
    World = 1,
    /// A fly.
    Agent = 2,
}

/// Why bytes are not the state they should be. Nothing was taken from them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The bytes end too early.
    #[error("the payload ends at byte {found} where {what} needs {needed}")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes there must be.
        needed: usize,
        /// Bytes there are.
        found: usize,
    },
    /// Bytes follow the end.
    #[error("{count} bytes follow the end of the payload")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// The digest at the end is not the digest of the bytes.
    #[error("the payload's digest is {found}, it should be {expected}")]
    Digest {
        /// Digest of the bytes.
        expected: Digest,
        /// Digest at the end.
        found: Digest,
    },
    /// The first bytes are not the magic.
    #[error("the payload does not begin with WWARENA1")]
    Magic,
    /// Another kind of participant, or another version.
    #[error("{what} of the payload is {found}, it should be {expected}")]
    Header {
        /// Which field.
        what: &'static str,
        /// The value that is accepted.
        expected: u32,
        /// The value found.
        found: u32,
    },
    /// The state of another participant, seed or build.
    #[error("the payload is the state of {found}, this participant is {expected}")]
    Identity {
        /// This participant's identity.
        expected: Digest,
        /// The payload's.
        found: Digest,
    },
    /// The scalars are longer than they can be.
    #[error("the payload's scalars have {found} bytes, at most {limit} are accepted")]
    ScalarsTooLong {
        /// The limit.
        limit: u32,
        /// The length found.
        found: u32,
    },
    /// The scalars do not read.
    #[error("the payload's scalars do not read: {reason}")]
    Scalars {
        /// What the parser said.
        reason: String,
    },
    /// The wrong number of buffers.
    #[error("the payload holds {found} buffers, it should hold {expected}")]
    BufferCount {
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: u32,
    },
    /// A buffer of the wrong length.
    #[error("buffer {index} of the payload holds {found} words, it should hold {expected}")]
    BufferLength {
        /// Which buffer, from 0.
        index: usize,
        /// Words there must be.
        expected: u32,
        /// Words there are.
        found: u32,
    },
    /// The words of a buffer, or the scalars, are no state this participant can be in.
    #[error("{what} of the payload is no possible state")]
    Impossible {
        /// Which buffer or scalar.
        what: &'static str,
    },
}

/// Writes a payload.
///
/// # Errors
/// [`PayloadError::Scalars`] where the scalars have no JSON.
pub fn encode<S: Serialize>(
    kind: PayloadKind,
    identity: Digest,
    scalars: &S,
    buffers: &[Vec<u32>],
) -> Result<Vec<u8>, PayloadError> {
    let scalars = canonical_json(scalars).map_err(|error| PayloadError::Scalars {
        reason: error.to_string(),
    })?;
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&(kind as u32).to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(identity.as_bytes());
    bytes.extend_from_slice(&length(scalars.len()));
    bytes.extend_from_slice(&scalars);
    bytes.extend_from_slice(&length(buffers.len()));
    for words in buffers {
        bytes.extend_from_slice(&length(words.len()));
        bytes.extend_from_slice(&bytes_from_words(words));
    }
    let digest = Digest::blake3(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    Ok(bytes)
}

/// Reads a payload whose buffers must have exactly `lengths` words.
///
/// # Errors
/// The first rule that the bytes break; nothing is taken from them then.
pub fn decode<S: DeserializeOwned>(
    bytes: &[u8],
    kind: PayloadKind,
    identity: Digest,
    lengths: &[u32],
) -> Result<(S, Vec<Vec<u32>>), PayloadError> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take("the magic", MAGIC.len())? != MAGIC {
        return Err(PayloadError::Magic);
    }
    for (what, expected) in [("the kind", kind as u32), ("the version", VERSION)] {
        let found = reader.word(what)?;
        if found != expected {
            return Err(PayloadError::Header {
                what,
                expected,
                found,
            });
        }
    }
    let found = reader.digest("the identity")?;
    if found != identity {
        return Err(PayloadError::Identity {
            expected: identity,
            found,
        });
    }
    let scalars_bytes = reader.word("the length of the scalars")?;
    if scalars_bytes > MAX_SCALARS_BYTES {
        return Err(PayloadError::ScalarsTooLong {
            limit: MAX_SCALARS_BYTES,
            found: scalars_bytes,
        });
    }
    let scalars = reader.take("the scalars", scalars_bytes as usize)?;
    let count = reader.word("the number of buffers")?;
    if count as usize != lengths.len() {
        return Err(PayloadError::BufferCount {
            expected: lengths.len(),
            found: count,
        });
    }
    let mut buffers = Vec::with_capacity(lengths.len());
    for (index, expected) in lengths.iter().copied().enumerate() {
        let found = reader.word("the length of a buffer")?;
        if found != expected {
            return Err(PayloadError::BufferLength {
                index,
                expected,
                found,
            });
        }
        buffers.push(words_from_bytes(
            reader.take("a buffer", 4 * expected as usize)?,
        ));
    }
    let expected = Digest::blake3(&bytes[..reader.at]);
    let found = reader.digest("the digest")?;
    if reader.at != bytes.len() {
        return Err(PayloadError::Trailing {
            count: bytes.len() - reader.at,
        });
    }
    if found != expected {
        return Err(PayloadError::Digest { expected, found });
    }
    let unreadable = |reason: String| PayloadError::Scalars { reason };
    let scalars = parse_strict_json(scalars).map_err(|error| unreadable(error.to_string()))?;
    let scalars = from_json(scalars).map_err(|error| unreadable(error.to_string()))?;
    Ok((scalars, buffers))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, what: &'static str, count: usize) -> Result<&'a [u8], PayloadError> {
        let needed = self.at.saturating_add(count);
        let taken = self
            .bytes
            .get(self.at..needed)
            .ok_or(PayloadError::Truncated {
                what,
                needed,
                found: self.bytes.len(),
            })?;
        self.at = needed;
        Ok(taken)
    }

    fn word(&mut self, what: &'static str) -> Result<u32, PayloadError> {
        let mut word = [0; 4];
        word.copy_from_slice(self.take(what, 4)?);
        Ok(u32::from_le_bytes(word))
    }

    fn digest(&mut self, what: &'static str) -> Result<Digest, PayloadError> {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.take(what, 32)?);
        Ok(Digest::from_bytes(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        encode(
            PayloadKind::World,
            Digest::blake3(b"me"),
            &7_u32,
            &[vec![1, 2, 3], vec![], vec![u32::MAX]],
        )
        .unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(u32, Vec<Vec<u32>>), PayloadError> {
        decode(bytes, PayloadKind::World, Digest::blake3(b"me"), &[3, 0, 1])
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(
            read(&sample()),
            Ok((7, vec![vec![1, 2, 3], vec![], vec![u32::MAX]]))
        );
    }

    /// Canary of the whole format: no single bit of a payload is without meaning.
    #[test]
    fn every_flipped_bit_and_every_length_but_one_is_refused() {
        let bytes = sample();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "length {length}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert_eq!(read(&longer), Err(PayloadError::Trailing { count: 1 }));
    }

    #[test]
    fn another_kind_identity_or_shape_is_named() {
        let bytes = sample();
        let me = Digest::blake3(b"me");
        let lengths = [3, 0, 1];
        assert!(matches!(
            decode::<u32>(&bytes, PayloadKind::Agent, me, &lengths),
            Err(PayloadError::Header {
                what: "the kind",
                ..
            })
        ));
        assert!(matches!(
            decode::<u32>(&bytes, PayloadKind::World, Digest::blake3(b"you"), &lengths),
            Err(PayloadError::Identity { .. })
        ));
        assert!(matches!(
            decode::<u32>(&bytes, PayloadKind::World, me, &[3, 0]),
            Err(PayloadError::BufferCount {
                expected: 2,
                found: 3
            })
        ));
        assert!(matches!(
            decode::<u32>(&bytes, PayloadKind::World, me, &[3, 1, 1]),
            Err(PayloadError::BufferLength {
                index: 1,
                expected: 1,
                found: 0
            })
        ));
        assert!(matches!(
            decode::<String>(&bytes, PayloadKind::World, me, &lengths),
            Err(PayloadError::Scalars { .. })
        ));
    }
}
