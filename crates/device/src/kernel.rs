//! A kernel: its source for either backend, and what a device made of it.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};

use crate::host_kernel::HostKernel;

/// What a kernel is made from: WGSL for WebGPU, a function for the CPU, or both.
#[derive(Clone)]
pub struct KernelSource {
    /// How reports name the kernel.
    pub label: String,
    /// The WGSL text; needed on the WebGPU backend.
    pub wgsl: Option<String>,
    /// The entry point in the WGSL text.
    pub entry_point: String,
    /// The same computation as a function; needed on the CPU backend.
    pub host: Option<HostKernel>,
}

impl KernelSource {
    /// A kernel for the WebGPU backend only, with entry point `main`.
    #[must_use]
    pub fn wgsl(label: impl Into<String>, wgsl: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            wgsl: Some(wgsl.into()),
            entry_point: "main".to_owned(),
            host: None,
        }
    }

    /// A kernel for the CPU backend only.
    #[must_use]
    pub fn host(label: impl Into<String>, host: HostKernel) -> Self {
        Self {
            label: label.into(),
            wgsl: None,
            entry_point: "main".to_owned(),
            host: Some(host),
        }
    }

    /// Adds the function that computes the same on the CPU backend.
    #[must_use]
    pub fn with_host(mut self, host: HostKernel) -> Self {
        self.host = Some(host);
        self
    }
}

impl fmt::Debug for KernelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KernelSource")
            .field("label", &self.label)
            .field("entry_point", &self.entry_point)
            .field("wgsl", &self.wgsl.is_some())
            .field("host", &self.host.is_some())
            .finish()
    }
}

/// What a backend made of a kernel, for one device generation.
pub(crate) type CompiledKernel = Rc<dyn Any>;

/// One generation of one device; the same only as itself.
#[derive(Default)]
pub(crate) struct BackendIdentity(Rc<()>);

/// What the backend of this identity made of a kernel.
type Compilation = (Weak<()>, CompiledKernel);

/// A kernel. Cheap to clone; survives the loss of the device, which compiles it anew for its next
/// generation, and may be launched on other devices too.
#[derive(Clone)]
pub struct Kernel {
    pub(crate) source: Rc<KernelSource>,
    /// The label, shared with every launch.
    pub(crate) label: Rc<str>,
    /// How reports name a launch.
    pub(crate) work: Rc<str>,
    /// What each backend that is still there made of it: a kernel may be launched on any device, and on every
    /// generation of it.
    compiled: Rc<RefCell<Vec<Compilation>>>,
}

impl Kernel {
    pub(crate) fn new(source: KernelSource) -> Self {
        Self {
            label: source.label.as_str().into(),
            work: format!("kernel {}", source.label).into(),
            source: Rc::new(source),
            compiled: Rc::default(),
        }
    }

    /// What this backend made of it.
    pub(crate) fn compiled_for(&self, backend: &BackendIdentity) -> Option<CompiledKernel> {
        let compiled = self.compiled.borrow();
        let is_this = |known: &Weak<()>| known.as_ptr() == Rc::as_ptr(&backend.0);
        let (_, kernel) = compiled.iter().find(|(known, _)| is_this(known))?;
        Some(Rc::clone(kernel))
    }

    /// Remembers what this backend made of it, and forgets backends that are gone.
    pub(crate) fn remember(&self, backend: &BackendIdentity, kernel: &CompiledKernel) {
        let mut compiled = self.compiled.borrow_mut();
        compiled.retain(|(known, _)| known.strong_count() > 0);
        compiled.push((Rc::downgrade(&backend.0), Rc::clone(kernel)));
    }

    /// How reports name the kernel.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(formatter)
    }
}
