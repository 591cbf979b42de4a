//! [`EnvelopeError`]: every way a reader refuses a file, a variant a rule.

use serde::{Deserialize, Serialize};

use crate::{Digest, DigestAlgorithm, EnvelopeVersion, Id, IdError, StrictJsonError};

/// Why a file is not an envelope this crate accepts. Offsets are bytes from the start of the file.
///
/// Nothing is left behind, and reading the same bytes again fails the same way. Rules are checked in
/// the order of the variants, so a damaged file fails on its own terms and not on a derived value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// Shorter than a header and a footer.
    #[error(
        "not a whole envelope: the file is {file_bytes} bytes, and a header and a footer alone are {least_bytes}"
    )]
    TooShort {
        /// Length of the file.
        file_bytes: u64,
        /// Least length of an envelope.
        least_bytes: u64,
    },
    /// [`crate::decode_header`] was given less of the file than it needs.
    #[error(
        "header, manifest and table are the first {needed_bytes} bytes of the file, and only {given_bytes} were given"
    )]
    PrefixTooShort {
        /// How many bytes from the start are needed.
        needed_bytes: u64,
        /// How many were given.
        given_bytes: u64,
    },
    /// The first 8 bytes are not the magic.
    #[error("not an envelope: the first 8 bytes must be FLYSESS1, found \"{}\"", found.escape_ascii())]
    Magic {
        /// The first 8 bytes.
        found: [u8; 8],
    },
    /// A version this crate does not read.
    #[error("unsupported envelope version {found}: this program reads versions 1 and 2")]
    Version {
        /// The version at offset 8.
        found: u32,
    },
    /// The header does not say it is 32 bytes.
    #[error("the header must say it is {expected} bytes (offset 12), it says {found}")]
    HeaderBytes {
        /// What it must say.
        expected: u32,
        /// What it says.
        found: u32,
    },
    /// The reserved word is not zero.
    #[error("the reserved word of the header (offset 28) must be zero, found {found}")]
    Reserved {
        /// The word found.
        found: u32,
    },
    /// More payloads than an envelope may hold.
    #[error("an envelope holds at most {limit} payloads, the header (offset 20) says {found}")]
    PayloadCount {
        /// The most.
        limit: u32,
        /// What the header says.
        found: u32,
    },
    /// The last 8 bytes are not the footer's magic.
    #[error(
        "the file was cut short or something was appended: its last 8 bytes (offset {offset}) must be FLYSESSF, found \"{}\"",
        found.escape_ascii()
    )]
    FooterMagic {
        /// Where the footer's magic should be.
        offset: u64,
        /// The 8 bytes found there.
        found: [u8; 8],
    },
    /// The footer records another length.
    #[error("the file is {actual} bytes, its footer says {recorded}: it is truncated or extended")]
    FileBytes {
        /// The length the footer records.
        recorded: u64,
        /// The length of the file.
        actual: u64,
    },
    /// The bytes the footer vouches for changed.
    #[error(
        "the footer's digest does not match the first {covered_bytes} bytes: the file says {recorded}, they give {computed}"
    )]
    FooterDigest {
        /// Where the footer records it.
        offset: u64,
        /// How many bytes from the start the digest covers in this version.
        covered_bytes: u64,
        /// The digest in the footer.
        recorded: Digest,
        /// The digest of the bytes.
        computed: Digest,
    },
    /// The manifest does not fit between the header and the footer.
    #[error(
        "the manifest is said to be {manifest_bytes} bytes, and only {room_bytes} lie between header and footer"
    )]
    ManifestBounds {
        /// The length the header says.
        manifest_bytes: u64,
        /// The room there is.
        room_bytes: u64,
    },
    /// The manifest is longer than any reader takes into memory. The format's header has room for 4 GiB; a manifest
    /// names at most 64 payloads and takes some kilobytes.
    #[error(
        "the manifest is said to be {manifest_bytes} bytes (offset 16), and at most {limit_bytes} are read"
    )]
    ManifestTooLong {
        /// The length the header says.
        manifest_bytes: u64,
        /// [`crate::MAX_MANIFEST_BYTES`].
        limit_bytes: u64,
    },
    /// The manifest is not strict JSON.
    #[error("the manifest is not strict JSON: {problem} (file offset {offset})")]
    ManifestJson {
        /// Offset in the file.
        offset: u64,
        /// What is wrong, with the offset in the manifest.
        problem: StrictJsonError,
    },
    /// The manifest has another spelling than RFC 8785 gives it.
    #[error(
        "the manifest is not in its canonical spelling (RFC 8785): it differs from offset {offset} on"
    )]
    ManifestNotCanonical {
        /// Offset in the file of the first byte that the canonical spelling of the same value does not have there.
        offset: u64,
    },
    /// The table is not where the layout puts it.
    #[error("the payload table must be at offset {expected}, the header (offset 24) says {found}")]
    TableOffset {
        /// Where the layout puts it.
        expected: u64,
        /// Where the header says it is.
        found: u64,
    },
    /// The table does not fit before the footer.
    #[error("the payload table ends at offset {end}, and the footer begins at {limit}")]
    TableBounds {
        /// Where the table would end.
        end: u64,
        /// Where the footer begins.
        limit: u64,
    },
    /// Bytes after the terminator of a name.
    #[error(
        "the name of payload {index} has bytes after its end: found 0x{found:02x} at offset {offset}"
    )]
    EntryNameTail {
        /// Index of the entry.
        index: usize,
        /// Offset of the byte.
        offset: u64,
        /// The byte.
        found: u8,
    },
    /// A name that is not an id.
    #[error("the name of payload {index} (offset {offset}) is not an id: {problem}")]
    EntryName {
        /// Index of the entry.
        index: usize,
        /// Offset of the name.
        offset: u64,
        /// What is wrong with it.
        problem: IdError,
    },
    /// Two payloads of one name.
    #[error("payloads {first} and {index} are both named {name}")]
    EntryDuplicate {
        /// Index of the second.
        index: usize,
        /// Index of the first.
        first: usize,
        /// Where the second entry, and with it its name, begins.
        offset: u64,
        /// Their name.
        name: Id,
    },
    /// A payload that does not begin where the one before ends.
    #[error("payload {name} must begin at offset {expected}, the table says {found}")]
    EntryOffset {
        /// The payload.
        name: Id,
        /// Where its entry says it.
        offset: u64,
        /// Where the layout puts it.
        expected: u64,
        /// Where the table puts it.
        found: u64,
    },
    /// A payload that does not fit before the footer.
    #[error(
        "payload {name} is said to be {byte_length} bytes at offset {offset}, and the footer begins at {limit}"
    )]
    EntryBounds {
        /// The payload.
        name: Id,
        /// Where it begins.
        offset: u64,
        /// Its length.
        byte_length: u64,
        /// Where the footer begins.
        limit: u64,
    },
    /// The bytes of a payload changed.
    #[error(
        "payload {name} (offset {offset}) is damaged: the table says {recorded}, its bytes give {computed}"
    )]
    PayloadDigest {
        /// The payload.
        name: Id,
        /// Where it begins.
        offset: u64,
        /// The digest in the table.
        recorded: Digest,
        /// The digest of the bytes.
        computed: Digest,
    },
    /// Padding that is not zero.
    #[error("the padding byte at offset {offset} must be zero, found 0x{found:02x}")]
    Padding {
        /// Offset of the byte.
        offset: u64,
        /// The byte.
        found: u8,
    },
    /// Bytes between the last payload and the footer.
    #[error("the last payload ends at offset {end}, and the footer begins at {footer_offset}")]
    FooterGap {
        /// Where the last payload ends.
        end: u64,
        /// Where the footer begins.
        footer_offset: u64,
    },
    /// A field that is missing, or has another type or range.
    #[error("the manifest's field {field} is wrong: {problem}")]
    ManifestField {
        /// Path of the field.
        field: String,
        /// What is wrong, in words.
        problem: String,
    },
    /// Header and manifest name two versions.
    #[error("the header says version {header}, the manifest's envelopeVersion says {manifest}")]
    ManifestVersion {
        /// The header's version.
        header: EnvelopeVersion,
        /// The manifest's version.
        manifest: EnvelopeVersion,
    },
    /// The manifest names a digest function the version does not use.
    #[error(
        "version {version} uses {expected}, the manifest's digestAlgorithm says {}",
        found.map_or("nothing", DigestAlgorithm::name)
    )]
    Algorithm {
        /// The version.
        version: EnvelopeVersion,
        /// The function it uses.
        expected: DigestAlgorithm,
        /// The function the manifest names.
        found: Option<DigestAlgorithm>,
    },
    /// A field that version 2 does not have.
    #[error("version 2 has no manifest field {field}")]
    UnknownField {
        /// Path of the field.
        field: String,
    },
    /// The manifest lists another number of payloads than the table.
    #[error("the manifest's payloads lists {manifest}, the table has {table}")]
    RowCount {
        /// Rows in the manifest.
        manifest: usize,
        /// Entries in the table.
        table: usize,
    },
    /// The manifest describes a payload otherwise than the table.
    #[error("the manifest's payloads[{index}].{field} says {manifest}, the table says {table}")]
    RowValue {
        /// Index of the row.
        index: usize,
        /// `name`, `byteLength` or `digest`.
        field: &'static str,
        /// The manifest's value.
        manifest: String,
        /// The table's value.
        table: String,
    },
    /// The manifest refers to a payload that is not there.
    #[error("the manifest's {field} refers to payload {name}, which is not in the table")]
    ReferenceMissing {
        /// Path of the field that refers to it.
        field: String,
        /// The name.
        name: Id,
    },
    /// The manifest refers to a payload twice.
    #[error("payload {name} is referred to twice: by {first} and by {second}")]
    ReferenceRepeated {
        /// Path of the first field.
        first: String,
        /// Path of the second field.
        second: String,
        /// The name.
        name: Id,
    },
    /// A payload nothing refers to.
    #[error("payload {name} is in the table, and nothing in the manifest refers to it")]
    Unreferenced {
        /// The name.
        name: Id,
    },
}

