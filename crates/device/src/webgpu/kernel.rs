//! A WGSL kernel: its module, and one pipeline per way of binding it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, Shared};
use wellwritten_memory::{Failure, FailureKind};

use super::bind_groups::BindGroups;
use super::error_scopes::ErrorScopes;
use crate::access::Access;
use crate::backend::KernelState;

/// What became of a module or a pipeline, known once the browser has said.
pub(super) type PipelineVerdict = Shared<LocalBoxFuture<'static, Result<(), Failure>>>;

/// A pipeline for one list of accesses.
pub(super) struct BoundPipeline {
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) pipeline: wgpu::ComputePipeline,
    /// The module's verdict, then the pipeline's own.
    pub(super) verdict: PipelineVerdict,
    pub(super) groups: BindGroups,
}

/// A kernel compiled for one device generation.
pub(super) struct WebGpuKernel {
    label: String,
    entry_point: String,
    module: wgpu::ShaderModule,
    module_verdict: PipelineVerdict,
    /// By which bindings it may write. Few per kernel, nearly always one: a list is searched faster
    /// than a map is hashed.
    pipelines: RefCell<Vec<(Vec<bool>, Rc<BoundPipeline>)>>,
}

impl WebGpuKernel {
    pub(super) fn compile(
        device: &wgpu::Device,
        label: &str,
        wgsl: &str,
        entry_point: &str,
    ) -> Self {
        let scopes = ErrorScopes::open(device);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let caught = scopes.close();
        let information = module.get_compilation_info();
        let module_label = label.to_owned();
        let module_verdict = async move {
            let caught = caught.await;
            // The compiler's own words come first: the scope only says that the module is invalid.
            match compilation_errors(&information.await) {
                Some(errors) => Err(Failure {
                    kind: FailureKind::Shader,
                    message: format!("shader `{module_label}` failed to compile: {errors}"),
                }),
                None => caught,
            }
        }
        .boxed_local()
        .shared();
        Self {
            label: label.to_owned(),
            entry_point: entry_point.to_owned(),
            module,
            module_verdict,
            pipelines: RefCell::default(),
        }
    }

    /// The pipeline for bindings of which these are written, made on first use.
    ///
    /// The layout is explicit, from what the launch declares, rather than deduced from the shader:
    /// a shader that writes what the launch calls read-only is then an error that names it, and a
    /// binding the shader does not use is allowed.
    pub(super) fn pipeline(
        &self,
        device: &wgpu::Device,
        writes: impl Iterator<Item = bool> + Clone,
    ) -> Rc<BoundPipeline> {
        if let Some((_, pipeline)) = self
            .pipelines
            .borrow()
            .iter()
            .find(|(known, _)| known.iter().copied().eq(writes.clone()))
        {
            return Rc::clone(pipeline);
        }
        let writes: Vec<bool> = writes.collect();
        let pipeline = Rc::new(self.create_pipeline(device, &writes));
        let known = (writes, Rc::clone(&pipeline));
        self.pipelines.borrow_mut().push(known);
        pipeline
    }

    pub(super) fn state(&self, device: &wgpu::Device, accesses: &[Access]) -> KernelState {
        if let Some(Err(failure)) = self.module_verdict.peek() {
            return KernelState::Broken(failure.clone());
        }
        let writes = accesses.iter().map(|access| access.writes());
        match self.pipeline(device, writes).verdict.peek() {
            Some(Ok(())) => KernelState::Proven,
            Some(Err(failure)) => KernelState::Broken(failure.clone()),
            None => KernelState::Unproven,
        }
    }

    fn create_pipeline(&self, device: &wgpu::Device, writes: &[bool]) -> BoundPipeline {
        let scopes = ErrorScopes::open(device);
        let entries: Vec<wgpu::BindGroupLayoutEntry> = (0u32..)
            .zip(writes)
            .map(|(binding, writes)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: !writes },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let label = Some(self.label.as_str());
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label,
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &self.module,
            entry_point: Some(&self.entry_point),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let caught = scopes.close();
        let module_verdict = self.module_verdict.clone();
        let label = self.label.clone();
        let verdict = async move {
            module_verdict.await?;
            caught.await.map_err(|failure| Failure {
                kind: failure.kind,
                message: format!(
                    "the pipeline of kernel `{label}` is invalid: {}",
                    failure.message
                ),
            })
        }
        .boxed_local()
        .shared();
        BoundPipeline {
            layout,
            pipeline,
            verdict,
            groups: BindGroups::default(),
        }
    }
}

fn compilation_errors(information: &wgpu::CompilationInfo) -> Option<String> {
    let mut text = String::new();
    for message in &information.messages {
        if message.message_type != wgpu::CompilationMessageType::Error {
            continue;
        }
        if !text.is_empty() {
            text.push_str("; ");
        }
        let written = match &message.location {
            Some(at) => write!(
                text,
                "line {}, column {}: {}",
                at.line_number, at.line_position, message.message
            ),
            None => write!(text, "{}", message.message),
        };
        written.expect("writing to a String does not fail");
    }
    (!text.is_empty()).then_some(text)
}
