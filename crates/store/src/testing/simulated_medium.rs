//! The simulated medium: a disk with a cache in front of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use async_trait::async_trait;

use super::crash_images::DiskImage;
use crate::medium_error::{LockError, MediumError};
use crate::store_medium::{FileEntry, StoreMedium, Usage};

/// One call of the medium, with the names it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `write_new(name, _)`.
    WriteNew(String),
    /// `sync(name)`.
    Sync(String),
    /// `rename_over(from, to)`.
    RenameOver(String, String),
    /// `sync_dir()`.
    SyncDir,
    /// `read(name)`.
    Read(String),
    /// `list()`.
    List,
    /// `remove(name)`.
    Remove(String),
}

/// How one call goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does nothing and reports this.
    Fails(MediumError),
    /// It never returns, so that its future can only be dropped; it does nothing.
    Hangs,
    /// It does what it should and reports this nevertheless.
    HappensAndFails(MediumError),
    /// A write keeps only this many bytes and reports the short count, as one browser does.
    ShortWrite(usize),
    /// A write keeps only this many bytes and reports success.
    LosesTail(usize),
    /// A write flips the lowest bit of the byte at this index and reports success.
    FlipsBit(usize),
}

/// A sync that the medium reports and does not do: what the crash exploration must notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncIgnored {
    /// The `sync` of this file.
    File(String),
    /// The `sync_dir` that follows a rename to a name with this ending.
    DirectoryAfterRenameTo(String),
    /// The `sync_dir` that follows nothing: the one with which a store is opened.
    DirectoryAtOpening,
    /// The call with this number (from 0), which is a sync.
    Number(usize),
}

/// A file's content: what is visible, and whether a crash may leave something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) bytes: Rc<[u8]>,
    pub(super) synced: bool,
}

/// Everything about the disk and its cache at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Contents by number; a name stands for a number.
    pub(super) contents: Vec<Content>,
    /// Of every name: what it stood for at the last `sync_dir`, then after each change since. The last
    /// one is visible; a crash may leave any.
    pub(super) names: BTreeMap<String, Vec<Option<usize>>>,
}

impl Snapshot {
    fn visible(&self, name: &str) -> Option<usize> {
        self.names.get(name).and_then(|history| *history.last()?)
    }

    fn point(&mut self, name: &str, to: Option<usize>) {
        self.names
            .entry(name.to_owned())
            .or_insert_with(|| vec![None])
            .push(to);
    }

    fn visible_files(&self) -> impl Iterator<Item = (&String, &Rc<[u8]>)> {
        self.names
            .iter()
            .filter_map(|(name, history)| Some((name, &self.contents[(*history.last()?)?].bytes)))
    }
}

#[derive(Debug, Default)]
struct Disk {
    now: Snapshot,
    operations: Vec<Operation>,
    /// The disk before each operation.
    snapshots: Vec<Snapshot>,
    /// Faults by the number of the operation they meet.
    faults: BTreeMap<usize, Fault>,
    undeletable: BTreeSet<String>,
    ignored: Option<SyncIgnored>,
    quota_bytes: Option<u64>,
    lock_held: bool,
}

/// A disk with a cache, in memory. Clones share it.
///
/// It keeps the state before every operation, so that one run gives a crash at every moment; see
/// [`snapshots`](Self::snapshots) and [`Snapshot::crash_images`].
#[derive(Clone, Debug, Default)]
pub struct SimulatedMedium {
    disk: Rc<RefCell<Disk>>,
}

/// Releases the lock of a [`SimulatedMedium`] when dropped.
#[derive(Debug)]
pub struct SimulatedLock {
    disk: Rc<RefCell<Disk>>,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.borrow_mut().lock_held = false;
    }
}

impl SimulatedMedium {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The machine comes up after a crash: all that is there is synced.
    #[must_use]
    pub fn after_crash(image: &DiskImage) -> Self {
        let medium = Self::new();
        {
            let mut disk = medium.disk.borrow_mut();
            for (number, (name, bytes)) in image.files.iter().enumerate() {
                disk.now.contents.push(Content {
                    bytes: Rc::clone(bytes),
                    synced: true,
                });
                disk.now.names.insert(name.clone(), vec![Some(number)]);
            }
        }
        medium
    }

