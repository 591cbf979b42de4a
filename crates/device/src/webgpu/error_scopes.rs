//! The error scopes around one synchronous stretch of WebGPU calls.
//!
//! The scopes are driven through the JavaScript device rather than through `wgpu::Device`: wgpu 30
//! panics when a scope delivers a `GPUInternalError`, and a panic would end the session that the
//! scope is there to protect. A side benefit is that each scope's filter says what kind of error
//! it caught, so nothing has to be guessed from the error's class.

use std::future::Future;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use wellwritten_memory::{Failure, FailureKind};

/// WebGPU's error filters, outermost first.
const FILTERS: [(&str, FailureKind); 3] = [
    ("internal", FailureKind::Internal),
    ("out-of-memory", FailureKind::OutOfMemory),
    ("validation", FailureKind::Validation),
];

/// Scopes that are open on a device. Close them in the same synchronous function: the stack is
/// shared by everything that uses the device.
#[must_use = "scopes must be closed before anything else uses the device"]
pub(super) struct ErrorScopes {
    device: JsValue,
}

impl ErrorScopes {
    /// Opens one scope per kind of error.
    pub(super) fn open(device: &wgpu::Device) -> Self {
        let device = js_device(device);
        for (filter, _) in FILTERS {
            call(&device, "pushErrorScope", Some(filter));
        }
        Self { device }
    }

    /// Closes the scopes now; the future says later what they caught, first cause first.
    pub(super) fn close(self) -> impl Future<Output = Result<(), Failure>> + 'static {
        let popped: Vec<(FailureKind, JsFuture)> = FILTERS
            .iter()
            .rev()
            .map(|(_, kind)| {
                let promise = call(&self.device, "popErrorScope", None);
                (*kind, JsFuture::from(promise.unchecked_into::<Promise>()))
            })
            .collect();
        async move {
            let mut outcome = Ok(());
            for (kind, caught) in popped {
                let message = match caught.await {
                    Ok(error) if error.is_null() || error.is_undefined() => continue,
                    Ok(error) => text(&error, "message"),
                    // The stack was not as we left it, or the device is gone: nothing is proven.
                    Err(error) => format!("the error scope was lost: {}", text(&error, "message")),
                };
                outcome = outcome.and(Err(Failure { kind, message }));
            }
            outcome
        }
    }
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

fn call(target: &JsValue, method: &str, argument: Option<&str>) -> JsValue {
    let function: Function = Reflect::get(target, &method.into())
        .expect("a GPUDevice is an object")
        .unchecked_into();
    match argument {
        Some(argument) => function.call1(target, &argument.into()),
        None => function.call0(target),
    }
    .expect("pushErrorScope and popErrorScope do not throw")
}
