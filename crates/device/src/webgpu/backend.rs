//! Pages, submissions and read-back on a WebGPU device.

use std::collections::HashMap;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use wellwritten_memory::{Failure, FailureKind, Storage};

use super::error_scopes::ErrorScopes;
use super::kernel::{PipelineVerdict, WebGpuKernel};
use super::loss::Loss;
use super::staging::Staging;
use crate::access::Access;
use crate::backend::{Backend, BackendInfo, KernelState, PageId, Settlement, Verdict};
use crate::batch::{BoundBytes, Work};
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
            creations: Vec::new(),
            next_page: 1,
        }
    }

    fn encode(&self, work: &[Work], verdicts: &mut Vec<PipelineVerdict>) {
        let mut encoder = None;
        for unit in work {
            match unit {
                Work::Write {
                    page,
                    offset,
                    bytes,
                } => self.queue.write_buffer(&self.pages[page], *offset, bytes),
                Work::Clear {
                    page,
                    offset,
                    size_bytes,
                } => encoder.get_or_insert_with(|| self.encoder()).clear_buffer(
                    &self.pages[page],
                    *offset,
                    Some(*size_bytes),
                ),
                Work::Launch {
                    label,
                    kernel,
                    bindings,
                    workgroups,
                } => self.encode_launch(
                    encoder.get_or_insert_with(|| self.encoder()),
                    label,
                    kernel,
                    bindings,
                    *workgroups,
                    verdicts,
                ),
            }
        }
        if let Some(encoder) = encoder {
            self.queue.submit([encoder.finish()]);
        }
    }

    fn encode_launch(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        label: &str,
        kernel: &CompiledKernel,
        bindings: &[BoundBytes],
        workgroups: [u32; 3],
        verdicts: &mut Vec<PipelineVerdict>,
    ) {
        let accesses: Vec<Access> = bindings.iter().map(|bound| bound.access).collect();
        let bound_pipeline = webgpu_kernel(kernel).pipeline(&self.device, &accesses);
        if bound_pipeline.verdict.peek().is_none() {
            verdicts.push(bound_pipeline.verdict.clone());
        }
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0u32..)
            .zip(bindings)
            .map(|(binding, bound)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &self.pages[&bound.page],
                    offset: bound.offset,
                    size: wgpu::BufferSize::new(bound.size_bytes),
                }),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout: &bound_pipeline.layout,
            entries: &entries,
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(label),
            timestamp_writes: None,
        });
        pass.set_pipeline(&bound_pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(workgroups[0], workgroups[1], workgroups[2]);
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None })
    }

    fn destroy_retired(&mut self) {
        for page in self.retired.drain(..) {
            if let Some(buffer) = self.pages.remove(&page) {
                buffer.destroy();
            }
        }
    }
}

fn webgpu_kernel(kernel: &CompiledKernel) -> &WebGpuKernel {
    kernel
        .downcast_ref()
        .expect("a kernel compiled by this backend")
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
        let mut verdicts = Vec::new();
        let scopes = ErrorScopes::open(&self.device);
        self.encode(&work, &mut verdicts);
        let caught = scopes.close();
        self.destroy_retired();
        let loss = self.loss.clone();
        Settlement::Later(
            async move {
                // The first cause comes first: a broken shader, then what followed from it.
                for verdict in verdicts {
                    verdict.await?;
                }
                caught.await.map_err(|failure| Failure {
                    kind: failure.kind,
                    message: format!("WebGPU dropped the submission: {}", failure.message),
                })?;
                loss.check()
            }
            .boxed_local(),
        )
    }

    fn read_back(
        &mut self,
        page: PageId,
        offset: u64,
        size_bytes: u64,
    ) -> LocalBoxFuture<'static, Result<Vec<u8>, Failure>> {
        let scopes = ErrorScopes::open(&self.device);
        let staging = Staging::new(&self.device, size_bytes);
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(&self.pages[&page], offset, staging.buffer(), 0, size_bytes);
        self.queue.submit([encoder.finish()]);
        let mapping = staging.map();
        let caught = scopes.close();
        let loss = self.loss.clone();
        async move {
            caught.await?;
            if let Ok(Ok(())) = mapping.await {
                loss.check()?;
                return staging.bytes();
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
        .boxed_local()
    }

    fn destroy(&mut self) {
        self.device.destroy();
    }
}
