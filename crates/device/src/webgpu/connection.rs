//! Getting a WebGPU device from the browser, and hearing what it says on its own.

use std::time::Duration;

use futures::channel::mpsc;
use futures::future::LocalBoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Reflect};
use serde::Deserialize;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_memory::{Failure, FailureKind};

use super::backend::WebGpuBackend;
use super::error_scopes::{js_device, text};
use super::loss::Loss;
use crate::backend::{BackendInfo, BackendKind};
use crate::connection::{Connection, DeviceHost, DeviceSignal};
use crate::error::DeviceError;
use crate::launch_check::check_limit;
use crate::limits::{DeviceLimits, LimitName, RequiredLimits};

/// What to ask the browser for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebGpuOptions {
    /// Limits above WebGPU's defaults.
    #[serde(default)]
    pub required_limits: RequiredLimits,
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
    check_limits(&limits, &adapter.limits())?;
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
    let (sender, receiver) = mpsc::unbounded();
    listen_to_uncaptured(&js, sender.clone());
    let loss = Loss::of(&js, move |reason| {
        // Nobody listens once the device is closed.
        let _ = sender.unbounded_send(DeviceSignal::Lost(reason));
    });
    let info = adapter_info(&js);
    let backend = WebGpuBackend::new(device, queue, loss, info, device_limits(&limits));
    Ok(Connection {
        backend: Box::new(backend),
        signals: Some(receiver.boxed_local()),
    })
}

impl DeviceHost for WebGpuOptions {
    fn connect(&self) -> LocalBoxFuture<'static, Result<Connection, DeviceError>> {
        let options = *self;
        async move { connect(&options).await }.boxed_local()
    }

    fn pause(&self, wait: Duration) -> LocalBoxFuture<'static, ()> {
        let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        TimeoutFuture::new(milliseconds).boxed_local()
    }
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
    if let Some(count) = required.max_compute_workgroups_per_dimension {
        limits.max_compute_workgroups_per_dimension = count;
    }
    limits
}

fn device_limits(limits: &wgpu::Limits) -> DeviceLimits {
    DeviceLimits {
        max_buffer_size: limits.max_buffer_size,
        max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
        max_storage_buffers_per_shader_stage: limits.max_storage_buffers_per_shader_stage,
        max_compute_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
        min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
    }
}

/// Refuses what the adapter does not have, by name; the browser's refusal would not say what it has.
fn check_limits(wanted: &wgpu::Limits, adapter: &wgpu::Limits) -> Result<(), DeviceError> {
    let (wanted, has) = (device_limits(wanted), device_limits(adapter));
    let most = [
        (
            LimitName::MaxBufferSize,
            wanted.max_buffer_size,
            has.max_buffer_size,
        ),
        (
            LimitName::MaxStorageBufferBindingSize,
            wanted.max_storage_buffer_binding_size,
            has.max_storage_buffer_binding_size,
        ),
        (
            LimitName::MaxStorageBuffersPerShaderStage,
            wanted.max_storage_buffers_per_shader_stage.into(),
            has.max_storage_buffers_per_shader_stage.into(),
        ),
        (
            LimitName::MaxComputeWorkgroupsPerDimension,
            wanted.max_compute_workgroups_per_dimension.into(),
            has.max_compute_workgroups_per_dimension.into(),
        ),
    ];
    most.into_iter()
        .try_for_each(|(limit, requested, granted)| {
            check_limit("the requested device", limit, requested, granted)
        })
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

/// Hears errors outside every scope. The listener goes with the device, which the browser owns.
fn listen_to_uncaptured(device: &JsValue, sender: mpsc::UnboundedSender<DeviceSignal>) {
    let handler = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
        let error = Reflect::get(&event, &"error".into()).unwrap_or(JsValue::UNDEFINED);
        let class = Reflect::get(&error, &"constructor".into()).unwrap_or(JsValue::UNDEFINED);
        // Nobody listens once the device is closed.
        let kind = match text(&class, "name").as_str() {
            "GPUOutOfMemoryError" => FailureKind::OutOfMemory,
            "GPUValidationError" => FailureKind::Validation,
            _ => FailureKind::Internal,
        };
        let message = format!(
            "WebGPU reported an error outside every scope: {}",
            text(&error, "message")
        );
        let _ = sender.unbounded_send(DeviceSignal::Uncaptured(Failure { kind, message }));
    });
    Reflect::get(device, &"addEventListener".into())
        .expect("a GPUDevice is an event target")
        .unchecked_into::<Function>()
        .call2(device, &"uncapturederror".into(), &handler.into_js_value())
        .expect("adding a listener does not throw");
}
