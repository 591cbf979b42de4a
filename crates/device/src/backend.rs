//! What a device needs from the thing that computes: pages, kernels, submissions, read-back.

use futures::future::LocalBoxFuture;
use serde::Serialize;
use wellwritten_memory::{Failure, Storage};

use crate::access::Access;
use crate::batch::Work;
use crate::error::DeviceError;
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// WebGPU, through wgpu.
    Webgpu,
    /// Rust functions on this thread.
    Cpu,
}

/// Which backend a device runs on, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct BackendInfo {
    /// What computes.
    pub kind: BackendKind,
    /// The adapter as the browser describes it; for the CPU a fixed text.
    pub adapter: String,
    /// Whether the adapter is a software one.
    pub software: bool,
    /// Why this backend was chosen, when another was hoped for.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One real buffer. Never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PageId(pub(crate) u64);

/// Whether a kernel may share a submission.
#[derive(Debug)]
#[cfg_attr(
    not(any(target_arch = "wasm32", feature = "fake")),
    expect(
        dead_code,
        reason = "only a backend with late verdicts makes every variant"
    )
)]
pub(crate) enum KernelState {
    /// Compiled and settled clean: its launches are batched with others.
    Proven,
    /// Not settled yet: its launches go alone.
    Unproven,
    /// Known not to work, and why.
    Broken(Failure),
}

/// A verdict that arrives later.
pub(crate) type Verdict = LocalBoxFuture<'static, Result<(), Failure>>;

/// The verdict on a submission: now, or when its error scopes resolve.
pub(crate) enum Settlement {
    /// Known at once.
    Now(Result<(), Failure>),
    /// Known later.
    Later(Verdict),
}

/// As what bytes are wanted on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyForm {
    /// Bytes of this program.
    Bytes,
    /// An array of JavaScript.
    #[cfg(target_arch = "wasm32")]
    Array,
}

/// Bytes copied out to the host. A backend that has them as bytes already may give bytes, whatever was wanted.
pub(crate) enum Copied {
    Bytes(Vec<u8>),
    #[cfg(target_arch = "wasm32")]
    Array(js_sys::Uint8Array),
}

impl Copied {
    /// How many.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            #[cfg(target_arch = "wasm32")]
            Self::Array(array) => u64::from(array.length()),
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            #[cfg(target_arch = "wasm32")]
            Self::Array(array) => array.to_vec(),
        }
    }

    #[cfg(target_arch = "wasm32")]
    pub(crate) fn into_array(self) -> js_sys::Uint8Array {
        match self {
            Self::Bytes(bytes) => bytes.as_slice().into(),
            Self::Array(array) => array,
        }
    }
}

/// Bytes to copy to the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRequest {
    pub(crate) page: PageId,
    pub(crate) offset: u64,
    pub(crate) size_bytes: u64,
    #[cfg_attr(
        not(target_arch = "wasm32"),
        expect(dead_code, reason = "there is one form only")
    )]
    pub(crate) form: CopyForm,
}

/// A copy to the host that is under way.
pub(crate) type CopyOut = LocalBoxFuture<'static, Result<Copied, Failure>>;

/// The thing that computes. A page given back may still be named by the work submitted next, which was
/// recorded before; by nothing after that.
pub(crate) trait Backend: Storage<Id = PageId, Error = DeviceError> {
    /// Which backend this is.
    fn info(&self) -> BackendInfo;
    /// What it grants.
    fn limits(&self) -> DeviceLimits;
    /// Whether units of work may share a submission.
    fn batches(&self) -> bool;
    /// The verdicts on pages created since this was last asked, where creation can fail late.
    fn take_creations(&mut self) -> Vec<(PageId, Verdict)>;
    /// Compiles a kernel; what is wrong with it shows in [`state`](Self::state) and in verdicts.
    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError>;
    /// What is known of a kernel, bound with these accesses. Asking creates the pipeline.
    fn state(&mut self, kernel: &CompiledKernel, accesses: &[Access]) -> KernelState;
    /// Encodes and submits `work` as one submission. Submits; does not wait.
    fn submit(&mut self, work: Vec<Work>) -> Settlement;
    /// The same, with a copy to the host behind it in the same submission; no copy where it needs one of its own.
    /// What the copy gives is void when the submission is, and nothing but the verdict on that says so.
    fn submit_and_copy(
        &mut self,
        work: Vec<Work>,
        _copy: &CopyRequest,
    ) -> (Settlement, Option<CopyOut>) {
        (self.submit(work), None)
    }
    /// Copies bytes out, in queue order after everything submitted so far. Submits; the future waits.
    fn read_back(&mut self, copy: &CopyRequest) -> CopyOut;
    /// Nothing recorded names the pages given back so far: they can go at once.
    fn release(&mut self) {}
    /// Destroys the real device.
    fn destroy(&mut self);
}

impl Storage for Box<dyn Backend> {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        // The pool rounds sizes up; what was asked for is within the limit, the rounding may not be.
        let granted = self.limits().max_buffer_size;
        self.as_mut().alloc(size_bytes.min(granted))
    }

    fn dealloc(&mut self, id: PageId) {
        self.as_mut().dealloc(id);
    }

    fn alignment(&self) -> u64 {
        self.as_ref().alignment()
    }
}
