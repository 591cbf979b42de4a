//! The browser's WebGPU with a hand in it: keeps every real device, so that a test can break one behind the program's
//! back; makes the next call of a kind go wrong; and notes what nobody handled.

use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

const WITNESS: &str = "
if (globalThis.witness) return;
const seen = globalThis.witness = {
    devices: [], rejections: [], uncaptured: [], pauses: [],
    reject: false, spoil: false, refusals: 0, creations: 0, failing: 0, forced: null,
};
const wrap = (prototype, method, make) => { prototype[method] = make(prototype[method]); };
wrap(GPUAdapter.prototype, 'requestDevice', (request) => async function (...rest) {
    const device = await request.apply(this, rest);
    device.addEventListener('uncapturederror', ({ error }) => {
        if (error.message !== seen.forced) seen.uncaptured.push(error.message);
    });
    seen.devices.push(device);
    return device;
});
wrap(GPU.prototype, 'requestAdapter', (request) => function (...rest) {
    if (seen.refusals === 0) return request.apply(this, rest);
    seen.refusals -= 1;
    return Promise.resolve(null);
});
wrap(GPUDevice.prototype, 'createBuffer', (create) => function (descriptor) {
    if (descriptor.usage & GPUBufferUsage.STORAGE) {
        seen.creations += 1;
        if (seen.creations === seen.failing) descriptor.size = 2 ** 40;
    }
    return create.call(this, descriptor);
});
wrap(GPUCommandEncoder.prototype, 'finish', (finish) => function (...rest) {
    if (seen.spoil) {
        seen.spoil = false;
        this.label = 'spoilt';
        this.pushDebugGroup('never popped');
    }
    return finish.apply(this, rest);
});
wrap(GPUBuffer.prototype, 'mapAsync', (map) => function (...rest) {
    if (!seen.reject) return map.apply(this, rest);
    seen.reject = false;
    return Promise.reject(new DOMException('as the test asked', 'OperationError'));
});
const wait = globalThis.setTimeout;
globalThis.setTimeout = function (callback, milliseconds, ...rest) {
    if (milliseconds === 100 || milliseconds === 400) seen.pauses.push(milliseconds);
    return wait.call(globalThis, callback, milliseconds, ...rest);
};
addEventListener('unhandledrejection', (event) => seen.rejections.push(String(event.reason)));
";

/// Runs JavaScript of the test's own.
pub(crate) fn script(text: &str) -> JsValue {
    js_sys::Function::new_no_args(text)
        .call0(&JsValue::UNDEFINED)
        .expect("the test's own script runs")
}

pub(crate) fn install() {
    script(WITNESS);
    script("witness.pauses.length = 0; witness.failing = 0");
}

/// Waits a little, then says what went wrong that nobody handled and no test forced.
pub(crate) async fn complaints() -> String {
    gloo_timers::future::TimeoutFuture::new(10).await;
    let text = script(
        "return [...witness.rejections.splice(0), ...witness.uncaptured.splice(0)].join('; ')",
    );
    text.as_string().expect("a text")
}

/// The real device made last.
pub(crate) fn destroy_the_real_device() {
    script("witness.devices.at(-1).destroy()");
}

pub(crate) fn spoil_next_submission() {
    script("witness.spoil = true");
}

pub(crate) fn reject_next_mapping() {
    script("witness.reject = true");
}

pub(crate) fn fail_creation_after(skipped: u64) {
    script(&format!(
        "witness.failing = witness.creations + {skipped} + 1"
    ));
}

pub(crate) fn refuse_adapters(times: u32) {
    script(&format!("witness.refusals += {times}"));
}

pub(crate) fn report_uncaptured(said: &str) {
    script(&format!(
        "witness.forced = `{said}`;
         const error = new GPUValidationError(witness.forced);
         const event = new GPUUncapturedErrorEvent('uncapturederror', {{ error }});
         witness.devices.at(-1).dispatchEvent(event);"
    ));
}

pub(crate) fn pauses() -> Vec<u64> {
    let text = script("return witness.pauses.join()").as_string();
    let text = text.expect("a text");
    text.split(',')
        .filter_map(|pause| pause.parse().ok())
        .collect()
}

/// What notices rejections and errors that nobody handled does notice them.
#[wasm_bindgen_test]
async fn the_witness_notices_what_nobody_handles() {
    install();
    assert_eq!(complaints().await, "");
    script("Promise.reject(new Error('nobody handles this'))");
    assert!(complaints().await.contains("nobody handles this"));
    assert_eq!(complaints().await, "");
}
