//! What a launch does with the bytes it is given.

use serde::{Deserialize, Serialize};
use wellwritten_memory::BufferBinding;

/// What a kernel does with one binding.
///
/// The guard cannot see into a kernel and believes what is declared: every byte bound as
/// [`Write`](Access::Write) counts as written by the launch, bytes bound as [`Read`](Access::Read) are what
/// the result depends on. A kernel that writes only some of the bytes it is given keeps the others, so
/// it must bind them as [`ReadWrite`](Access::ReadWrite), or bind only the slice that it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Reads only: `var<storage, read>`.
    Read,
    /// Overwrites every byte and depends on none of the old ones: `var<storage, read_write>`.
    Write,
    /// Depends on the old bytes and overwrites them: `var<storage, read_write>`.
    ReadWrite,
}

impl Access {
    /// Whether the launch depends on the bytes.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether the launch overwrites the bytes.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// One entry of a launch: `@group(0) @binding(i)`, in the order given.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The bytes: a whole buffer or a slice of one.
    pub slice: BufferBinding,
    /// What the kernel does with them.
    pub access: Access,
}

impl Binding {
    /// Binds `slice` for `access`.
    #[must_use]
    pub fn new(slice: BufferBinding, access: Access) -> Self {
        Self { slice, access }
    }
}
