//! Reading an envelope: [`decode`] verifies all of it, [`decode_header`] looks without verifying.

use crate::byte_layout::{FOOTER_BYTES, HEADER_BYTES, bytes_at};
use crate::file_bytes::{FileBytes, Halt, InMemory};
use crate::manifest_rules::{check_references, check_rows, check_version, read_manifest};
use crate::reader::{
    Header, check_footer_digest, check_no_gap, check_padding, check_payload, padding, read_entry,
    read_footer, read_manifest_json,
};
use crate::{Digest, EnvelopeError, EnvelopeVersion, Id, Manifest, PayloadRow};

/// A verified envelope: views into the bytes it was decoded from.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<'a> {
    /// The version of the file.
    pub version: EnvelopeVersion,
    /// What the checkpoint says of itself.
    pub manifest: Manifest,
    /// The payloads in file order.
    pub payloads: Vec<PayloadView<'a>>,
}

/// One payload of a verified envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadView<'a> {
    /// Its name.
    pub name: Id,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Their digest, verified, under the version's function.
    pub digest: Digest,
}

impl<'a> Envelope<'a> {
    /// The bytes of a payload.
    #[must_use]
    pub fn payload(&self, name: &Id) -> Option<&'a [u8]> {
        let found = self.payloads.iter().find(|payload| payload.name == *name)?;
        Some(found.bytes)
    }
}

/// Header, manifest and table of an envelope whose payloads were not read.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvelopeHead {
    /// The version of the file.
    pub version: EnvelopeVersion,
    /// What the checkpoint says of itself.
    pub manifest: Manifest,
    /// The payloads in file order.
    pub entries: Vec<PayloadEntry>,
}

impl EnvelopeHead {
    /// Where a payload lies.
    #[must_use]
    pub fn entry(&self, name: &Id) -> Option<&PayloadEntry> {
        self.entries.iter().find(|entry| entry.name == *name)
    }
}

/// Where one payload lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadEntry {
    /// Its name.
    pub name: Id,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub byte_length: u64,
    /// The digest the table records for it.
    pub digest: Digest,
}

/// Reads and verifies a whole envelope, version 1 or 2.
///
/// Every byte is either verified or required to have one value, so a file that decodes is exactly what
/// its writer wrote. The result borrows from `bytes`. Nothing is allocated for a length that was not
/// checked against the file first.
pub fn decode(bytes: &[u8]) -> Result<Envelope<'_>, EnvelopeError> {
    let read = read_envelope(&mut InMemory(bytes), Depth::Whole).map_err(Halt::refusal)?;
    let views = read.entries.into_iter().map(|entry| PayloadView {
        // Verified above, so the bytes are there.
        bytes: bytes_at(bytes, entry.offset, entry.byte_length).unwrap_or_default(),
        name: entry.name,
        offset: entry.offset,
        digest: entry.digest,
    });
    Ok(Envelope {
        version: read.version,
        manifest: read.manifest,
        payloads: views.collect(),
    })
}

/// How much of a file is hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    Whole,
    /// Everything but payloads, and in version 1, where the footer's digest covers them, no byte.
    Head,
}

/// Every rule, in order. The one place that orders them, for files in memory and out of it.
pub(crate) fn read_envelope<F: FileBytes>(
    file: &mut F,
    depth: Depth,
) -> Result<EnvelopeHead, Halt<F::Fault>> {
    let file_bytes = file.length();
    let header = Header::read(file.prefix(HEADER_BYTES.into())?, file_bytes)?;
    let footer_offset = file_bytes - u64::from(FOOTER_BYTES);
    let recorded = read_footer(file, footer_offset)?;
    if depth == Depth::Whole || header.version == EnvelopeVersion::Two {
        check_footer_digest(file, &header, footer_offset, recorded)?;
    }
    header.check_manifest_bounds(footer_offset)?;
    let prefix = file.prefix(header.manifest_end())?;
    // Its types are the last rule. It is read at once, while it is in the caches, and judged in its turn.
    let manifest = read_manifest(read_manifest_json(prefix, &header, footer_offset)?);
    header.check_table(footer_offset)?;
    let mut entries = Vec::new();
    for _ in 0..header.payload_count {
        let prefix = file.prefix(header.table_end())?;
        let entry = read_entry(prefix, &header, &entries, footer_offset)?;
        if depth == Depth::Whole {
            check_payload(file, &header, &entry)?;
        }
        entries.push(entry);
    }
    for gap in padding(&header, &entries) {
        check_padding(file, &gap)?;
    }
    check_no_gap(&header, &entries, footer_offset)?;
    let manifest = manifest?;
    check_manifest(&manifest, &header, &entries)?;
    Ok(EnvelopeHead {
        version: header.version,
        manifest,
        entries,
    })
}

/// How many bytes from the start of a file [`decode_header`] needs, from its first 32.
pub fn head_bytes(prefix: &[u8], file_bytes: u64) -> Result<u64, EnvelopeError> {
    let header = Header::read(prefix, file_bytes)?;
    let footer_offset = file_bytes - u64::from(FOOTER_BYTES);
    header.check_manifest_bounds(footer_offset)?;
    header.check_table(footer_offset)?;
    Ok(header.table_end())
}

/// Reads manifest and table from the start of a file of `file_bytes`, for a listing.
///
/// It checks what can be checked without footer and payloads: rules 1, 3, 4, 7, and 5 and 6 but for
/// digests. So what it returns is well formed, and not verified: before anything is restored, [`decode`]
/// must see the whole file.
pub fn decode_header(prefix: &[u8], file_bytes: u64) -> Result<EnvelopeHead, EnvelopeError> {
    let header = Header::read(prefix, file_bytes)?;
    let footer_offset = file_bytes - u64::from(FOOTER_BYTES);
    let value = read_manifest_json(prefix, &header, footer_offset)?;
    header.check_table(footer_offset)?;
    let mut entries = Vec::new();
    for _ in 0..header.payload_count {
        entries.push(read_entry(prefix, &header, &entries, footer_offset)?);
    }
    check_no_gap(&header, &entries, footer_offset)?;
    let manifest = read_manifest(value)?;
    check_manifest(&manifest, &header, &entries)?;
    Ok(EnvelopeHead {
        version: header.version,
        manifest,
        entries,
    })
}

/// Rule 7, after the manifest's fields and their types.
pub(crate) fn check_manifest(
    manifest: &Manifest,
    header: &Header,
    entries: &[PayloadEntry],
) -> Result<(), EnvelopeError> {
    check_version(manifest, header.version)?;
    let rows: Vec<PayloadRow> = entries.iter().map(PayloadEntry::row).collect();
    check_rows(manifest, &rows)?;
    check_references(manifest, entries.iter().map(|entry| &entry.name))
}
