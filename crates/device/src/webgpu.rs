//! The WebGPU backend, through wgpu in the browser.

mod backend;
mod connection;
mod error_scopes;
mod kernel;

pub(crate) use connection::{DeviceSignal, DeviceSignals, connect, reconnect};

pub use connection::WebGpuOptions;
