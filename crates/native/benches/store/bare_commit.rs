//! [`BareCommits`]: the file operations of a commit, and nothing else.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::checkpoint::name;

/// A folder in which commits are made of file operations alone.
pub struct BareCommits {
    folder: PathBuf,
    keep: u64,
}

impl BareCommits {
    pub fn new(folder: PathBuf, keep: u64) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        Ok(Self { folder, keep })
    }

    /// Writes and names both files, makes them durable, and unlinks the oldest.
    pub fn commit(&self, number: u64, envelope: &[u8], manifest: &[u8]) -> io::Result<()> {
        self.put("~generation", &file(number), envelope)?;
        self.put("~manifest", "manifest.json", manifest)?;
        match number.checked_sub(self.keep) {
            Some(oldest) => unlink(&self.folder.join(file(oldest))),
            None => Ok(()),
        }
    }

    fn put(&self, temporary: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.folder.join(temporary);
        let mut file = File::create_new(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(temporary, self.folder.join(name))?;
        File::open(&self.folder)?.sync_all()
    }
}

fn file(number: u64) -> String {
    format!("{}.flysess", name(number))
}

/// The first few there are were never written.
fn unlink(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
