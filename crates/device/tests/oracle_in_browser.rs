//! The shared oracle on the real WebGPU of a browser: shaders that do not compile, buffers there is no memory for,
//! launches over the limits and devices that are destroyed, all of them real.
//!
//! 20,000 operations; built with `WELLWRITTEN_LONG=1` in the environment, 1,000,000.

#![cfg(target_arch = "wasm32")]

mod oracle;

use std::cell::Cell;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use gloo_timers::future::TimeoutFuture;
use oracle::{Stage, Tally, canary, run};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use wellwritten_device::{GuardedDevice, KernelSource, Spawner, WebGpuOptions};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// Makes the real thing fail on demand, and notes what escapes: errors outside every scope, and rejections that
/// nobody handled.
const FORCE: &str = "
if (globalThis.force) return;
const force = globalThis.force = { device: null, oversize: false, drop: false, escaped: [] };
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...rest) {
    const device = await request.apply(this, rest);
    device.addEventListener('uncapturederror', (event) => force.escaped.push(event.error.message));
    return force.device = device;
};
const create = GPUDevice.prototype.createBuffer;
GPUDevice.prototype.createBuffer = function (descriptor) {
    if (force.oversize && (descriptor.usage & GPUBufferUsage.STORAGE)) {
        force.oversize = false;
        descriptor.size = 2 ** 40;
    }
    return create.call(this, descriptor);
};
const submit = GPUQueue.prototype.submit;
GPUQueue.prototype.submit = function (buffers) {
    if (force.drop) {
        force.drop = false;
        return;
    }
    return submit.call(this, buffers);
};
addEventListener('unhandledrejection', (event) => force.escaped.push(String(event.reason)));
";

fn script(text: &str) -> JsValue {
    js_sys::Function::new_no_args(text)
        .call0(&JsValue::UNDEFINED)
        .expect("the test's own script runs")
}

struct InBrowser {
    device: GuardedDevice,
    turns: Cell<u32>,
}

impl InBrowser {
    async fn open() -> Self {
        script(FORCE);
        let device = GuardedDevice::webgpu(WebGpuOptions::default(), Spawner::new(spawn_local));
        Self {
            device: device.await.expect("this browser has a WebGPU adapter"),
            turns: Cell::new(0),
        }
    }

    /// Nothing escaped the device's scopes and futures.
    async fn close(self) {
        TimeoutFuture::new(10).await;
        let escaped = script("return force.escaped.splice(0).join('; ')");
        assert_eq!(escaped.as_string().as_deref(), Some(""));
        self.device.close();
    }
}

impl Stage for InBrowser {
    fn device(&self) -> &GuardedDevice {
        &self.device
    }

    fn spawn(&self, future: LocalBoxFuture<'static, ()>) {
        spawn_local(future);
    }

    fn turn(&self) -> LocalBoxFuture<'_, ()> {
        // Mostly microtasks, and now and then a task, in which the browser delivers verdicts.
        self.turns.set(self.turns.get() + 1);
        if self.turns.get().is_multiple_of(4) {
            return TimeoutFuture::new(0).boxed_local();
        }
        let resolved = js_sys::Promise::resolve(&JsValue::UNDEFINED);
        wasm_bindgen_futures::JsFuture::from(resolved)
            .map(drop)
            .boxed_local()
    }

    fn fail_next_creation(&self) {
        script("force.oversize = true");
    }

    fn next_creation_fails(&self) -> bool {
        script("return force.oversize").is_truthy()
    }

    fn working(&self, source: KernelSource) -> KernelSource {
        source
    }

    fn broken(&self, mut source: KernelSource) -> KernelSource {
        let wgsl = source.wgsl.as_mut().expect("every kernel has a shader");
        wgsl.push_str("fn broken() -> u32 { return no_such_name; }\n");
        source
    }

    fn destroy_behind_its_back(&self) -> bool {
        script("force.device.destroy()");
        true
    }

    fn drop_next_launch(&self) {
        script("force.drop = true");
    }
}

/// To replay a failure, put its seed into the range below.
#[wasm_bindgen_test]
async fn reads_over_real_failures() {
    let seeds = if option_env!("WELLWRITTEN_LONG").is_some() {
        2000
    } else {
        40
    };
    let steps = 500;
    let mut total = Tally::default();
    for seed in 0..seeds {
        let stage = InBrowser::open().await;
        total.add(run(&stage, seed, steps).await);
        stage.close().await;
        if seed % 40 == 39 {
            console_log!("seeds 0..={seed}, {steps} operations each: {total:?}");
        }
    }
    assert!(total.operations >= 20_000, "{total:?}");
    assert!(total.returned > 1000 && total.refused > 1000, "{total:?}");
    assert!(total.sealed > 50 && total.doomed > 50, "{total:?}");
    assert!(
        total.replayed > 100 && total.failed_units > 500,
        "{total:?}"
    );
    assert!(total.over_limit > 50 && total.lost > 20, "{total:?}");
    assert!(total.failed_creations > 50, "{total:?}");
}

#[wasm_bindgen_test]
async fn a_launch_that_silently_does_nothing_is_noticed() {
    for seed in 0..10 {
        let stage = InBrowser::open().await;
        assert!(canary(&stage, seed).await, "seed {seed}");
        stage.close().await;
    }
}
