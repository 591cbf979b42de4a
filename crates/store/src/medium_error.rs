//! What can go wrong at a medium, by kind.

/// An operation of a [`StoreMedium`](crate::StoreMedium) did not happen, or may have happened in part.
///
/// What state is left is the operation's promise, written at each method of the trait; the store
/// assumes the worst of it and never retries a sync that failed. Every variant that a person sees
/// names the file, so that they need not ask which one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum MediumError {
    /// No file of that name. Nothing changed; retrying makes sense only after it is written.
    #[error("there is no file `{file}`")]
    NotFound {
        /// The file.
        file: String,
    },
    /// A file of that name is already there, where a new one was asked for. It was not touched.
    #[error("a file `{file}` already exists")]
    AlreadyExists {
        /// The file.
        file: String,
    },
    /// The medium has no room. A part may have been written; retry after something is deleted.
    #[error("no room to write {requested_bytes} bytes to `{file}`: the storage quota is used up")]
    QuotaExceeded {
        /// The file.
        file: String,
        /// How many bytes were to be written.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        requested_bytes: u64,
        /// How many bytes the medium says were free, where it can tell.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal::optional"))]
        available_bytes: Option<u64>,
    },
    /// The medium took fewer bytes than it was given, or reported an impossible count. The file is
    /// there with unknown content; treat as [`MediumError::QuotaExceeded`].
    #[error("`{file}` took {written_bytes} of {requested_bytes} bytes")]
    ShortWrite {
        /// The file.
        file: String,
        /// How many bytes were to be written.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        requested_bytes: u64,
        /// How many the medium reported as written.
        #[cfg_attr(feature = "wire", serde(with = "crate::decimal"))]
        written_bytes: u64,
    },
    /// Someone else has this file or store open exclusively. Nothing changed; retry later.
    #[error("`{file}` is in use by another {owner}")]
    Locked {
        /// The file, or the name of the lock.
        file: String,
        /// Who holds it, as a noun ("tab", "process").
        owner: String,
    },
    /// The medium does not allow the operation (read-only, no permission). Nothing changed.
    #[error("access to `{file}` is denied: {message}")]
    Denied {
        /// The file.
        file: String,
        /// The platform's own words.
        message: String,
    },
    /// A name the medium cannot hold. Nothing changed; the caller is at fault.
    #[error("`{file}` is not a name this medium can hold")]
    InvalidName {
        /// The name as given.
        file: String,
    },
    /// Anything else that the platform reports. What was done is unknown.
    #[error("{name} at `{file}`: {message}")]
    Io {
        /// The file.
        file: String,
        /// The platform's name for the error (an errno's name, a `DOMException`'s `name`).
        name: String,
        /// The platform's own words.
        message: String,
    },
}

impl MediumError {
    /// Whether the file was simply not there.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// Why a store could not be locked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all_fields = "camelCase", deny_unknown_fields)
)]
pub enum LockError {
    /// Another opener holds the store. Nothing changed. Retry when it closes, or open read-only.
    #[error("the store is owned by another {owner}; close it there, or open this one read-only")]
    Held {
        /// Who holds it, as a noun ("tab", "process").
        owner: String,
    },
    /// The lock itself does not work here.
    #[error("the store cannot be locked: {source}")]
    Medium {
        /// What the medium reported.
        #[from]
        source: MediumError,
    },
}
