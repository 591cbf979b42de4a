//! The WebGPU backend, through wgpu in the browser.

mod backend;
mod bind_groups;
mod connection;
mod error_scopes;
mod kernel;
mod loss;
mod read_staging;
mod submission;
mod write_staging;

pub(crate) use connection::connect;

pub use connection::WebGpuOptions;
