//! The rules of a reader, one function a group, each over the bytes as they lie in the file.

use std::ops::Range;

use serde_json::Value;

use crate::byte_layout::{
    ENTRY_BYTES, FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, MAGIC, MAX_MANIFEST_BYTES, MAX_PAYLOADS,
    NAME_BYTES, align8, array_at, bytes_at, digest_at, file_length, u32_at, u64_at,
};
use crate::file_bytes::{FileBytes, Halt};
use crate::strict_json::read_strict_json;
use crate::{
    Digest, DigestAlgorithm, EnvelopeError, EnvelopeVersion, Id, PayloadEntry, PayloadRow, U64,
    UnknownFields, canonical_text,
};

/// What the header says, after rule 1.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) version: EnvelopeVersion,
    pub(crate) manifest_bytes: u32,
    pub(crate) payload_count: u32,
    pub(crate) table_offset: u32,
}

impl PayloadEntry {
    /// Where the payload ends; entries are made only where this fits.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.byte_length
    }

    pub(crate) fn check_digest(&self, computed: Digest) -> Result<(), EnvelopeError> {
        if computed != self.digest {
            return Err(EnvelopeError::PayloadDigest {
                name: self.name.clone(),
                offset: self.offset,
                recorded: self.digest,
                computed,
            });
        }
        Ok(())
    }

    pub(crate) fn row(&self) -> PayloadRow {
        PayloadRow {
            name: self.name.clone(),
            byte_length: U64(self.byte_length),
            digest: self.digest,
            unknown: UnknownFields::none(),
        }
    }
}

impl Header {
    /// Rule 1: length, magic, version, header length, reserved word, payload count.
    pub(crate) fn read(prefix: &[u8], file_bytes: u64) -> Result<Self, EnvelopeError> {
        let least_bytes = u64::from(HEADER_BYTES + FOOTER_BYTES);
        if file_bytes < least_bytes {
            return Err(EnvelopeError::TooShort {
                file_bytes,
                least_bytes,
            });
        }
        let needed_bytes = u64::from(HEADER_BYTES);
        let Some(header) = bytes_at(prefix, 0, needed_bytes) else {
            return Err(EnvelopeError::PrefixTooShort {
                needed_bytes,
                given_bytes: file_length(prefix.len()),
            });
        };
        let magic: [u8; 8] = array_at(header, 0);
        if magic != MAGIC {
            return Err(EnvelopeError::Magic { found: magic });
        }
        let version = EnvelopeVersion::try_from(u32_at(header, 8))
            .map_err(|error| EnvelopeError::Version { found: error.found })?;
        if u32_at(header, 12) != HEADER_BYTES {
            return Err(EnvelopeError::HeaderBytes {
                expected: HEADER_BYTES,
                found: u32_at(header, 12),
            });
        }
        if u32_at(header, 28) != 0 {
            return Err(EnvelopeError::Reserved {
                found: u32_at(header, 28),
            });
        }
        let payload_count = u32_at(header, 20);
        if payload_count > MAX_PAYLOADS {
            return Err(EnvelopeError::PayloadCount {
                limit: MAX_PAYLOADS,
                found: payload_count,
            });
        }
        Ok(Self {
            version,
            manifest_bytes: u32_at(header, 16),
            payload_count,
            table_offset: u32_at(header, 24),
        })
    }

    pub(crate) fn algorithm(&self) -> DigestAlgorithm {
        self.version.digest_algorithm()
    }

    pub(crate) fn manifest_end(&self) -> u64 {
        u64::from(HEADER_BYTES) + u64::from(self.manifest_bytes)
    }

    /// Where the layout puts the table, whatever the header says.
    pub(crate) fn laid_out_table_offset(&self) -> u64 {
        align8(self.manifest_end()).expect("two 32-bit lengths fit 64 bits")
    }

    /// Where the table ends; a multiple of 8, so the first payload begins here.
    pub(crate) fn table_end(&self) -> u64 {
        self.laid_out_table_offset() + u64::from(self.payload_count) * u64::from(ENTRY_BYTES)
    }

    /// The manifest lies before `limit`, where the footer begins, and is no longer than readers take into memory.
    pub(crate) fn check_manifest_bounds(&self, limit: u64) -> Result<(), EnvelopeError> {
        self.check_manifest_end(limit)?;
        self.check_manifest_length()
    }

    fn check_manifest_length(&self) -> Result<(), EnvelopeError> {
        if self.manifest_bytes > MAX_MANIFEST_BYTES {
            return Err(EnvelopeError::ManifestTooLong {
                manifest_bytes: self.manifest_bytes.into(),
                limit_bytes: MAX_MANIFEST_BYTES.into(),
            });
        }
        Ok(())
    }

