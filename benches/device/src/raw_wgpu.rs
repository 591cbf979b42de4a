//! [`RawWgpu`]: the loop over raw wgpu, with what is common practice to make it fast: one command buffer,
//! one compute pass and one bind group for all launches, one mappable buffer for all reads.

use std::cell::RefCell;
use std::rc::Rc;

use futures::channel::oneshot;
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};
use wasm_bindgen_futures::future_to_promise;

use crate::target::{KERNEL_BYTES, Target};

/// How a submission's launches are encoded.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// One compute pass for all of them.
    Shared,
    /// A compute pass for each.
    PerLaunch,
    /// A compute pass and a new bind group for each, both labelled: nothing is kept between launches.
    PerLaunchWithBindGroup,
}

/// A wgpu device with its pipeline, buffers and bind groups.
#[wasm_bindgen]
pub struct RawWgpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    increments: wgpu::Buffer,
    workgroups: u32,
    small: Destination,
    large: Destination,
}

/// A buffer that launches write, and the way of its bytes to the host.
struct Destination {
    buffer: wgpu::Buffer,
    group: wgpu::BindGroup,
    staging: wgpu::Buffer,
    latest: Rc<RefCell<Vec<u8>>>,
}

#[wasm_bindgen]
impl RawWgpu {
    /// Gets a device; `input` is what every launch reads.
    ///
    /// # Errors
    /// Where the browser grants no device.
    pub async fn open(wgsl: String, workgroups: u32, input: Vec<u8>) -> Result<RawWgpu, JsError> {
        let adapter = wgpu::Instance::default()
            .request_adapter(&wgpu::RequestAdapterOptions::default())
            .await?;
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor::default())
            .await?;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[storage(0, true), storage(1, false)],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let increments = buffer(&device, KERNEL_BYTES, usage);
        queue.write_buffer(&increments, 0, &input);
        let destination = |target| Destination::new(&device, &layout, &increments, target);
        Ok(Self {
            small: destination(Target::Small),
            large: destination(Target::Large),
            device,
            queue,
            pipeline,
            layout,
            increments,
            workgroups,
        })
    }

    /// Begins so many launches in one submission; resolves when the queue has done them.
    #[wasm_bindgen(js_name = beginLaunches)]
    pub fn begin_launches(&self, count: u32, passes: Passes) -> Promise {
        let mut encoder = self.encoder();
        self.encode(&mut encoder, &self.small, count, passes);
        self.queue.submit([encoder.finish()]);
        let (tell, done) = oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            // A page that went away no longer listens.
            let _ = tell.send(());
        });
        future_to_promise(async move {
            done.await.map_err(JsError::from)?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Begins so many launches and a read of the whole target in one submission; resolves when the bytes
    /// are here.
    #[wasm_bindgen(js_name = beginRead)]
    pub fn begin_read(&self, count: u32, target: Target, passes: Passes) -> Promise {
        let destination = self.destination(target);
        let mut encoder = self.encoder();
        self.encode(&mut encoder, destination, count, passes);
        encoder.copy_buffer_to_buffer(
            &destination.buffer,
            0,
            &destination.staging,
            0,
            target.size_bytes(),
        );
        self.queue.submit([encoder.finish()]);
        let (tell, mapped) = oneshot::channel();
        destination
            .staging
            .map_async(wgpu::MapMode::Read, .., move |result| {
                // A page that went away no longer listens.
                let _ = tell.send(result);
            });
        let staging = destination.staging.clone();
        let latest = Rc::clone(&destination.latest);
        future_to_promise(async move {
            mapped
                .await
                .map_err(JsError::from)?
                .map_err(JsError::from)?;
            let view = staging.get_mapped_range(..).map_err(JsError::from)?;
            view.as_uint8array().copy_to(&mut latest.borrow_mut());
            drop(view);
            staging.unmap();
            Ok(JsValue::UNDEFINED)
        })
    }

    /// What the latest read of a target returned.
    #[must_use]
    pub fn bytes(&self, target: Target) -> Uint8Array {
        Uint8Array::from(self.destination(target).latest.borrow().as_slice())
    }

    fn destination(&self, target: Target) -> &Destination {
        match target {
            Target::Small => &self.small,
            Target::Large => &self.large,
        }
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None })
    }

    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        destination: &Destination,
        count: u32,
        passes: Passes,
    ) {
        if count == 0 {
            return;
        }
        if passes == Passes::Shared {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &destination.group, &[]);
            for _ in 0..count {
                pass.dispatch_workgroups(self.workgroups, 1, 1);
            }
            return;
        }
        let label = (passes == Passes::PerLaunchWithBindGroup).then_some("accumulate");
        for _ in 0..count {
            let fresh = label.map(|_| {
                group(
                    &self.device,
                    &self.layout,
                    [&self.increments, &destination.buffer],
                    label,
                )
            });
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label,
                timestamp_writes: None,
            });
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, fresh.as_ref().unwrap_or(&destination.group), &[]);
            pass.dispatch_workgroups(self.workgroups, 1, 1);
        }
    }
}

impl Destination {
    fn new(
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        increments: &wgpu::Buffer,
        target: Target,
    ) -> Self {
        use wgpu::BufferUsages as Usage;
        let size_bytes = target.size_bytes();
        let written = buffer(device, size_bytes, Usage::STORAGE | Usage::COPY_SRC);
        Self {
            group: group(device, layout, [increments, &written], None),
            staging: buffer(device, size_bytes, Usage::MAP_READ | Usage::COPY_DST),
            latest: Rc::new(RefCell::new(vec![
                0;
                usize::try_from(size_bytes)
                    .expect("wasm32 can hold 16 MiB")
            ])),
            buffer: written,
        }
    }
}

fn storage(binding: u32, read_only: bool) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// The bytes that a launch works on, of each of two buffers.
fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: [&wgpu::Buffer; 2],
    label: Option<&str>,
) -> wgpu::BindGroup {
    let entry = |binding, buffer| wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: 0,
            size: wgpu::BufferSize::new(KERNEL_BYTES),
        }),
    };
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label,
        layout,
        entries: &[entry(0, buffers[0]), entry(1, buffers[1])],
    })
}
