//! [`write_from_sources`] and [`write_seekable`]: envelopes whose payloads need not fit into memory.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use crate::byte_layout::file_length;
use crate::digest::DigestState;
use crate::encode::{Plan, check_payloads};
use crate::streamed::for_each_chunk;
use crate::{
    Digest, EncodeError, EnvelopeVersion, Id, Manifest, PayloadRow, Progress, ReadAt, U64,
    UnknownFields,
};

/// Writes an envelope to a sink that only takes bytes in order; returns its length in bytes.
///
/// As [`crate::encode`], but payloads come from sources, 64 KiB at a time. Digests stand before the bytes they are of:
/// where the manifest's `payloads` say them already, each source is read once and compared with what was said; where
/// they are empty, each is read twice. Version 1 hashes each payload byte twice, version 2 as often as it reads it.
/// The sink is not flushed; on an error, what it holds must be thrown away. A source whose bytes or whose length change
/// while it is written is an error.
pub fn write_from_sources<S: ReadAt, W: Write>(
    manifest: &Manifest,
    payloads: &mut [(Id, S)],
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, EncodeError> {
    write_in_order(manifest, &mut Separate(payloads), sink, progress)
}

/// Writes an envelope to a sink that can go back, from its present position on; returns its length in bytes.
///
/// As [`write_from_sources`], but in version 2 each payload byte is read and hashed once, whatever the manifest says:
/// payloads are written while they are hashed, then header, manifest and table before them. The sink is left at the
/// envelope's end. What it held beyond is still there, as nothing here can shorten a sink: who writes over a longer
/// file truncates it there, or readers refuse it for the tail.
pub fn write_seekable<S: ReadAt, W: Write + Seek>(
    manifest: &Manifest,
    payloads: &mut [(Id, S)],
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, EncodeError> {
    write_going_back(manifest, &mut Separate(payloads), sink, progress)
}

/// Payloads by index, from wherever they come.
pub(crate) trait PayloadBytes {
    /// Names and lengths.
    fn payloads(&self) -> Vec<(Id, u64)>;

    /// Reads one payload, of which so many bytes were announced, in chunks of any length. Exactly these are put, or it
    /// fails.
    fn read(
        &mut self,
        index: usize,
        byte_length: u64,
        put: &mut dyn FnMut(&[u8]) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError>;
}

/// A source for each payload.
struct Separate<'a, S>(&'a mut [(Id, S)]);

impl<S: ReadAt> PayloadBytes for Separate<'_, S> {
    fn payloads(&self) -> Vec<(Id, u64)> {
        let payloads = self.0.iter();
        payloads
            .map(|(name, source)| (name.clone(), source.length()))
            .collect()
    }

    fn read(
        &mut self,
        index: usize,
        byte_length: u64,
        put: &mut dyn FnMut(&[u8]) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let (name, source) = &mut self.0[index];
        // Before, for what no longer has so many bytes; after, for what was written to in the meantime.
        check_length(name, source, byte_length)?;
        read_range(source, name, 0..byte_length, put)?;
        check_length(name, source, byte_length)
    }
}

/// The head is written for lengths that were asked for once.
fn check_length<S: ReadAt>(name: &Id, source: &S, expected: u64) -> Result<(), EncodeError> {
    let found = source.length();
    if found == expected {
        return Ok(());
    }
    Err(EncodeError::LengthChanged {
        name: name.clone(),
        expected,
        found,
    })
}

/// Reads a payload out of a source that holds it.
pub(crate) fn read_range<S: ReadAt>(
    source: &mut S,
    name: &Id,
    range: Range<u64>,
    put: &mut dyn FnMut(&[u8]) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let failed = |error| EncodeError::Source {
        name: name.clone(),
        error,
    };
    for_each_chunk(source, &mut Vec::new(), range, failed, put)
}

/// Rows without digests: a layout needs no more.
fn blank_rows(payloads: Vec<(Id, u64)>) -> Vec<PayloadRow> {
    let rows = payloads.into_iter().map(|(name, byte_length)| PayloadRow {
        name,
        byte_length: U64(byte_length),
        digest: Digest::from_bytes([0; Digest::BYTES]),
        unknown: UnknownFields::none(),
    });
    rows.collect()
}

/// What both ways of writing know before they read a payload.
struct Writing<'a> {
    version: EnvelopeVersion,
    rows: Vec<PayloadRow>,
    reported: Progress,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Writing<'a> {
    fn new(
        manifest: &Manifest,
        payloads: &dyn PayloadBytes,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Result<Self, EncodeError> {
        let rows = blank_rows(payloads.payloads());
        let names: Vec<&Id> = rows.iter().map(|row| &row.name).collect();
        check_payloads(manifest, &names)?;
        let total = rows
            .iter()
            .try_fold(0_u64, |total, row| total.checked_add(row.byte_length.0));
        Ok(Self {
            version: manifest.envelope_version,
            rows,
            reported: Progress {
                done_bytes: 0,
                total_bytes: total.ok_or(EncodeError::TooLarge)?,
            },
            progress,
        })
    }

    /// Reads a payload, hashes it, and passes its bytes on.
    fn read(
        &mut self,
        payloads: &mut dyn PayloadBytes,
        index: usize,
        put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Digest, EncodeError> {
        let mut state = DigestState::new(self.version.digest_algorithm());
        let byte_length = self.rows[index].byte_length.0;
        payloads.read(index, byte_length, &mut |chunk| {
            state.update(chunk);
            put(chunk)?;
            self.reported.advance(chunk.len());
            (self.progress)(self.reported);
            Ok(())
        })?;
        Ok(state.finish())
    }
}

/// Takes over the digests that the manifest states; whether it states any. Whether its rows are right otherwise is
/// for [`Plan::new`] to say.
fn take_stated_digests(manifest: &Manifest, rows: &mut [PayloadRow]) -> bool {
    for (row, stated) in rows.iter_mut().zip(&manifest.payloads) {
        row.digest = stated.digest;
    }
    !manifest.payloads.is_empty()
}

fn check_unchanged(row: &PayloadRow, found: Digest) -> Result<(), EncodeError> {
    if row.digest == found {
        return Ok(());
    }
    Err(EncodeError::PayloadChanged {
        name: row.name.clone(),
        expected: row.digest,
        found,
    })
}

/// The zero bytes between a part that ends at `end` and the next.
fn padding_after(end: u64) -> &'static [u8] {
    &[0; 8][..usize::try_from(end.next_multiple_of(8) - end).unwrap_or_default()]
}

pub(crate) fn write_in_order<W: Write>(
    manifest: &Manifest,
    payloads: &mut dyn PayloadBytes,
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, EncodeError> {
    let mut writing = Writing::new(manifest, payloads, progress)?;
    if take_stated_digests(manifest, &mut writing.rows) {
        // Refused before anything is read, rather than after.
        Plan::new(manifest, &writing.rows)?;
    } else {
        writing.reported.total_bytes = writing.reported.total_bytes.saturating_mul(2);
        for index in 0..writing.rows.len() {
            writing.rows[index].digest = writing.read(payloads, index, &mut |_| Ok(()))?;
        }
    }
    let plan = Plan::new(manifest, &writing.rows)?;
    let mut covered = DigestState::new(writing.version.digest_algorithm());
    covered.update(&plan.head);
    sink.write_all(&plan.head)?;
    let covers_payloads = writing.version == EnvelopeVersion::One;
    let mut put = |part: &[u8]| {
        if covers_payloads {
            covered.update(part);
        }
        sink.write_all(part)
    };
    let mut end = file_length(plan.head.len());
    for index in 0..writing.rows.len() {
        put(padding_after(end))?;
        let found = writing.read(payloads, index, &mut put)?;
        check_unchanged(&writing.rows[index], found)?;
        end = end.next_multiple_of(8) + writing.rows[index].byte_length.0;
    }
    sink.write_all(&plan.footer(covered.finish()))?;
    Ok(plan.file_bytes)
}

pub(crate) fn write_going_back<W: Write + Seek>(
    manifest: &Manifest,
    payloads: &mut dyn PayloadBytes,
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64, EncodeError> {
    if manifest.envelope_version == EnvelopeVersion::One {
        // Its footer's digest covers the head before the payloads, so going back would spare nothing.
        return write_in_order(manifest, payloads, sink, progress);
    }
    let mut writing = Writing::new(manifest, payloads, progress)?;
    let stated = take_stated_digests(manifest, &mut writing.rows);
    let layout = Plan::new(manifest, &writing.rows)?;
    let mut end = file_length(layout.head.len());
    let start = sink.stream_position()?;
    sink.seek(SeekFrom::Start(
        start.checked_add(end).ok_or(EncodeError::TooLarge)?,
    ))?;
    for index in 0..writing.rows.len() {
        sink.write_all(padding_after(end))?;
        let found = writing.read(payloads, index, &mut |chunk| sink.write_all(chunk))?;
        if stated {
            check_unchanged(&writing.rows[index], found)?;
        }
        writing.rows[index].digest = found;
        end = end.next_multiple_of(8) + writing.rows[index].byte_length.0;
    }
    let plan = Plan::new(manifest, &writing.rows)?;
    assert_eq!(
        plan.head.len(),
        layout.head.len(),
        "digests have one length, so a layout does not depend on them"
    );
    sink.write_all(&plan.footer(Digest::blake3(&plan.head)))?;
    // Last: until it is there, the file does not begin with the magic and passes for nothing.
    sink.seek(SeekFrom::Start(start))?;
    sink.write_all(&plan.head)?;
    sink.seek(SeekFrom::Start(start + plan.file_bytes))?;
    Ok(plan.file_bytes)
}
