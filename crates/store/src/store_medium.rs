//! The small trait a store needs of the place it keeps its files.

use async_trait::async_trait;
use wellwritten_envelope::Digest;

use crate::medium_error::{LockError, MediumError};

/// One file of a medium, as [`StoreMedium::list`] reports it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileEntry {
    /// Its plain name.
    pub name: String,
    /// Its length in bytes.
    pub byte_length: u64,
}

/// What a file holds, where it is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundContent {
    /// Its length in bytes.
    pub byte_length: u64,
    /// BLAKE3 of it.
    pub digest: Digest,
}

impl FoundContent {
    /// `None` where `found` is `parts`, one after the other.
    #[must_use]
    pub fn unless_written(found: &[u8], parts: &[&[u8]]) -> Option<Self> {
        let mut rest = found;
        let is_written = parts.iter().all(|part| {
            let stripped = rest.strip_prefix(*part);
            rest = stripped.unwrap_or_default();
            stripped.is_some()
        });
        if is_written && rest.is_empty() {
            return None;
        }
        Some(Self {
            byte_length: found.len() as u64,
            digest: Digest::blake3(found),
        })
    }
}

/// How full a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct Usage {
    /// Bytes in use (for a browser: by the whole origin).
    #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
    pub used_bytes: u64,
    /// Bytes that may be in use at most, where the medium knows a limit.
    #[cfg_attr(feature = "wire", serde(with = "crate::decimal::optional"))]
    pub quota_bytes: Option<u64>,
}

/// A flat folder of files with the operations a durable commit is made of.
///
/// Names are plain (`[A-Za-z0-9~][A-Za-z0-9._~-]*`, at most 80 characters; see
/// [`file_name`](crate::file_name)); the store makes them, a medium need only refuse others. Methods
/// take `&self`: a medium keeps its state behind interior mutability and must not hold a borrow of it
/// across an await. The store calls one method at a time, and only the holder of the lock calls any
/// that changes something. A caller may drop a future of the store halfway; where the platform's operation
/// goes on regardless, the medium lets it end before it begins the next one.
///
/// # What "durable" means here
///
/// After a crash of the machine, a file's *content* is what it was at its last successful
/// [`sync`](Self::sync) or anything written since, and a *name* stands for what it stood for at the
/// last successful [`sync_dir`](Self::sync_dir) or at any moment since. A medium may be stronger than
/// that: where the platform flushes through the handle that wrote (a browser's sync access handle has
/// `flush()` and an exclusive lock on the file), `write_new` may write **and** flush in the same open
/// handle, and `sync` may then do nothing; where the platform gives no way to flush a folder, `sync_dir`
/// does nothing and renames are as durable as the platform makes them. A medium must not be weaker,
/// and it must not report success for less.
#[async_trait(?Send)]
pub trait StoreMedium {
    /// Held while a store is open for writing; dropping it releases the lock.
    type Lock;

    /// Takes the exclusive lock of this store. A bounded retry, with whatever clock the platform has,
    /// is the medium's job; this returns within its bound.
    async fn lock(&self) -> Result<Self::Lock, LockError>;

    /// Creates `name` holding exactly `parts`, one after the other. They are parts so that a caller need not
    /// copy them together: a medium that writes one after the other copies nothing either.
    ///
    /// An existing file is [`MediumError::AlreadyExists`] and untouched. After any other error the file
    /// may be there with any content. A short count is an error ([`MediumError::ShortWrite`] or
    /// [`MediumError::QuotaExceeded`]), never success.
    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError>;

    /// Makes the content of `name` durable. After an error the content must be taken as lost: the store
    /// writes a fresh file rather than syncing again.
    async fn sync(&self, name: &str) -> Result<(), MediumError>;

    /// Makes `to` stand for the file `from`, replacing what `to` stood for, in one step: a reader at any
    /// moment, and a machine after a crash, finds the old file or the new one under `to`. After an
    /// error either may be the case.
    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError>;

    /// Makes every earlier creation, rename and removal durable.
    async fn sync_dir(&self) -> Result<(), MediumError>;

    /// The whole content of `name`.
    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError>;

    /// What `name` holds where it does not hold exactly `parts`, one after the other: how a store finds out a medium that
    /// reports success for less than it was asked. Asked between [`write_new`](Self::write_new) and [`sync`](Self::sync),
    /// so that a medium whose writes go on in the background can be done with them meanwhile.
    ///
    /// By default it reads the whole content; a medium that can compare it piece by piece needs no second copy in memory.
    async fn read_back(
        &self,
        name: &str,
        parts: &[&[u8]],
    ) -> Result<Option<FoundContent>, MediumError> {
        let found = self.read(name).await?;
        Ok(FoundContent::unless_written(&found, parts))
    }

    /// Every file there is, in any order.
    async fn list(&self) -> Result<Vec<FileEntry>, MediumError>;

    /// Removes `name`. After an error it may or may not be there.
    async fn remove(&self, name: &str) -> Result<(), MediumError>;

    /// How full the medium is.
    async fn usage(&self) -> Result<Usage, MediumError>;
}
