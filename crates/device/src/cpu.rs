//! The CPU backend: kernels are functions, verdicts are immediate.

use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_memory::{Failure, FailureKind, Storage};

use crate::access::Access;
use crate::backend::{
    Backend, BackendInfo, BackendKind, Copied, CopyOut, CopyRequest, KernelState, PageId,
    Settlement, Verdict,
};
use crate::batch::Work;
use crate::error::DeviceError;
use crate::host_kernel::HostKernel;
use crate::host_pages::HostPages;
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

/// Pages in host memory.
pub(crate) struct CpuBackend {
    pages: HostPages,
    next_page: u64,
    reason: Option<String>,
    destroyed: bool,
}

impl CpuBackend {
    /// `reason` says why the CPU was taken, when WebGPU was hoped for.
    pub(crate) fn new(reason: Option<String>) -> Self {
        Self {
            pages: HostPages::new(|kernel| {
                kernel
                    .downcast_ref::<HostKernel>()
                    .expect("a kernel compiled by this backend")
            }),
            next_page: 1,
            reason,
            destroyed: false,
        }
    }
}

impl Storage for CpuBackend {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        let page = PageId(self.next_page);
        self.next_page += 1;
        self.pages.create(page, size_bytes)?;
        Ok(page)
    }

    fn dealloc(&mut self, id: PageId) {
        self.pages.remove(id);
    }

    fn alignment(&self) -> u64 {
        u64::from(self.limits().min_storage_buffer_offset_alignment)
    }
}

impl Backend for CpuBackend {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            kind: BackendKind::Cpu,
            adapter: "CPU (Rust kernels)".to_owned(),
            software: true,
            reason: self.reason.clone(),
        }
    }

    fn limits(&self) -> DeviceLimits {
        DeviceLimits::WEBGPU_DEFAULT
    }

    fn batches(&self) -> bool {
        false
    }

    fn take_creations(&mut self) -> Vec<(PageId, Verdict)> {
        Vec::new()
    }

    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError> {
        let host = source.host.clone().ok_or_else(|| DeviceError::KernelForm {
            kernel: source.label.clone(),
            missing: "host function",
            backend: "CPU",
        })?;
        Ok(Rc::new(host))
    }

    fn state(&mut self, _kernel: &CompiledKernel, _accesses: &[Access]) -> KernelState {
        KernelState::Proven
    }

    fn submit(&mut self, work: Vec<Work>) -> Settlement {
        assert!(
            work.len() <= 1,
            "the CPU backend runs one unit a submission"
        );
        Settlement::Now(work.iter().try_for_each(|unit| self.pages.run(unit)))
    }

    fn read_back(&mut self, copy: &CopyRequest) -> CopyOut {
        let bytes = if self.destroyed {
            Err(Failure {
                kind: FailureKind::DeviceLost,
                message: "the device was lost".to_owned(),
            })
        } else {
            self.pages.bytes(copy).map(Copied::Bytes)
        };
        futures::future::ready(bytes).boxed_local()
    }

    fn destroy(&mut self) {
        self.destroyed = true;
        self.pages.clear();
    }
}
