//! [`FileLock`]: one opener of a folder at a time.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use wellwritten_store::{LockError, MediumError};

use super::system_error::{Doing, medium_error};

/// The file that is locked. It begins with a dot, so it is no file of a store; it stays when the lock is released, because
/// removing it would let two openers lock two files of one name.
pub(super) const LOCK_FILE: &str = ".lock";

/// The first pause between two tries; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Releases the folder when it is dropped, and so does the end of the process, however it comes.
#[derive(Debug)]
pub struct FileLock {
    /// The system's lock is the open file's.
    _file: File,
}

/// Takes the lock, trying for no longer than `patience`. Blocks the thread meanwhile.
pub(super) fn lock(folder: &OwnedFd, patience: Duration) -> Result<FileLock, LockError> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let mut file =
            open(folder).map_err(|errno| medium_error(LOCK_FILE, &Doing::UsingFolder, errno))?;
        match file.try_lock() {
            Ok(()) if is_named(folder, &file) => {
                sign(&mut file).map_err(|error| refused(&error))?;
                return Ok(FileLock { _file: file });
            }
            Err(TryLockError::WouldBlock) if began.elapsed() >= patience => {
                return Err(LockError::Held {
                    owner: owner(&mut file),
                });
            }
            // Or somebody removed the file between its opening and its locking: what is locked then is nobody's.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(refused(&error).into()),
        }
        thread::sleep(pause.min(patience.saturating_sub(began.elapsed())));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn open(folder: &OwnedFd) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, LOCK_FILE, flags, Mode::from_raw_mode(0o666)).map(File::from)
}

/// Whether the folder's lock file is this file.
fn is_named(folder: &OwnedFd, file: &File) -> bool {
    let named = statat(folder, LOCK_FILE, AtFlags::SYMLINK_NOFOLLOW);
    match (named, fstat(file.as_fd())) {
        (Ok(named), Ok(open)) => (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino),
        _ => false,
    }
}

/// Writes down who holds it, for whoever is refused. It has no other use, so a disk that is full takes no lock away.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    let _ = writeln!(file, "{}", std::process::id());
    Ok(())
}

/// Who holds it, as a noun.
fn owner(file: &mut File) -> String {
    let mut signed = String::new();
    let read = file
        .rewind()
        .and_then(|()| (&*file).take(32).read_to_string(&mut signed));
    match (read, signed.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) if pid == std::process::id() => {
            format!("opener in this process (pid {pid})")
        }
        (Ok(_), Ok(pid)) => format!("process (pid {pid})"),
        _ => "process".to_owned(),
    }
}

fn refused(error: &std::io::Error) -> MediumError {
    let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
    medium_error(LOCK_FILE, &Doing::UsingFolder, errno)
}
