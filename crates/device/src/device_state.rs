//! The synchronous half of a device: recording, submitting, settling and losing. It never waits.

use std::num::NonZeroU32;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::Shared;
use smallvec::SmallVec;
use wellwritten_memory::{
    BufferBinding, Entry, Failure, FailureKind, HandleError, Location, MemoryConfiguration,
    MemoryManagement, SortedMap, SortedSet, StreamId, SubmissionId, Uninitialized, UnitId, Watch,
    Watched,
};

use crate::access::{Access, Binding};
use crate::backend::{Backend, CopyOut, CopyRequest, KernelState, PageId, Settlement, Verdict};
use crate::batch::{Batch, BoundBytes, Work};
use crate::buffer::GuardedBuffer;
use crate::counters::DeviceCounters;
use crate::error::DeviceError;
use crate::kernel::{BackendIdentity, CompiledKernel, Kernel};
use crate::launch_check::{Bound, check_buffer_size, check_copy, check_launch, check_write};
use crate::window::{ClosedWindow, Graph, OpenWindow, WindowError};

/// A submission whose verdict arrives later.
pub(crate) type PendingVerdict = (SubmissionId, Verdict);

/// The creation of a page for a buffer.
struct Creation {
    page: PageId,
    /// How reports name it.
    work: String,
}

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

/// Whether a unit of work may share its submission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Shared,
    Alone,
}

/// Everything a device knows. One per device, behind one `RefCell`.
pub(crate) struct DeviceState {
    pub(crate) memory: MemoryManagement<Box<dyn Backend>>,
    pub(crate) health: Health,
    /// Counts devices from 1; a recovered device is a new generation.
    pub(crate) generation: u64,
    pub(crate) in_flight: SortedSet<SubmissionId>,
    pub(crate) counters: DeviceCounters,
    /// How many errors outside every scope were told.
    pub(crate) doubts: u64,
    /// Verdicts to wait for, handed to the spawner once no borrow is held.
    pub(crate) verdicts: Vec<PendingVerdict>,
    /// Which backend runs at present; kernels remember for which they were compiled.
    identity: BackendIdentity,
    /// Submissions that are the creation of a page.
    creations: SortedMap<SubmissionId, Creation>,
    /// The verdicts of those creations: a page is unproven until its own has settled.
    unproven_pages: SortedMap<PageId, Shared<Verdict>>,
    batch: Batch,
    next_submission: u64,
    /// The window that records, if one does.
    window: Option<OpenWindow>,
    /// Streams for windows: those that no window holds.
    window_streams: Vec<StreamId>,
}

impl DeviceState {
    /// How many windows can wait for their verdicts at once. Each has a logical stream to itself; stream 0 is for
    /// all that is in no window.
    const WINDOWS: u32 = 8;

    /// After so many submissions pages that have long been unused are given back.
    const SUBMISSIONS_PER_CLEANUP: u64 = 256;

    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            // One buffer an allocation: WebGPU forbids binding one buffer for reading and writing
            // in one dispatch even at disjoint offsets, which shared pages would run into.
            memory: MemoryManagement::with_streams(
                backend,
                MemoryConfiguration::ExclusivePages,
                Uninitialized::default(),
                NonZeroU32::MIN.saturating_add(Self::WINDOWS),
            ),
            health: Health::Live,
            generation: 1,
            in_flight: SortedSet::new(),
            counters: DeviceCounters::default(),
            doubts: 0,
            verdicts: Vec::new(),
            identity: BackendIdentity::default(),
            creations: SortedMap::new(),
            unproven_pages: SortedMap::new(),
            batch: Batch::new(SubmissionId(1)),
            next_submission: 2,
            window: None,
            window_streams: (1..=u64::from(Self::WINDOWS)).map(StreamId).collect(),
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

    /// A closed device answers nothing; of a lost one the reports say that it was lost.
    pub(crate) fn check_open(&self) -> Result<(), DeviceError> {
        match &self.health {
            Health::Live | Health::Lost(_) => Ok(()),
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
            self.watch_creation(page, creation, &whole, label)?;
        }
        if reservation.recycled {
            let location = self.memory.locate(&whole)?;
            let clear = Work::Clear {
                page: location.storage,
                offset: location.offset,
                size_bytes: location.size_bytes,
            };
            // No work of a window that records: its replay would zero what the buffer holds by then, and only if
            // the page happened to be a used one.
            let window = self.window.take();
            let recorded = self.record(&format!("zero {label}"), &[], &[whole], clear);
            self.window = window;
            recorded?;
        }
        Ok(buffer)
    }

