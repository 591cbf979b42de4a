//! [`FileMedium`]: a store's files in a folder of a file system.

mod background_sync;
mod comparison;
mod folder;
mod folder_lock;
mod system_error;

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fstat, fstatvfs, fsync, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use wellwritten_store::{
    FileEntry, FoundContent, LockError, MediumError, StoreMedium, Usage, file_name,
};

pub use folder::FolderError;
pub use folder_lock::FileLock;

use background_sync::{BackgroundSync, Syncing};
use system_error::{Doing, medium_error};

/// What errors of the folder itself name.
const FOLDER: &str = ".";

/// From which length on a file is synced in the background: below, waking another thread takes longer than what it saves.
const SYNCED_IN_BACKGROUND: u64 = 256 << 10;

/// How long an opener waits for the lock: longer than a store that is being closed holds it, and not so long that a person
/// wonders.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// A folder of a file system, flat and private to one store.
///
/// The folder is opened once, and every file is reached through it: a folder that is renamed meanwhile is followed, one that is
/// put in its place is not. Symbolic links in it are not followed. A folder that cannot be written to can be read: only
/// [`lock`](StoreMedium::lock) and what changes something are refused then.
///
/// Every method blocks its thread for as long as the disk takes, so a medium belongs on a thread of its own
/// ([`StoreThread`](crate::StoreThread)) wherever something else must go on.
///
/// # How durable
///
/// [`sync`](StoreMedium::sync) is `fsync` of the file, through the descriptor that wrote it, so that an error of writing back is
/// reported to whoever wrote. Of a large file it begins when the file is written, on a thread of its own, so that the disk
/// works while the file is read back and hashed; [`sync`](StoreMedium::sync) then waits for its end. [`sync_dir`](StoreMedium::sync_dir) is `fsync` of the folder; a file system on which folders
/// cannot be synced (`EINVAL`) makes names as durable as it makes them. What a disk does after it has reported success is the
/// disk's.
#[derive(Debug)]
pub struct FileMedium {
    folder: OwnedFd,
    lock_patience: Duration,
    /// The file that was written last, until it is synced.
    written: RefCell<Option<WrittenFile>>,
    background: BackgroundSync,
    /// The sync that may be going on.
    syncing: RefCell<Option<Syncing>>,
}

/// A file that was written and not synced.
#[derive(Debug)]
struct WrittenFile {
    name: String,
    file: File,
    /// Where that goes on already.
    syncing: Option<Syncing>,
}

impl FileMedium {
    /// The folder, made durably if it is not there, its parents too.
    pub fn create(folder: &Path) -> Result<Self, FolderError> {
        folder::create(folder).map(Self::over)
    }

    /// The folder, which must be there.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        folder::open(folder).map(Self::over)
    }

    fn over(folder: OwnedFd) -> Self {
        Self {
            folder,
            lock_patience: LOCK_PATIENCE,
            written: RefCell::new(None),
            background: BackgroundSync::default(),
            syncing: RefCell::new(None),
        }
    }

    /// The same, waiting for the lock for no longer than this.
    #[must_use]
    pub fn with_lock_patience(self, lock_patience: Duration) -> Self {
        Self {
            lock_patience,
            ..self
        }
    }

    fn open_file(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, name, flags, Mode::from_raw_mode(0o666)).map(File::from)
    }

    /// A file that is there and is one. Without waiting: a pipe would have one wait for its writer.
    fn open_to_read(&self, name: &str) -> Result<File, MediumError> {
        require_plain(name)?;
        let refused = |errno| medium_error(name, &Doing::Using, errno);
        let file = self
            .open_file(name, OFlags::RDONLY | OFlags::NONBLOCK)
            .map_err(refused)?;
        let status = fstat(&file).map_err(refused)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(MediumError::Io {
                file: name.to_owned(),
                name: "not a file".to_owned(),
                message: "it is no regular file".to_owned(),
            });
        }
        Ok(file)
    }

    fn available_bytes(&self) -> Option<u64> {
        let system = fstatvfs(&self.folder).ok()?;
        system.f_bavail.checked_mul(system.f_frsize)
    }

    /// The file that was written last, if it is that one.
    fn take_written(&self, name: &str) -> Option<WrittenFile> {
        self.written.take().filter(|written| written.name == name)
    }

    /// Lets the disk end what nobody waited for: whoever asked may have been dropped halfway.
    async fn settle(&self) {
        let syncing = self.syncing.borrow().clone();
        if let Some(syncing) = syncing {
            let _ = syncing.await;
            self.syncing.take();
        }
    }

    /// Begins to sync a file that is large enough for it to be worth it.
    fn begin_sync(&self, file: &File, byte_length: u64) -> Option<Syncing> {
        if byte_length < SYNCED_IN_BACKGROUND {
            return None;
        }
        // Refused, it is synced when it is asked for.
        let syncing = self.background.begin(file).ok()?;
        self.syncing.replace(Some(syncing.clone()));
        Some(syncing)
    }
}

