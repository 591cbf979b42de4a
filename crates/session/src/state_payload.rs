//! [`StatePayload`]: the frame around every captured state, so that its consumer can tell its own from any other.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{
    CanonicalError, Digest, Id, RationalNs, Scope, U64, canonical_json, from_json,
    parse_strict_json,
};

/// First bytes of a payload.
const MAGIC: &[u8; 8] = b"WWSTATE1";
/// Magic and header length.
const PREFIX_BYTES: usize = 12;

/// Whose state a payload holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadKind {
    /// The world's.
    Environment,
    /// An agent's.
    Agent,
    /// The task's ledger.
    TaskLedger,
    /// The inspection at the boundary.
    PriorInspection,
    /// An executor's.
    Executor,
    /// The coordinator's own record.
    Coordinator,
}

/// What the runtime around an agent keeps for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentRecord {
    /// Digest of the context the agent retains.
    pub decision_context_digest: Digest,
    /// Ticks since it was built.
    pub brain_ticks: U64,
    /// Logical time left over.
    pub remainder: RationalNs,
}

/// What a payload says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PayloadHeader {
    /// Whose state.
    pub kind: PayloadKind,
    /// The worker, or the agent an executor serves, or the session.
    pub owner: Id,
    /// The checkpoint.
    pub checkpoint_id: Id,
    /// The boundary it was taken at.
    pub source_scope: Scope,
    /// Digest of all that the state depends on.
    pub compatibility_digest: Digest,
    /// For an agent, what the runtime keeps for it.
    pub agent: Option<AgentRecord>,
}

/// Why bytes are no payload, or not the one asked for. Nothing changed; the same bytes fail again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatePayloadError {
    /// Too short for a frame, or not begun with its magic.
    #[error("{byte_length} bytes that do not begin like a state payload")]
    NotAPayload {
        /// Length found, in bytes.
        byte_length: usize,
    },
    /// The header reaches beyond the payload.
    #[error("the header claims {header_bytes} bytes of a payload of {byte_length}")]
    HeaderBounds {
        /// Length claimed, in bytes.
        header_bytes: usize,
        /// Length of the payload, in bytes.
        byte_length: usize,
    },
    /// The bytes are not those that were captured.
    #[error("the payload digests to {found}, it was captured as {captured}")]
    Digest {
        /// Digest at its end.
        captured: Digest,
        /// Digest of its bytes.
        found: Digest,
    },
    /// The header does not read.
    #[error("the header does not read: {reason}")]
    Header {
        /// What the reader said.
        reason: String,
    },
    /// The payload is another one.
    #[error("the payload's {field} is {found}, expected {expected}")]
    Mismatch {
        /// The field that differs.
        field: &'static str,
        /// What the payload says.
        found: String,
        /// What was asked for.
        expected: String,
    },
}

/// A payload in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePayload<'a> {
    /// What it says of itself.
    pub header: PayloadHeader,
    /// The state.
    pub body: &'a [u8],
}

impl<'a> StatePayload<'a> {
    /// Magic, header length (u32, little-endian), header as canonical JSON, body, BLAKE3 of all of it.
    ///
    /// The digest at the end is beside the envelope's own on purpose: the envelope says that the file is what was
    /// written, this one that the state is what its owner captured.
    pub fn encode(header: &PayloadHeader, body: &[u8]) -> Result<Vec<u8>, CanonicalError> {
        let header = canonical_json(header)?;
        let header_bytes =
            u32::try_from(header.len()).expect("a header holds a few ids and digests");
        let mut bytes =
            Vec::with_capacity(PREFIX_BYTES + header.len() + body.len() + Digest::BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&header_bytes.to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(body);
        let digest = Digest::blake3(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        Ok(bytes)
    }

    /// Reads a payload and checks its digest.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, StatePayloadError> {
        let byte_length = bytes.len();
        let not_a_payload = || StatePayloadError::NotAPayload { byte_length };
        let (content, tail) = bytes
            .split_last_chunk::<{ Digest::BYTES }>()
            .ok_or_else(not_a_payload)?;
        let rest = content.strip_prefix(MAGIC).ok_or_else(not_a_payload)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(not_a_payload)?;
        let captured = Digest::from_bytes(*tail);
        let found = Digest::blake3(content);
        if found != captured {
            return Err(StatePayloadError::Digest { captured, found });
        }
        let header_bytes = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (header, body) =
            rest.split_at_checked(header_bytes)
                .ok_or(StatePayloadError::HeaderBounds {
                    header_bytes,
                    byte_length,
                })?;
        let header = parse_strict_json(header)
            .map_err(|error| error.to_string())
            .and_then(|value| from_json(value).map_err(|error| error.to_string()))
            .map_err(|reason| StatePayloadError::Header { reason })?;
        Ok(Self { header, body })
    }

    /// Reads a payload that must be this one: the same owner, kind, checkpoint, boundary and compatibility.
    pub fn decode_expected(
        bytes: &'a [u8],
        expected: &PayloadHeader,
    ) -> Result<Self, StatePayloadError> {
        let payload = Self::decode(bytes)?;
        let words = |header: &PayloadHeader| {
            [
                ("kind", format!("{:?}", header.kind)),
                ("owner", header.owner.to_string()),
                ("checkpointId", header.checkpoint_id.to_string()),
                ("sessionId", header.source_scope.session_id.to_string()),
                ("epoch", header.source_scope.epoch.to_string()),
                ("step", header.source_scope.step.to_string()),
                (
                    "compatibilityDigest",
                    header.compatibility_digest.to_string(),
                ),
            ]
        };
        let differing = words(&payload.header)
            .into_iter()
            .zip(words(expected))
            .find(|(found, expected)| found != expected);
        match differing {
            Some(((field, found), (_, expected))) => Err(StatePayloadError::Mismatch {
                field,
                found,
                expected,
            }),
            None => Ok(payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> PayloadHeader {
        let id = |text: &str| Id::parse(text).unwrap();
        PayloadHeader {
            kind: PayloadKind::Agent,
            owner: id("fly-a"),
            checkpoint_id: id("ckpt-1"),
            source_scope: Scope {
                session_id: id("demo"),
                epoch: id("e1"),
                step: U64(2),
            },
            compatibility_digest: Digest::blake3(b"model"),
            agent: Some(AgentRecord {
                decision_context_digest: Digest::blake3(b"context"),
                brain_ticks: U64(43),
                remainder: RationalNs::ZERO,
            }),
        }
    }

    #[test]
    fn it_round_trips() {
        let bytes = StatePayload::encode(&header(), b"state").unwrap();
        let payload = StatePayload::decode_expected(&bytes, &header()).unwrap();
        assert_eq!((payload.header, payload.body), (header(), &b"state"[..]));
    }

    #[test]
    fn every_flipped_bit_every_truncation_and_an_extension_are_refused() {
        let bytes = StatePayload::encode(&header(), b"state").unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(StatePayload::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(
                StatePayload::decode(&bytes[..length]).is_err(),
                "{length} bytes"
            );
        }
        let extended = [&bytes[..], &[0]].concat();
        assert!(StatePayload::decode(&extended).is_err());
    }

    #[test]
    fn another_payload_is_refused_naming_the_field() {
        let bytes = StatePayload::encode(&header(), b"state").unwrap();
        let mut other = header();
        other.owner = Id::parse("fly-b").unwrap();
        let error = StatePayload::decode_expected(&bytes, &other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the payload's owner is fly-a, expected fly-b"
        );
    }
}