    fn check_manifest_end(&self, limit: u64) -> Result<(), EnvelopeError> {
        if self.manifest_end() > limit {
            return Err(EnvelopeError::ManifestBounds {
                manifest_bytes: self.manifest_bytes.into(),
                room_bytes: limit.saturating_sub(HEADER_BYTES.into()),
            });
        }
        Ok(())
    }

    /// Rule 4: the table is where the layout puts it, and before `limit`.
    pub(crate) fn check_table(&self, limit: u64) -> Result<(), EnvelopeError> {
        let expected = self.laid_out_table_offset();
        if u64::from(self.table_offset) != expected {
            return Err(EnvelopeError::TableOffset {
                expected,
                found: self.table_offset.into(),
            });
        }
        self.check_table_bounds(limit)
    }

    fn check_table_bounds(&self, limit: u64) -> Result<(), EnvelopeError> {
        let end = self.table_end();
        if end > limit {
            return Err(EnvelopeError::TableBounds { end, limit });
        }
        Ok(())
    }
}

/// Rule 2 for a footer at `footer_offset`: its magic and the recorded length; answers the recorded digest. The
/// footer need not be the end of the file, so that a damaged file can be described; the length it records is
/// compared with the whole.
pub(crate) fn read_footer<F: FileBytes>(
    file: &mut F,
    footer_offset: u64,
) -> Result<Digest, Halt<F::Fault>> {
    let actual = file.length();
    let Some(footer) = file.array::<{ FOOTER_BYTES as usize }>(footer_offset)? else {
        return Err(Halt::Refused(EnvelopeError::TooShort {
            file_bytes: actual,
            least_bytes: footer_offset.saturating_add(FOOTER_BYTES.into()),
        }));
    };
    let magic: [u8; 8] = array_at(&footer, 40);
    if magic != FOOTER_MAGIC {
        return Err(Halt::Refused(EnvelopeError::FooterMagic {
            offset: footer_offset + 40,
            found: magic,
        }));
    }
    let recorded = u64_at(&footer, 0);
    if recorded != actual {
        return Err(Halt::Refused(EnvelopeError::FileBytes { recorded, actual }));
    }
    Ok(digest_at(&footer, 8))
}

/// The last part of rule 2. Version 2 covers everything up to the end of the table; if that does not lie
/// before the footer, the bounds are what is wrong.
pub(crate) fn check_footer_digest<F: FileBytes>(
    file: &mut F,
    header: &Header,
    footer_offset: u64,
    recorded: Digest,
) -> Result<(), Halt<F::Fault>> {
    let covered_bytes = match header.version {
        EnvelopeVersion::One => footer_offset,
        EnvelopeVersion::Two => {
            header.check_manifest_end(footer_offset)?;
            header.check_table_bounds(footer_offset)?;
            // Needed in memory in any case, so that it is read once. One that is too long is hashed on its way: the
            // length that says so may be what is damaged.
            if header.check_manifest_length().is_ok() {
                file.prefix(header.table_end())?;
            }
            header.table_end()
        }
    };
    let computed = file.digest(header.algorithm(), 0..covered_bytes)?;
    match computed {
        Some(computed) if computed != recorded => Err(Halt::Refused(EnvelopeError::FooterDigest {
            offset: footer_offset + 8,
            covered_bytes,
            recorded,
            computed,
        })),
        Some(_) => Ok(()),
        None => Err(Halt::Refused(EnvelopeError::TooShort {
            file_bytes: file.length(),
            least_bytes: covered_bytes,
        })),
    }
}

/// Rule 3: the manifest lies before `limit`, is strict JSON and canonical.
pub(crate) fn read_manifest_json(
    prefix: &[u8],
    header: &Header,
    limit: u64,
) -> Result<Value, EnvelopeError> {
    header.check_manifest_bounds(limit)?;
    let start = u64::from(HEADER_BYTES);
    let Some(text) = bytes_at(prefix, start, header.manifest_bytes.into()) else {
        return Err(EnvelopeError::PrefixTooShort {
            needed_bytes: header.manifest_end(),
            given_bytes: file_length(prefix.len()),
        });
    };
    let read = read_strict_json(text).map_err(|problem| EnvelopeError::ManifestJson {
        offset: start + file_length(problem.offset()),
        problem,
    })?;
    if !read.is_surely_canonical {
        // Written again to see where the two part.
        let canonical = canonical_text(&read.value);
        if canonical.as_bytes() != text {
            let same = canonical
                .as_bytes()
                .iter()
                .zip(text)
                .take_while(|(left, right)| left == right);
            return Err(EnvelopeError::ManifestNotCanonical {
                offset: start + file_length(same.count()),
            });
        }
    }
    Ok(read.value)
}

