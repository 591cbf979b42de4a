//! The guarded device: the only way to touch device memory.

use std::fmt;
use std::rc::Rc;

use wellwritten_memory::{
    BufferBinding, BufferId, BufferSummary, FailureGraph, MemoryUsage, TaintSpan,
};

use crate::access::Binding;
use crate::backend::BackendInfo;
use crate::buffer::GuardedBuffer;
use crate::connection::{Connection, CpuHost, DeviceHost};
use crate::counters::DeviceCounters;
use crate::device_event::DeviceEvent;
use crate::device_state::{DeviceState, Health};
use crate::error::DeviceError;
use crate::kernel::{Kernel, KernelSource};
use crate::limits::DeviceLimits;
use crate::shared::Shared;
use crate::spawner::Spawner;

/// A compute device whose reads return only bytes that were last written by work that succeeded.
///
/// Cheap to clone: clones are the same device.
#[derive(Clone)]
pub struct GuardedDevice {
    pub(crate) shared: Rc<Shared>,
}

impl fmt::Debug for GuardedDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GuardedDevice")
            .field("backend", &self.backend())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl GuardedDevice {
    /// A device on the CPU: kernels are functions, verdicts are immediate.
    #[must_use]
    pub fn cpu() -> Self {
        Self::cpu_because(None)
    }

    /// A device on the CPU that says why it is not on WebGPU.
    #[must_use]
    pub fn cpu_because(reason: Option<String>) -> Self {
        let connection = Connection::cpu(reason.clone());
        Self::over(connection, None, Box::new(CpuHost(reason)))
    }

    pub(crate) fn over(
        connection: Connection,
        spawner: Option<Spawner>,
        host: Box<dyn DeviceHost>,
    ) -> Self {
        Self {
            shared: Shared::over(connection, spawner, host),
        }
    }

    /// A device on WebGPU. Waits for the browser to grant an adapter and a device.
    ///
    /// # Errors
    /// [`DeviceError::NoAdapter`] or [`DeviceError::NoDevice`]; the CPU backend is then left.
    /// [`DeviceError::Limit`] when a required limit is above what the adapter has.
    #[cfg(target_arch = "wasm32")]
    pub async fn webgpu(
        options: crate::webgpu::WebGpuOptions,
        spawner: Spawner,
    ) -> Result<Self, DeviceError> {
        let connection = crate::webgpu::connect(&options).await?;
        Ok(Self::over(connection, Some(spawner), Box::new(options)))
    }

    /// Which backend this is, and on what.
    #[must_use]
    pub fn backend(&self) -> BackendInfo {
        self.shared.state.borrow().memory.storage().info()
    }

    /// What the device grants.
    #[must_use]
    pub fn limits(&self) -> DeviceLimits {
        self.shared.state.borrow().memory.storage().limits()
    }

    /// Counts devices from 1: a recovered device is the next generation.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.state.borrow().generation
    }

    /// Why the device is lost, if it is.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        match &self.shared.state.borrow().health {
            Health::Lost(reason) => Some(reason.clone()),
            Health::Live | Health::Closed => None,
        }
    }

    /// What the device has done so far.
    #[must_use]
    pub fn counters(&self) -> DeviceCounters {
        self.shared.state.borrow().counters
    }

    /// What its buffers take: bytes that live buffers hold, and bytes of the pages under them.
    #[must_use]
    pub fn memory_usage(&self) -> MemoryUsage {
        self.shared.state.borrow().memory.memory_usage()
    }

    /// Gives every page that no buffer lies on back to the device. Pages that stay unused go by themselves, later:
    /// they are kept for the next allocations of their size.
    pub fn trim(&self) {
        self.shared.act(DeviceState::trim);
    }

    /// Calls `observer` after every event, outside any call into the device.
    pub fn observe(&self, observer: impl Fn(&DeviceEvent) + 'static) {
        self.shared.observe(observer);
    }

    /// Reserves `size_bytes` zeroed bytes (a multiple of 4, at least 4). May submit; does not wait.
    ///
    /// # Errors
    /// Sizes the device cannot grant. A creation that fails late does not show here: reads of the
    /// buffer, and of what was computed from it, name it.
    pub fn alloc(&self, size_bytes: u64, label: &str) -> Result<GuardedBuffer, DeviceError> {
        self.shared.act(|state| state.alloc(size_bytes, label))
    }

    /// Writes `bytes` over `target`, in order with launches. Does not wait.
    ///
    /// # Errors
    /// When lengths differ, words are not whole or the buffer is gone; nothing is written then.
    pub fn write(&self, target: &BufferBinding, bytes: &[u8]) -> Result<(), DeviceError> {
        self.shared.act(|state| state.write(target, bytes.into()))
    }

    /// Copies the bytes of `source` over `target`, which is of another buffer, in order with launches: one unit
    /// of work, skipped when `source` is known not to read cleanly. Does not wait.
    ///
    /// # Errors
    /// When sizes differ, words are not whole, both are the same buffer (WebGPU forbids it) or one is gone.
    pub fn copy(&self, source: &BufferBinding, target: &BufferBinding) -> Result<(), DeviceError> {
        self.shared.act(|state| state.copy(source, target))
    }

    /// Makes a kernel. Never fails: what is wrong with its source shows on the launches that use it.
    #[must_use]
    pub fn kernel(&self, source: KernelSource) -> Kernel {
        Kernel::new(source)
    }

    /// Runs `kernel` over `bindings` (`@group(0) @binding(i)`, in order). Does not wait and never
    /// fails for something WebGPU reports late: the bytes it should have written then refuse to be
    /// read. Skipped, without being encoded, when an input is known not to read cleanly.
    ///
    /// # Errors
    /// What can be told before encoding: limits, alignment, a buffer bound twice, a freed buffer.
    pub fn launch(
        &self,
        kernel: &Kernel,
        bindings: &[Binding],
        workgroups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.shared
            .act(|state| state.launch(kernel, bindings, workgroups))
    }

    /// The state of every byte of `source`, as spans that cover it in order.
    ///
    /// # Errors
    /// When the buffer is not this device's, or freed.
    pub fn taint(&self, source: &BufferBinding) -> Result<Vec<TaintSpan>, DeviceError> {
        Ok(self.shared.state.borrow().memory.spans(source)?)
    }

    /// As [`taint`](Self::taint), in at most `spans` spans: neighbours are merged and the worst
    /// state of a span stands for it, so that a strip costs what its pixels cost.
    ///
    /// # Errors
    /// When the buffer is not this device's, or freed.
    pub fn taint_limited(
        &self,
        source: &BufferBinding,
        spans: usize,
    ) -> Result<Vec<TaintSpan>, DeviceError> {
        let state = self.shared.state.borrow();
        Ok(state.memory.spans_limited(source, spans)?)
    }

    /// Every live buffer.
    #[must_use]
    pub fn buffers(&self) -> Vec<BufferSummary> {
        self.shared.state.borrow().memory.buffers()
    }

    /// The whole of a live buffer by its identity, without keeping it alive.
    #[must_use]
    pub fn binding(&self, id: BufferId) -> Option<BufferBinding> {
        self.shared.state.borrow().memory.binding(id)
    }

    /// Failures, what carries them, and the skipped work between.
    #[must_use]
    pub fn failures(&self) -> FailureGraph {
        self.shared.state.borrow().memory.failure_graph()
    }

    /// Moves whenever a claim or a buffer changes.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.state.borrow().memory.revision()
    }
}
