//! [`InputFile`]: an envelope on disk, as the streaming reader wants it.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use wellwritten_envelope::ReadAt;

use crate::command_error::CommandError;

/// A file that was opened for reading, with the length it had then, which it must keep: what was read in
/// pieces is one file only if nobody wrote to it meanwhile.
///
/// It is read at offsets and never mapped: a file that shrinks while it is read is an error, not a signal.
pub struct InputFile {
    file: File,
    stamp: Stamp,
}

/// What tells that a file was written to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    /// Seconds and nanoseconds; `None` of a block device, whose times are those of its name in `/dev`.
    modified: Option<(i64, i64)>,
}

impl Stamp {
    fn of(mut file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_file() {
            return Ok(Self {
                length: metadata.len(),
                modified: Some((metadata.mtime(), metadata.mtime_nsec())),
            });
        }
        Ok(Self {
            length: file.seek(SeekFrom::End(0))?,
            modified: None,
        })
    }
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
        let stamp = Stamp::of(&file).map_err(open)?;
        Ok(Self { file, stamp })
    }

    /// What was found in the file, good or bad, unless it was written to since it was opened: then that is
    /// what there is to say about it. An error of an output stays what it is.
    pub fn unless_changed<T>(&self, found: Result<T, CommandError>) -> Result<T, CommandError> {
        match found {
            Err(error) if !error.is_about_the_input() => Err(error),
            found => match Stamp::of(&self.file) {
                Ok(stamp) if stamp == self.stamp => found,
                Ok(_) => Err(CommandError::Changed),
                Err(source) => Err(CommandError::Read { source }),
            },
        }
    }
}

impl ReadAt for InputFile {
    fn length(&self) -> u64 {
        self.stamp.length
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn what_is_said_of_a_file_that_was_written_to_is_that() {
        type Change = fn(&File);
        let longer: Change = |mut file| file.write_all(b"more").unwrap();
        let shorter: Change = |file| file.set_len(3).unwrap();
        let other: Change = |file| file.write_all_at(b"W", 0).unwrap();
        for change in [longer, shorter, other] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("input");
            std::fs::write(&path, b"whole").unwrap();
            let file = File::options().append(true).open(&path).unwrap();
            // A file system's clock ticks some milliseconds at a time.
            file.set_modified(SystemTime::now() - Duration::from_mins(1))
                .unwrap();
            let input = InputFile::open(&path).unwrap();
            assert_eq!(input.length(), 5);
            assert!(matches!(input.unless_changed(Ok(7)), Ok(7)));
            change(&File::options().write(true).open(&path).unwrap());
            let eof = || io::Error::from(io::ErrorKind::UnexpectedEof);
            for found in [Ok(7), Err(CommandError::Read { source: eof() })] {
                let found = input.unless_changed(found);
                assert!(matches!(found, Err(CommandError::Changed)), "{found:?}");
            }
            let full = CommandError::Write {
                path,
                source: eof(),
            };
            let found = input.unless_changed::<()>(Err(full));
            assert!(matches!(found, Err(CommandError::Write { .. })));
        }
    }
}