/// Rule 5 for the entry after `earlier`, but for its digest. The table lies inside `prefix`.
pub(crate) fn read_entry(
    prefix: &[u8],
    header: &Header,
    earlier: &[PayloadEntry],
    limit: u64,
) -> Result<PayloadEntry, EnvelopeError> {
    let index = earlier.len();
    let start = header.laid_out_table_offset() + file_length(index) * u64::from(ENTRY_BYTES);
    let Some(entry) = bytes_at(prefix, start, ENTRY_BYTES.into()) else {
        return Err(EnvelopeError::PrefixTooShort {
            needed_bytes: header.table_end(),
            given_bytes: file_length(prefix.len()),
        });
    };
    let name = read_name(&entry[..NAME_BYTES], index, start)?;
    if let Some(first) = earlier.iter().position(|other| other.name == name) {
        return Err(EnvelopeError::EntryDuplicate {
            index,
            first,
            offset: start,
            name,
        });
    }
    let (offset, byte_length) = (u64_at(entry, 64), u64_at(entry, 72));
    let previous_end = earlier.last().map_or(header.table_end(), PayloadEntry::end);
    // The previous payload ends before the footer, so aligning its end cannot overflow.
    let expected = align8(previous_end).unwrap_or(u64::MAX);
    if offset != expected {
        return Err(EnvelopeError::EntryOffset {
            name,
            offset: start + file_length(NAME_BYTES),
            expected,
            found: offset,
        });
    }
    if offset
        .checked_add(byte_length)
        .is_none_or(|end| end > limit)
    {
        return Err(EnvelopeError::EntryBounds {
            name,
            offset,
            byte_length,
            limit,
        });
    }
    Ok(PayloadEntry {
        name,
        offset,
        byte_length,
        digest: digest_at(entry, 80),
    })
}

fn read_name(field: &[u8], index: usize, start: u64) -> Result<Id, EnvelopeError> {
    let length = field
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(field.len());
    let tail = field.iter().skip(length).position(|&byte| byte != 0);
    if let Some(distance) = tail {
        return Err(EnvelopeError::EntryNameTail {
            index,
            offset: start + file_length(length + distance),
            found: field[length + distance],
        });
    }
    Id::parse(&String::from_utf8_lossy(&field[..length])).map_err(|problem| {
        EnvelopeError::EntryName {
            index,
            offset: start,
            problem,
        }
    })
}

/// The last part of rule 5: the digest of a payload's bytes, which lie inside the file.
pub(crate) fn check_payload<F: FileBytes>(
    file: &mut F,
    header: &Header,
    entry: &PayloadEntry,
) -> Result<(), Halt<F::Fault>> {
    match file.digest(header.algorithm(), entry.offset..entry.end())? {
        Some(computed) => Ok(entry.check_digest(computed)?),
        None => Err(Halt::Refused(EnvelopeError::EntryBounds {
            name: entry.name.clone(),
            offset: entry.offset,
            byte_length: entry.byte_length,
            limit: file.length(),
        })),
    }
}

/// The gaps between the parts before the footer, in file order; each under 8 bytes.
pub(crate) fn padding(header: &Header, entries: &[PayloadEntry]) -> Vec<Range<u64>> {
    let ends = [header.manifest_end(), header.table_end()]
        .into_iter()
        .chain(entries.iter().map(PayloadEntry::end));
    let starts = [header.laid_out_table_offset()]
        .into_iter()
        .chain(entries.iter().map(|entry| entry.offset));
    ends.zip(starts)
        .map(|(end, start)| end..start)
        .filter(|gap| !gap.is_empty())
        .collect()
}

/// Rule 6 for one gap: every byte is zero. A gap ends on a multiple of 8 and is shorter than 8 bytes.
pub(crate) fn check_padding<F: FileBytes>(
    file: &mut F,
    gap: &Range<u64>,
) -> Result<(), Halt<F::Fault>> {
    let word = file.array::<8>(gap.end - 8)?.unwrap_or_default();
    let offsets = gap.end - 8..gap.end;
    match offsets
        .zip(word)
        .find(|&(offset, byte)| offset >= gap.start && byte != 0)
    {
        Some((offset, found)) => Err(Halt::Refused(EnvelopeError::Padding { offset, found })),
        None => Ok(()),
    }
}

/// Rule 6: the footer begins where the last payload ends.
pub(crate) fn check_no_gap(
    header: &Header,
    entries: &[PayloadEntry],
    footer_offset: u64,
) -> Result<(), EnvelopeError> {
    let end = entries.last().map_or(header.table_end(), PayloadEntry::end);
    if end != footer_offset {
        return Err(EnvelopeError::FooterGap { end, footer_offset });
    }
    Ok(())
}