/// The rule an [`EnvelopeError`] names: a closed list, in the order a reader checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum EnvelopeRule {
    /// The file holds at least a header and a footer.
    Length,
    /// It begins with the magic.
    Magic,
    /// Its version is 1 or 2.
    Version,
    /// Its header is 32 bytes.
    HeaderBytes,
    /// The reserved word is zero.
    ReservedWord,
    /// It has at most 64 payloads.
    PayloadCount,
    /// It ends with the footer's magic.
    FooterMagic,
    /// The footer records the file's length.
    FileBytes,
    /// The footer's digest matches what it covers.
    FooterDigest,
    /// The manifest lies inside the file and is at most 16 MiB long.
    ManifestBounds,
    /// The manifest is strict JSON.
    ManifestJson,
    /// The manifest is canonical.
    ManifestCanonical,
    /// The table is where the layout puts it.
    TableOffset,
    /// The table lies inside the file.
    TableBounds,
    /// Each name is an id with nothing after it.
    EntryName,
    /// Names are unique.
    EntryUnique,
    /// Each payload begins where the one before ends.
    EntryOffset,
    /// Each payload lies inside the file.
    EntryBounds,
    /// Each payload has the digest in the table.
    PayloadDigest,
    /// Padding is zero.
    Padding,
    /// Nothing lies between the last payload and the footer.
    FooterGap,
    /// The manifest has its required fields with their types.
    ManifestField,
    /// Header and manifest agree on the version.
    ManifestVersion,
    /// The manifest names the digest function of its version.
    DigestAlgorithm,
    /// Version 2 has only the fields it defines.
    UnknownField,
    /// The manifest's payload list equals the table.
    PayloadRows,
    /// Every payload is referred to exactly once, and every reference exists.
    PayloadReference,
}

