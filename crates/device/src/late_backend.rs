//! A backend for tests: host kernels under WebGPU's rules.
//!
//! A submission is applied as a whole or dropped as a whole: one invalid dispatch, or one invalid
//! page, drops its neighbours, and the pages keep what they held. Nothing of that shows at the call:
//! verdicts and copies are held back until the test delivers them, in any order. After the device
//! is destroyed every scope pops clean, as the WebGPU specification has it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use wellwritten_memory::{Failure, FailureKind, Storage};

use crate::access::Access;
use crate::backend::{
    Backend, BackendInfo, BackendKind, Copied, CopyForm, CopyOut, KernelState, PageId, Settlement,
    Verdict,
};
use crate::batch::{BoundBytes, Work};
use crate::error::DeviceError;
use crate::host_kernel::{HostKernel, HostLaunch, HostWords};
use crate::kernel::{CompiledKernel, KernelSource};
use crate::limits::DeviceLimits;

/// A source whose WGSL begins like this does not compile; the rest is what the compiler says.
pub(crate) const INVALID_WGSL: &str = "invalid: ";

/// One unit that reached the backend, as the test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encoded {
    /// A host write, with its first word.
    Write { first_word: u32 },
    /// A zero-fill of recycled bytes.
    Clear,
    /// A copy from page to page.
    Copy,
    /// A replay.
    Graph { units: Vec<Encoded> },
    /// A launch, with its first workgroup count.
    Launch { label: String, workgroups_x: u32 },
}

/// One submission that reached the backend.
#[derive(Clone, Debug)]
pub(crate) struct Submitted {
    pub(crate) units: Vec<Encoded>,
    /// Whether it was applied; otherwise it was dropped.
    pub(crate) applied: bool,
}

/// What a held-back answer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Creation,
    Submission,
    Read,
}

struct Held {
    question: Question,
    deliver: Box<dyn FnOnce()>,
}

struct Page {
    words: Vec<u32>,
    valid: bool,
}

#[derive(Clone)]
enum Proof {
    Unproven,
    Proven,
    Broken(Failure),
}

struct LateKernel {
    host: HostKernel,
    compiles: Result<(), Failure>,
    proof: RefCell<Proof>,
}

#[derive(Default)]
struct Core {
    pages: BTreeMap<PageId, Page>,
    created: u64,
    /// Given back, but perhaps named by work that is recorded and not yet submitted.
    retired: Vec<PageId>,
    creations: Vec<(PageId, Verdict)>,
    held: Vec<Held>,
    submitted: Vec<Submitted>,
    compiled: u64,
    /// Creations, counted from 1, that turn out to have had no memory.
    failing_creations: BTreeSet<u64>,
    /// Labels of kernels whose next dispatch is invalid, without anyone having known.
    invalid_dispatches: BTreeSet<String>,
    failing_reads: u32,
    /// Say "clean" of this many dropped submissions.
    lies: u32,
    lies_told: u32,
    destroyed: bool,
    /// A larger buffer than this cannot be created; the default limit where absent.
    max_buffer_size: Option<u64>,
    /// After the destruction, copies succeed too.
    copies_survive: bool,
}

/// The test's hand on a [`LateBackend`], which the device owns.
#[derive(Clone, Default)]
pub(crate) struct LateControl {
    core: Rc<RefCell<Core>>,
}

impl LateControl {
    pub(crate) fn backend(&self) -> LateBackend {
        LateBackend {
            core: Rc::clone(&self.core),
        }
    }

    /// Pages ever created.
    pub(crate) fn pages_created(&self) -> u64 {
        self.core.borrow().created
    }

    /// Pages there are.
    pub(crate) fn pages(&self) -> usize {
        let core = self.core.borrow();
        core.pages.len() - core.retired.len()
    }

    /// Kernels ever compiled.
    pub(crate) fn compiled(&self) -> u64 {
        self.core.borrow().compiled
    }

    /// Every submission so far.
    pub(crate) fn submitted(&self) -> Vec<Submitted> {
        self.core.borrow().submitted.clone()
    }

    /// The creation after `skipped` more turns out to have had no memory.
    pub(crate) fn fail_creation_after(&self, skipped: u64) {
        let mut core = self.core.borrow_mut();
        let which = core.created + skipped + 1;
        core.failing_creations.insert(which);
    }