    /// The process died and the machine did not: all that was visible is, and what was not synced is
    /// not.
    #[must_use]
    pub fn after_kill(snapshot: &Snapshot) -> Self {
        let medium = Self::new();
        medium.disk.borrow_mut().now = snapshot.clone();
        medium
    }

    /// Makes the call with this number (from 0, see [`operations`](Self::operations)) go wrong.
    pub fn inject(&self, operation: usize, fault: Fault) {
        self.disk.borrow_mut().faults.insert(operation, fault);
    }

    /// Takes back every fault that has not been met.
    pub fn heal(&self) {
        let mut disk = self.disk.borrow_mut();
        disk.faults.clear();
        disk.undeletable.clear();
    }

    /// Makes every removal of this file fail.
    pub fn refuse_removal(&self, name: &str) {
        self.disk.borrow_mut().undeletable.insert(name.to_owned());
    }

    /// From now on reports one kind of sync without doing it.
    pub fn ignore(&self, sync: SyncIgnored) {
        self.disk.borrow_mut().ignored = Some(sync);
    }

    /// From now on holds at most this many bytes.
    pub fn set_quota(&self, quota_bytes: Option<u64>) {
        self.disk.borrow_mut().quota_bytes = quota_bytes;
    }

    /// Every call so far. The lock and the usage are not among them.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.disk.borrow().operations.clone()
    }

    /// The disk before each call so far, and as it is now: one more than there are calls.
    #[must_use]
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let disk = self.disk.borrow();
        disk.snapshots
            .iter()
            .cloned()
            .chain([disk.now.clone()])
            .collect()
    }

    /// The disk as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.disk.borrow().now.clone()
    }

    /// Every visible file.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Rc<[u8]>> {
        let disk = self.disk.borrow();
        disk.now
            .visible_files()
            .map(|(name, bytes)| (name.clone(), Rc::clone(bytes)))
            .collect()
    }

    /// Puts a file there, or takes it away, behind everyone's back and durably.
    pub fn tamper(&self, name: &str, bytes: Option<Vec<u8>>) {
        let now = &mut self.disk.borrow_mut().now;
        let number = bytes.map(|bytes| {
            now.contents.push(Content {
                bytes: bytes.into(),
                synced: true,
            });
            now.contents.len() - 1
        });
        now.names.insert(name.to_owned(), vec![number]);
    }

    /// Counts the call and takes its fault; what is returned has to do with the call's effect.
    async fn enter(&self, operation: Operation) -> Result<Option<Fault>, MediumError> {
        match self.count(operation) {
            Some(Fault::Fails(error)) => Err(error),
            Some(Fault::Hangs) => std::future::pending().await,
            fault => Ok(fault),
        }
    }

    fn count(&self, operation: Operation) -> Option<Fault> {
        let mut disk = self.disk.borrow_mut();
        let before = disk.now.clone();
        disk.snapshots.push(before);
        let number = disk.operations.len();
        disk.operations.push(operation);
        disk.faults.remove(&number)
    }

    /// Whether the sync just entered is one that is not to be done.
    fn is_ignored(&self) -> bool {
        let disk = self.disk.borrow();
        let last = disk.operations.len() - 1;
        match (&disk.ignored, &disk.operations[last]) {
            (Some(SyncIgnored::File(file)), Operation::Sync(name)) => file == name,
            (Some(SyncIgnored::DirectoryAfterRenameTo(ending)), Operation::SyncDir) => last
                .checked_sub(1)
                .is_some_and(|before| {
                    matches!(&disk.operations[before], Operation::RenameOver(_, to) if to.ends_with(ending.as_str()))
                }),
            (Some(SyncIgnored::Number(number)), _) => *number == last,
            (Some(SyncIgnored::DirectoryAtOpening), Operation::SyncDir) => {
                last == 1 && matches!(&disk.operations[0], Operation::Read(_))
            }
            _ => false,
        }
    }
}

fn not_found(name: &str) -> MediumError {
    MediumError::NotFound {
        file: name.to_owned(),
    }
}

fn reported(fault: Option<Fault>) -> Result<(), MediumError> {
    match fault {
        Some(Fault::HappensAndFails(error)) => Err(error),
        _ => Ok(()),
    }
}

