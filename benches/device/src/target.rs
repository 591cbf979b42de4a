//! [`Target`]: which of the two buffers the kernel writes and a read returns.

use wasm_bindgen::prelude::wasm_bindgen;

/// The buffer at the end of an item of work. The kernel writes [`KERNEL_BYTES`] at its start; a read
/// returns all of it.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// 4 KiB.
    Small,
    /// 16 MiB.
    Large,
}

/// What one launch reads and writes, in bytes.
pub(crate) const KERNEL_BYTES: u64 = 4096;

impl Target {
    /// Its size in bytes.
    pub(crate) fn size_bytes(self) -> u64 {
        match self {
            Self::Small => KERNEL_BYTES,
            Self::Large => 16 << 20,
        }
    }
}
