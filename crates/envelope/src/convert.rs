//! [`convert`]: a file of one version as a file of the other.

use std::io::{Seek, Write};

use crate::digest::DigestState;
use crate::encode::EncodeError;
use crate::manifest_rules::check_version;
use crate::stream_encode::{PayloadBytes, read_range, write_going_back, write_in_order};
use crate::verify::verify;
use crate::{
    DigestAlgorithm, EnvelopeError, EnvelopeVersion, Id, PayloadEntry, Progress, ReadAt,
    StreamError,
};

/// Why a file was not converted. What the sink holds then must be thrown away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The file could not be read or breaks a rule. Nothing was written.
    #[error(transparent)]
    Read(#[from] StreamError),
    /// The file is sound and holds something that version 2 has no place for: a field this crate does not know, or a
    /// `digestAlgorithm` that says what version 1 need not say. Nothing was written; the file can only be kept as it is.
    #[error("the file cannot be written as version {to} without loss: {problem}")]
    WouldLose {
        /// The version asked for.
        to: EnvelopeVersion,
        /// The first rule of that version that the manifest breaks.
        problem: EnvelopeError,
    },
    /// The sink failed, or the source while it was read again; or its bytes are no longer those that were verified
    /// ([`EncodeError::PayloadChanged`]).
    #[error(transparent)]
    Write(#[from] EncodeError),
}

/// Verifies a file and writes it again in version `to`, in bounded memory; returns the length of what it wrote.
///
/// Payloads and everything the manifest says stay what they are; `envelopeVersion`, `digestAlgorithm`, the digests of
/// payloads and the layout become those of the version. So a file of version 2 goes to version 1 and back to the same
/// bytes, and so does a file of version 1 through version 2. What version 2 has no place for is refused
/// ([`ConvertError::WouldLose`]) rather than dropped: fields that this crate does not know, and a `digestAlgorithm`
/// that says the obvious in a file of version 1, since the file that comes back would not say it. To the version it has
/// already, a file is copied byte for byte.
///
/// The source is read twice, by [`verify`] first; `progress` is called during both, with a total of its own for each.
/// Whatever is copied is compared again with the digest that was verified, so that a source that changes in between
/// is refused rather than given a new digest.
pub fn convert<S: ReadAt, W: Write + Seek>(
    source: &mut S,
    to: EnvelopeVersion,
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, ConvertError> {
    let head = verify(source, progress)?;
    let mut manifest = head.manifest;
    let mut sections = Sections {
        source,
        entries: head.entries,
        checked_by: None,
    };
    if head.version == to {
        // Its rows are stated, so each payload is read once more and compared.
        return Ok(write_in_order(&manifest, &mut sections, sink, progress)?);
    }
    manifest.envelope_version = to;
    manifest.digest_algorithm = match to {
        EnvelopeVersion::One => None,
        // One that is stated is left to be refused.
        EnvelopeVersion::Two => manifest.digest_algorithm.or(Some(DigestAlgorithm::Blake3)),
    };
    // Before the rows go: they too may hold fields that version 2 has no place for.
    check_version(&manifest, to).map_err(|problem| ConvertError::WouldLose { to, problem })?;
    manifest.payloads.clear();
    sections.checked_by = Some(head.version.digest_algorithm());
    Ok(write_going_back(&manifest, &mut sections, sink, progress)?)
}

/// The payloads of a file, in its own order.
struct Sections<'a, S> {
    source: &'a mut S,
    entries: Vec<PayloadEntry>,
    /// The function the entries' digests were made with, where nobody else compares them.
    checked_by: Option<DigestAlgorithm>,
}

impl<S: ReadAt> PayloadBytes for Sections<'_, S> {
    fn payloads(&self) -> Vec<(Id, u64)> {
        let entries = self.entries.iter();
        entries
            .map(|entry| (entry.name.clone(), entry.byte_length))
            .collect()
    }

    fn read(
        &mut self,
        index: usize,
        _byte_length: u64,
        put: &mut dyn FnMut(&[u8]) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let entry = &self.entries[index];
        let range = entry.offset..entry.end();
        let mut verified = self.checked_by.map(DigestState::new);
        read_range(self.source, &entry.name, range, &mut |chunk| {
            if let Some(state) = &mut verified {
                state.update(chunk);
            }
            put(chunk)
        })?;
        match verified.map(DigestState::finish) {
            Some(found) if found != entry.digest => Err(EncodeError::PayloadChanged {
                name: entry.name.clone(),
                expected: entry.digest,
                found,
            }),
            _ => Ok(()),
        }
    }
}
