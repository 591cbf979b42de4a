//! [`Guarded`]: the loop over the guarded device, as any program would write it.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};
use wasm_bindgen_futures::{future_to_promise, spawn_local};
use wellwritten_device::{
    Access, Binding, DeviceCounters, GuardedBuffer, GuardedDevice, Kernel, KernelSource, Spawner,
    WebGpuOptions,
};

use crate::target::{KERNEL_BYTES, Target};

/// A guarded device with its kernel, its buffers and its bindings.
#[wasm_bindgen]
pub struct Guarded {
    device: GuardedDevice,
    kernel: Kernel,
    workgroups: u32,
    /// A binding does not keep its buffer alive.
    _increments: GuardedBuffer,
    small: GuardedBuffer,
    large: GuardedBuffer,
    /// Of a launch that ends in the small buffer, and of one that ends in the large one.
    bindings: [Vec<Binding>; 2],
    latest: Rc<RefCell<Vec<u8>>>,
}

#[wasm_bindgen]
impl Guarded {
    /// Gets a device; `input` is what every launch reads.
    ///
    /// # Errors
    /// Where the browser grants no device.
    pub async fn open(wgsl: String, workgroups: u32, input: Vec<u8>) -> Result<Guarded, JsError> {
        let spawner = Spawner::new(spawn_local);
        let device = GuardedDevice::webgpu(WebGpuOptions::default(), spawner).await?;
        let increments = device.alloc(KERNEL_BYTES, "increments")?;
        device.write(&increments.binding(), &input)?;
        let small = device.alloc(Target::Small.size_bytes(), "small")?;
        let large = device.alloc(Target::Large.size_bytes(), "large")?;
        let bindings = |target: &GuardedBuffer| {
            Ok::<_, JsError>(vec![
                Binding::new(increments.binding(), Access::Read),
                Binding::new(target.slice(0, KERNEL_BYTES)?, Access::ReadWrite),
            ])
        };
        Ok(Self {
            bindings: [bindings(&small)?, bindings(&large)?],
            kernel: device.kernel(KernelSource::wgsl("accumulate", wgsl)),
            device,
            workgroups,
            _increments: increments,
            small,
            large,
            latest: Rc::default(),
        })
    }

    /// Begins so many launches; resolves when their submissions have settled.
    ///
    /// # Errors
    /// Where the device refuses a launch.
    #[wasm_bindgen(js_name = beginLaunches)]
    pub fn begin_launches(&self, count: u32) -> Result<Promise, JsError> {
        self.launch(count, Target::Small)?;
        let settled = self.device.settled();
        Ok(future_to_promise(async move {
            settled.await;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// Begins so many launches and a read of the whole target; resolves when the bytes are here.
    ///
    /// # Errors
    /// Where the device refuses a launch.
    #[wasm_bindgen(js_name = beginRead)]
    pub fn begin_read(&self, count: u32, target: Target) -> Result<Promise, JsError> {
        self.launch(count, target)?;
        let buffer = match target {
            Target::Small => &self.small,
            Target::Large => &self.large,
        };
        let read = self.device.read(&buffer.binding());
        let latest = Rc::clone(&self.latest);
        Ok(future_to_promise(async move {
            let bytes = read.await.map_err(JsError::from)?;
            *latest.borrow_mut() = bytes;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// What the latest read returned.
    #[must_use]
    pub fn bytes(&self) -> Uint8Array {
        Uint8Array::from(self.latest.borrow().as_slice())
    }

    /// Submissions so far.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "JavaScript counts in doubles")]
    pub fn submissions(&self) -> f64 {
        let DeviceCounters { submissions, .. } = self.device.counters();
        submissions as f64
    }

    fn launch(&self, count: u32, target: Target) -> Result<(), JsError> {
        let bindings = &self.bindings[target as usize];
        for _ in 0..count {
            self.device
                .launch(&self.kernel, bindings, [self.workgroups, 1, 1])?;
        }
        Ok(())
    }
}
