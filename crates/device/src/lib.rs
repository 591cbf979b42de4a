//! A compute device that never returns a byte whose writer did not succeed.
//!
//! **Mental model.** Every launch, host write and zero-fill is one *unit of work* inside a write
//! scope of [`wellwritten_memory`]. Units are gathered into *submissions*; on WebGPU a submission's
//! verdict arrives later, through its error scopes, and until then the bytes its units wrote are
//! *pending*. When it settles they become trusted, or they become claims under the first cause: the
//! shader that failed to compile, not the "invalid pipeline" that followed from it. A
//! [`read`](GuardedDevice::read) waits for whatever its bytes are pending on and then returns either
//! the bytes or an [`UnwrittenReport`] that names the root failure and the path from it.
//!
//! **Who is responsible.** This crate validates everything it can before encoding (sizes,
//! alignment, limits, overlapping bindings) and owns the real buffers; nobody else touches them or
//! the device's error-scope stack. It is single-threaded: a [`GuardedDevice`] is a cheap clone of
//! one shared state. Work that must go on in the background (settling a submission) is handed to
//! the [`Spawner`] the host supplies.
//!
//! **Invariants.**
//! 1. A read returns bytes only if every byte was last written by a unit that succeeded, all the
//!    work it depended on succeeded, and the device was not lost in between.
//! 2. Error scopes are pushed and popped within one synchronous function; none is open across an
//!    `await`.
//! 3. A pipeline or a page that has not yet been proven is submitted alone, so that it cannot void
//!    its neighbours' command buffer.
//! 4. After a loss nothing of the old device generation is touched again; its buffers are refused
//!    by name.
//!
//! **Testing against it.** With the feature `fake`, the module `fake` opens a device under WebGPU's rules that fails on
//! demand, and answers when it is told to: a program is run against it headless.
//!
//! **What it does not do.** No scheduling over several queues, no textures or rendering, no
//! retries of failed work: the caller rewrites, or restores.
//!
//! ```
//! use std::rc::Rc;
//! use wellwritten_device::{Access, Binding, GuardedDevice, KernelSource};
//!
//! # futures::executor::block_on(async {
//! let device = GuardedDevice::cpu();
//! let numbers = device.alloc(16, "numbers")?;
//! device.write(&numbers.binding(), &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0])?;
//! let double = device.kernel(KernelSource::host("double", Rc::new(|launch| {
//!     let mut words = launch.take(0)?;
//!     words.iter_mut().for_each(|word| *word *= 2);
//!     launch.put(0, words)
//! })));
//! device.launch(&double, &[Binding::new(numbers.binding(), Access::ReadWrite)], [1, 1, 1])?;
//! assert_eq!(device.read(&numbers.binding()).await?[..8], [2, 0, 0, 0, 4, 0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod access;
mod backend;
mod batch;
mod buffer;
mod connection;
mod counters;
mod cpu;
mod device;
mod device_event;
mod device_state;
mod error;
#[cfg(feature = "fake")]
pub mod fake;
mod host_kernel;
mod host_pages;
mod kernel;
mod launch_check;
mod limits;
mod reading;
mod recovery;
mod shared;
mod spawner;
#[cfg(target_arch = "wasm32")]
mod webgpu;
mod window;

pub use access::{Access, Binding};
pub use backend::{BackendInfo, BackendKind};
pub use buffer::GuardedBuffer;
pub use counters::DeviceCounters;
pub use device::GuardedDevice;
pub use device_event::DeviceEvent;
pub use error::{DeviceError, ReadError};
pub use host_kernel::{HostKernel, HostKernelError, HostLaunch};
pub use kernel::{Kernel, KernelSource};
pub use limits::{DeviceLimits, LimitName, RequiredLimits};
pub use spawner::Spawner;
#[cfg(target_arch = "wasm32")]
pub use webgpu::WebGpuOptions;
pub use window::{SealedGraph, Window, WindowError};

pub use wellwritten_memory::{
    BufferBinding, BufferId, BufferSummary, FailureGraph, FailureId, MemoryUsage, Recording,
    TaintSpan, TaintState, UnwrittenReport,
};
