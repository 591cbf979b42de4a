//! Writing an envelope.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::byte_layout::{
    ENTRY_BYTES, FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, MAGIC, MAX_MANIFEST_BYTES, MAX_PAYLOADS,
    NAME_BYTES, align8, file_length,
};
use crate::digest::Sha256State;
use crate::manifest_rules::{
    check_references, check_rows, check_version, read_manifest, unknown_fields,
};
use crate::{
    CanonicalError, Digest, EnvelopeError, EnvelopeVersion, Id, MAX_VALUES, Manifest, PayloadRow,
    PlainValue, StrictJsonError, U64, UnknownFields, canonical_json, parse_strict_json,
};

/// Why an envelope was not written. Nothing was written, unless the sink or a source failed or a payload is not what
/// the manifest says; what the sink holds then is part of an envelope and must be thrown away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A reader would refuse the manifest, or it does not describe the payloads given.
    #[error("the manifest would be refused by every reader: {0}")]
    Manifest(#[source] EnvelopeError),
    /// More payloads than an envelope may hold.
    #[error("an envelope holds at most {limit} payloads, {given} were given")]
    TooManyPayloads {
        /// The most.
        limit: u32,
        /// How many were given.
        given: usize,
    },
    /// Two payloads of one name.
    #[error("payloads {first} and {second} are both named {name}")]
    DuplicatePayload {
        /// Index of the first.
        first: usize,
        /// Index of the second.
        second: usize,
        /// Their name.
        name: Id,
    },
    /// The manifest's JSON could not be made: a field of a version 1 file that this crate does not know
    /// holds a value without canonical JSON.
    #[error("the manifest has no canonical JSON: {0}")]
    NotCanonical(#[from] CanonicalError),
    /// The manifest's JSON is none that a reader takes: a field that this crate does not know holds what it must not,
    /// or there are too many values.
    #[error("the manifest holds what no reader takes: {0}")]
    NotStrict(#[from] StrictJsonError),
    /// A field that this crate does not know carries the name of one that it does.
    #[error("a field kept from version 1, {field}, takes the name of a field that exists")]
    ShadowedField {
        /// Path of the first such field.
        field: String,
    },
    /// The manifest is longer than any reader takes into memory.
    #[error(
        "the manifest is {manifest_bytes} bytes, and readers take at most {MAX_MANIFEST_BYTES}"
    )]
    ManifestTooLong {
        /// Length of the manifest.
        manifest_bytes: usize,
    },
    /// The whole does not fit this machine's memory or a 64-bit length.
    #[error("the envelope is too large for this machine")]
    TooLarge,
    /// A payload's bytes are not those the head was written for: the manifest states another digest, or the source
    /// changed between two readings.
    #[error("payload {name} should have the digest {expected}, its bytes give {found}")]
    PayloadChanged {
        /// The payload.
        name: Id,
        /// What the manifest states, or the first reading gave.
        expected: Digest,
        /// What the bytes that were written give.
        found: Digest,
    },
    /// A payload's source has another length than when the head was laid out: it was written to in the meantime.
    #[error("payload {name} was {expected} bytes long and is {found} now")]
    LengthChanged {
        /// The payload.
        name: Id,
        /// Length at first, in bytes.
        expected: u64,
        /// Length later, in bytes.
        found: u64,
    },
    /// The bytes of a payload could not be read from where they come from.
    #[error("payload {name} could not be read: {error}")]
    Source {
        /// The payload.
        name: Id,
        /// What its source said.
        #[source]
        error: io::Error,
    },
    /// The sink refused bytes. What it holds is part of an envelope and must be thrown away.
    #[error("the sink refused the envelope's bytes: {0}")]
    Sink(#[from] io::Error),
}

/// Writes an envelope into memory; `manifest.envelope_version` decides the format.
///
/// The manifest's `payloads` may be empty: the rows are then made from `payloads`, in their order. If it
/// is not, it must say exactly that. Nothing else is filled in. The buffer is sized exactly; version 2
/// hashes each payload byte once, version 1 twice, as its format demands.
pub fn encode(manifest: &Manifest, payloads: &[(Id, &[u8])]) -> Result<Vec<u8>, EncodeError> {
    let plan = plan_in_memory(manifest, payloads)?;
    let capacity = usize::try_from(plan.file_bytes).map_err(|_| EncodeError::TooLarge)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(capacity)
        .map_err(|_| EncodeError::TooLarge)?;
    plan.write(payloads, &mut bytes)?;
    debug_assert_eq!(bytes.len(), capacity, "the plan is exact");
    Ok(bytes)
}

/// Writes an envelope straight to a sink, as [`encode`] does to memory, and returns its length in bytes.
/// The payloads are not copied. The sink is not flushed.
pub fn write_envelope<W: Write>(
    manifest: &Manifest,
    payloads: &[(Id, &[u8])],
    sink: &mut W,
) -> Result<u64, EncodeError> {
    let plan = plan_in_memory(manifest, payloads)?;
    plan.write(payloads, sink)?;
    Ok(plan.file_bytes)
}

/// Compares the rows that a manifest states, if it states any, with the payloads, under the version it names. Before a
/// version is changed and the rows are made anew, this tells whether the payloads are those the manifest is of.
pub fn check_stated_rows(manifest: &Manifest, payloads: &[(Id, &[u8])]) -> Result<(), EncodeError> {
    if manifest.payloads.is_empty() {
        return Ok(());
    }
    check_rows(manifest, &rows(manifest.envelope_version, payloads)).map_err(EncodeError::Manifest)
}

/// An envelope laid out around payloads that stay where they are: for a writer that takes it in parts, so that no
/// second copy of the payloads is in memory.
#[derive(Debug)]
pub struct EnvelopeParts<'a> {
    head: Vec<u8>,
    payloads: Vec<&'a [u8]>,
    footer: [u8; FOOTER_BYTES as usize],
    file_bytes: u64,
}

