//! Where a store keeps its files, as chosen.

use async_trait::async_trait;
use wellwritten_store::{
    FileEntry, LockError, MediumError, MemoryLock, MemoryMedium, StoreMedium, Usage,
};

use crate::opfs::{OpfsMedium, WebLock};

/// One of the media there are. One type for all of them, so that the store's code is there once.
pub enum ChosenMedium {
    Opfs(OpfsMedium),
    Memory(MemoryMedium),
}

/// The lock of a [`ChosenMedium`], held until it is dropped.
pub enum ChosenLock {
    Opfs(#[expect(dead_code, reason = "held, never read")] WebLock),
    Memory(#[expect(dead_code, reason = "held, never read")] MemoryLock),
}

/// Calls the medium there is. The future is the medium's own: nothing is awaited twice.
macro_rules! of_medium {
    ($medium:expr, $method:ident($($argument:expr),*)) => {
        match $medium {
            ChosenMedium::Opfs(medium) => medium.$method($($argument),*),
            ChosenMedium::Memory(medium) => medium.$method($($argument),*),
        }
        .await
    };
}

#[async_trait(?Send)]
impl StoreMedium for ChosenMedium {
    type Lock = ChosenLock;

    async fn lock(&self) -> Result<ChosenLock, LockError> {
        Ok(match self {
            Self::Opfs(medium) => ChosenLock::Opfs(medium.lock().await?),
            Self::Memory(medium) => ChosenLock::Memory(medium.lock().await?),
        })
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        of_medium!(self, write_new(name, parts))
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        of_medium!(self, sync(name))
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        of_medium!(self, rename_over(from, to))
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        of_medium!(self, sync_dir())
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        of_medium!(self, read(name))
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        of_medium!(self, list())
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        of_medium!(self, remove(name))
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        of_medium!(self, usage())
    }
}
