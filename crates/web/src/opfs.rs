//! The browser's own storage as a [`StoreMedium`]: the origin private file system, in a worker.
//!
//! `write_new` writes and flushes through one sync access handle, which holds the file exclusively,
//! so `sync` has nothing left to do. OPFS offers no way to flush a folder, so `sync_dir` does
//! nothing either and a rename (`FileSystemFileHandle.move`, which replaces what the name stood for)
//! is as durable as the browser makes it: Chromium journals it.

mod dom_error;
mod web_lock;

use async_trait::async_trait;
use js_sys::{AsyncIterator, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    File, FileSystemDirectoryHandle, FileSystemFileHandle, FileSystemGetDirectoryOptions,
    FileSystemGetFileOptions, FileSystemSyncAccessHandle, StorageManager,
};
use wellwritten_store::{FileEntry, LockError, MediumError, StoreMedium, Usage};

use dom_error::medium_error;
pub use web_lock::WebLock;

/// The folder of the origin's private file system that holds every store, one folder a session.
const ROOT: &str = "wellwritten";

/// One store's folder in the origin private file system.
#[derive(Clone, Debug)]
pub struct OpfsMedium {
    folder: FileSystemDirectoryHandle,
    lock_name: String,
}

impl OpfsMedium {
    /// Opens, or creates, the folder of session `session_id`. Refused where this browser cannot rename files: a commit
    /// is a rename, and anything less would not be durable.
    pub async fn open(session_id: &str) -> Result<Self, MediumError> {
        require_rename(session_id)?;
        Self::open_to_look(session_id).await
    }

    /// The same for who only reads.
    pub async fn open_to_look(session_id: &str) -> Result<Self, MediumError> {
        let fail = |error: JsValue| medium_error(session_id, &error);
        let storage = storage_manager(session_id)?;
        let mut folder: FileSystemDirectoryHandle = JsFuture::from(storage.get_directory())
            .await
            .map_err(fail)?
            .unchecked_into();
        let create = FileSystemGetDirectoryOptions::new();
        create.set_create(true);
        for name in [ROOT, session_id] {
            folder = JsFuture::from(folder.get_directory_handle_with_options(name, &create))
                .await
                .map_err(fail)?
                .unchecked_into();
        }
        Ok(Self {
            folder,
            lock_name: format!("{ROOT}-store-{session_id}"),
        })
    }

    async fn file_handle(
        &self,
        name: &str,
        create: bool,
    ) -> Result<FileSystemFileHandle, MediumError> {
        let options = FileSystemGetFileOptions::new();
        options.set_create(create);
        JsFuture::from(self.folder.get_file_handle_with_options(name, &options))
            .await
            .map(JsValue::unchecked_into)
            .map_err(|error| medium_error(name, &error))
    }

    async fn file(&self, name: &str) -> Result<File, MediumError> {
        let handle = self.file_handle(name, false).await?;
        JsFuture::from(handle.get_file())
            .await
            .map(JsValue::unchecked_into)
            .map_err(|error| medium_error(name, &error))
    }
}

#[async_trait(?Send)]
impl StoreMedium for OpfsMedium {
    type Lock = WebLock;

    async fn lock(&self) -> Result<WebLock, LockError> {
        WebLock::acquire(&self.lock_name).await
    }