impl EnvelopeError {
    /// The rule that was broken.
    #[must_use]
    pub const fn rule(&self) -> EnvelopeRule {
        match self {
            Self::TooShort { .. } | Self::PrefixTooShort { .. } => EnvelopeRule::Length,
            Self::Magic { .. } => EnvelopeRule::Magic,
            Self::Version { .. } => EnvelopeRule::Version,
            Self::HeaderBytes { .. } => EnvelopeRule::HeaderBytes,
            Self::Reserved { .. } => EnvelopeRule::ReservedWord,
            Self::PayloadCount { .. } => EnvelopeRule::PayloadCount,
            Self::FooterMagic { .. } => EnvelopeRule::FooterMagic,
            Self::FileBytes { .. } => EnvelopeRule::FileBytes,
            Self::FooterDigest { .. } => EnvelopeRule::FooterDigest,
            Self::ManifestBounds { .. } | Self::ManifestTooLong { .. } => {
                EnvelopeRule::ManifestBounds
            }
            Self::ManifestJson { .. } => EnvelopeRule::ManifestJson,
            Self::ManifestNotCanonical { .. } => EnvelopeRule::ManifestCanonical,
            Self::TableOffset { .. } => EnvelopeRule::TableOffset,
            Self::TableBounds { .. } => EnvelopeRule::TableBounds,
            Self::EntryNameTail { .. } | Self::EntryName { .. } => EnvelopeRule::EntryName,
            Self::EntryDuplicate { .. } => EnvelopeRule::EntryUnique,
            Self::EntryOffset { .. } => EnvelopeRule::EntryOffset,
            Self::EntryBounds { .. } => EnvelopeRule::EntryBounds,
            Self::PayloadDigest { .. } => EnvelopeRule::PayloadDigest,
            Self::Padding { .. } => EnvelopeRule::Padding,
            Self::FooterGap { .. } => EnvelopeRule::FooterGap,
            Self::ManifestField { .. } => EnvelopeRule::ManifestField,
            Self::ManifestVersion { .. } => EnvelopeRule::ManifestVersion,
            Self::Algorithm { .. } => EnvelopeRule::DigestAlgorithm,
            Self::UnknownField { .. } => EnvelopeRule::UnknownField,
            Self::RowCount { .. } | Self::RowValue { .. } => EnvelopeRule::PayloadRows,
            Self::ReferenceMissing { .. }
            | Self::ReferenceRepeated { .. }
            | Self::Unreferenced { .. } => EnvelopeRule::PayloadReference,
        }
    }
}
