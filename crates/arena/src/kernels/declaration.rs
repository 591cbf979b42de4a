//! What a kernel declares about itself in Rust, and the WGSL header made from it.

use std::fmt::Write as _;

/// How a storage binding is declared in WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageAccess {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`, every word overwritten, none of the old ones used.
    Write,
    /// `var<storage, read_write>`, the result depends on the old words.
    ReadWrite,
}

/// One binding of a kernel: `@group(0) @binding(i)`, `i` being its place in the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingDeclaration {
    /// The WGSL variable.
    pub name: &'static str,
    /// What the kernel does with it.
    pub access: StorageAccess,
    /// 32-bit words the kernel touches, or `None` where the buffer says how many there are. In WGSL
    /// every binding is an `array<u32>`: what a word means is in the offsets among the constants.
    pub words: Option<u32>,
}

/// A variable that the invocations of one workgroup share: `var<workgroup>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedDeclaration {
    /// The WGSL variable.
    pub name: &'static str,
    /// Its words.
    pub words: u32,
}

/// A constant that Rust and WGSL share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelConstant {
    /// `const NAME: u32`.
    Unsigned(&'static str, u32),
    /// `const NAME: i32`.
    Signed(&'static str, i32),
}

/// A kernel: name, WGSL body, constants, workgroup, bindings and shared variables.
#[derive(Clone, Copy, Debug)]
pub struct KernelDeclaration {
    /// The label of launches and of failure reports.
    pub name: &'static str,
    /// The WGSL text without its constants.
    pub body: &'static str,
    /// The constants printed in front of `body`.
    pub constants: &'static [KernelConstant],
    /// Invocations of one workgroup in x, y and z; `WORKGROUP_X` and `WORKGROUP_Y` in WGSL.
    pub workgroup: [u32; 3],
    /// Workgroups of a launch in x, y and z.
    pub workgroups: [u32; 3],
    /// The bindings in order.
    pub bindings: &'static [BindingDeclaration],
    /// What a workgroup shares; a kernel that needs no barrier declares nothing.
    pub shared: &'static [SharedDeclaration],
}

/// The entry point of every kernel.
pub const ENTRY_POINT: &str = "main";

impl KernelDeclaration {
    /// The complete WGSL text: the generated constants, then the body.
    #[must_use]
    pub fn wgsl(&self) -> String {
        let mut text = String::with_capacity(self.body.len() + 1024);
        let [x, y, _] = self.workgroup;
        // Writing to a `String` cannot fail, so the results carry nothing.
        let _ = writeln!(
            text,
            "const WORKGROUP_X: u32 = {x}u;\nconst WORKGROUP_Y: u32 = {y}u;"
        );
        for constant in self.constants {
            let _ = match constant {
                KernelConstant::Unsigned(name, value) => {
                    writeln!(text, "const {name}: u32 = {value}u;")
                }
                KernelConstant::Signed(name, value) => {
                    writeln!(text, "const {name}: i32 = {value}i;")
                }
            };
        }
        text.push_str(self.body);
        text
    }
}