    /// Whether the next creation turns out to have had no memory.
    pub(crate) fn next_creation_fails(&self) -> bool {
        let core = self.core.borrow();
        core.failing_creations.contains(&(core.created + 1))
    }

    /// Grants less, or more, than by default.
    pub(crate) fn grant_buffer_size(&self, bytes: u64) {
        self.core.borrow_mut().max_buffer_size = Some(bytes);
    }

    /// The next dispatch of this kernel is invalid.
    pub(crate) fn fail_dispatch(&self, label: &str) {
        self.core
            .borrow_mut()
            .invalid_dispatches
            .insert(label.to_owned());
    }

    /// The next copy to the host fails.
    pub(crate) fn fail_read(&self) {
        self.core.borrow_mut().failing_reads += 1;
    }

    /// Say "clean" of the next dropped submission: what a backend must never do.
    pub(crate) fn lie_once(&self) {
        self.core.borrow_mut().lies += 1;
    }

    /// How often it lied.
    pub(crate) fn lies_told(&self) -> u32 {
        self.core.borrow().lies_told
    }

    /// After the destruction, let copies succeed as well.
    pub(crate) fn let_copies_survive(&self) {
        self.core.borrow_mut().copies_survive = true;
    }

    /// The submissions after the first `seen`.
    pub(crate) fn submitted_after(&self, seen: usize) -> Vec<Submitted> {
        self.core.borrow().submitted[seen..].to_vec()
    }

    /// What is held back, in the order it was asked.
    pub(crate) fn held(&self) -> Vec<Question> {
        let core = self.core.borrow();
        core.held.iter().map(|held| held.question).collect()
    }

    /// Delivers one held-back answer.
    pub(crate) fn deliver(&self, index: usize) {
        let held = self.core.borrow_mut().held.remove(index);
        (held.deliver)();
    }

    /// Delivers the oldest answer to such a question.
    pub(crate) fn deliver_first(&self, question: Question) {
        let index = self.held().iter().position(|held| *held == question);
        self.deliver(index.expect("such an answer is held back"));
    }
}

/// Host kernels under WebGPU's rules.
pub(crate) struct LateBackend {
    core: Rc<RefCell<Core>>,
}

impl LateBackend {
    /// Hands out a future for `answer`, delivered when the test says so.
    fn hold<T: 'static>(
        core: &mut Core,
        question: Question,
        answer: impl FnOnce() -> Result<T, Failure> + 'static,
    ) -> LocalBoxFuture<'static, Result<T, Failure>> {
        let (sender, receiver) = oneshot::channel();
        let deliver = Box::new(move || {
            // Nobody listens after a loss.
            let _ = sender.send(answer());
        });
        core.held.push(Held { question, deliver });
        async move { receiver.await.expect("the test delivers every answer") }.boxed_local()
    }
}

impl Core {
    /// Whether every unit is valid; what makes the first one invalid otherwise.
    fn validate(&mut self, work: &[Work]) -> Result<(), Failure> {
        let invalid = |message: String| Failure {
            kind: FailureKind::Validation,
            message,
        };
        let mut outcome = Ok(());
        for unit in work {
            let mut invalid_page = None;
            unit.names(&mut |page| {
                invalid_page = (!self.pages[&page].valid).then_some(page);
                invalid_page.is_some()
            });
            if let Some(page) = invalid_page {
                outcome = outcome.and(Err(invalid(format!("[Invalid Buffer {}]", page.0))));
            }
            unit.visit(&mut |unit| {
                let Work::Launch { label, kernel, .. } = unit else {
                    return;
                };
                let said = &mut outcome;
                if self.invalid_dispatches.remove(&**label) {
                    *said = said
                        .clone()
                        .and(Err(invalid(format!("the dispatch of {label} is invalid"))));
                }
                *said = said.clone().and(late_kernel(kernel).compiles.clone());
            });
        }
        outcome
    }

