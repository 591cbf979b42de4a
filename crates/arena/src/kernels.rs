//! The three kernels: their declarations, WGSL and CPU mirrors.
//!
//! A kernel is a directory of two files. The Rust file owns the layout: its constants are printed
//! in front of the WGSL by [`KernelDeclaration::wgsl`], so a number exists once. The mirror in it
//! computes the same words from the same words; both use only 32-bit integers that wrap.

#[path = "kernels/agent/agent.rs"]
pub mod agent;
mod declaration;
#[path = "kernels/field/field.rs"]
pub mod field;
#[path = "kernels/view/view.rs"]
pub mod view;

pub use declaration::{
    BindingDeclaration, ENTRY_POINT, KernelConstant, KernelDeclaration, SharedDeclaration,
    StorageAccess,
};

/// Every kernel of the arena.
pub const ALL: [&KernelDeclaration; 3] =
    [&field::DECLARATION, &agent::DECLARATION, &view::DECLARATION];
