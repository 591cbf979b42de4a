//! [`KeptState`]: what is captured of a participant in JavaScript, its own bytes and what is kept for it here.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wellwritten_envelope::{canonical_json, from_json, parse_strict_json};
use wellwritten_session::{ErrorCode, ParticipantError};

/// Length of the record, as u32.
const PREFIX_BYTES: usize = 4;

/// A record as JSON, and bytes behind it.
pub struct KeptState<'a, T> {
    /// What is kept here.
    pub record: T,
    /// What follows it.
    pub rest: &'a [u8],
}

impl<'a, T: Serialize + DeserializeOwned> KeptState<'a, T> {
    /// Length of the record (u32, little-endian), the record as canonical JSON, the parts one after the other.
    pub fn encode(record: &T, parts: &[&[u8]]) -> Result<Vec<u8>, ParticipantError> {
        let record = canonical_json(record).map_err(|error| {
            ParticipantError::refused(ErrorCode::Internal, format!("the state: {error}"))
        })?;
        let length = u32::try_from(record.len())
            .expect("a record holds a typed value of bounded length and a few numbers");
        let mut bytes = Vec::with_capacity(
            PREFIX_BYTES + record.len() + parts.iter().map(|part| part.len()).sum::<usize>(),
        );
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&record);
        for part in parts {
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

    /// The inverse of [`encode`](Self::encode).
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ParticipantError> {
        let parts = bytes
            .split_first_chunk::<PREFIX_BYTES>()
            .and_then(|(length, rest)| {
                let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
                rest.split_at_checked(length)
            });
        let Some((record, rest)) = parts else {
            return Err(incompatible("the captured state is cut short"));
        };
        let record = parse_strict_json(record)
            .map_err(|error| error.to_string())
            .and_then(|record| from_json(record).map_err(|error| error.to_string()))
            .map_err(|reason| {
                incompatible(format!("the captured state does not read: {reason}"))
            })?;
        Ok(Self { record, rest })
    }
}

/// A state that was refused before anything changed.
pub fn incompatible(message: impl Into<String>) -> ParticipantError {
    ParticipantError::refused(ErrorCode::IncompatibleState, message)
}