impl EnvelopeParts<'_> {
    /// The envelope is these, one after the other: what [`encode`] makes of the same.
    #[must_use]
    pub fn in_order(&self) -> Vec<&[u8]> {
        let mut parts = parts_before_footer(&self.head, self.payloads.iter().copied());
        parts.push(&self.footer);
        parts
    }

    /// Length of the envelope.
    #[must_use]
    pub const fn byte_length(&self) -> u64 {
        self.file_bytes
    }
}

/// As [`encode`], but the payloads are not copied: version 2 hashes each payload byte once and moves none.
pub fn encode_parts<'a>(
    manifest: &Manifest,
    payloads: &[(Id, &'a [u8])],
) -> Result<EnvelopeParts<'a>, EncodeError> {
    let plan = plan_in_memory(manifest, payloads)?;
    let payloads: Vec<&[u8]> = payloads.iter().map(|(_, bytes)| *bytes).collect();
    let digest = match plan.version {
        EnvelopeVersion::Two => Digest::blake3(&plan.head),
        EnvelopeVersion::One => {
            let mut whole = Sha256State::new();
            for part in parts_before_footer(&plan.head, payloads.iter().copied()) {
                whole.update(part);
            }
            whole.finish()
        }
    };
    Ok(EnvelopeParts {
        footer: plan.footer(digest),
        file_bytes: plan.file_bytes,
        head: plan.head,
        payloads,
    })
}

/// Head, padding and payloads. The head ends on a multiple of 8, so positions since then align like positions in the
/// file.
fn parts_before_footer<'a>(
    head: &'a [u8],
    payloads: impl Iterator<Item = &'a [u8]>,
) -> Vec<&'a [u8]> {
    const ZEROS: &[u8] = &[0; 8];
    let mut parts = vec![head];
    let mut position: usize = 0;
    for payload in payloads {
        let aligned = position.next_multiple_of(8);
        parts.extend([&ZEROS[..aligned - position], payload]);
        position = aligned + payload.len();
    }
    parts
}

