//! What a device refuses, and why a read returns no bytes.

use thiserror::Error;
use wellwritten_memory::{BufferId, EnterError, HandleError, ReserveError, UnwrittenReport};

use crate::limits::LimitName;

/// A call the device refused before anything was encoded. Nothing changed.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no WebGPU here, or no adapter for it. The CPU backend still works.
    #[error("no WebGPU adapter: {reason}")]
    NoAdapter {
        /// What the browser said.
        reason: String,
    },
    /// The adapter gave no device, for example because a required limit is above what it has.
    #[error("the WebGPU adapter refused a device: {reason}")]
    NoDevice {
        /// What the browser said.
        reason: String,
    },
    /// The host had no memory for a page of the CPU backend.
    #[error("no memory for a page of {size_bytes} bytes")]
    NoMemory {
        /// The size of the page.
        size_bytes: u64,
    },
    /// The device is lost; `recover` makes a new generation.
    #[error("device generation {generation} was lost ({reason}); recover it before further work")]
    Lost {
        /// The generation that was lost, from 1.
        generation: u64,
        /// What the browser said.
        reason: String,
    },
    /// The device was closed and stays closed.
    #[error("the device is closed")]
    Closed,
    /// Recovery gave up. The device stays lost; trying again may work later.
    #[error("no new device after {attempts} attempts; the last one said: {last}")]
    RecoveryFailed {
        /// How often it was tried.
        attempts: u32,
        /// What the last attempt said.
        last: String,
    },
    /// More was asked for than the device grants.
    #[error("{what} needs {limit} of at least {requested}; this device grants {granted}")]
    Limit {
        /// What asked for it.
        what: String,
        /// The limit's name in WebGPU.
        limit: LimitName,
        /// What was asked for.
        requested: u64,
        /// What the device grants.
        granted: u64,
    },
    /// An offset or a length is not a multiple of what the device requires.
    #[error("{what} is {value}, which is not a multiple of {required} bytes")]
    Alignment {
        /// Which offset or length.
        what: String,
        /// Its value in bytes.
        value: u64,
        /// What it must be a multiple of, in bytes.
        required: u64,
    },
    /// A write's byte count differs from the size of its target.
    #[error("a write of {found} bytes to a target of {expected}")]
    WriteLength {
        /// Bytes in the target.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// A copy between ranges of different sizes.
    #[error("a copy of {source_bytes} bytes to a target of {target_bytes}")]
    CopyLength {
        /// Bytes in the source.
        source_bytes: u64,
        /// Bytes in the target.
        target_bytes: u64,
    },
    /// A copy within one buffer, which WebGPU forbids.
    #[error("a copy from {buffer} to itself; WebGPU copies between two buffers only")]
    CopyWithinBuffer {
        /// The buffer.
        buffer: BufferId,
    },
    /// A sealed graph of an earlier device generation.
    #[error(
        "graph `{graph}` was recorded on device generation {recorded_on}, this is generation {generation}; record it anew"
    )]
    StaleGraph {
        /// The graph's label.
        graph: String,
        /// The generation it was recorded on, from 1.
        recorded_on: u64,
        /// The present generation.
        generation: u64,
    },
    /// One buffer is bound twice in a launch and at least one binding writes: WebGPU forbids it.
    #[error(
        "bindings {first} and {second} of `{kernel}` are the same buffer and one of them writes; bind it once as read-write"
    )]
    BindingConflict {
        /// The kernel's label.
        kernel: String,
        /// The first binding's index, from 0.
        first: usize,
        /// The second binding's index, from 0.
        second: usize,
    },
    /// A binding of a launch holds no bytes, which WebGPU forbids.
    #[error("binding {index} of `{kernel}` is empty; a launch binds at least one word")]
    EmptyBinding {
        /// The kernel's label.
        kernel: String,
        /// The binding's index, from 0.
        index: usize,
    },
    /// A launch of no workgroups: it would run nothing, and the bytes bound for writing would count as
    /// written.
    #[error(
        "a launch of `{kernel}` with {x} x {y} x {z} workgroups runs nothing; ask for at least 1 in each"
    )]
    NoWorkgroups {
        /// The kernel's label.
        kernel: String,
        /// Workgroups in x.
        x: u32,
        /// Workgroups in y.
        y: u32,
        /// Workgroups in z.
        z: u32,
    },
    /// A kernel has no form the backend can run.
    #[error("kernel `{kernel}` has no {missing}, which the {backend} backend runs")]
    KernelForm {
        /// The kernel's label.
        kernel: String,
        /// What it lacks: `WGSL text` or `host function`.
        missing: &'static str,
        /// The backend: `WebGPU` or `CPU`.
        backend: &'static str,
    },
    /// The buffer or slice cannot be used.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// The work cannot enter its write scope on this stream.
    #[error(transparent)]
    Scope(EnterError),
    /// The memory could not be reserved.
    #[error(transparent)]
    Reserve(#[from] ReserveError),
}

/// Why a read returned no bytes.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Some byte was not last written by work that succeeded. The report names the root failure and
    /// the path to these bytes.
    #[error("{0}")]
    Unwritten(Box<UnwrittenReport>),
    /// The device refused the read or was lost while it was under way.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The bytes were sound but could not be copied out; reading again may work.
    #[error("the bytes of {buffer} could not be copied out: {reason}")]
    Transfer {
        /// The buffer.
        buffer: BufferId,
        /// What the browser said.
        reason: String,
    },
}

impl From<EnterError> for DeviceError {
    fn from(error: EnterError) -> Self {
        match error {
            EnterError::Handle(error) => Self::Handle(error),
            other => Self::Scope(other),
        }
    }
}

impl From<HandleError> for ReadError {
    fn from(error: HandleError) -> Self {
        Self::Device(DeviceError::Handle(error))
    }
}
