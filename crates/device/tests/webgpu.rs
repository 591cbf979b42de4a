//! The guarded device on the real WebGPU of a browser, with real failures. Oracle: a read returns what its own launch
//! wrote, or names the cause; and no error or rejection escapes on the way.

#![cfg(target_arch = "wasm32")]

#[path = "webgpu/await_points.rs"]
mod await_points;
#[path = "webgpu/everywhere.rs"]
mod everywhere;
#[path = "webgpu/in_browser.rs"]
mod in_browser;
#[path = "webgpu/real.rs"]
mod real;
mod scenarios;
#[path = "webgpu/witness.rs"]
mod witness;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_dedicated_worker);