    pub(crate) fn write(
        &mut self,
        target: &BufferBinding,
        bytes: Rc<[u8]>,
    ) -> Result<(), DeviceError> {
        self.check_live()?;
        let writes = std::slice::from_ref(target);
        let located = self.locate(target)?;
        let found = bytes.len() as u64;
        check_write(target, found)?;
        let Some(location) = located else {
            return self.skip("host write", &[], writes);
        };
        self.counters.bytes_written += found;
        if found == 0 {
            return Ok(());
        }
        let work = Work::Write {
            page: location.storage,
            offset: location.offset,
            bytes,
        };
        self.record("host write", &[], writes, work)
    }

    pub(crate) fn copy(
        &mut self,
        source: &BufferBinding,
        target: &BufferBinding,
    ) -> Result<(), DeviceError> {
        self.check_live()?;
        let (reads, writes) = (std::slice::from_ref(source), std::slice::from_ref(target));
        let (from, to) = (self.locate(source)?, self.locate(target)?);
        check_copy(source, target)?;
        let (Some(from), Some(to)) = (from, to) else {
            return self.skip("copy", reads, writes);
        };
        if from.size_bytes == 0 {
            return Ok(());
        }
        let work = Work::Copy {
            from: from.storage,
            from_offset: from.offset,
            to: to.storage,
            to_offset: to.offset,
            size_bytes: from.size_bytes,
        };
        self.counters.bytes_copied += from.size_bytes;
        self.record("copy", reads, writes, work)
    }

    pub(crate) fn launch(
        &mut self,
        kernel: &Kernel,
        bindings: &[Binding],
        workgroups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.check_live()?;
        let select = |wanted: fn(Access) -> bool| {
            bindings
                .iter()
                .filter(|binding| wanted(binding.access))
                .map(|binding| binding.slice.clone())
                .collect::<SmallVec<[_; 4]>>()
        };
        let reads = select(Access::reads);
        let writes = select(Access::writes);
        let limits = self.memory.storage().limits();
        let mut bound = Bound::new();
        let mut exist = true;
        for binding in bindings {
            match self.locate(&binding.slice)? {
                Some(location) => bound.push(BoundBytes {
                    page: location.storage,
                    offset: location.offset,
                    size_bytes: location.size_bytes,
                    access: binding.access,
                }),
                None => exist = false,
            }
        }
        check_launch(kernel.label(), bindings, workgroups, &limits)?;
        if !exist {
            self.counters.launches += 1;
            return self.skip(&kernel.work, &reads, &writes);
        }
        let compiled = self.compiled(kernel)?;
        self.counters.launches += 1;

        let Some(unit) = self.enter(&kernel.work, &reads, &writes)? else {
            return Ok(());
        };
        let accesses: SmallVec<[Access; 4]> =
            bindings.iter().map(|binding| binding.access).collect();
        let state = self.memory.storage_mut().state(&compiled, &accesses);
        let launch = Work::Launch {
            label: Rc::clone(&kernel.label),
            kernel: compiled,
            bindings: bound,
            workgroups,
        };
        match state {
            KernelState::Broken(failure) => {
                self.counters.failed_units += 1;
                self.memory.finish_failed(unit, failure);
            }
            KernelState::Proven => self.push(unit, launch, Company::Shared),
            KernelState::Unproven => self.push(unit, launch, Company::Alone),
        }
        Ok(())
    }

    /// Runs a sealed graph as one unit.
    pub(crate) fn replay(&mut self, graph: &Graph) -> Result<(), DeviceError> {
        self.check_live()?;
        self.check_graph(&graph.label, graph.generation)?;
        let (reads, writes) = (graph.recording.reads(), graph.recording.writes());
        // A page under a freed buffer may be another's by now.
        for binding in reads.iter().chain(writes) {
            if self.locate(binding)?.is_none() {
                return self.skip(&graph.work, reads, writes);
            }
        }
        let launches = |unit: &Work| matches!(unit, Work::Launch { .. });
        for unit in graph.units.iter() {
            unit.visit(&mut |unit| self.counters.launches += u64::from(launches(unit)));
        }
        if let Some(unit) = self.enter(&graph.work, reads, writes)? {
            let units = Rc::clone(&graph.units);
            self.push(unit, Work::Graph { units }, Company::Shared);
        }
        Ok(())
    }

    /// Refuses a graph of an earlier generation.
    pub(crate) fn check_graph(&self, label: &str, recorded_on: u64) -> Result<(), DeviceError> {
        if recorded_on == self.generation {
            return Ok(());
        }
        Err(DeviceError::StaleGraph {
            graph: label.to_owned(),
            recorded_on,
            generation: self.generation,
        })
    }

