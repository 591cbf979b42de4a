//! The FLYSESS1 envelope: one file that holds every participant's state at one committed boundary.
//!
//! # Mental model
//!
//! An envelope is a [`Manifest`] and named payloads. The manifest says which boundary of which session it
//! is, whose state each payload holds, and what a session must share with it to restore it
//! ([`compare_compatibility`]). [`encode`] turns both into bytes, [`decode`] turns bytes into views of
//! them. There is exactly one encoding of an envelope: the manifest is canonical JSON, offsets follow from
//! lengths, padding is zero. So every bit of a file is covered, and a file that decodes is the file that
//! was written. [`describe`] tells how much of a file that does not decode is whole.
//!
//! Version 1 is the format of the reference implementation, read and written byte for byte: SHA-256, and a
//! footer digest over the whole file. Version 2 is the default: BLAKE3, and a footer digest over
//! everything up to the end of the table, so that each payload byte is hashed once and one payload can be
//! verified without the others.
//!
//! The scalars of the session protocol live here too, because the manifest is made of them: [`Id`],
//! [`U64`], [`Digest`], [`Scope`], [`RationalNs`], canonical JSON, strict JSON, and the derivation of
//! seeds.
//!
//! # Who is responsible for what
//!
//! Validation is this crate's: a reader enforces every rule in a fixed order and names the first that is
//! broken ([`EnvelopeError`], [`EnvelopeRule`]); a writer refuses what a reader would. Lifetime is the
//! caller's: a decoded envelope borrows from the bytes it was read from. Nothing here starts a thread,
//! keeps state or opens a file.
//!
//! Files that do not fit into memory are read from a [`ReadAt`] and written to a sink that the caller gives:
//! [`verify`] is [`decode`] by the same rules, [`describe_source`] is [`describe`], [`read_head`] lists,
//! [`copy_payload`] verifies one payload without reading the others, [`write_from_sources`] and
//! [`write_seekable`] are [`encode`], and [`convert`] writes a file of one version as the other.
//!
//! # Invariants
//!
//! - `decode(encode(x))` is `x`, and encoding what was decoded gives the same bytes.
//! - No input makes a reader panic, loop, or allocate more than in proportion to the input; a streaming reader or
//!   writer takes one buffer and the head, however long the file is or claims to be. A manifest is at most
//!   [`MAX_MANIFEST_BYTES`] long and holds at most [`MAX_VALUES`] values, so that no head takes much.
//! - Every payload is referred to exactly once by the manifest.
//! - A value has one spelling: ids, counters, digests and fractions are refused in any other.
//!
//! # What it does not do
//!
//! It does not say whether a checkpoint is *wanted*: sessions, epochs and generations are for the session
//! and the store to judge. Digests protect against accident, not against forgery: there is no signature.
//! Payloads are opaque.
//!
//! # Example
//!
//! ```
//! use wellwritten_envelope::{Digest, EnvelopeRule, Id, Manifest, decode, encode};
//!
//! let digest = Digest::blake3(b"what a session is made of").to_string();
//! let manifest: Manifest = serde_json::from_value(serde_json::json!({
//!     "envelopeVersion": 2, "digestAlgorithm": "blake3", "checkpointId": "c1",
//!     "sourceScope": {"sessionId": "demo", "epoch": "e1", "step": "42"},
//!     "episodeId": "ep1", "worldTime": {"numerator": "700000000", "denominator": "1"},
//!     "schedulerId": "lockstep-v1", "compositionDigest": digest, "portMap": [],
//!     "compatibility": {
//!         "backendDigest": digest, "contentDigest": digest, "patchDigest": digest,
//!         "controllerDigest": digest, "parserDigest": digest, "stateFormatId": "arena-1",
//!     },
//!     "environment": {"workerId": "arena", "payload": "world"},
//!     "agents": [],
//!     "coordinator": {
//!         "taskLedger": "task-ledger", "priorInspection": "prior-inspection", "executorState": [],
//!         "admissionState": "coordinator-admission",
//!         "eventWatermarks": {"lastSourceStep": "41", "issued": "7"},
//!     },
//!     "helperState": [], "payloads": [],
//! }))?;
//! let world = Id::parse("world")?;
//! let payloads = [
//!     (world.clone(), &[1, 2, 3][..]),
//!     (Id::parse("task-ledger")?, b"{}"),
//!     (Id::parse("prior-inspection")?, b"{}"),
//!     (Id::parse("coordinator-admission")?, b"{}"),
//! ];
//! let mut bytes = encode(&manifest, &payloads)?;
//!
//! let envelope = decode(&bytes)?;
//! assert_eq!(envelope.payload(&world), Some(&[1, 2, 3][..]));
//! assert_eq!(envelope.manifest.source_scope.step.get(), 42);
//!
//! let offset = usize::try_from(envelope.payloads[0].offset)?;
//! bytes[offset] ^= 1;
//! assert_eq!(decode(&bytes).unwrap_err().rule(), EnvelopeRule::PayloadDigest);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod broken_rule;
mod byte_layout;
mod canonical_json;
#[cfg(test)]
mod canonical_tree;
#[cfg(test)]
mod canonical_while_reading;
mod canonical_writer;
mod compatibility;
mod convert;
mod decode;
mod describe;
mod digest;
mod encode;
mod envelope_version;
mod error;
mod file_bytes;
mod from_json;
#[cfg(any(test, feature = "testing"))]
mod hashed_bytes;
mod heap_sort;
mod id;
mod json_spelling;
mod manifest;
mod manifest_reading;
mod manifest_rules;
#[cfg(feature = "schema")]
mod manifest_schema;
mod object_only;
mod payload_copy;
mod plain_length;
mod plain_serializer;
mod plain_value;
mod rational_ns;
mod read_at;
mod reader;
mod scope;
mod seed_derivation;
mod sort_few;
mod stream_encode;
mod streamed;
mod strict_json;
mod u64_text;
mod verify;

