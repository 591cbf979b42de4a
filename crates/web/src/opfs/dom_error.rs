//! A browser's exception as a [`MediumError`], keeping its name.

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use wellwritten_store::MediumError;

/// What `error`, thrown while working on `file`, means to a store.
pub(super) fn medium_error(file: &str, error: &JsValue) -> MediumError {
    let property = |key: &str| {
        Reflect::get(error, &key.into())
            .ok()
            .and_then(|value| value.as_string())
    };
    let file = file.to_owned();
    let name = property("name").unwrap_or_else(|| "Error".to_owned());
    let message = property("message").unwrap_or_else(|| format!("{error:?}"));
    match name.as_str() {
        "NotFoundError" => MediumError::NotFound { file },
        "QuotaExceededError" => MediumError::QuotaExceeded {
            file,
            requested_bytes: 0,
            available_bytes: None,
        },
        "NoModificationAllowedError" => MediumError::Locked {
            file,
            owner: "tab".to_owned(),
        },
        "NotAllowedError" | "SecurityError" => MediumError::Denied { file, message },
        "TypeError" if message.contains("name") => MediumError::InvalidName { file },
        _ => MediumError::Io {
            file,
            name,
            message,
        },
    }
}