    /// Begins to record; the stream that the window has to itself.
    pub(crate) fn open_window(&mut self, label: Rc<str>) -> Result<StreamId, WindowError> {
        self.check_live()?;
        if let Some(window) = &self.window {
            return Err(WindowError::Open {
                open: window.label.to_string(),
            });
        }
        let Some(stream) = self.window_streams.pop() else {
            return Err(WindowError::TooMany {
                sealing: Self::WINDOWS as usize,
            });
        };
        let capture = self.memory.capture(stream);
        capture
            .prepare(stream)
            .and_then(|()| capture.begin(stream))
            .expect("no window holds the stream");
        self.window = Some(OpenWindow {
            label,
            stream,
            units: Vec::new(),
            is_too_long: false,
        });
        Ok(stream)
    }

    /// Ends the recording. What doomed it, now or until everything in it has settled, is asked for later.
    pub(crate) fn close_window(&mut self) -> ClosedWindow {
        self.flush();
        let window = self.window.take();
        let window = window.expect("a window is closed once, by the one who opened it");
        let capture = self.memory.capture(window.stream);
        capture.end(window.stream).expect("it records");
        ClosedWindow {
            is_whole: !window.is_too_long,
            label: window.label,
            units: window.units.into(),
            recording: capture.take_recorded(),
            generation: self.generation,
            last: self.in_flight.last().copied(),
        }
    }

    /// Gives a window's stream back. A window that still records is given up.
    pub(crate) fn free_window(&mut self, stream: StreamId) {
        self.memory.capture(stream).abort();
        let records = |window: &OpenWindow| window.stream == stream;
        if self.window.as_ref().is_some_and(records) {
            self.window = None;
        }
        self.window_streams.push(stream);
    }

    /// Gives every page that no buffer lies on back.
    pub(crate) fn trim(&mut self) {
        self.flush();
        self.memory.cleanup(true);
        self.memory.storage_mut().release();
    }

    /// Whether recorded work waits for a flush.
    pub(crate) fn has_open_work(&self) -> bool {
        !self.batch.work.is_empty()
    }

    /// Hands the open batch to the backend. Submits; does not wait.
    pub(crate) fn flush(&mut self) {
        self.flush_and_copy(None);
    }

    /// Begins to copy bytes to the host that `watch` looks at, in order behind everything recorded. Submits; the
    /// copy waits.
    pub(crate) fn copy_out(
        &mut self,
        watch: &Watch,
        copy: CopyRequest,
    ) -> Result<CopyOut, HandleError> {
        // A copy in the open submission is void when that is, so only one of bytes that wait for it may be there: no
        // read returns them then.
        let joins = !self.batch.work.is_empty()
            && match self.memory.resolve(watch)? {
                Watched::Pending(submissions) => submissions.contains(&self.batch.submission),
                Watched::Trusted | Watched::Unwritten(_) => false,
            };
        let joined = self.flush_and_copy(joins.then_some(&copy));
        Ok(joined.unwrap_or_else(|| self.memory.storage_mut().read_back(&copy)))
    }

    /// Hands the open batch to the backend, with a copy to the host where the backend takes it along.
    fn flush_and_copy(&mut self, copy: Option<&CopyRequest>) -> Option<CopyOut> {
        if self.batch.work.is_empty() {
            return None;
        }
        let next = self.mint_submission();
        let batch = std::mem::replace(&mut self.batch, Batch::new(next));
        self.counters.submissions += 1;
        // The first cause comes first: a buffer that was never created, then what followed from it.
        let mut creations: Vec<Shared<Verdict>> = Vec::new();
        for unit in &batch.work {
            unit.names(&mut |page| {
                creations.extend(self.unproven_pages.get(&page).cloned());
                false
            });
        }
        if self
            .counters
            .submissions
            .is_multiple_of(Self::SUBMISSIONS_PER_CLEANUP)
        {
            self.memory.cleanup(false);
        }
        let storage = self.memory.storage_mut();
        let (mut settlement, copying) = match copy {
            None => (storage.submit(batch.work), None),
            Some(copy) => storage.submit_and_copy(batch.work, copy),
        };
        if !creations.is_empty() {
            let after_creations = async move {
                for creation in creations {
                    creation.await?;
                }
                match settlement {
                    Settlement::Now(outcome) => outcome,
                    Settlement::Later(verdict) => verdict.await,
                }
            };
            settlement = Settlement::Later(after_creations.boxed_local());
        }
        self.track(batch.submission, settlement);
        copying
    }

