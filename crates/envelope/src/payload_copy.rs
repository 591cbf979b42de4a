//! [`copy_payload`] and [`read_payload`]: one payload, verified, without the others.

use std::io::Write;

use crate::digest::DigestState;
use crate::streamed::{Progress, StreamError, Streamed};
use crate::{EnvelopeError, EnvelopeVersion, PayloadEntry, ReadAt};

/// Copies one payload to a sink and verifies it while it is copied; no other payload is read.
///
/// `version` and `entry` are those of a head ([`crate::read_head`], [`crate::verify`]). A digest that does not match
/// shows after the last byte: on any error, what the sink holds must be thrown away. In version 1 the digest compared
/// with is itself vouched for by [`crate::verify`] only.
pub fn copy_payload<S: ReadAt, W: Write + ?Sized>(
    source: &mut S,
    version: EnvelopeVersion,
    entry: &PayloadEntry,
    sink: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StreamError> {
    copy(source, version, entry, progress, &mut |chunk| {
        sink.write_all(chunk).map_err(StreamError::Sink)
    })
}

/// One payload in memory, verified; no other payload is read. See [`copy_payload`].
pub fn read_payload<S: ReadAt>(
    source: &mut S,
    version: EnvelopeVersion,
    entry: &PayloadEntry,
) -> Result<Vec<u8>, StreamError> {
    let too_large = || StreamError::TooLarge {
        byte_length: entry.byte_length,
    };
    check_bounds(source, entry)?;
    let capacity = usize::try_from(entry.byte_length).map_err(|_| too_large())?;
    let mut payload = Vec::new();
    payload
        .try_reserve_exact(capacity)
        .map_err(|_| too_large())?;
    copy(source, version, entry, &mut |_| {}, &mut |chunk| {
        payload.extend_from_slice(chunk);
        Ok(())
    })?;
    Ok(payload)
}

fn copy<S: ReadAt>(
    source: &mut S,
    version: EnvelopeVersion,
    entry: &PayloadEntry,
    progress: &mut dyn FnMut(Progress),
    put: &mut dyn FnMut(&[u8]) -> Result<(), StreamError>,
) -> Result<(), StreamError> {
    check_bounds(source, entry)?;
    let mut state = DigestState::new(version.digest_algorithm());
    let mut file = Streamed::new(source, progress);
    file.expect_bytes(entry.byte_length);
    file.each_chunk(entry.offset..entry.end(), |chunk| {
        state.update(chunk);
        put(chunk)
    })?;
    entry.check_digest(state.finish())?;
    file.finish();
    Ok(())
}

/// Entries are public values, so they are not trusted to lie inside the file.
fn check_bounds<S: ReadAt>(source: &S, entry: &PayloadEntry) -> Result<(), EnvelopeError> {
    let limit = source.length();
    let end = entry.offset.checked_add(entry.byte_length);
    if end.is_none_or(|end| end > limit) {
        return Err(EnvelopeError::EntryBounds {
            name: entry.name.clone(),
            offset: entry.offset,
            byte_length: entry.byte_length,
            limit,
        });
    }
    Ok(())
}
