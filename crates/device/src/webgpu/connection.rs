//! Getting a WebGPU device from the browser, and hearing what it says on its own.

use futures::channel::mpsc;
use futures::stream::LocalBoxStream;
use futures::{FutureExt as _, StreamExt as _};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Promise, Reflect};
use serde::Deserialize;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::backend::WebGpuBackend;
use super::error_scopes::{js_device, text};
use crate::backend::{BackendInfo, BackendKind};
use crate::error::DeviceError;
use crate::limits::{DeviceLimits, RequiredLimits};

/// What to ask the browser for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebGpuOptions {
    /// Limits above WebGPU's defaults.
    #[serde(default)]
    pub required_limits: RequiredLimits,
}

/// A device ready to use.
pub(crate) struct Connection {
    pub(crate) backend: WebGpuBackend,
    pub(crate) signals: DeviceSignals,
}

/// Something a WebGPU device says outside any call.
pub(crate) enum DeviceSignal {
    Lost(String),
    Uncaptured(String),
}

/// The signals of one device generation; ends after the loss.
pub(crate) struct DeviceSignals {
    pub(crate) receiver: LocalBoxStream<'static, DeviceSignal>,
}

/// Asks for an adapter and a device.
pub(crate) async fn connect(options: &WebGpuOptions) -> Result<Connection, DeviceError> {
    if !has_webgpu() {
        return Err(DeviceError::NoAdapter {
            reason: "this browser, or this page, has no navigator.gpu".to_owned(),
        });
    }
    let instance = wgpu::Instance::default();
    let adapter = instance
        .request_adapter(&wgpu::RequestAdapterOptions::default())
        .await
        .map_err(|error| DeviceError::NoAdapter {
            reason: error.to_string(),
        })?;
    let limits = wanted_limits(&options.required_limits);
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("wellwritten"),
            required_limits: limits.clone(),
            ..Default::default()
        })
        .await
        .map_err(|error| DeviceError::NoDevice {
            reason: error.to_string(),
        })?;
    let js = js_device(&device);
    let backend = WebGpuBackend::new(
        device,
        queue,
        adapter_info(&js),
        DeviceLimits {
            max_buffer_size: limits.max_buffer_size,
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
            max_storage_buffers_per_shader_stage: limits.max_storage_buffers_per_shader_stage,
            max_compute_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
            min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
        },
    );
    Ok(Connection {
        backend,
        signals: listen(&js),
    })
}

/// Asks again after a loss, waiting longer before each try.
pub(crate) async fn reconnect(
    options: &WebGpuOptions,
    attempts: u32,
) -> Result<Connection, DeviceError> {
    let mut last = String::new();
    for attempt in 0..attempts {
        let wait_ms = 100 * attempt * attempt;
        if wait_ms > 0 {
            TimeoutFuture::new(wait_ms).await;
        }
        match connect(options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => last = error.to_string(),
        }
    }
    Err(DeviceError::RecoveryFailed { attempts, last })
}

fn has_webgpu() -> bool {
    Reflect::get(&js_sys::global(), &"navigator".into())
        .and_then(|navigator| Reflect::get(&navigator, &"gpu".into()))
        .is_ok_and(|gpu| gpu.is_object())
}

fn wanted_limits(required: &RequiredLimits) -> wgpu::Limits {
    let mut limits = wgpu::Limits::default();
    if let Some(size) = required.max_buffer_size {
        limits.max_buffer_size = size;
    }
    if let Some(size) = required.max_storage_buffer_binding_size {
        limits.max_storage_buffer_binding_size = size;
    }
    if let Some(count) = required.max_storage_buffers_per_shader_stage {
        limits.max_storage_buffers_per_shader_stage = count;
    }
    limits
}

/// wgpu passes only the description on, which Chromium leaves empty; vendor and architecture say
/// what a person wants to know.
fn adapter_info(device: &JsValue) -> BackendInfo {
    let info = Reflect::get(device, &"adapterInfo".into()).unwrap_or(JsValue::UNDEFINED);
    let part = |name: &str| {
        Reflect::get(&info, &name.into())
            .ok()
            .and_then(|value| value.as_string())
            .filter(|value| !value.is_empty())
    };
    let adapter = part("description").unwrap_or_else(|| {
        [part("vendor"), part("architecture")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    });
    let software = Reflect::get(&info, &"isFallbackAdapter".into())
        .ok()
        .and_then(|value| value.as_bool())
        .unwrap_or(false);
    BackendInfo {
        kind: BackendKind::Webgpu,
        adapter: if adapter.is_empty() {
            "an adapter the browser does not describe".to_owned()
        } else {
            adapter
        },
        software,
        reason: None,
    }
}

fn listen(device: &JsValue) -> DeviceSignals {
    let (sender, uncaptured) = mpsc::unbounded();
    let handler = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
        let error = Reflect::get(&event, &"error".into()).unwrap_or(JsValue::UNDEFINED);
        // Nobody listens once the device is closed.
        let _ = sender.unbounded_send(DeviceSignal::Uncaptured(text(&error, "message")));
    });
    let listener = handler.into_js_value();
    Reflect::get(device, &"addEventListener".into())
        .expect("a GPUDevice is an event target")
        .unchecked_into::<Function>()
        .call2(device, &"uncapturederror".into(), &listener)
        .expect("adding a listener does not throw");
    let lost = Reflect::get(device, &"lost".into())
        .expect("a GPUDevice has `lost`")
        .unchecked_into::<Promise>();
    let lost = JsFuture::from(lost).map(|info| {
        let info = info.unwrap_or_else(|error| error);
        let message = text(&info, "message");
        DeviceSignal::Lost(if message.is_empty() {
            text(&info, "reason")
        } else {
            message
        })
    });
    DeviceSignals {
        receiver: futures::stream::select(uncaptured, lost.into_stream()).boxed_local(),
    }
}