#[async_trait(?Send)]
impl StoreMedium for FileMedium {
    type Lock = FileLock;

    async fn lock(&self) -> Result<FileLock, LockError> {
        folder_lock::lock(&self.folder, self.lock_patience)
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        require_plain(name)?;
        let requested_bytes = parts.iter().map(|part| part.len() as u64).sum();
        let refused = |errno| {
            let doing = Doing::Creating {
                requested_bytes,
                available_bytes: self.available_bytes(),
            };
            medium_error(name, &doing, errno)
        };
        self.written.take();
        self.settle().await;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self.open_file(name, flags).map_err(refused)?;
        if let Err(error) = parts.iter().try_for_each(|part| file.write_all(part)) {
            return Err(match Errno::from_io_error(&error) {
                Some(errno) => refused(errno),
                // The system took nothing and reported no error.
                None => MediumError::ShortWrite {
                    file: name.to_owned(),
                    requested_bytes,
                    written_bytes: length(&file),
                },
            });
        }
        self.written.replace(Some(WrittenFile {
            name: name.to_owned(),
            syncing: self.begin_sync(&file, requested_bytes),
            file,
        }));
        Ok(())
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        require_plain(name)?;
        let refused = |errno| medium_error(name, &Doing::Using, errno);
        let (file, syncing) = match self.take_written(name) {
            Some(written) => (written.file, written.syncing),
            None => (
                self.open_file(name, OFlags::RDONLY | OFlags::NONBLOCK)
                    .map_err(refused)?,
                None,
            ),
        };
        let synced = match syncing {
            // Where its thread is gone, nobody has synced it.
            Some(syncing) => syncing.await.unwrap_or_else(|_| fsync(&file)),
            None => fsync(&file),
        };
        self.settle().await;
        synced.map_err(|errno| {
            let doing = Doing::Creating {
                requested_bytes: length(&file),
                available_bytes: self.available_bytes(),
            };
            medium_error(name, &doing, errno)
        })
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        require_plain(from)?;
        require_plain(to)?;
        self.settle().await;
        renameat(&self.folder, from, &self.folder, to)
            .map_err(|errno| medium_error(from, &Doing::Using, errno))
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        self.settle().await;
        folder::sync(&self.folder).map_err(|errno| medium_error(FOLDER, &Doing::UsingFolder, errno))
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let refused = |errno| medium_error(name, &Doing::Using, errno);
        let mut file = self.open_to_read(name)?;
        let mut bytes = Vec::new();
        let reserved =
            bytes.try_reserve_exact(usize::try_from(length(&file)).unwrap_or(usize::MAX));
        reserved.map_err(|_| refused(Errno::NOMEM))?;
        file.read_to_end(&mut bytes)
            .map_err(|error| refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        Ok(bytes)
    }

    async fn read_back(
        &self,
        name: &str,
        parts: &[&[u8]],
    ) -> Result<Option<FoundContent>, MediumError> {
        let file = self.open_to_read(name)?;
        match comparison::holds(&file, parts) {
            Ok(true) => Ok(None),
            Ok(false) => {
                let found = self.read(name).await?;
                Ok(FoundContent::unless_written(&found, parts))
            }
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                Err(medium_error(name, &Doing::Using, errno))
            }
        }
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        let refused = |errno| medium_error(FOLDER, &Doing::UsingFolder, errno);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            // What a store cannot have written is not its.
            let Some(name) = entry
                .file_name()
                .to_str()
                .ok()
                .filter(|name| file_name::is_plain(name))
            else {
                continue;
            };
            match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) if FileType::from_raw_mode(status.st_mode) == FileType::Directory => {}
                Ok(status) => entries.push(FileEntry {
                    name: name.to_owned(),
                    byte_length: u64::try_from(status.st_size).unwrap_or(0),
                }),
                // It has gone since; a store that another process owns changes while one looks.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(medium_error(name, &Doing::Using, errno)),
            }
        }
        Ok(entries)
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        require_plain(name)?;
        self.settle().await;
        unlinkat(&self.folder, name, AtFlags::empty())
            .map_err(|errno| medium_error(name, &Doing::Using, errno))
    }

    /// The bytes of the store's files, and those with what the file system has left for this user.
    async fn usage(&self) -> Result<Usage, MediumError> {
        let entries = self.list().await?;
        let used_bytes = entries.iter().map(|entry| entry.byte_length).sum();
        Ok(Usage {
            used_bytes,
            quota_bytes: self
                .available_bytes()
                .and_then(|available| available.checked_add(used_bytes)),
        })
    }
}

fn require_plain(name: &str) -> Result<(), MediumError> {
    if file_name::is_plain(name) {
        return Ok(());
    }
    Err(MediumError::InvalidName {
        file: name.to_owned(),
    })
}

/// How long a file is, as far as the system says.
fn length(file: impl AsFd) -> u64 {
    fstat(file).map_or(0, |status| u64::try_from(status.st_size).unwrap_or(0))
}
