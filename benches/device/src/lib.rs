//! The guarded device and raw wgpu, side by side for a page: the same kernel over the same buffers, the
//! same reads, the same way to begin and to wait.
//!
//! Each subject *begins* an item of work in one synchronous call, up to and including its submission, and
//! returns a promise that resolves once its result is known. The page times both. Nothing here measures.

#![cfg(target_arch = "wasm32")]
#![expect(
    clippy::float_cmp,
    reason = "the code that wasm-bindgen makes for an enum compares the numbers that JavaScript gives"
)]

#[path = "../../../crates/memory/benches/memory/counting_allocator.rs"]
mod counting_allocator;
mod guarded;
mod raw_wgpu;
mod target;

use counting_allocator::CountingAllocator;
use wasm_bindgen::prelude::wasm_bindgen;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// How often this module has allocated or grown an allocation so far.
#[wasm_bindgen]
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript counts in doubles, and differences of this are small"
)]
pub fn allocations() -> f64 {
    counting_allocator::allocations() as f64
}
