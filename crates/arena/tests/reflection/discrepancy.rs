//! [`Discrepancy`]: one way in which a WGSL text is not what Rust declares.

use wellwritten_arena::kernels::{KernelConstant, StorageAccess};

/// What the comparison found. "Declared" is Rust's word, "found" is what naga read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discrepancy {
    /// The text does not parse, or is not valid without any optional capability.
    Invalid(String),
    /// There is not exactly one entry point, the declared one, and it a compute shader.
    EntryPoints(Vec<String>),
    /// Another workgroup than the launcher counts on.
    Workgroup { declared: [u32; 3], found: [u32; 3] },
    /// More than any WebGPU device grants.
    OverLimit {
        what: &'static str,
        limit: u64,
        found: u64,
    },
    /// A binding elsewhere than in group 0.
    Group { name: String, group: u32 },
    /// Another variable at an index than declared, or one on one side only.
    Binding {
        index: u32,
        declared: Option<String>,
        found: Option<String>,
    },
    /// Declared read-only and writable in the text, or the other way round.
    Access {
        name: String,
        declared: StorageAccess,
        writable: bool,
    },
    /// The code reads or writes it otherwise than declared: old words used of a binding that claims to
    /// overwrite them, nothing written, nothing read.
    Use {
        name: String,
        declared: StorageAccess,
        reads: bool,
        writes: bool,
    },
    /// A storage binding is something else than `array<u32>` with a word as its stride.
    Layout { name: String, found: String },
    /// A constant with another value or type, or on one side only.
    Constant {
        name: String,
        declared: Option<KernelConstant>,
        found: Option<KernelConstant>,
    },
    /// A declared constant that the body never mentions: it has a number of its own instead.
    UnusedConstant(String),
    /// A constant of a type that Rust does not declare, or one set when the pipeline is made.
    ForeignConstant(String),
    /// Shared memory of another size than declared, or on one side only.
    Shared {
        name: String,
        declared: Option<u32>,
        found: Option<u32>,
    },
    /// A variable that is neither storage nor shared memory, or one with memory decorations.
    Space(String),
    /// A value that is neither a 32-bit integer nor a boolean, nor made of these.
    Type(String),
    /// A fraction in the text, even one that is folded away before naga shows it.
    FloatText(String),
    /// A statement outside the ones whose result has no order: atomics, subgroups, other barriers.
    Statement(&'static str),
    /// A barrier that is not a `workgroupBarrier`, or one in a kernel that shares nothing.
    Barrier(String),
}