fn plan_in_memory(manifest: &Manifest, payloads: &[(Id, &[u8])]) -> Result<Plan, EncodeError> {
    let version = manifest.envelope_version;
    let names: Vec<&Id> = payloads.iter().map(|(name, _)| name).collect();
    check_payloads(manifest, &names)?;
    Plan::new(manifest, &rows(version, payloads))
}

/// What can be said before a payload is read: the version's rules, names and references.
pub(crate) fn check_payloads(manifest: &Manifest, names: &[&Id]) -> Result<(), EncodeError> {
    check_version(manifest, manifest.envelope_version).map_err(EncodeError::Manifest)?;
    check_payload_names(names)?;
    check_references(manifest, names.iter().copied()).map_err(EncodeError::Manifest)
}

/// Everything but the payloads' bytes.
pub(crate) struct Plan {
    version: EnvelopeVersion,
    /// Header, manifest, padding and table: up to the first payload.
    pub(crate) head: Vec<u8>,
    pub(crate) file_bytes: u64,
}

impl Plan {
    /// Lays out an envelope whose payloads are `rows`. Its lengths depend on the rows' lengths, not on their digests.
    pub(crate) fn new(manifest: &Manifest, rows: &[PayloadRow]) -> Result<Self, EncodeError> {
        if !manifest.payloads.is_empty() {
            check_rows(manifest, rows).map_err(EncodeError::Manifest)?;
        }
        let text = manifest_text(manifest, rows)?;
        Self::lay_out(manifest.envelope_version, &text, rows)
    }

    fn lay_out(
        version: EnvelopeVersion,
        text: &[u8],
        rows: &[PayloadRow],
    ) -> Result<Self, EncodeError> {
        let manifest_bytes = u32::try_from(text.len())
            .ok()
            .filter(|&bytes| bytes <= MAX_MANIFEST_BYTES)
            .ok_or(EncodeError::ManifestTooLong {
                manifest_bytes: text.len(),
            })?;
        let table_offset = (HEADER_BYTES + manifest_bytes).next_multiple_of(8);
        let payload_count = u32::try_from(rows.len()).map_err(|_| EncodeError::TooLarge)?;
        let head_bytes = u64::from(table_offset) + u64::from(payload_count * ENTRY_BYTES);
        let capacity = usize::try_from(head_bytes).map_err(|_| EncodeError::TooLarge)?;

        let mut head = Vec::with_capacity(capacity);
        head.extend_from_slice(&MAGIC);
        for word in [
            version.number(),
            HEADER_BYTES,
            manifest_bytes,
            payload_count,
            table_offset,
            0,
        ] {
            head.extend_from_slice(&word.to_le_bytes());
        }
        head.extend_from_slice(text);
        head.resize(head.len().next_multiple_of(8), 0);
        let mut end = head_bytes;
        for row in rows {
            let offset = align8(end).ok_or(EncodeError::TooLarge)?;
            let mut name = [0; NAME_BYTES];
            name[..row.name.as_str().len()].copy_from_slice(row.name.as_str().as_bytes());
            head.extend_from_slice(&name);
            head.extend_from_slice(&offset.to_le_bytes());
            head.extend_from_slice(&row.byte_length.0.to_le_bytes());
            head.extend_from_slice(row.digest.as_bytes());
            end = offset
                .checked_add(row.byte_length.0)
                .ok_or(EncodeError::TooLarge)?;
        }
        let file_bytes = end
            .checked_add(FOOTER_BYTES.into())
            .ok_or(EncodeError::TooLarge)?;
        Ok(Self {
            version,
            head,
            file_bytes,
        })
    }

