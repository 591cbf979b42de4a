//! A kernel on the fake: its host function, and what the browser will say of its shader.

use std::cell::RefCell;

use wellwritten_memory::Failure;

use crate::host_kernel::HostKernel;
use crate::kernel::CompiledKernel;

/// What is known of a pipeline.
#[derive(Clone)]
pub(super) enum Proof {
    Unproven,
    Proven,
    Broken(Failure),
}

pub(super) struct FakeKernel {
    pub(super) function: HostKernel,
    /// What the compiler, or the creation of the pipeline, will turn out to have said.
    pub(super) compiles: Result<(), Failure>,
    pub(super) proof: RefCell<Proof>,
}

impl FakeKernel {
    pub(super) fn of(kernel: &CompiledKernel) -> &Self {
        kernel
            .downcast_ref()
            .expect("a kernel compiled by this backend")
    }

    /// Learns from the verdict on a submission that used it.
    pub(super) fn learn(&self, submission_is_clean: bool) {
        match &self.compiles {
            Err(failure) => *self.proof.borrow_mut() = Proof::Broken(failure.clone()),
            Ok(()) if submission_is_clean => *self.proof.borrow_mut() = Proof::Proven,
            Ok(()) => {}
        }
    }
}
