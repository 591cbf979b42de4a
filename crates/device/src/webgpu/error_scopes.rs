//! The error scopes around one synchronous stretch of WebGPU calls.
//!
//! The scopes are driven through the JavaScript device rather than through `wgpu::Device`: wgpu 30
//! panics when a scope delivers a `GPUInternalError`, and a panic would end the session that the
//! scope is there to protect. A side benefit is that each scope's filter says what kind of error
//! it caught, so nothing has to be guessed from the error's class.

use std::future::Future;

use js_sys::{Array, JsString, Promise, Reflect};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use wellwritten_memory::{Failure, FailureKind};

#[wasm_bindgen]
extern "C" {
    /// A `GPUDevice`, as far as its error scopes go.
    type ScopedDevice;

    #[wasm_bindgen(method, js_name = pushErrorScope)]
    fn push_error_scope(this: &ScopedDevice, filter: &JsString);

    #[wasm_bindgen(method, js_name = popErrorScope)]
    fn pop_error_scope(this: &ScopedDevice) -> Promise;
}

thread_local! {
    /// WebGPU's error filters, outermost first, decoded once.
    static FILTERS: [JsString; 3] = ["internal", "out-of-memory", "validation"].map(JsString::from);
}

/// What the scopes catch, innermost first: that is the order in which they are popped.
const KINDS: [FailureKind; 3] = [
    FailureKind::Validation,
    FailureKind::OutOfMemory,
    FailureKind::Internal,
];

/// Scopes that are open on a device. Close them in the same synchronous function: the stack is
/// shared by everything that uses the device.
#[must_use = "scopes must be closed before anything else uses the device"]
pub(super) struct ErrorScopes {
    device: ScopedDevice,
}

impl ErrorScopes {
    /// Opens one scope per kind of error.
    pub(super) fn open(device: &wgpu::Device) -> Self {
        let device: ScopedDevice = js_device(device).unchecked_into();
        FILTERS.with(|filters| {
            for filter in filters {
                device.push_error_scope(filter);
            }
        });
        Self { device }
    }

    /// Closes the scopes now; the future says later what they caught, first cause first.
    pub(super) fn close(self) -> impl Future<Output = Result<(), Failure>> + 'static {
        let popped = KINDS.map(|_| self.device.pop_error_scope());
        let all = Promise::all(&popped.iter().collect::<Array>());
        async move {
            if let Ok(caught) = JsFuture::from(all).await {
                let caught: Array = caught.unchecked_into();
                return first_cause(caught.iter().map(Ok));
            }
            let mut caught = Vec::with_capacity(popped.len());
            for promise in popped {
                caught.push(JsFuture::from(promise).await);
            }
            first_cause(caught)
        }
    }
}

/// The first error among what the scopes said, in the order of [`KINDS`].
fn first_cause(caught: impl IntoIterator<Item = Result<JsValue, JsValue>>) -> Result<(), Failure> {
    for (kind, caught) in KINDS.into_iter().zip(caught) {
        let message = match caught {
            Ok(error) if error.is_null() || error.is_undefined() => continue,
            Ok(error) => text(&error, "message"),
            // The stack was not as we left it, or the device is gone: nothing is proven.
            Err(error) => format!("the error scope was lost: {}", text(&error, "message")),
        };
        return Err(Failure { kind, message });
    }
    Ok(())
}

/// The device as JavaScript sees it.
pub(super) fn js_device(device: &wgpu::Device) -> JsValue {
    device
        .as_webgpu()
        .expect("the browser build has no other backend")
        .into()
}

/// A string property, or what the value looks like when it has none.
pub(super) fn text(value: &JsValue, property: &str) -> String {
    Reflect::get(value, &property.into())
        .ok()
        .and_then(|found| found.as_string())
        .unwrap_or_else(|| format!("{value:?}"))
}
