//! The synchronous half of a device: recording, submitting, settling and losing. It never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use wellwritten_memory::{
    BufferBinding, Entry, Failure, FailureKind, MemoryConfiguration, MemoryManagement,
    SubmissionId, Uninitialized, UnitId,
};

use crate::access::{Access, Binding};
use crate::backend::{Backend, KernelState, PageId, Settlement};
use crate::batch::{Batch, Work};
use crate::buffer::GuardedBuffer;
use crate::device::DeviceCounters;
use crate::error::DeviceError;
use crate::kernel::{CompiledKernel, Kernel};
use crate::launch_check::{check_buffer_size, check_launch, check_words};

/// A submission whose verdict arrives later.
pub(crate) type PendingVerdict = (SubmissionId, LocalBoxFuture<'static, Result<(), Failure>>);

/// Whether the device can take work.
#[derive(Debug)]
pub(crate) enum Health {
    /// It can.
    Live,
    /// It was lost; the text is the browser's.
    Lost(String),
    /// It was closed.
    Closed,
}

/// Everything a device knows. One per device, behind one `RefCell`.
pub(crate) struct DeviceState {
    pub(crate) memory: MemoryManagement<Box<dyn Backend>>,
    pub(crate) health: Health,
    /// Counts devices from 1; a recovered device is a new generation.
    pub(crate) generation: u64,
    pub(crate) in_flight: BTreeSet<SubmissionId>,
    pub(crate) counters: DeviceCounters,
    /// Verdicts to wait for, handed to the spawner once no borrow is held.
    pub(crate) verdicts: Vec<PendingVerdict>,
    /// Submissions that are the creation of a page.
    creations: BTreeMap<SubmissionId, PageId>,
    batch: Batch,
    next_submission: u64,
}

impl DeviceState {
    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            // One buffer an allocation: WebGPU forbids binding one buffer for reading and writing
            // in one dispatch even at disjoint offsets, which shared pages would run into.
            memory: MemoryManagement::new(
                backend,
                MemoryConfiguration::ExclusivePages,
                Uninitialized::default(),
            ),
            health: Health::Live,
            generation: 1,
            in_flight: BTreeSet::new(),
            counters: DeviceCounters::default(),
            verdicts: Vec::new(),
            creations: BTreeMap::new(),
            batch: Batch::new(SubmissionId(1)),
            next_submission: 2,
        }
    }

    pub(crate) fn check_live(&self) -> Result<(), DeviceError> {
        match &self.health {
            Health::Live => Ok(()),
            Health::Lost(reason) => Err(DeviceError::Lost {
                generation: self.generation,
                reason: reason.clone(),
            }),
            Health::Closed => Err(DeviceError::Closed),
        }
    }

    /// Reserves zeroed bytes. A creation that fails late is a unit of work that failed: the buffer
    /// reads as out of memory by name, and so does everything computed from it.
    pub(crate) fn alloc(
        &mut self,
        size_bytes: u64,
        label: &str,
    ) -> Result<GuardedBuffer, DeviceError> {
        self.check_live()?;
        check_buffer_size(label, size_bytes, &self.memory.storage().limits())?;
        let reservation = self.memory.reserve(size_bytes, label)?;
        let buffer = GuardedBuffer::new(reservation.handle);
        let whole = buffer.binding();
        for (page, creation) in self.memory.storage_mut().take_creations() {
            let entry = self.memory.enter(
                &format!("allocate {label}"),
                &[],
                std::slice::from_ref(&whole),
            )?;
            if let Entry::Entered(unit) = entry {
                let submission = self.mint_submission();
                self.memory.finish_pending(unit, submission);
                self.creations.insert(submission, page);
                self.track(submission, creation);
            }
        }
        if reservation.recycled {
            let location = self.memory.locate(&whole)?;
            let clear = Work::Clear {
                page: location.storage,
                offset: location.offset,
                size_bytes: location.size_bytes,
            };
            self.record(&format!("zero {label}"), &[], &[whole], clear)?;
        }
        Ok(buffer)
    }

    pub(crate) fn write(
        &mut self,
        target: &BufferBinding,
        bytes: Rc<[u8]>,
    ) -> Result<(), DeviceError> {
        self.check_live()?;
        let location = self.memory.locate(target)?;
        let found = bytes.len() as u64;
        if found != location.size_bytes {
            return Err(DeviceError::WriteLength {
                expected: location.size_bytes,
                found,
            });
        }
        check_words("the offset of a write", location.offset)?;
        check_words("the length of a write", location.size_bytes)?;
        self.counters.bytes_written += found;
        let work = Work::Write {
            page: location.storage,
            offset: location.offset,
            bytes,
        };
        self.record("host write", &[], std::slice::from_ref(target), work)
    }

    pub(crate) fn launch(
        &mut self,
        kernel: &Kernel,
        bindings: &[Binding],
        workgroups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.check_live()?;
        let located = bindings
            .iter()
            .map(|binding| Ok((self.memory.locate(&binding.slice)?, binding.access)))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        let limits = self.memory.storage().limits();
        let bound = check_launch(kernel.label(), &located, workgroups, &limits)?;
        let compiled = self.compiled(kernel)?;
        self.counters.launches += 1;

        let select = |wanted: fn(Access) -> bool| {
            bindings
                .iter()
                .filter(|binding| wanted(binding.access))
                .map(|binding| binding.slice.clone())
                .collect::<Vec<_>>()
        };
        let reads = select(Access::reads);
        let writes = select(Access::writes);
        let work = format!("kernel {}", kernel.label());
        let unit = match self.memory.enter(&work, &reads, &writes)? {
            Entry::Skipped { .. } => {
                self.counters.skipped_launches += 1;
                return Ok(());
            }
            Entry::Entered(unit) => unit,
        };
        let accesses: Vec<Access> = bindings.iter().map(|binding| binding.access).collect();
        let state = self.memory.storage_mut().state(&compiled, &accesses);
        let launch = Work::Launch {
            label: kernel.label().into(),
            kernel: compiled,
            bindings: bound,
            workgroups,
        };
        match state {
            KernelState::Broken(failure) => {
                self.counters.failed_units += 1;
                self.memory.finish_failed(unit, failure);
            }
            KernelState::Proven => self.push(unit, launch),
            KernelState::Unproven => {
                // Alone in its submission: one invalid dispatch voids the whole command buffer.
                self.flush();
                self.push(unit, launch);
                self.flush();
            }
        }
        Ok(())
    }

    /// Whether recorded work waits for a flush.
    pub(crate) fn has_open_work(&self) -> bool {
        !self.batch.work.is_empty()
    }

    /// Hands the open batch to the backend. Submits; does not wait.
    pub(crate) fn flush(&mut self) {
        if self.batch.work.is_empty() {
            return;
        }
        let next = self.mint_submission();
        let batch = std::mem::replace(&mut self.batch, Batch::new(next));
        self.counters.submissions += 1;
        let settlement = self.memory.storage_mut().submit(batch.work);
        self.track(batch.submission, settlement);
    }

    /// Applies a verdict. A verdict of an earlier generation finds its submission gone.
    pub(crate) fn settle(&mut self, submission: SubmissionId, outcome: Result<(), Failure>) {
        if !self.in_flight.remove(&submission) {
            return;
        }
        let created = self.creations.remove(&submission);
        let failure = outcome.as_ref().err().cloned();
        self.memory.settle(submission, outcome);
        if let Some(failure) = failure {
            self.counters.failed_units += 1;
            // A page that was never there is not kept for the next allocation of its size.
            if let Some(page) = created {
                self.memory.fail_page(page, "allocate", failure);
            }
        }
    }

    /// Everything in flight fails and every live byte is claimed. Idempotent per generation.
    pub(crate) fn lose(&mut self, generation: u64, reason: &str) -> bool {
        if generation != self.generation || !matches!(self.health, Health::Live) {
            return false;
        }
        self.health = Health::Lost(reason.to_owned());
        let next = self.mint_submission();
        self.batch = Batch::new(next);
        self.in_flight.clear();
        self.creations.clear();
        self.verdicts.clear();
        self.memory.lose(Failure {
            kind: FailureKind::DeviceLost,
            message: format!("device generation {generation} was lost: {reason}"),
        });
        true
    }

    /// Continues on a new backend as the next generation.
    pub(crate) fn replace_backend(&mut self, backend: Box<dyn Backend>) {
        *self.memory.storage_mut() = backend;
        self.generation += 1;
        self.health = Health::Live;
    }

    fn record(
        &mut self,
        label: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
        work: Work,
    ) -> Result<(), DeviceError> {
        if let Entry::Entered(unit) = self.memory.enter(label, reads, writes)? {
            self.push(unit, work);
        }
        Ok(())
    }

    fn push(&mut self, unit: UnitId, work: Work) {
        if !self.batch.admits(&work) {
            self.flush();
        }
        self.memory.finish_pending(unit, self.batch.submission);
        self.batch.work.push(work);
        if !self.memory.storage().batches() {
            self.flush();
        }
    }

    fn track(&mut self, submission: SubmissionId, settlement: Settlement) {
        self.in_flight.insert(submission);
        match settlement {
            Settlement::Now(outcome) => self.settle(submission, outcome),
            Settlement::Later(verdict) => self.verdicts.push((submission, verdict)),
        }
    }

    fn mint_submission(&mut self) -> SubmissionId {
        let submission = SubmissionId(self.next_submission);
        self.next_submission += 1;
        submission
    }

    fn compiled(&mut self, kernel: &Kernel) -> Result<CompiledKernel, DeviceError> {
        let mut compiled = kernel.compiled.borrow_mut();
        if let Some((generation, compiled)) = &*compiled
            && *generation == self.generation
        {
            return Ok(Rc::clone(compiled));
        }
        let fresh = self.memory.storage_mut().compile(&kernel.source)?;
        *compiled = Some((self.generation, Rc::clone(&fresh)));
        Ok(fresh)
    }
}
