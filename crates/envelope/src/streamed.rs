//! [`Streamed`]: a [`ReadAt`] as the rules of a reader see it, in bounded memory.

use std::io;
use std::ops::Range;

use crate::byte_layout::{
    ENTRY_BYTES, HEADER_BYTES, MAX_MANIFEST_BYTES, MAX_PAYLOADS, bytes_at, file_length,
};
use crate::digest::DigestState;
use crate::file_bytes::{FileBytes, Halt};
use crate::{Digest, DigestAlgorithm, EnvelopeError, EnvelopeVersion, ReadAt};

/// How many bytes are read at a time: enough to hash at full speed, and still in the processor's cache.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// The longest header, manifest and table that a streaming reader takes into memory, in bytes: what the longest
/// manifest ([`MAX_MANIFEST_BYTES`]) and the longest table take.
pub const MAX_STREAMED_HEAD_BYTES: u64 =
    HEADER_BYTES as u64 + MAX_MANIFEST_BYTES as u64 + (MAX_PAYLOADS * ENTRY_BYTES) as u64;

/// How far a long operation is. The last report says that everything is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes were worked through so far; never less than in an earlier report.
    pub done_bytes: u64,
    /// How many there are, bytes that are worked through twice counted twice. An estimate from above.
    pub total_bytes: u64,
}

impl Progress {
    pub(crate) fn advance(&mut self, bytes: usize) {
        let done_bytes = self.done_bytes.saturating_add(file_length(bytes));
        self.done_bytes = done_bytes.min(self.total_bytes);
    }
}

/// Why a file was not read from its source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The file breaks a rule: exactly what [`crate::decode`] would answer.
    #[error(transparent)]
    Refused(#[from] EnvelopeError),
    /// The source could not be read. Nothing is known of the file; trying again may help.
    #[error("the file could not be read: {0}")]
    Source(#[source] io::Error),
    /// The sink refused a payload's bytes. What it holds is part of a payload and must be thrown away.
    #[error("the payload could not be written: {0}")]
    Sink(#[source] io::Error),
    /// One payload was asked for in memory, where it does not fit.
    #[error("the payload is {byte_length} bytes and does not fit this machine's memory")]
    TooLarge {
        /// Length of the payload.
        byte_length: u64,
    },
}

impl From<Halt<Self>> for StreamError {
    fn from(halt: Halt<Self>) -> Self {
        match halt {
            Halt::Refused(error) => Self::Refused(error),
            Halt::Fault(error) => error,
        }
    }
}

/// A source with what was read of its head, a buffer, and someone who wants to know how far it is.
pub(crate) struct Streamed<'a, S> {
    source: &'a mut S,
    head: Vec<u8>,
    buffer: Vec<u8>,
    progress: &'a mut dyn FnMut(Progress),
    reported: Progress,
}

impl<'a, S: ReadAt> Streamed<'a, S> {
    pub(crate) fn new(source: &'a mut S, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            source,
            head: Vec::new(),
            buffer: Vec::new(),
            progress,
            reported: Progress {
                done_bytes: 0,
                total_bytes: 0,
            },
        }
    }

    /// Expects `passes` times what one verification of the file hashes. Version 1 hashes payloads twice.
    pub(crate) fn expect_passes(&mut self, passes: u64) {
        let mut word = [0; 4];
        let hashes_twice = self.inside(8, 4)
            && self.source.read_exact_at(8, &mut word).is_ok()
            && u32::from_le_bytes(word) == EnvelopeVersion::One.number();
        let passes = if hashes_twice { passes * 2 } else { passes };
        self.reported.total_bytes = self.source.length().saturating_mul(passes);
    }

    /// Expects so many bytes.
    pub(crate) fn expect_bytes(&mut self, bytes: u64) {
        self.reported.total_bytes = bytes;
    }

    /// Says that everything is done.
    pub(crate) fn finish(&mut self) {
        self.reported.done_bytes = self.reported.total_bytes;
        (self.progress)(self.reported);
    }

    /// Every byte of a range that lies inside the source, a chunk at a time.
    pub(crate) fn each_chunk(
        &mut self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        let Self {
            source,
            buffer,
            progress,
            reported,
            ..
        } = self;
        for_each_chunk(*source, buffer, range, StreamError::Source, |chunk| {
            take(chunk)?;
            reported.advance(chunk.len());
            progress(*reported);
            Ok(())
        })
    }

    fn inside(&self, offset: u64, length: u64) -> bool {
        let end = offset.checked_add(length);
        end.is_some_and(|end| end <= self.source.length())
    }
}

impl<S: ReadAt> FileBytes for Streamed<'_, S> {
    type Fault = StreamError;

    fn length(&self) -> u64 {
        self.source.length()
    }

    fn prefix(&mut self, length: u64) -> Result<&[u8], Halt<StreamError>> {
        let wanted = length.min(self.source.length());
        debug_assert!(
            wanted <= MAX_STREAMED_HEAD_BYTES,
            "the manifest's length was checked"
        );
        let Self {
            source,
            head,
            buffer,
            ..
        } = self;
        let missing = file_length(head.len())..wanted;
        for_each_chunk(*source, buffer, missing, StreamError::Source, |chunk| {
            head.extend_from_slice(chunk);
            Ok(())
        })
        .map_err(Halt::Fault)?;
        Ok(&self.head)
    }

    fn array<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>, Halt<StreamError>> {
        if !self.inside(offset, file_length(N)) {
            return Ok(None);
        }
        let mut array = [0; N];
        self.source
            .read_exact_at(offset, &mut array)
            .map_err(|error| Halt::Fault(StreamError::Source(error)))?;
        Ok(Some(array))
    }

    fn digest(
        &mut self,
        algorithm: DigestAlgorithm,
        range: Range<u64>,
    ) -> Result<Option<Digest>, Halt<StreamError>> {
        if !self.inside(range.start, range.end - range.start) {
            return Ok(None);
        }
        if let Some(bytes) = bytes_at(&self.head, range.start, range.end - range.start) {
            self.reported.advance(bytes.len());
            return Ok(Some(algorithm.digest(bytes)));
        }
        let mut state = DigestState::new(algorithm);
        self.each_chunk(range, |chunk| {
            state.update(chunk);
            Ok(())
        })
        .map_err(Halt::Fault)?;
        Ok(Some(state.finish()))
    }
}

/// Reads a range of a source a chunk at a time through `buffer`, which grows to one chunk at most.
pub(crate) fn for_each_chunk<S: ReadAt + ?Sized, E>(
    source: &mut S,
    buffer: &mut Vec<u8>,
    range: Range<u64>,
    fault: impl Fn(io::Error) -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut offset = range.start;
    while offset < range.end {
        let left = usize::try_from(range.end - offset).unwrap_or(usize::MAX);
        let length = left.min(CHUNK_BYTES);
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let chunk = &mut buffer[..length];
        source.read_exact_at(offset, chunk).map_err(&fault)?;
        take(chunk)?;
        offset += file_length(length);
    }
    Ok(())
}