    async fn write_new(&self, name: &str, parts: &[&[u8]]) -> Result<(), MediumError> {
        match self.file_handle(name, false).await {
            Ok(_) => {
                return Err(MediumError::AlreadyExists {
                    file: name.to_owned(),
                });
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        let handle = self.file_handle(name, true).await?;
        let access: FileSystemSyncAccessHandle = JsFuture::from(handle.create_sync_access_handle())
            .await
            .map_err(|error| medium_error(name, &error))?
            .unchecked_into();
        // The handle holds the file exclusively: it is closed whatever happens in between.
        let written = write_and_flush(&access, name, parts);
        access.close();
        written
    }

    async fn sync(&self, _name: &str) -> Result<(), MediumError> {
        Ok(())
    }

    async fn rename_over(&self, from: &str, to: &str) -> Result<(), MediumError> {
        let handle = self.file_handle(from, false).await?;
        let fail = |error: JsValue| medium_error(from, &error);
        let rename = rename_of(&handle).ok_or_else(|| no_rename(from))?;
        let promise = rename.call1(&handle, &to.into()).map_err(fail)?;
        JsFuture::from(promise.unchecked_into::<Promise>())
            .await
            .map_err(fail)?;
        Ok(())
    }

    async fn sync_dir(&self) -> Result<(), MediumError> {
        Ok(())
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, MediumError> {
        let file = self.file(name).await?;
        let buffer = JsFuture::from(file.array_buffer())
            .await
            .map_err(|error| medium_error(name, &error))?;
        Ok(Uint8Array::new(&buffer).to_vec())
    }

    async fn list(&self) -> Result<Vec<FileEntry>, MediumError> {
        let fail = |error: JsValue| medium_error(ROOT, &error);
        let names: AsyncIterator = self.folder.keys();
        let mut entries = Vec::new();
        loop {
            let step = JsFuture::from(names.next().map_err(fail)?)
                .await
                .map_err(fail)?;
            let property = |key: &str| Reflect::get(&step, &key.into()).map_err(fail);
            if property("done")?.is_truthy() {
                return Ok(entries);
            }
            let name = property("value")?.as_string().unwrap_or_default();
            match self.file(&name).await {
                Ok(file) => entries.push(FileEntry {
                    name,
                    byte_length: whole_number(file.size()),
                }),
                // Removed since it was listed.
                Err(MediumError::NotFound { .. }) => {}
                // A folder: none of ours.
                Err(MediumError::Io { name, .. }) if name == "TypeMismatchError" => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), MediumError> {
        JsFuture::from(self.folder.remove_entry(name))
            .await
            .map_err(|error| medium_error(name, &error))?;
        Ok(())
    }

    async fn usage(&self) -> Result<Usage, MediumError> {
        let fail = |error: JsValue| medium_error(ROOT, &error);
        let estimate = storage_manager(ROOT)?.estimate().map_err(fail)?;
        let estimate = JsFuture::from(estimate).await.map_err(fail)?;
        let number = |key: &str| {
            Reflect::get(&estimate, &key.into())
                .ok()
                .and_then(|value| value.as_f64())
                .map(whole_number)
        };
        Ok(Usage {
            used_bytes: number("usage").unwrap_or(0),
            quota_bytes: number("quota"),
        })
    }
}

/// How a file is renamed. Not in web-sys: `move` is not yet in every browser.
fn rename_of(handle: &JsValue) -> Option<Function> {
    let found = Reflect::get(handle, &"move".into()).ok()?;
    found.dyn_into().ok()
}

fn require_rename(session_id: &str) -> Result<(), MediumError> {
    let prototype = Reflect::get(&js_sys::global(), &"FileSystemFileHandle".into())
        .and_then(|class| Reflect::get(&class, &"prototype".into()));
    match prototype {
        Ok(prototype) if prototype.is_object() && rename_of(&prototype).is_none() => {
            Err(no_rename(session_id))
        }
        // Where there is no private storage at all, that is said when it is asked for.
        _ => Ok(()),
    }
}

fn no_rename(file: &str) -> MediumError {
    MediumError::Io {
        file: file.to_owned(),
        name: "NotSupportedError".to_owned(),
        message: "this browser cannot rename files in its private storage, which a durable save needs; open the \
                  session with store: \"memory\" and keep what exportGeneration gives"
            .to_owned(),
    }
}

/// Browsers report a full disk as a short count and as an impossible one (4294967288), without
/// throwing: anything but the full length means that there is no room.
fn write_and_flush(
    access: &FileSystemSyncAccessHandle,
    name: &str,
    parts: &[&[u8]],
) -> Result<(), MediumError> {
    let requested_bytes = parts.iter().map(|part| part.len() as u64).sum();
    let fail = |error: JsValue| match medium_error(name, &error) {
        MediumError::QuotaExceeded { file, .. } => MediumError::QuotaExceeded {
            file,
            requested_bytes,
            available_bytes: None,
        },
        other => other,
    };
    let mut before = 0;
    for part in parts {
        // A handle goes on where it last wrote.
        let written_bytes = whole_number(access.write_with_u8_array(part).map_err(fail)?);
        let part_bytes = part.len() as u64;
        if written_bytes != part_bytes {
            return Err(MediumError::QuotaExceeded {
                file: name.to_owned(),
                requested_bytes,
                available_bytes: (written_bytes < part_bytes).then_some(before + written_bytes),
            });
        }
        before += part_bytes;
    }
    access.flush().map_err(fail)
}

fn storage_manager(file: &str) -> Result<StorageManager, MediumError> {
    Reflect::get(&js_sys::global(), &"navigator".into())
        .and_then(|navigator| Reflect::get(&navigator, &"storage".into()))
        .ok()
        .filter(JsValue::is_object)
        .map(JsValue::unchecked_into)
        .ok_or_else(|| MediumError::Denied {
            file: file.to_owned(),
            message: "this page has no private storage; it needs a secure context".to_owned(),
        })
}

/// A count that JavaScript gave as a double.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are whole, not negative and below 2^53; anything else saturates"
)]
fn whole_number(value: f64) -> u64 {
    value as u64
}
