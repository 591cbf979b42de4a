//! Oracle: naga, which parses and validates WGSL independently of any browser. For every WGSL file of
//! every crate it must find exactly what Rust declares (bindings and what is done with them, workgroup,
//! constants, shared memory) and nothing but 32-bit integers; see [`discrepancy::Discrepancy`] for the
//! whole list. What naga cannot tell from the text alone, an [`interpreter`] of naga's own form of the
//! kernels shows on data: the bytes of the mirrors, no race, no index outside a buffer.

#![cfg(not(target_arch = "wasm32"))]

mod arithmetic;
mod canaries;
mod comparison;
mod discrepancy;
mod integer_rules;
mod interpreter;
mod kernel_directories;
mod memory;
mod mirrors;
mod number_text;
mod workgroup;