    /// Applies a verdict. A verdict of an earlier generation finds its submission gone.
    pub(crate) fn settle(&mut self, submission: SubmissionId, outcome: Result<(), Failure>) {
        if !self.in_flight.remove(&submission) {
            return;
        }
        let creation = self.creations.remove(&submission);
        if let Some(creation) = &creation {
            self.unproven_pages.remove(&creation.page);
        }
        let failure = outcome.as_ref().err().cloned();
        self.memory.settle(submission, outcome);
        let Some(failure) = failure else { return };
        self.counters.failed_units += 1;
        let Some(Creation { page, work }) = creation else {
            return;
        };
        // A page that was never there is not kept for the next allocation of its size, also where its buffer
        // was freed before the verdict came.
        self.memory.fail_page(page, &work, failure);
        // What lies idle may be what the next allocation lacks.
        self.memory.cleanup(true);
    }

    /// An error outside every scope: what is in flight could have been it, and fails. How many submissions that were.
    pub(crate) fn doubt(&mut self, generation: u64, failure: &Failure) -> usize {
        if generation != self.generation || !matches!(self.health, Health::Live) {
            return 0;
        }
        self.doubts += 1;
        // A creation has a verdict of its own, and whatever uses a buffer that was never created fails by itself.
        let in_flight: Vec<SubmissionId> = self
            .in_flight
            .iter()
            .copied()
            .filter(|submission| !self.creations.contains_key(submission))
            .collect();
        for submission in &in_flight {
            self.settle(*submission, Err(failure.clone()));
        }
        in_flight.len()
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
        self.unproven_pages.clear();
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
        self.identity = BackendIdentity::default();
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
        if let Some(unit) = self.enter(label, reads, writes)? {
            self.push(unit, work, Company::Shared);
        }
        Ok(())
    }

    /// Where bytes lie; `None` for a buffer whose creation is known to have failed.
    fn locate(&self, binding: &BufferBinding) -> Result<Option<Location<PageId>>, DeviceError> {
        match self.memory.locate(binding) {
            Ok(location) => Ok(Some(location)),
            Err(HandleError::Unallocated { .. }) if binding.size_bytes() > 0 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Work over a buffer whose creation is known to have failed. It is no mistake of the caller's, who would have
    /// been told nothing a moment earlier: the work is skipped, and what it should have written names the creation.
    fn skip(
        &mut self,
        label: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<(), DeviceError> {
        let entered = self.enter(label, reads, writes)?;
        assert!(
            entered.is_none(),
            "the books skip work over unallocated bytes"
        );
        Ok(())
    }

    /// Enters a unit of work; `None` where it is skipped.
    fn enter(
        &mut self,
        label: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Option<UnitId>, DeviceError> {
        let window = self.window.as_ref();
        let stream = window.map_or_else(StreamId::default, |window| window.stream);
        match self.memory.enter_on(stream, label, reads, writes)? {
            Entry::Entered(unit) => Ok(Some(unit)),
            Entry::Skipped { .. } => {
                self.counters.skipped_units += 1;
                Ok(None)
            }
        }
    }

    /// Enters the creation of a page as a unit of work of its own.
    fn watch_creation(
        &mut self,
        page: PageId,
        creation: Verdict,
        whole: &BufferBinding,
        label: &str,
    ) -> Result<(), DeviceError> {
        let work = format!("allocate {label}");
        let entry = self.memory.enter(&work, &[], std::slice::from_ref(whole))?;
        let Entry::Entered(unit) = entry else {
            return Ok(());
        };
        let label = label.to_owned();
        let verdict = creation
            .map(move |outcome| {
                outcome.map_err(|failure| Failure {
                    kind: failure.kind,
                    message: format!("buffer `{label}`: {}", failure.message),
                })
            })
            .boxed_local()
            .shared();
        let submission = self.mint_submission();
        self.memory.finish_pending(unit, submission);
        self.unproven_pages.insert(page, verdict.clone());
        self.creations.insert(submission, Creation { page, work });
        self.track(submission, Settlement::Later(verdict.boxed_local()));
        Ok(())
    }

    fn push(&mut self, unit: UnitId, work: Work, company: Company) {
        // One invalid dispatch, or one invalid buffer, voids the whole command buffer.
        let alone = company == Company::Alone
            || !self.memory.storage().batches()
            || (!self.unproven_pages.is_empty()
                && work.names(&mut |page| self.unproven_pages.contains_key(&page)));
        if alone || !self.batch.admits(&work) {
            self.flush();
        }
        self.memory.finish_pending(unit, self.batch.submission);
        if let Some(window) = &mut self.window {
            window.record(&work);
        }
        self.batch.push(work);
        if alone {
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
        if let Some(compiled) = kernel.compiled_for(&self.identity) {
            return Ok(compiled);
        }
        let fresh = self.memory.storage_mut().compile(&kernel.source)?;
        kernel.remember(&self.identity, &fresh);
        Ok(fresh)
    }
}
