//! The WebGPU backend, through wgpu in the browser.

mod backend;
mod connection;
mod error_scopes;
mod kernel;
mod loss;
mod staging;

pub(crate) use connection::{connect, reconnect};

pub use connection::WebGpuOptions;
