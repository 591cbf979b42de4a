//! What the system reports, as what a store is told.

use rustix::io::Errno;
use wellwritten_store::MediumError;

/// What was being done when the system refused.
pub(super) enum Doing {
    /// A new file was being created.
    Creating {
        /// The bytes that it was to hold.
        requested_bytes: u64,
        /// How many the folder's file system has left, where it says.
        available_bytes: Option<u64>,
    },
    /// A file that is there was being used.
    Using,
    /// The folder itself was being used.
    UsingFolder,
}

/// The error of `file`.
pub(super) fn medium_error(file: &str, doing: &Doing, errno: Errno) -> MediumError {
    let file = file.to_owned();
    match (errno, doing) {
        (Errno::NOENT, Doing::Using) => MediumError::NotFound { file },
        (Errno::EXIST, Doing::Creating { .. }) => MediumError::AlreadyExists { file },
        // A limit that the user or the shell has set is a quota like any other.
        (Errno::NOSPC | Errno::DQUOT | Errno::FBIG, _) => {
            let (requested_bytes, available_bytes) = match doing {
                Doing::Creating {
                    requested_bytes,
                    available_bytes,
                } => (*requested_bytes, *available_bytes),
                Doing::Using | Doing::UsingFolder => (0, None),
            };
            MediumError::QuotaExceeded {
                file,
                requested_bytes,
                available_bytes,
            }
        }
        (Errno::ROFS | Errno::ACCESS | Errno::PERM, _) => MediumError::Denied {
            file,
            message: words(errno),
        },
        (Errno::BUSY | Errno::TXTBSY, _) => MediumError::Locked {
            file,
            owner: "process".to_owned(),
        },
        (Errno::NAMETOOLONG, _) => MediumError::InvalidName { file },
        _ => MediumError::Io {
            file,
            name: name(errno),
            message: words(errno),
        },
    }
}

/// The system's own words.
pub(super) fn words(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

/// The errno's name, for those that a file system reports; a number for others.
fn name(errno: Errno) -> String {
    let known = match errno {
        Errno::BADF => "EBADF",
        Errno::INTR => "EINTR",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::ISDIR => "EISDIR",
        Errno::LOOP => "ELOOP",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        Errno::NODEV => "ENODEV",
        Errno::NOENT => "ENOENT",
        Errno::NOLCK => "ENOLCK",
        Errno::NOMEM => "ENOMEM",
        Errno::NOTDIR => "ENOTDIR",
        Errno::NXIO => "ENXIO",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::OVERFLOW => "EOVERFLOW",
        Errno::STALE => "ESTALE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::XDEV => "EXDEV",
        _ => return format!("errno {}", errno.raw_os_error()),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: Errno, doing: &Doing) -> MediumError {
        medium_error("c1.flysess", doing, errno)
    }

    #[test]
    fn every_way_of_having_no_room_is_one_kind_and_says_how_much_there_is() {
        let creating = Doing::Creating {
            requested_bytes: 100,
            available_bytes: Some(40),
        };
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert_eq!(
                of(errno, &creating),
                MediumError::QuotaExceeded {
                    file: "c1.flysess".to_owned(),
                    requested_bytes: 100,
                    available_bytes: Some(40),
                }
            );
        }
    }

    #[test]
    fn what_is_not_allowed_keeps_the_systems_words() {
        for (errno, words) in [
            (Errno::ROFS, "Read-only file system"),
            (Errno::ACCESS, "Permission denied"),
            (Errno::PERM, "Operation not permitted"),
        ] {
            let error = of(errno, &Doing::Using).to_string();
            assert!(error.contains(words), "{error}");
            assert!(
                error.starts_with("access to `c1.flysess` is denied"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_that_and_a_folder_that_is_not_there_is_a_fault() {
        assert!(of(Errno::NOENT, &Doing::Using).is_not_found());
        let fault = of(Errno::NOENT, &Doing::UsingFolder);
        assert!(
            matches!(&fault, MediumError::Io { name, .. } if name == "ENOENT"),
            "{fault}"
        );
    }

    #[test]
    fn what_has_no_kind_of_its_own_is_named_as_the_system_names_it() {
        let error = of(Errno::IO, &Doing::Using).to_string();
        assert!(
            error.starts_with("EIO at `c1.flysess`: Input/output error"),
            "{error}"
        );
        let rare = of(Errno::PROTO, &Doing::Using).to_string();
        assert!(rare.starts_with("errno 71 at `c1.flysess`"), "{rare}");
    }
}