    fn apply(&mut self, work: &Work) {
        match work {
            Work::Write {
                page,
                offset,
                bytes,
            } => {
                for (word, chunk) in self
                    .words_mut(*page, *offset, bytes.len() as u64)
                    .iter_mut()
                    .zip(bytes.chunks_exact(4))
                {
                    *word = u32::from_le_bytes(chunk.try_into().expect("four bytes"));
                }
            }
            Work::Clear {
                page,
                offset,
                size_bytes,
            } => self.words_mut(*page, *offset, *size_bytes).fill(0),
            Work::Launch {
                kernel,
                bindings,
                workgroups,
                ..
            } => self.launch(&late_kernel(kernel).host, bindings, *workgroups),
            Work::Copy {
                from,
                from_offset,
                to,
                to_offset,
                size_bytes,
            } => {
                let words = self.words_mut(*from, *from_offset, *size_bytes).to_vec();
                self.words_mut(*to, *to_offset, *size_bytes)
                    .copy_from_slice(&words);
            }
            Work::Graph { units } => units.iter().for_each(|unit| self.apply(unit)),
        }
    }

    /// On a GPU a kernel cannot fail once it runs, so neither can it here.
    fn launch(&mut self, host: &HostKernel, bindings: &[BoundBytes], workgroups: [u32; 3]) {
        let copies: Vec<Vec<u32>> = bindings
            .iter()
            .map(|bound| {
                self.words_mut(bound.page, bound.offset, bound.size_bytes)
                    .to_vec()
            })
            .collect();
        let words = copies.iter().zip(bindings).map(|(words, bound)| {
            if bound.access.writes() {
                HostWords::Write {
                    words: Some(words.clone()),
                    length: words.len(),
                }
            } else {
                HostWords::Read(words)
            }
        });
        let mut launch = HostLaunch::new(workgroups, words.collect());
        host(&mut launch).expect("kernels of these tests do not fail while they run");
        let written = launch.into_written().expect("they put back what they take");
        for (index, words) in written {
            let bound = bindings[index];
            self.words_mut(bound.page, bound.offset, bound.size_bytes)
                .copy_from_slice(&words);
        }
    }

    fn words_mut(&mut self, page: PageId, offset: u64, size_bytes: u64) -> &mut [u32] {
        let index = |bytes: u64| usize::try_from(bytes / 4).expect("small pages");
        let page = self.pages.get_mut(&page).expect("a page that was created");
        &mut page.words[index(offset)..index(offset + size_bytes)]
    }
}

fn late_kernel(kernel: &CompiledKernel) -> &LateKernel {
    kernel
        .downcast_ref()
        .expect("a kernel compiled by this backend")
}

impl Storage for LateBackend {
    type Id = PageId;
    type Error = DeviceError;

    fn alloc(&mut self, size_bytes: u64) -> Result<PageId, DeviceError> {
        let granted = self.limits().max_buffer_size;
        let mut core = self.core.borrow_mut();
        core.created += 1;
        let page = PageId(core.created);
        let created = core.created;
        let valid = !core.failing_creations.remove(&created) && size_bytes <= granted;
        let words = vec![0; usize::try_from(size_bytes / 4).expect("small pages")];
        core.pages.insert(page, Page { words, valid });
        let shared = Rc::clone(&self.core);
        let creation = Self::hold(&mut core, Question::Creation, move || {
            if valid || shared.borrow().destroyed {
                Ok(())
            } else {
                Err(Failure {
                    kind: FailureKind::OutOfMemory,
                    message: format!("no memory for {size_bytes} bytes"),
                })
            }
        });
        core.creations.push((page, creation));
        Ok(page)
    }

    fn dealloc(&mut self, id: PageId) {
        self.core.borrow_mut().retired.push(id);
    }

    fn alignment(&self) -> u64 {
        256
    }
}

impl Backend for LateBackend {
    fn info(&self) -> BackendInfo {
        BackendInfo {
            kind: BackendKind::Webgpu,
            adapter: "host kernels under WebGPU's rules".to_owned(),
            software: true,
            reason: None,
        }
    }

    fn limits(&self) -> DeviceLimits {
        let mut limits = DeviceLimits::WEBGPU_DEFAULT;
        if let Some(granted) = self.core.borrow().max_buffer_size {
            limits.max_buffer_size = granted;
        }
        limits
    }

    fn batches(&self) -> bool {
        true
    }

    fn take_creations(&mut self) -> Vec<(PageId, Verdict)> {
        std::mem::take(&mut self.core.borrow_mut().creations)
    }

