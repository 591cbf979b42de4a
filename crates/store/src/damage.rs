//! What can be wrong with a listed generation.

use wellwritten_envelope::{Digest, Id};

use crate::envelope_fault::EnvelopeFault;
use crate::medium_error::MediumError;
use crate::record_field::RecordField;

/// The first thing wrong with the bytes of a listed generation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum Damage {
    /// Its file is gone.
    #[error("its file `{file}` is gone")]
    Missing {
        /// The file.
        file: String,
    },
    /// The medium cannot read it. The bytes may be whole; retrying may help.
    #[error("its file cannot be read: {source}")]
    Unreadable {
        /// What the medium reported.
        source: MediumError,
    },
    /// It has another length than was committed.
    #[error("it has {found_bytes} bytes, {committed_bytes} were committed")]
    Length {
        /// Length as committed.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        committed_bytes: u64,
        /// Length as found.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        found_bytes: u64,
    },
    /// It has other bytes than were committed.
    #[error("it digests to {found}, {committed} was committed")]
    Digest {
        /// Digest as committed.
        committed: Digest,
        /// Digest as found.
        found: Digest,
    },
    /// The bytes are those that were committed, and they are not an envelope.
    #[error("it is not an envelope: {source}")]
    Envelope {
        /// The rule of the format that it breaks.
        source: EnvelopeFault,
    },
    /// The store's record and the envelope's own words differ.
    #[error("the store says {field} is {recorded}, the envelope says {found}")]
    Record {
        /// The field.
        field: RecordField,
        /// What the store manifest says.
        recorded: String,
        /// What the envelope says.
        found: String,
    },
}

impl Damage {
    /// Whether the file is gone.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// A generation that was passed over, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct DamagedGeneration {
    /// The generation.
    pub checkpoint_id: Id,
    /// What is wrong with it.
    pub damage: Damage,
}