pub use broken_rule::BrokenRule;
pub use byte_layout::{
    ENTRY_BYTES, FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, MAGIC, MAX_MANIFEST_BYTES, MAX_PAYLOADS,
    NAME_BYTES,
};
pub use canonical_json::{CanonicalError, canonical_json, canonical_text, digest_json};
pub use compatibility::{CompatibilityDifference, CompatibilityField, compare_compatibility};
pub use convert::{ConvertError, convert};
pub use decode::{
    Envelope, EnvelopeHead, PayloadEntry, PayloadView, decode, decode_header, head_bytes,
};
pub use describe::{EnvelopeLayout, LayoutPart, LayoutRefusal, PartKind, PartState, describe};
pub use digest::{Digest, DigestAlgorithm, DigestError};
pub use encode::{
    EncodeError, EnvelopeParts, check_stated_rows, encode, encode_parts, write_envelope,
};
pub use envelope_version::{EnvelopeVersion, UnknownVersion};
pub use error::{EnvelopeError, EnvelopeRule};
pub use from_json::{JsonShapeError, from_json};
#[cfg(feature = "testing")]
pub use hashed_bytes::hashed_bytes;
pub use id::{Id, IdError};
pub use manifest::{
    AgentEntry, Compatibility, CoordinatorEntry, EnvironmentEntry, EventWatermarks, ExecutorEntry,
    Manifest, PayloadRow, PortBinding, UnknownFields, WatermarkShape,
};
#[cfg(feature = "schema")]
pub use manifest_schema::manifest_schema;
pub use payload_copy::{copy_payload, read_payload};
pub use plain_value::{PlainError, PlainValue, to_json};
pub use rational_ns::{RationalError, RationalNs};
pub use read_at::{ReadAt, SeekSource};
pub use scope::Scope;
pub use seed_derivation::{SeedError, derive_seed};
pub use sort_few::sort_few_by;
pub use stream_encode::{write_from_sources, write_seekable};
pub use streamed::{MAX_STREAMED_HEAD_BYTES, Progress, StreamError};
pub use strict_json::{
    MAX_DEPTH, MAX_SAFE_INTEGER, MAX_VALUES, StrictJsonError, parse_strict_json,
};
pub use u64_text::{U64, U64Error};
pub use verify::{describe_source, read_head, verify};