    fn compile(&mut self, source: &KernelSource) -> Result<CompiledKernel, DeviceError> {
        self.core.borrow_mut().compiled += 1;
        let compiles = match source
            .wgsl
            .as_deref()
            .and_then(|wgsl| wgsl.strip_prefix(INVALID_WGSL))
        {
            None => Ok(()),
            Some(said) => Err(Failure {
                kind: FailureKind::Shader,
                message: format!("shader `{}` failed to compile: {said}", source.label),
            }),
        };
        Ok(Rc::new(LateKernel {
            host: source.host.clone().expect("tests give a function"),
            compiles,
            proof: RefCell::new(Proof::Unproven),
        }))
    }

    fn state(&mut self, kernel: &CompiledKernel, _accesses: &[Access]) -> KernelState {
        match &*late_kernel(kernel).proof.borrow() {
            Proof::Unproven => KernelState::Unproven,
            Proof::Proven => KernelState::Proven,
            Proof::Broken(failure) => KernelState::Broken(failure.clone()),
        }
    }

    fn submit(&mut self, work: Vec<Work>) -> Settlement {
        let mut core = self.core.borrow_mut();
        let outcome = core.validate(&work);
        let applied = outcome.is_ok() && !core.destroyed;
        if applied {
            for unit in &work {
                core.apply(unit);
            }
        }
        core.submitted.push(Submitted {
            units: work.iter().map(encoded).collect(),
            applied,
        });
        for page in std::mem::take(&mut core.retired) {
            core.pages.remove(&page);
        }
        let mut told = outcome.clone();
        if outcome.is_err() && core.lies > 0 {
            core.lies -= 1;
            core.lies_told += 1;
            told = Ok(());
        }
        let mut kernels: Vec<CompiledKernel> = Vec::new();
        for unit in &work {
            unit.visit(&mut |unit| {
                if let Work::Launch { kernel, .. } = unit {
                    kernels.push(Rc::clone(kernel));
                }
            });
        }
        let shared = Rc::clone(&self.core);
        Settlement::Later(Self::hold(&mut core, Question::Submission, move || {
            if shared.borrow().destroyed {
                return Ok(());
            }
            for kernel in &kernels {
                let kernel = late_kernel(kernel);
                match &kernel.compiles {
                    Err(failure) => *kernel.proof.borrow_mut() = Proof::Broken(failure.clone()),
                    Ok(()) if outcome.is_ok() => *kernel.proof.borrow_mut() = Proof::Proven,
                    Ok(()) => {}
                }
            }
            told
        }))
    }

    fn read_back(
        &mut self,
        page: PageId,
        offset: u64,
        size_bytes: u64,
        _form: CopyForm,
    ) -> CopyOut {
        let mut core = self.core.borrow_mut();
        let bytes: Vec<u8> = core
            .words_mut(page, offset, size_bytes)
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let fails = core.failing_reads > 0;
        core.failing_reads -= u32::from(fails);
        let shared = Rc::clone(&self.core);
        Self::hold(&mut core, Question::Read, move || {
            let core = shared.borrow();
            if core.destroyed && !core.copies_survive {
                return Err(Failure {
                    kind: FailureKind::Internal,
                    message: "the mapping was aborted".to_owned(),
                });
            }
            if fails {
                return Err(Failure {
                    kind: FailureKind::Internal,
                    message: "the copy failed".to_owned(),
                });
            }
            Ok(Copied::Bytes(bytes))
        })
    }

    fn destroy(&mut self) {
        self.core.borrow_mut().destroyed = true;
    }
}

fn encoded(unit: &Work) -> Encoded {
    match unit {
        Work::Write { bytes, .. } => Encoded::Write {
            first_word: u32::from_le_bytes(bytes[..4].try_into().expect("at least a word")),
        },
        Work::Clear { .. } => Encoded::Clear,
        Work::Copy { .. } => Encoded::Copy,
        Work::Graph { units } => Encoded::Graph {
            units: units.iter().map(encoded).collect(),
        },
        Work::Launch {
            label, workgroups, ..
        } => Encoded::Launch {
            label: label.to_string(),
            workgroups_x: workgroups[0],
        },
    }
}
