//! The FLYSESS1 envelope: one file holding a whole session at one committed boundary.

mod canonical_json;
mod digest;
mod id;
mod rational_ns;
mod scope;
mod seed_derivation;
mod strict_json;
mod u64_text;

pub use canonical_json::{CanonicalError, canonical_json, digest_json};
pub use digest::{Digest, DigestAlgorithm, DigestError};
pub use id::{Id, IdError};
pub use rational_ns::{RationalError, RationalNs};
pub use scope::Scope;
pub use seed_derivation::{SeedError, derive_seed};
pub use strict_json::{MAX_DEPTH, MAX_SAFE_INTEGER, StrictJsonError, parse_strict_json};
pub use u64_text::{U64, U64Error};
