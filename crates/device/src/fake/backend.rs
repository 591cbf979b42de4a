//! Host kernels under WebGPU's rules.

use std::cell::RefCell;
use std::rc::Rc;

use futures::FutureExt as _;
use wellwritten_memory::{Failure, FailureKind, Storage};

use super::answers::Question;
use super::device::Fake;
use super::generation::Generation;
use super::kernel::{FakeKernel, Proof};
use super::submitted::{Encoded, Submitted};
use crate::access::Access;
use crate::backend::{
    Backend, BackendInfo, BackendKind, Copied, CopyOut, CopyRequest, KernelState, PageId,
    Settlement, Verdict,
};
use crate::batch::Work;
use crate::error::DeviceError;
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

/// One generation of a fake, as its device sees it.
pub(super) struct FakeBackend {
    pub(super) fake: Rc<Fake>,
    pub(super) generation: Rc<RefCell<Generation>>,
}

impl Storage for FakeBackend {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        let (number, works) = self.fake.faults.borrow_mut().create();
        let mut generation = self.generation.borrow_mut();
        let is_valid = works && size_bytes <= generation.limits.max_buffer_size;
        let page = PageId(number);
        generation.pages_created += 1;
        generation.pages.create(page, size_bytes)?;
        generation.live.insert(page);
        if !is_valid {
            generation.invalid.insert(page);
        }
        let is_lie = !is_valid && self.fake.faults.borrow_mut().take_lie();
        let asked = Rc::clone(&self.generation);
        let creation = self.fake.answers.hold(Question::Creation, move || {
            if is_valid || is_lie || asked.borrow().is_lost {
                return Ok(());
            }
            Err(Failure {
                kind: FailureKind::OutOfMemory,
                message: format!("no memory for {size_bytes} bytes"),
            })
        });
        generation.creations.push((page, creation));
        Ok(page)
    }

    fn dealloc(&mut self, id: PageId) {
        self.generation.borrow_mut().retired.push(id);
    }

    fn alignment(&self) -> u64 {
        u64::from(self.limits().min_storage_buffer_offset_alignment)
    }
}

impl Backend for FakeBackend {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            kind: BackendKind::Webgpu,
            adapter: "a fake: host kernels under WebGPU's rules".to_owned(),
            software: true,
            reason: None,
        }
    }

    fn limits(&self) -> DeviceLimits {
        self.generation.borrow().limits
    }

    fn batches(&self) -> bool {
        true
    }

    fn take_creations(&mut self) -> Vec<(PageId, Verdict)> {
        std::mem::take(&mut self.generation.borrow_mut().creations)
    }

    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError> {
        let function = source.host.clone().ok_or_else(|| DeviceError::KernelForm {
            kernel: source.label.clone(),
            missing: "host function",
            backend: "fake",
        })?;
        self.generation.borrow_mut().compiled += 1;
        let faults = self.fake.faults.borrow();
        let broken = faults.broken_shaders.get(&source.label).cloned();
        Ok(Rc::new(FakeKernel {
            function,
            compiles: broken.map_or(Ok(()), Err),
            proof: RefCell::new(Proof::Unproven),
        }))
    }

    fn state(&mut self, kernel: &CompiledKernel, _accesses: &[Access]) -> KernelState {
        match &*FakeKernel::of(kernel).proof.borrow() {
            Proof::Unproven => KernelState::Unproven,
            Proof::Proven => KernelState::Proven,
            Proof::Broken(failure) => KernelState::Broken(failure.clone()),
        }
    }

    fn submit(&mut self, work: Vec<Work>) -> Settlement {
        let mut faults = self.fake.faults.borrow_mut();
        let mut generation = self.generation.borrow_mut();
        let errors = generation.errors(&work, &mut faults);
        let mut outcome = faults.error_choice.of(errors);
        if outcome.is_ok() && !generation.is_lost {
            outcome = generation.apply(&work);
        }
        let submitted = Submitted {
            units: work.iter().map(Encoded::of).collect(),
            applied: outcome.is_ok() && !generation.is_lost,
        };
        generation.submitted.push(submitted);
        generation.destroy_retired();
        let is_clean = outcome.is_ok();
        let mut kernels: Vec<CompiledKernel> = Vec::new();
        for unit in &work {
            unit.visit(&mut |unit| {
                if let Work::Launch { kernel, .. } = unit {
                    kernels.push(Rc::clone(kernel));
                }
            });
        }
        // The compiler's own words come first, whatever the error scope delivers.
        let of_shaders = kernels
            .iter()
            .try_for_each(|kernel| FakeKernel::of(kernel).compiles.clone());
        let mut told = of_shaders.and(outcome);
        if !is_clean && faults.take_lie() {
            told = Ok(());
        }
        let asked = Rc::clone(&self.generation);
        Settlement::Later(self.fake.answers.hold(Question::Submission, move || {
            if asked.borrow().is_lost {
                return Ok(());
            }
            for kernel in &kernels {
                FakeKernel::of(kernel).learn(is_clean);
            }
            told
        }))
    }

    fn submit_and_copy(
        &mut self,
        work: Vec<Work>,
        copy: &CopyRequest,
    ) -> (Settlement, Option<CopyOut>) {
        let settlement = self.submit(work);
        let is_applied = {
            let generation = self.generation.borrow();
            generation.submitted.last().is_some_and(|last| last.applied)
        };
        let copied = self.read_back(copy);
        // A copy that was dropped leaves what the staging buffer held before.
        let held_before = vec![0xdb; usize::try_from(copy.size_bytes).expect("small reads")];
        let copied = async move {
            let bytes = copied.await?;
            Ok(if is_applied {
                bytes
            } else {
                Copied::Bytes(held_before)
            })
        };
        (settlement, Some(copied.boxed_local()))
    }

    fn read_back(&mut self, copy: &CopyRequest) -> CopyOut {
        let generation = self.generation.borrow();
        let bytes = generation.pages.bytes(copy);
        let fails = self.fake.faults.borrow_mut().take_read();
        let (asked, fake) = (Rc::clone(&self.generation), Rc::downgrade(&self.fake));
        let copied = self.fake.answers.hold(Question::Read, move || {
            // Whoever delivers the answer holds the fake.
            let fake = fake.upgrade()?;
            let is_aborted = asked.borrow().is_lost && !fake.faults.borrow().copies_survive;
            (!is_aborted).then_some(bytes)
        });
        let announced = generation.announced.clone();
        async move {
            let failure = |kind, message: &str| Failure {
                kind,
                message: message.to_owned(),
            };
            match copied.await {
                Some(_) if fails => Err(failure(FailureKind::Internal, "the copy failed")),
                Some(bytes) => bytes.map(Copied::Bytes),
                None => {
                    // The mapping aborts before the loss is announced, which tells why.
                    announced.await;
                    let message = "the mapping was aborted";
                    Err(failure(FailureKind::DeviceLost, message))
                }
            }
        }
        .boxed_local()
    }

    fn release(&mut self) {
        self.generation.borrow_mut().destroy_retired();
    }

    fn destroy(&mut self) {
        self.generation.borrow_mut().explain();
    }
}