/// What a write keeps of `bytes`, and what it reports.
fn written(name: &str, bytes: &[u8], fault: Option<Fault>) -> (Vec<u8>, Result<(), MediumError>) {
    let mut kept = bytes.to_vec();
    let report = match fault {
        Some(Fault::ShortWrite(length)) => {
            kept.truncate(length);
            Err(MediumError::ShortWrite {
                file: name.to_owned(),
                requested_bytes: bytes.len() as u64,
                written_bytes: length as u64,
            })
        }
        Some(Fault::LosesTail(length)) => {
            kept.truncate(length);
            Ok(())
        }
        Some(Fault::FlipsBit(index)) => {
            if let Some(byte) = kept.get_mut(index) {
                *byte ^= 1;
            }
            Ok(())
        }
        fault => reported(fault),
    };
    (kept, report)
}

#[async_trait(?Send)]
impl StoreMedium for SimulatedMedium {
    type Lock = SimulatedLock;

    async fn lock(&self) -> Result<SimulatedLock, LockError> {
        let mut disk = self.disk.borrow_mut();
        if disk.lock_held {
            return Err(LockError::Held {
                owner: "simulated process".to_owned(),
            });
        }
        disk.lock_held = true;
        Ok(SimulatedLock {
            disk: Rc::clone(&self.disk),
        })
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        let fault = self.enter(Operation::WriteNew(name.to_owned())).await?;
        let bytes = parts.concat();
        let mut disk = self.disk.borrow_mut();
        if disk.now.visible(name).is_some() {
            return Err(MediumError::AlreadyExists {
                file: name.to_owned(),
            });
        }
        let (mut kept, mut report) = written(name, &bytes, fault);
        let used_bytes: u64 = disk
            .now
            .visible_files()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum();
        let available_bytes = disk
            .quota_bytes
            .map(|quota_bytes| quota_bytes.saturating_sub(used_bytes));
        if let Some(available_bytes) =
            available_bytes.filter(|available| *available < kept.len() as u64)
        {
            report = Err(MediumError::QuotaExceeded {
                file: name.to_owned(),
                requested_bytes: bytes.len() as u64,
                available_bytes: Some(available_bytes),
            });
            kept.truncate(usize::try_from(available_bytes).unwrap_or(usize::MAX));
        }
        disk.now.contents.push(Content {
            bytes: kept.into(),
            synced: false,
        });
        let number = disk.now.contents.len() - 1;
        disk.now.point(name, Some(number));
        report
    }

    async fn sync(&self, name: &str) -> Result<(), MediumError> {
        let fault = self.enter(Operation::Sync(name.to_owned())).await?;
        let ignored = self.is_ignored();
        let now = &mut self.disk.borrow_mut().now;
        let number = now.visible(name).ok_or_else(|| not_found(name))?;
        now.contents[number].synced |= !ignored;
        reported(fault)
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        let fault = self
            .enter(Operation::RenameOver(from.to_owned(), to.to_owned()))
            .await?;
        let now = &mut self.disk.borrow_mut().now;
        let number = now.visible(from).ok_or_else(|| not_found(from))?;
        now.point(to, Some(number));
        now.point(from, None);
        reported(fault)
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        let fault = self.enter(Operation::SyncDir).await?;
        if !self.is_ignored() {
            for history in self.disk.borrow_mut().now.names.values_mut() {
                history.drain(..history.len() - 1);
            }
        }
        reported(fault)
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let fault = self.enter(Operation::Read(name.to_owned())).await?;
        reported(fault)?;
        let now = &self.disk.borrow().now;
        let number = now.visible(name).ok_or_else(|| not_found(name))?;
        Ok(now.contents[number].bytes.to_vec())
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        let fault = self.enter(Operation::List).await?;
        reported(fault)?;
        let disk = self.disk.borrow();
        Ok(disk
            .now
            .visible_files()
            .map(|(name, bytes)| FileEntry {
                name: name.clone(),
                byte_length: bytes.len() as u64,
            })
            .collect())
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        let fault = self.enter(Operation::Remove(name.to_owned())).await?;
        let mut disk = self.disk.borrow_mut();
        if disk.undeletable.contains(name) {
            return Err(MediumError::Denied {
                file: name.to_owned(),
                message: "removal is refused by the simulation".to_owned(),
            });
        }
        disk.now.visible(name).ok_or_else(|| not_found(name))?;
        disk.now.point(name, None);
        reported(fault)
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        let disk = self.disk.borrow();
        Ok(Usage {
            used_bytes: disk
                .now
                .visible_files()
                .map(|(_, bytes)| bytes.len() as u64)
                .sum(),
            quota_bytes: disk.quota_bytes,
        })
    }
}
