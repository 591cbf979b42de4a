//! A medium that lasts as long as the program: for `store: "memory"`, and for tests without faults.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;

use crate::medium_error::{LockError, MediumError};
use crate::store_medium::{FileEntry, StoreMedium, Usage};

#[derive(Debug, Default)]
struct Folder {
    files: BTreeMap<String, Vec<u8>>,
    locked: bool,
    quota_bytes: Option<u64>,
}

impl Folder {
    fn used_bytes(&self) -> u64 {
        self.files.values().map(|bytes| byte_length(bytes)).sum()
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

    async fn write_new(&self, name: &str, bytes: &[u8]) -> Result<(), MediumError> {
        let mut folder = self.folder.borrow_mut();
        if folder.files.contains_key(name) {
            return Err(MediumError::AlreadyExists {
                file: name.to_owned(),
            });
        }
        if let Some(quota_bytes) = folder.quota_bytes {
            let available_bytes = quota_bytes.saturating_sub(folder.used_bytes());
            if byte_length(bytes) > available_bytes {
                return Err(MediumError::QuotaExceeded {
                    file: name.to_owned(),
                    requested_bytes: byte_length(bytes),
                    available_bytes: Some(available_bytes),
                });
            }
        }
        folder.files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        if self.folder.borrow().files.contains_key(name) {
            Ok(())
        } else {
            Err(not_found(name))
        }
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        let mut folder = self.folder.borrow_mut();
        let bytes = folder.files.remove(from).ok_or_else(|| not_found(from))?;
        folder.files.insert(to.to_owned(), bytes);
        Ok(())
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        Ok(())
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let folder = self.folder.borrow();
        folder
            .files
            .get(name)
            .cloned()
            .ok_or_else(|| not_found(name))
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
        let mut folder = self.folder.borrow_mut();
        folder
            .files
            .remove(name)
            .map(drop)
            .ok_or_else(|| not_found(name))
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        let folder = self.folder.borrow();
        Ok(Usage {
            used_bytes: folder.used_bytes(),
            quota_bytes: folder.quota_bytes,
        })
    }
}
