//! Units of work as one command buffer.

use std::collections::HashMap;
use std::rc::Rc;

use super::bind_groups::KeptGroup;
use super::kernel::{BoundPipeline, PipelineVerdict, WebGpuKernel};
use super::read_staging::Lease;
use super::write_staging::WriteStaging;
use crate::access::Access;
use crate::backend::{CopyRequest, PageId};
use crate::batch::{BoundBytes, Work};
use crate::kernel::CompiledKernel;
use crate::launch_check::Bound;

/// One submission while it is encoded. Launches that follow one another share a compute pass.
pub(super) struct Submission<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    pages: &'a HashMap<PageId, wgpu::Buffer>,
    staging: &'a mut WriteStaging,
    /// Counts submissions that failed.
    epoch: u64,
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    /// What the pass has set.
    pipeline: Option<Rc<BoundPipeline>>,
    group: Option<Rc<KeptGroup>>,
    verdicts: Vec<PipelineVerdict>,
}

impl<'a> Submission<'a> {
    pub(super) fn new(
        device: &'a wgpu::Device,
        queue: &'a wgpu::Queue,
        pages: &'a HashMap<PageId, wgpu::Buffer>,
        staging: &'a mut WriteStaging,
        epoch: u64,
    ) -> Self {
        Self {
            device,
            queue,
            pages,
            staging,
            epoch,
            encoder: None,
            pass: None,
            pipeline: None,
            group: None,
            verdicts: Vec::new(),
        }
    }

    /// Encodes `work`, then a copy of `copy` to a leased buffer, and submits them; what is still to be known of
    /// the pipelines in use.
    pub(super) fn submit(
        mut self,
        work: &[Work],
        copy: Option<(&CopyRequest, &Lease)>,
    ) -> Vec<PipelineVerdict> {
        self.staging.begin(self.epoch);
        for unit in work {
            unit.visit(&mut |unit| self.encode(unit));
        }
        if let Some((copy, lease)) = copy {
            let (source, size_bytes) = (&self.pages[&copy.page], copy.size_bytes);
            let target = lease.buffer();
            self.commands()
                .copy_buffer_to_buffer(source, copy.offset, target, 0, size_bytes);
        }
        self.pass = None;
        if let Some(encoder) = self.encoder.take() {
            self.queue.submit([encoder.finish()]);
        }
        self.verdicts
    }

    fn encode(&mut self, unit: &Work) {
        match unit {
            Work::Write {
                page,
                offset,
                bytes,
            } if self.encoder.is_none() => {
                self.queue.write_buffer(&self.pages[page], *offset, bytes);
            }
            Work::Write {
                page,
                offset,
                bytes,
            } => {
                let target = &self.pages[page];
                let size_bytes = bytes.len() as u64;
                self.pass = None;
                let encoder = self.encoder.as_mut().expect("it has begun");
                let (staged, at) = self.staging.put(self.device, self.queue, bytes);
                encoder.copy_buffer_to_buffer(staged, at, target, *offset, size_bytes);
            }
            Work::Clear {
                page,
                offset,
                size_bytes,
            } => {
                let target = &self.pages[page];
                let (offset, size_bytes) = (*offset, *size_bytes);
                self.commands()
                    .clear_buffer(target, offset, Some(size_bytes));
            }
            Work::Copy {
                from,
                from_offset,
                to,
                to_offset,
                size_bytes,
            } => {
                let (source, target) = (&self.pages[from], &self.pages[to]);
                self.commands().copy_buffer_to_buffer(
                    source,
                    *from_offset,
                    target,
                    *to_offset,
                    *size_bytes,
                );
            }
            Work::Launch {
                label,
                kernel,
                bindings,
                workgroups,
            } => self.launch(label, kernel, bindings, *workgroups),
            Work::Graph { .. } => unreachable!("a graph is visited unit by unit"),
        }
    }

    fn launch(
        &mut self,
        label: &str,
        kernel: &CompiledKernel,
        bindings: &Bound,
        workgroups: [u32; 3],
    ) {
        let accesses = bindings.iter().map(|bound| bound.access);
        let bound = webgpu_kernel(kernel).pipeline(self.device, accesses.map(Access::writes));
        if bound.verdict.peek().is_none() {
            self.verdicts.push(bound.verdict.clone());
        }
        let group = bound.groups.get(bindings, self.epoch, || {
            bind_group(self.device, self.pages, label, &bound, bindings)
        });
        if self.pass.is_none() {
            let encoder = self.encoder();
            let descriptor = wgpu::ComputePassDescriptor::default();
            let pass = encoder.begin_compute_pass(&descriptor).forget_lifetime();
            self.pass = Some(pass);
            self.pipeline = None;
            self.group = None;
        }
        let pass = self.pass.as_mut().expect("it was just begun");
        let is_set = |set: &Rc<BoundPipeline>| Rc::ptr_eq(set, &bound);
        if !self.pipeline.as_ref().is_some_and(is_set) {
            pass.set_pipeline(&bound.pipeline);
            self.pipeline = Some(bound);
        }
        let is_set = |set: &Rc<KeptGroup>| Rc::ptr_eq(set, &group);
        if !self.group.as_ref().is_some_and(is_set) {
            pass.set_bind_group(0, &group.group, &[]);
            self.group = Some(group);
        }
        pass.dispatch_workgroups(workgroups[0], workgroups[1], workgroups[2]);
    }

    /// The encoder, outside of any pass.
    fn commands(&mut self) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder()
    }

    fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        let device = self.device;
        self.encoder.get_or_insert_with(|| {
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None })
        })
    }
}

fn bind_group(
    device: &wgpu::Device,
    pages: &HashMap<PageId, wgpu::Buffer>,
    label: &str,
    bound: &BoundPipeline,
    bindings: &[BoundBytes],
) -> wgpu::BindGroup {
    let entries: Vec<wgpu::BindGroupEntry<'_>> = (0u32..)
        .zip(bindings)
        .map(|(binding, bound)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &pages[&bound.page],
                offset: bound.offset,
                size: wgpu::BufferSize::new(bound.size_bytes),
            }),
        })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout: &bound.layout,
        entries: &entries,
    })
}

pub(super) fn webgpu_kernel(kernel: &CompiledKernel) -> &WebGpuKernel {
    kernel
        .downcast_ref()
        .expect("a kernel compiled by this backend")
}
