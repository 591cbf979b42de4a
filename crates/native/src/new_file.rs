//! [`NewFile`]: a file that appears under its name when it is complete, and not before.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use tempfile::{Builder, NamedTempFile};

use crate::command_error::CommandError;
use crate::input_file::other_than_a_file;

/// Where Linux shows a process its open files; a file without a name is given one through it.
const OPEN_FILES: &str = "/proc/self/fd";
/// What the name of a file in progress begins with, where it needs one.
pub const PREFIX: &str = ".wellwritten-";

/// A file in progress, in the folder of its target.
///
/// Where the file system can (`O_TMPFILE`), it has no name until it is complete, so that even a killed
/// process leaves nothing behind; elsewhere it has a name that begins with `.wellwritten-`, and is
/// removed when it is dropped. Writing is not buffered: callers write large pieces.
pub struct NewFile {
    content: Content,
    target: PathBuf,
    replaces: bool,
}

enum Content {
    Nameless(File),
    Named(NamedTempFile),
}

impl NewFile {
    /// Begins a file. With `replaces`, a regular file that has the name already stays until the new one
    /// takes its place; without, it is refused, now and when the new one is complete.
    pub fn create(target: &Path, replaces: bool) -> Result<Self, CommandError> {
        Self::create_in(folder_of(target), target, replaces)
    }

    /// The same, in progress in another folder of the same file system: that of the target need not exist
    /// before the file is published.
    pub fn create_in(folder: &Path, target: &Path, replaces: bool) -> Result<Self, CommandError> {
        check_target(target, replaces)?;
        let content = match nameless(folder) {
            Some(file) => Content::Nameless(file),
            None => Content::Named(named(folder).map_err(|source| CommandError::OutputFolder {
                path: target.to_owned(),
                folder: folder.to_owned(),
                source,
            })?),
        };
        Ok(Self {
            content,
            target: target.to_owned(),
            replaces,
        })
    }

    /// Where the file will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Whether it may take the place of a file that is there.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// An error of writing to it.
    pub fn error(&self, source: io::Error) -> CommandError {
        write_error(&self.target, source)
    }

    /// What tells this file from every other, whatever its name: its device and its number there.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let metadata = self.content.file().metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Makes the content durable; not yet the name.
    pub fn sync(&self) -> Result<(), CommandError> {
        let synced = self.content.file().sync_all();
        synced.map_err(|source| self.error(source))
    }

    /// Whether its name can be given now: between the first look and now somebody may have taken it.
    pub fn check_target(&self) -> Result<(), CommandError> {
        check_target(&self.target, self.replaces)
    }

    /// Gives the file its name, in one step.
    pub fn name(self) -> Result<(), CommandError> {
        let Self {
            content,
            target,
            replaces,
        } = self;
        content
            .name(&target, replaces)
            .map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => CommandError::OutputExists { path: target },
                _ => write_error(&target, error),
            })
    }
}

impl Content {
    fn file(&self) -> &File {
        match self {
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    fn name(self, target: &Path, replaces: bool) -> io::Result<()> {
        match self {
            Self::Nameless(file) if replaces => Builder::new()
                .prefix(PREFIX)
                .make_in(folder_of(target), |path| name(&file, path))?
                .persist(target)
                .map(drop)
                .map_err(|error| error.error),
            Self::Nameless(file) => name(&file, target),
            Self::Named(file) if replaces => {
                file.persist(target).map(drop).map_err(|error| error.error)
            }
            Self::Named(file) => file
                .persist_noclobber(target)
                .map(drop)
                .map_err(|error| error.error),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&mut self.content.file()).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.content.file().flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.content.file().seek(position)
    }
}

/// A file without a name, or `None` where the folder's file system has no such files; whatever else is
/// wrong with the folder, a named file will meet as well.
fn nameless(folder: &Path) -> Option<File> {
    if !Path::new(OPEN_FILES).exists() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let descriptor = openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok()?;
    Some(File::from(descriptor))
}

/// A file with a name of its own. It is created as any file is, so it is readable for whom the user's mask
/// says, and an error is the system's alone: `tempfile_in` would tell the name in progress.
fn named(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new()
        .prefix(PREFIX)
        .make_in(folder, |path| File::create_new(path))
}

/// Gives a nameless file a name that nothing has.
fn name(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

/// The folder that a file is in.
pub fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn check_target(target: &Path, replaces: bool) -> Result<(), CommandError> {
    let path = target.to_owned();
    let Ok(metadata) = target.symlink_metadata() else {
        // `new/` and `new/.` are a file's name only to those who do not look at the end.
        let spelled = target.as_os_str().as_bytes();
        let is_a_file = |name: &OsStr| spelled.ends_with(name.as_bytes());
        return if target.file_name().is_some_and(is_a_file) {
            Ok(())
        } else {
            Err(CommandError::OutputNamesAFolder { path })
        };
    };
    match other_than_a_file(&metadata) {
        Some(found) => Err(CommandError::OutputNotAFile { path, found }),
        None if replaces => Ok(()),
        None => Err(CommandError::OutputExists { path }),
    }
}

fn write_error(target: &Path, source: io::Error) -> CommandError {
    CommandError::Write {
        path: target.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn both_kinds(target: &Path, replaces: bool) -> Vec<NewFile> {
        let folder = folder_of(target);
        let mut contents = vec![Content::Named(named(folder).unwrap())];
        contents.extend(nameless(folder).map(Content::Nameless));
        let new_file = |content| NewFile {
            content,
            target: target.to_owned(),
            replaces,
        };
        contents.into_iter().map(new_file).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete_with_a_name_in_progress_or_without() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for mut file in both_kinds(&target, false) {
            file.write_all(b"half").unwrap();
            assert!(!target.exists());
            drop(file);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "dropped");
        }
        for mut file in both_kinds(&target, false) {
            file.write_all(b"whole").unwrap();
            file.name().unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"whole");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "published");
            fs::remove_file(&target).unwrap();
        }
    }

    #[test]
    fn a_name_taken_meanwhile_is_kept_unless_it_is_to_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for mut file in both_kinds(&target, false) {
            file.write_all(b"new").unwrap();
            fs::write(&target, b"old").unwrap();
            // Past the check, the step that names the file must refuse as well.
            let refusal = file.content.name(&target, false).unwrap_err();
            assert_eq!(refusal.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&target).unwrap(), b"old");
        }
        for mut file in both_kinds(&target, true) {
            file.write_all(b"new").unwrap();
            file.name().unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"new");
            fs::write(&target, b"old").unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for target in [folder.path(), &link] {
            let refused = NewFile::create(target, true).err();
            assert!(
                matches!(refused, Some(CommandError::OutputNotAFile { .. })),
                "{target:?}: {refused:?}"
            );
        }
    }
}
