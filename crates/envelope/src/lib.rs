//! The FLYSESS1 envelope: one file holding a whole session at one committed boundary.
mod byte_layout;
mod canonical_json;
mod compatibility;
mod decode;
mod describe;
mod digest;
mod encode;
mod envelope_version;
mod error;
mod id;
mod manifest;
mod manifest_rules;
mod object_only;
mod rational_ns;
mod reader;
mod scope;
mod seed_derivation;
mod strict_json;
mod u64_text;

pub use byte_layout::{
    ENTRY_BYTES, FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, MAGIC, MAX_PAYLOADS, NAME_BYTES,
};
pub use canonical_json::{CanonicalError, canonical_json, digest_json};
pub use compatibility::{CompatibilityDifference, CompatibilityField, compare_compatibility};
pub use decode::{
    Envelope, EnvelopeHead, PayloadEntry, PayloadView, decode, decode_header, head_bytes,
};
pub use describe::{EnvelopeLayout, LayoutPart, LayoutRefusal, PartKind, PartState, describe};
pub use digest::{Digest, DigestAlgorithm, DigestError};
pub use encode::{EncodeError, encode, write_envelope};
pub use envelope_version::{EnvelopeVersion, UnknownVersion};
pub use error::{EnvelopeError, EnvelopeRule};
pub use id::{Id, IdError};
pub use manifest::{
    AgentEntry, Compatibility, CoordinatorEntry, EnvironmentEntry, EventWatermarks, ExecutorEntry,
    Manifest, PayloadRow, PortBinding, UnknownFields, WatermarkShape,
};
pub use rational_ns::{RationalError, RationalNs};
pub use scope::Scope;
pub use seed_derivation::{SeedError, derive_seed};
pub use strict_json::{MAX_DEPTH, MAX_SAFE_INTEGER, StrictJsonError, parse_strict_json};
pub use u64_text::{U64, U64Error};
