//! [`InputFile`]: an envelope on disk, as the streaming reader wants it.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use wellwritten_envelope::ReadAt;

use crate::command_error::CommandError;

/// A file that was opened for reading, with the length it had then.
///
/// It is read at offsets and never mapped: a file that shrinks while it is read is an error, not a signal.
pub struct InputFile {
    file: File,
    length: u64,
}

impl InputFile {
    /// Opens a file; `-` is standard input, which works where a file was redirected to it. An envelope's
    /// footer vouches for its head, so a pipe, whose end comes last, is refused.
    pub fn open(path: &Path) -> Result<Self, CommandError> {
        let open = |source| CommandError::Open { source };
        let file = if path.as_os_str() == "-" {
            let descriptor = io::stdin().as_fd().try_clone_to_owned();
            File::from(descriptor.map_err(open)?)
        } else {
            // Asked before opening, because opening a pipe waits for someone to write.
            refuse_what_is_no_file(&std::fs::metadata(path).map_err(open)?)?;
            File::open(path).map_err(open)?
        };
        let metadata = file.metadata().map_err(open)?;
        refuse_what_is_no_file(&metadata)?;
        let length = if metadata.is_file() {
            metadata.len()
        } else {
            (&file).seek(SeekFrom::End(0)).map_err(open)?
        };
        Ok(Self { file, length })
    }
}

impl ReadAt for InputFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

/// Regular files and block devices have two ends; nothing else has.
fn refuse_what_is_no_file(metadata: &Metadata) -> Result<(), CommandError> {
    match other_than_a_file(metadata) {
        Some(found) if !metadata.file_type().is_block_device() => {
            Err(CommandError::NotAFile { found })
        }
        _ => Ok(()),
    }
}

/// What something is that is no regular file, in words.
pub fn other_than_a_file(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    let is = [
        (kind.is_dir(), "a directory"),
        (kind.is_symlink(), "a symbolic link"),
        (kind.is_fifo(), "a pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device(), "a character device"),
        (kind.is_block_device(), "a block device"),
    ];
    let found = is.into_iter().find_map(|(is, name)| is.then_some(name));
    if kind.is_file() {
        None
    } else {
        Some(found.unwrap_or("no regular file"))
    }
}