    fn write<W: Write>(&self, payloads: &[(Id, &[u8])], sink: &mut W) -> Result<(), EncodeError> {
        // Only version 1 hashes what it writes: in version 2 the table already covers the payloads.
        let mut whole = (self.version == EnvelopeVersion::One).then(Sha256State::new);
        let mut written = 0;
        let mut put = |part: &[u8]| -> io::Result<()> {
            if let Some(state) = &mut whole {
                state.update(part);
            }
            written += part.len();
            sink.write_all(part)
        };
        let payloads = payloads.iter().map(|(_, payload)| *payload);
        for part in parts_before_footer(&self.head, payloads) {
            put(part)?;
        }
        let digest = match whole {
            Some(state) => state.finish(),
            None => Digest::blake3(&self.head),
        };
        sink.write_all(&self.footer(digest))?;
        debug_assert_eq!(
            file_length(written) + u64::from(FOOTER_BYTES),
            self.file_bytes,
            "the plan is exact"
        );
        Ok(())
    }

    /// The footer, whose digest the caller made: of [`Plan::head`] in version 2, of the whole in version 1.
    pub(crate) fn footer(&self, digest: Digest) -> [u8; FOOTER_BYTES as usize] {
        let mut footer = [0; FOOTER_BYTES as usize];
        footer[..8].copy_from_slice(&self.file_bytes.to_le_bytes());
        footer[8..40].copy_from_slice(digest.as_bytes());
        footer[40..].copy_from_slice(&FOOTER_MAGIC);
        footer
    }
}

fn check_payload_names(payloads: &[&Id]) -> Result<(), EncodeError> {
    let limit = MAX_PAYLOADS;
    if file_length(payloads.len()) > u64::from(limit) {
        return Err(EncodeError::TooManyPayloads {
            limit,
            given: payloads.len(),
        });
    }
    for (second, name) in payloads.iter().enumerate() {
        let earlier = &payloads[..second];
        if let Some(first) = earlier.iter().position(|other| other == name) {
            return Err(EncodeError::DuplicatePayload {
                first,
                second,
                name: (*name).clone(),
            });
        }
    }
    Ok(())
}

fn rows(version: EnvelopeVersion, payloads: &[(Id, &[u8])]) -> Vec<PayloadRow> {
    payloads
        .iter()
        .map(|(name, bytes)| PayloadRow {
            name: name.clone(),
            byte_length: U64(file_length(bytes.len())),
            digest: version.digest_algorithm().digest(bytes),
            unknown: UnknownFields::none(),
        })
        .collect()
}

/// The manifest's bytes; where it states no rows, with `rows`. Unknown fields hold whatever a caller put there, so with
/// them the text is read back: it must be strict, and it must say the same. So it is where it may hold too many values,
/// each of which is a byte at least.
fn manifest_text(manifest: &Manifest, rows: &[PayloadRow]) -> Result<Vec<u8>, EncodeError> {
    let mut value = PlainValue::of(manifest).map_err(CanonicalError::from)?;
    if manifest.payloads.is_empty()
        && let PlainValue::Object(fields) = &mut value
    {
        // Of two members of one name the later counts.
        let rows = PlainValue::of(rows).map_err(CanonicalError::from)?;
        fields.push((Cow::Borrowed("payloads"), rows));
    }
    let text = canonical_json(&value)?;
    let kept = unknown_fields(manifest);
    if !kept.is_empty() || text.len() > MAX_VALUES {
        let read = read_manifest(parse_strict_json(&text)?).map_err(EncodeError::Manifest)?;
        // Both list what holds a field before what is within it, so the first that differs is one that was taken
        // for a field that exists.
        let mut still_unknown = unknown_fields(&read).into_iter();
        if let Some(field) = kept
            .into_iter()
            .find(|field| still_unknown.next().as_ref() != Some(field))
        {
            return Err(EncodeError::ShadowedField { field });
        }
    }
    Ok(text)
}
