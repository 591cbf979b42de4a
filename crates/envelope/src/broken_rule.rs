//! [`BrokenRule`]: an [`EnvelopeError`] or [`EncodeError`] as the facts a program can act on.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::byte_layout::{FOOTER_BYTES, MAX_MANIFEST_BYTES};
use crate::{EncodeError, EnvelopeError, EnvelopeRule};

/// Which rule is broken, where, and the two values that differ. The message of the error says the same in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct BrokenRule {
    /// The rule.
    pub rule: EnvelopeRule,
    /// Where in the file, in bytes from its start; none for a field of the manifest.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint | null"))]
    pub offset: Option<u64>,
    /// Path of the field of the manifest, such as `agents[0].seed`.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub field: Option<String>,
    /// The payload it is about.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub payload: Option<String>,
    /// What the rule asks for, or what the file promises elsewhere.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub expected: Option<String>,
    /// What is there.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub found: Option<String>,
}

impl BrokenRule {
    fn new(rule: EnvelopeRule) -> Self {
        Self {
            rule,
            offset: None,
            field: None,
            payload: None,
            expected: None,
            found: None,
        }
    }

    fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    fn payload(mut self, name: &dyn Display) -> Self {
        self.payload = Some(name.to_string());
        self
    }

    fn found(mut self, found: &dyn Display) -> Self {
        self.found = Some(found.to_string());
        self
    }

    fn values(mut self, expected: &dyn Display, found: &dyn Display) -> Self {
        self.expected = Some(expected.to_string());
        self.found(found)
    }
}

impl From<&EnvelopeError> for BrokenRule {
    fn from(error: &EnvelopeError) -> Self {
        use EnvelopeError as Error;
        let broken = Self::new(error.rule());
        match error {
            Error::TooShort {
                file_bytes,
                least_bytes,
            } => broken.values(least_bytes, file_bytes),
            Error::PrefixTooShort {
                needed_bytes,
                given_bytes,
            } => broken.values(needed_bytes, given_bytes),
            Error::Magic { found } => broken.at(0).values(&"FLYSESS1", &found.escape_ascii()),
            Error::Version { found } => broken.at(8).values(&"1 or 2", found),
            Error::HeaderBytes { expected, found } => broken.at(12).values(expected, found),
            Error::Reserved { found } => broken.at(28).values(&0, found),
            Error::PayloadCount { limit, found } => broken.at(20).values(limit, found),
            Error::FooterMagic { offset, found } => broken
                .at(*offset)
                .values(&"FLYSESSF", &found.escape_ascii()),
            // The length stands at the footer's beginning; a footer that is not at the end has another defect.
            Error::FileBytes { recorded, actual } => broken
                .at(actual.saturating_sub(FOOTER_BYTES.into()))
                .values(recorded, actual),
            Error::FooterDigest {
                offset,
                recorded,
                computed,
                ..
            } => broken.at(*offset).values(recorded, computed),
            Error::ManifestBounds {
                manifest_bytes,
                room_bytes,
            } => broken.at(16).values(room_bytes, manifest_bytes),
            Error::ManifestTooLong {
                manifest_bytes,
                limit_bytes,
            } => broken.at(16).values(limit_bytes, manifest_bytes),
            Error::ManifestJson { offset, problem } => broken.at(*offset).found(problem),
            Error::ManifestNotCanonical { offset } => broken.at(*offset),
            Error::TableOffset { expected, found } => broken.at(24).values(expected, found),
            // How many entries the table has.
            Error::TableBounds { end, limit } => broken.at(20).values(limit, end),
            Error::EntryName {
                offset, problem, ..
            } => broken.at(*offset).found(problem),
            Error::EntryOffset {
                name,
                offset,
                expected,
                found,
            } => broken.payload(name).at(*offset).values(expected, found),
            Error::EntryBounds {
                name,
                offset,
                byte_length,
                limit,
            } => broken
                .payload(name)
                .at(*offset)
                .values(&limit.saturating_sub(*offset), byte_length),
            Error::PayloadDigest {
                name,
                offset,
                recorded,
                computed,
            } => broken.payload(name).at(*offset).values(recorded, computed),
            Error::EntryNameTail { offset, found, .. } | Error::Padding { offset, found } => {
                broken.at(*offset).values(&0, found)
            }
            Error::FooterGap { end, footer_offset } => broken.at(*end).values(end, footer_offset),
            Error::ManifestField { field, problem } => broken.field(field).found(problem),
            Error::ManifestVersion { header, manifest } => {
                broken.field("envelopeVersion").values(header, manifest)
            }
            Error::Algorithm {
                expected, found, ..
            } => {
                let broken = broken.field("digestAlgorithm");
                match found {
                    Some(found) => broken.values(expected, found),
                    None => broken.values(expected, &"nothing"),
                }
            }
            Error::UnknownField { field } => broken.field(field),
            Error::RowCount { manifest, table } => broken.field("payloads").values(table, manifest),
            Error::RowValue {
                index,
                field,
                manifest,
                table,
            } => broken
                .field(&format!("payloads[{index}].{field}"))
                .values(table, manifest),
            Error::ReferenceMissing { field, name } => broken.field(field).payload(name),
            Error::ReferenceRepeated {
                first,
                second,
                name,
            } => broken.field(second).payload(name).values(first, second),
            Error::EntryDuplicate { offset, name, .. } => broken.payload(name).at(*offset),
            Error::Unreferenced { name } => broken.payload(name),
        }
    }
}

impl EncodeError {
    /// The rule by which a reader would refuse what was not written; none where the machine, a source or the sink refused.
    #[must_use]
    pub fn broken_rule(&self) -> Option<BrokenRule> {
        let broken = BrokenRule::new;
        Some(match self {
            Self::Manifest(error) => error.into(),
            Self::TooManyPayloads { limit, given } => {
                broken(EnvelopeRule::PayloadCount).values(limit, given)
            }
            Self::DuplicatePayload { name, .. } => broken(EnvelopeRule::EntryUnique).payload(name),
            Self::NotCanonical(problem) => broken(EnvelopeRule::ManifestJson).found(problem),
            Self::NotStrict(problem) => broken(EnvelopeRule::ManifestJson).found(problem),
            Self::ShadowedField { field } => broken(EnvelopeRule::UnknownField).field(field),
            Self::ManifestTooLong { manifest_bytes } => {
                broken(EnvelopeRule::ManifestBounds).values(&MAX_MANIFEST_BYTES, manifest_bytes)
            }
            Self::PayloadChanged {
                name,
                expected,
                found,
            } => broken(EnvelopeRule::PayloadDigest)
                .payload(name)
                .values(expected, found),
            Self::LengthChanged {
                name,
                expected,
                found,
            } => broken(EnvelopeRule::EntryBounds)
                .payload(name)
                .values(expected, found),
            Self::TooLarge | Self::Source { .. } | Self::Sink(_) => return None,
        })
    }
}
