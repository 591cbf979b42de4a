//! A medium that lasts as long as the program: for `store: "memory"`, and for tests without faults.

use std::cell::RefCell;
use std::rc::Rc;

use async_trait::async_trait;

use crate::medium_error::{LockError, MediumError};
use crate::store_medium::{FileEntry, StoreMedium, Usage};

#[derive(Debug, Default)]
struct Folder {
    /// By name.
    files: Vec<(String, Vec<u8>)>,
    locked: bool,
    quota_bytes: Option<u64>,
}

impl Folder {
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.files
            .binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    fn put(&mut self, name: &str, bytes: Vec<u8>) {
        match self.find(name) {
            Ok(at) => self.files[at].1 = bytes,
            Err(at) => self.files.insert(at, (name.to_owned(), bytes)),
        }
    }

    fn take(&mut self, name: &str) -> Result<Vec<u8>, MediumError> {
        let at = self.find(name).map_err(|_| not_found(name))?;
        Ok(self.files.remove(at).1)
    }

    fn used_bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| byte_length(bytes)).sum()
    }
}

fn byte_length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

/// Files in memory. Clones share one folder, so that a store can be closed and opened again on it.
///
/// It survives nothing but the store: syncing does nothing, because there is no crash after which
/// anyone could look.
#[derive(Clone, Debug, Default)]
pub struct MemoryMedium {
    folder: Rc<RefCell<Folder>>,
}

impl MemoryMedium {
    /// An empty folder without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty folder that holds at most `quota_bytes`.
    #[must_use]
    pub fn with_quota(quota_bytes: u64) -> Self {
        let medium = Self::default();
        medium.folder.borrow_mut().quota_bytes = Some(quota_bytes);
        medium
    }
}

/// Releases the lock of a [`MemoryMedium`] when dropped.
#[derive(Debug)]
pub struct MemoryLock {
    folder: Rc<RefCell<Folder>>,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.folder.borrow_mut().locked = false;
    }
}

fn not_found(name: &str) -> MediumError {
    MediumError::NotFound {
        file: name.to_owned(),
    }
}

#[async_trait(?Send)]
impl StoreMedium for MemoryMedium {
    type Lock = MemoryLock;

    async fn lock(&self) -> Result<MemoryLock, LockError> {
        let mut folder = self.folder.borrow_mut();
        if folder.locked {
            return Err(LockError::Held {
                owner: "session of this program".to_owned(),
            });
        }
        folder.locked = true;
        Ok(MemoryLock {
            folder: Rc::clone(&self.folder),
        })
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        let mut folder = self.folder.borrow_mut();
        if folder.find(name).is_ok() {
            return Err(MediumError::AlreadyExists {
                file: name.to_owned(),
            });
        }
        if let Some(quota_bytes) = folder.quota_bytes {
            let available_bytes = quota_bytes.saturating_sub(folder.used_bytes());
            let requested_bytes = parts.iter().map(|part| byte_length(part)).sum();
            if requested_bytes > available_bytes {
                return Err(MediumError::QuotaExceeded {
                    file: name.to_owned(),
                    requested_bytes,
                    available_bytes: Some(available_bytes),
                });
            }
        }
        folder.put(name, parts.concat());
        Ok(())
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        if self.folder.borrow().find(name).is_ok() {
            Ok(())
        } else {
            Err(not_found(name))
        }
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        let mut folder = self.folder.borrow_mut();
        let bytes = folder.take(from)?;
        folder.put(to, bytes);
        Ok(())
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        Ok(())
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let folder = self.folder.borrow();
        let at = folder.find(name).map_err(|_| not_found(name))?;
        Ok(folder.files[at].1.clone())
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        let folder = self.folder.borrow();
        Ok(folder
            .files
            .iter()
            .map(|(name, bytes)| FileEntry {
                name: name.clone(),
                byte_length: byte_length(bytes),
            })
            .collect())
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        self.folder.borrow_mut().take(name).map(drop)
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        let folder = self.folder.borrow();
        Ok(Usage {
            used_bytes: folder.used_bytes(),
            quota_bytes: folder.quota_bytes,
        })
    }
}
