//! A store's folder, opened or made.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fsync, mkdir, open as open_path, openat};
use rustix::io::Errno;

/// A store's folder cannot be had. Nothing in it changed. Retrying makes sense when the cause is gone.
#[derive(Debug, thiserror::Error)]
#[error("the folder {} cannot be {doing}: {source}", folder.display())]
pub struct FolderError {
    /// The folder; that of the store, or one above it.
    pub folder: PathBuf,
    /// What was not possible: "opened", "created", "made durable".
    pub doing: &'static str,
    /// What the system says.
    pub source: io::Error,
}

impl FolderError {
    /// Whether there is no such folder.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

fn failed(folder: &Path, doing: &'static str) -> impl FnOnce(Errno) -> FolderError {
    move |errno| FolderError {
        folder: folder.to_owned(),
        doing,
        source: errno.into(),
    }
}

/// Opens a folder that is there.
pub(super) fn open(folder: &Path) -> Result<OwnedFd, FolderError> {
    open_folder(folder).map_err(failed(folder, "opened"))
}

fn open_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    openat(
        CWD,
        folder,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a folder, or makes it with what is missing above it. Its name is durable then, also where a process before this one
/// made it and died.
pub(super) fn create(folder: &Path) -> Result<OwnedFd, FolderError> {
    let mut missing = Vec::new();
    let mut above = folder;
    let opened = loop {
        match open_folder(above) {
            Ok(opened) => break opened,
            Err(Errno::NOENT) => missing.push(above),
            Err(errno) => return Err(failed(above, "opened")(errno)),
        }
        above = parent(above);
    };
    drop(opened);
    for new in missing.iter().rev() {
        match mkdir(*new, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(new, "created")(errno)),
        }
        sync_name(new)?;
    }
    let opened = open(folder)?;
    if missing.is_empty() {
        // What is above may be somebody else's, who made it durable long ago.
        let _ = sync_name(folder);
    }
    Ok(opened)
}

/// Makes the name of a folder durable.
fn sync_name(folder: &Path) -> Result<(), FolderError> {
    let above = parent(folder);
    let opened = open_path(
        above,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    opened
        .and_then(|opened| sync(&opened))
        .map_err(failed(folder, "made durable"))
}

fn parent(folder: &Path) -> &Path {
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

/// Makes the names in a folder durable, as far as its file system can be asked to.
pub(super) fn sync(folder: impl AsFd) -> Result<(), Errno> {
    match fsync(folder) {
        // It syncs no folders; it makes their names durable when it does.
        Err(Errno::INVAL) => Ok(()),
        synced => synced,
    }
}
