//! [`publish_all`]: several new files that appear together, or not at all.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, linkat};
use tempfile::{Builder, TempPath};

use crate::command_error::CommandError;
use crate::new_file::{NewFile, PREFIX, folder_of};

/// Gives complete files their names, all of them or none, and returns the names. `new_folder` is created
/// for them first, and is removed again if nothing comes of them.
///
/// What takes long, and what can be known before, is done before the first name is given. If one cannot
/// be given after all, those that were are taken back: a new file is removed, and a file that was replaced
/// is put back, where the file system has hard links to keep it by. When it returns, content and names are
/// on disk.
pub fn publish_all(
    files: Vec<NewFile>,
    new_folder: Option<&Path>,
) -> Result<Vec<PathBuf>, CommandError> {
    for file in &files {
        file.sync()?;
    }
    let mut publication = Publication::default();
    if let Some(folder) = new_folder {
        fs::create_dir(folder).map_err(|source| CommandError::Write {
            path: folder.to_owned(),
            source,
        })?;
        publication.folder = Some(folder.to_owned());
    }
    for file in &files {
        file.check_target()?;
    }
    // One alone is named or replaced in one step, and has nothing to be taken back.
    let several = files.len() > 1;
    for file in files {
        let identity = file.identity().map_err(|source| file.error(source))?;
        let target = file.target().to_owned();
        let before = match (file.replaces(), several) {
            (false, _) => Before::Nothing,
            (true, true) => Before::of(&target),
            (true, false) => Before::Gone,
        };
        file.name()?;
        publication.named.push(Named {
            target,
            identity,
            before,
        });
    }
    publication.sync()?;
    Ok(publication.keep())
}

/// Names that were given, to be taken back when this is dropped.
#[derive(Default)]
struct Publication {
    /// A folder that was created for them.
    folder: Option<PathBuf>,
    named: Vec<Named>,
}

/// A file that has its name.
struct Named {
    target: PathBuf,
    /// Its device and its number there.
    identity: (u64, u64),
    before: Before,
}

/// What had a name before.
enum Before {
    Nothing,
    /// A file, which has another name for the moment.
    SetAside(TempPath),
    /// A file, perhaps, which cannot be put back.
    Gone,
}

impl Before {
    fn of(target: &Path) -> Self {
        let aside = Builder::new()
            .prefix(PREFIX)
            .make_in(folder_of(target), |path| {
                Ok(linkat(CWD, target, CWD, path, AtFlags::empty())?)
            });
        match aside {
            Ok(file) => Self::SetAside(file.into_temp_path()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Nothing,
            Err(_) => Self::Gone,
        }
    }
}

impl Named {
    fn take_back(self) {
        let now = fs::symlink_metadata(&self.target);
        if !now.is_ok_and(|now| (now.dev(), now.ino()) == self.identity) {
            // Somebody has put something else there.
            return;
        }
        // The failure that led here is the one to tell.
        match self.before {
            Before::Nothing => drop(fs::remove_file(&self.target)),
            Before::SetAside(file) => drop(file.persist(&self.target)),
            Before::Gone => {}
        }
    }
}

impl Publication {
    /// Makes the names durable: those of the files, and that of the folder that was created.
    fn sync(&self) -> Result<(), CommandError> {
        let names = self.named.iter().map(|named| &named.target);
        let names = names.chain(&self.folder);
        let mut folders: Vec<&Path> = names.map(|name| folder_of(name)).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            sync_folder(folder).map_err(|source| CommandError::Write {
                path: folder.to_owned(),
                source,
            })?;
        }
        Ok(())
    }

    fn keep(mut self) -> Vec<PathBuf> {
        self.folder = None;
        let named = std::mem::take(&mut self.named);
        named.into_iter().map(|named| named.target).collect()
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        while let Some(named) = self.named.pop() {
            named.take_back();
        }
        if let Some(folder) = &self.folder {
            // Only an empty folder can be removed so: what somebody else put there stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes a folder's entries to disk, where it can be: a folder that may not be read, and one of a file
/// system that does not know the request, cannot be asked.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn new_file(folder: &Path, name: &str, replaces: bool) -> NewFile {
        let mut file = NewFile::create_in(folder, &folder.join(name), replaces).unwrap();
        file.write_all(name.as_bytes()).unwrap();
        file
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn all_appear() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let into = folder.join("into");
        let create = |name| {
            let mut file = NewFile::create_in(folder, &into.join(name), false).unwrap();
            file.write_all(b"content").unwrap();
            file
        };
        let files = ["a", "b"].map(create).into();
        assert!(!into.exists());
        let targets = publish_all(files, Some(&into)).unwrap();
        assert_eq!(targets, [into.join("a"), into.join("b")]);
        assert_eq!(names(&into), ["a", "b"]);
        assert_eq!(fs::read(into.join("b")).unwrap(), b"content");
    }

    /// A name that is free when all are looked at, and is taken when its turn comes: by the first of them.
    #[test]
    fn a_name_that_is_taken_at_the_last_moment_takes_back_those_given_before() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let files = ["a", "b", "a"].map(|name| new_file(folder, name, false));
        let refusal = publish_all(files.into(), None).unwrap_err();
        assert!(
            matches!(refusal, CommandError::OutputExists { .. }),
            "{refusal}"
        );
        assert_eq!(names(folder), Vec::<String>::new());

        let into = folder.join("into");
        let files = ["into/a", "into/b", "into/a"].map(|name| new_file(folder, name, false));
        publish_all(files.into(), Some(&into)).unwrap_err();
        assert_eq!(names(folder), Vec::<String>::new());
    }

    #[test]
    fn what_was_replaced_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("old"), b"mine").unwrap();
        // The last cannot be named: its folder is not there.
        let files = ["old", "new", "missing/c"].map(|name| new_file(folder, name, true));
        publish_all(files.into(), None).unwrap_err();
        assert_eq!(names(folder), ["old"]);
        assert_eq!(fs::read(folder.join("old")).unwrap(), b"mine");

        let files = ["old", "new"].map(|name| new_file(folder, name, true));
        publish_all(files.into(), None).unwrap();
        assert_eq!(names(folder), ["new", "old"]);
        assert_eq!(fs::read(folder.join("old")).unwrap(), b"old");
    }

    #[test]
    fn a_file_that_somebody_else_put_there_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let file = new_file(folder, "a", false);
        let identity = file.identity().unwrap();
        let target = folder.join("a");
        file.name().unwrap();
        let other = new_file(folder, "other", false);
        other.name().unwrap();
        fs::rename(folder.join("other"), &target).unwrap();
        Named {
            target: target.clone(),
            identity,
            before: Before::Nothing,
        }
        .take_back();
        assert_eq!(fs::read(target).unwrap(), b"other");
    }
}
