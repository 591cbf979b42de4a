//! [`ReadAt`]: where the bytes of a file come from that need not fit into memory.

use std::io::{self, Read, Seek, SeekFrom};

use crate::byte_layout::{bytes_at, file_length};

/// Bytes of known length that can be read at any offset, any number of times.
///
/// The length must not change while something reads: an envelope is immutable once written.
pub trait ReadAt {
    /// Length in bytes.
    fn length(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`. Callers stay inside [`ReadAt::length`]; a source that cannot fill
    /// the buffer answers with an error, never with fewer bytes.
    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for &[u8] {
    fn length(&self) -> u64 {
        file_length(self.len())
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = bytes_at(self, offset, file_length(buffer.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &mut S {
    fn length(&self) -> u64 {
        (**self).length()
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_exact_at(offset, buffer)
    }
}

/// Anything that reads and seeks, as a [`ReadAt`]. It should not be buffered: reads are large and in order.
#[derive(Debug)]
pub struct SeekSource<R> {
    reader: R,
    length: u64,
    /// Where the reader stands, or `None` after an error.
    position: Option<u64>,
}

impl<R: Read + Seek> SeekSource<R> {
    /// Asks the reader for its length, once.
    pub fn new(mut reader: R) -> io::Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        Ok(Self {
            reader,
            length,
            position: Some(length),
        })
    }

    /// The reader again, wherever it stands.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: Read + Seek> ReadAt for SeekSource<R> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.position.take() != Some(offset) {
            self.reader.seek(SeekFrom::Start(offset))?;
        }
        self.reader.read_exact(buffer)?;
        self.position = offset.checked_add(file_length(buffer.len()));
        Ok(())
    }
}
