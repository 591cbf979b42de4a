//! Pages, submissions and read-back on a WebGPU device.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_memory::{Failure, FailureKind, Storage};

use super::error_scopes::ErrorScopes;
use super::kernel::WebGpuKernel;
use super::loss::Loss;
use super::read_staging::{Lease, Mapping, ReadStaging};
use super::submission::{Submission, webgpu_kernel};
use super::write_staging::WriteStaging;
use crate::access::Access;
use crate::backend::{
    Backend, BackendInfo, Copied, CopyForm, CopyOut, CopyRequest, KernelState, PageId, Settlement,
    Verdict,
};
use crate::batch::Work;
use crate::error::DeviceError;
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

/// One generation of a WebGPU device and its buffers.
pub(crate) struct WebGpuBackend {
    device: wgpu::Device,
    queue: wgpu::Queue,
    loss: Loss,
    info: BackendInfo,
    limits: DeviceLimits,
    pages: HashMap<PageId, wgpu::Buffer>,
    /// Pages given back while recorded work may still name them; destroyed after the next submission.
    retired: Vec<PageId>,
    read_staging: ReadStaging,
    write_staging: WriteStaging,
    /// Counts submissions that failed: what one of them made is not used again.
    epoch: Rc<Cell<u64>>,
    creations: Vec<(PageId, Verdict)>,
    next_page: u64,
}

impl WebGpuBackend {
    pub(super) fn new(
        device: wgpu::Device,
        queue: wgpu::Queue,
        loss: Loss,
        info: BackendInfo,
        limits: DeviceLimits,
    ) -> Self {
        Self {
            device,
            queue,
            loss,
            info,
            limits,
            pages: HashMap::new(),
            retired: Vec::new(),
            read_staging: ReadStaging::default(),
            write_staging: WriteStaging::new(limits.max_buffer_size),
            epoch: Rc::default(),
            creations: Vec::new(),
            next_page: 1,
        }
    }

    /// Submits, and begins to map what the copy goes to.
    fn submit_with(
        &mut self,
        work: &[Work],
        copy: Option<(&CopyRequest, &Lease)>,
    ) -> (Settlement, Option<Mapping>) {
        let scopes = ErrorScopes::open(&self.device);
        let (device, queue, staging) = (&self.device, &self.queue, &mut self.write_staging);
        let verdicts = Submission::new(device, queue, &self.pages, staging, self.epoch.get())
            .submit(work, copy);
        let mapping = copy.map(|(_, lease)| lease.map());
        let caught = scopes.close();
        self.destroy_retired();
        let loss = self.loss.clone();
        let epoch = Rc::clone(&self.epoch);
        let verdict = async move {
            let caught = caught.await;
            if caught.is_err() {
                epoch.set(epoch.get() + 1);
            }
            // The first cause comes first: a broken shader, then what followed from it.
            for verdict in verdicts {
                verdict.await?;
            }
            caught.map_err(|failure| Failure {
                kind: failure.kind,
                message: format!("WebGPU dropped the submission: {}", failure.message),
            })?;
            loss.check()
        };
        (Settlement::Later(verdict.boxed_local()), mapping)
    }

    fn destroy_retired(&mut self) {
        for page in self.retired.drain(..) {
            if let Some(buffer) = self.pages.remove(&page) {
                buffer.destroy();
            }
        }
    }
}

/// What a mapping gives, or why it does not.
async fn mapped(
    lease: Lease,
    mapping: Mapping,
    loss: Loss,
    form: CopyForm,
) -> Result<Copied, Failure> {
    if let Ok(Ok(())) = mapping.await {
        loss.check()?;
        return lease.into_copy(form);
    }
    // Mapping aborts when the device is lost, possibly before the loss is announced; only
    // the announcement tells the caller why.
    loss.announced().await;
    loss.check()?;
    Err(Failure {
        kind: FailureKind::Internal,
        message: "the browser aborted the mapping".to_owned(),
    })
}

impl Drop for WebGpuBackend {
    /// The browser would free its memory whenever it collects garbage; a page that opens and closes
    /// many devices cannot wait for that.
    fn drop(&mut self) {
        self.device.destroy();
    }
}

impl Storage for WebGpuBackend {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        let scopes = ErrorScopes::open(&self.device);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: size_bytes,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let caught = scopes.close();
        let created = async move {
            caught.await.map_err(|failure| Failure {
                kind: failure.kind,
                message: format!(
                    "a buffer of {size_bytes} bytes could not be created: {}",
                    failure.message
                ),
            })
        };
        let page = PageId(self.next_page);
        self.next_page += 1;
        self.creations.push((page, created.boxed_local()));
        self.pages.insert(page, buffer);
        Ok(page)
    }

    fn dealloc(&mut self, id: PageId) {
        self.retired.push(id);
    }

    fn alignment(&self) -> u64 {
        u64::from(self.limits.min_storage_buffer_offset_alignment)
    }
}

impl Backend for WebGpuBackend {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    fn limits(&self) -> DeviceLimits {
        self.limits
    }

    fn batches(&self) -> bool {
        true
    }

    fn take_creations(&mut self) -> Vec<(PageId, Verdict)> {
        std::mem::take(&mut self.creations)
    }

    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError> {
        let wgsl = source
            .wgsl
            .as_deref()
            .ok_or_else(|| DeviceError::KernelForm {
                kernel: source.label.clone(),
                missing: "WGSL text",
                backend: "WebGPU",
            })?;
        Ok(Rc::new(WebGpuKernel::compile(
            &self.device,
            &source.label,
            wgsl,
            &source.entry_point,
        )))
    }

    fn state(&mut self, kernel: &CompiledKernel, accesses: &[Access]) -> KernelState {
        webgpu_kernel(kernel).state(&self.device, accesses)
    }

    fn submit(&mut self, work: Vec<Work>) -> Settlement {
        self.submit_with(&work, None).0
    }

    fn submit_and_copy(
        &mut self,
        work: Vec<Work>,
        copy: &CopyRequest,
    ) -> (Settlement, Option<CopyOut>) {
        // A new buffer could be the one that voids the submission.
        let granted = self.limits.max_buffer_size;
        let Some(lease) = self.read_staging.proven(copy.size_bytes, granted) else {
            return (self.submit(work), None);
        };
        let (settlement, mapping) = self.submit_with(&work, Some((copy, &lease)));
        let loss = self.loss.clone();
        let copied = mapping.map(|mapping| mapped(lease, mapping, loss, copy.form).boxed_local());
        (settlement, copied)
    }

    fn read_back(&mut self, copy: &CopyRequest) -> CopyOut {
        let scopes = ErrorScopes::open(&self.device);
        let granted = self.limits.max_buffer_size;
        let lease = self
            .read_staging
            .lease(&self.device, copy.size_bytes, granted);
        let (device, queue, staging) = (&self.device, &self.queue, &mut self.write_staging);
        Submission::new(device, queue, &self.pages, staging, self.epoch.get())
            .submit(&[], Some((copy, &lease)));
        let mapping = lease.map();
        let caught = scopes.close();
        let copied = mapped(lease, mapping, self.loss.clone(), copy.form);
        async move {
            caught.await?;
            copied.await
        }
        .boxed_local()
    }

    fn release(&mut self) {
        self.destroy_retired();
    }

    fn destroy(&mut self) {
        self.device.destroy();
    }
}
