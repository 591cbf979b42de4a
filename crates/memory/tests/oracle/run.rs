//! One random run: the same operations on the manager and on the model, compared after each.

use crate::byte_model::{ByteModel, Bytes, Fate, ModelBuffer};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use wellwritten_memory::{
    BufferBinding, BytesStorage, Entry, Failure, FailureKind, Handle, HandleError,
    MemoryConfiguration, MemoryManagement, ReadRefusal, SubmissionId, TaintState, Uninitialized,
    UnitId, UnwrittenReport, Watch, Watched,
};

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    pub configuration: MemoryConfiguration,
    pub seed: u64,
    pub operations: usize,
    /// Whether units end pending and settle late.
    pub late: bool,
    /// Whether bindings are always whole buffers.
    pub whole: bool,
    /// A lie told to the manager, once the run is warm. The comparison must notice it.
    pub sabotage: Option<Sabotage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A failed body is told as clean.
    FailedAsClean,
    /// A failed submission is told as succeeded.
    FailedAsSettled,
    /// What a launch reads is kept from it.
    ForgottenRead,
    /// The write set lacks its last byte.
    ShortWriteSet,
    /// The storage holds another value than was written.
    WrongValue,
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    pub trusted_reads: usize,
    pub refused_reads: usize,
    pub late_refusals: usize,
    pub skips: usize,
    pub settlements: usize,
    pub bytes: usize,
}

type Told<T> = Result<T, String>;

struct Flight {
    watch: Watch,
    buffer: u64,
    start: usize,
    writers: Vec<usize>,
    values: Vec<u8>,
}

struct Run {
    plan: Plan,
    random: Random,
    memory: MemoryManagement<BytesStorage>,
    model: ByteModel,
    handles: BTreeMap<u64, Handle>,
    open: BTreeMap<u64, Vec<(UnitId, usize)>>,
    next_submission: u64,
    flights: Vec<Flight>,
    compared: Compared,
    number: usize,
}

const LARGEST_BUFFER: usize = 96;

macro_rules! same {
    ($left:expr, $right:expr, $($what:tt)+) => {{
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{}: manager {left:?}, model {right:?}", format!($($what)+)));
        }
    }};
}

/// Runs the plan. `Err` says where manager and model first differed.
pub fn run(plan: &Plan) -> Told<Compared> {
    let storage = BytesStorage::new(16, u64::MAX);
    let mut run = Run {
        random: Random::new(plan.seed),
        memory: MemoryManagement::new(storage, plan.configuration.clone(), Uninitialized::Trust),
        model: ByteModel::default(),
        handles: BTreeMap::new(),
        open: BTreeMap::new(),
        next_submission: 0,
        flights: Vec::new(),
        compared: Compared::default(),
        number: 0,
        plan: plan.clone(),
    };
    for number in 0..plan.operations {
        run.number = number;
        run.step().and_then(|()| run.compare()).map_err(|what| {
            format!(
                "seed {}, operation {number}, {:?}: {what}",
                plan.seed, plan.configuration
            )
        })?;
    }
    run.finish()?;
    Ok(run.compared)
}

fn fate_of(state: TaintState, root: Option<&str>) -> Fate {
    let root = || String::from(root.unwrap_or("no root"));
    match state {
        TaintState::Trusted => Fate::Clean,
        TaintState::Pending => Fate::Pending,
        TaintState::Failed | TaintState::NeverWritten => Fate::Failed(root()),
        TaintState::Skipped => Fate::Skipped(root()),
    }
}

impl Run {
    fn lies(&self, sabotage: Sabotage) -> bool {
        self.plan.sabotage == Some(sabotage) && self.number > 20
    }

    fn step(&mut self) -> Told<()> {
        match self.random.below(100) {
            0..14 => self.reserve(),
            14..20 => self.free(),
            20..32 => self.read(),
            32..38 => {
                let explicit = self.random.once_in(2);
                self.memory.cleanup(explicit);
                Ok(())
            }
            38..50 if self.plan.late => self.settle(),
            50..52 if self.plan.late => {
                self.blame();
                Ok(())
            }
            52 if self.random.once_in(8) => self.lose(),
            53 if self.random.once_in(3) => {
                self.fail_page();
                Ok(())
            }
            54 => self.reserve_failed(),
            55 => {
                if !self.flights.is_empty() {
                    let index = self.random.below(self.flights.len());
                    self.flights.swap_remove(index);
                }
                Ok(())
            }
            _ => self.launch(),
        }
    }

    fn reserve(&mut self) -> Told<()> {
        if self.handles.len() >= 9 {
            return self.free();
        }
        let size = 1 + self.random.below(LARGEST_BUFFER);
        let made = self
            .memory
            .reserve(size as u64, "random")
            .map_err(|error| error.to_string())?;
        let id = made.handle.id().get();
        let fresh = self.model.operation(Fate::Clean);
        let buffer = ModelBuffer {
            writer: vec![fresh; size],
            value: vec![0; size],
            unallocated: false,
            lost: false,
        };
        self.model.buffers.insert(id, buffer);
        let binding = made.handle.binding();
        self.handles.insert(id, made.handle);
        if made.recycled {
            let Ok(Entry::Entered(unit)) =
                self.memory
                    .enter("fill", &[], std::slice::from_ref(&binding))
            else {
                return Err("a fill was not entered".into());
            };
            self.scribble(&binding, 0)?;
            self.memory.finish_clean(unit);
        }
        Ok(())
    }

    fn reserve_failed(&mut self) -> Told<()> {
        if self.handles.len() >= 9 {
            return self.free();
        }
        let size = 1 + self.random.below(LARGEST_BUFFER);
        let root = format!("no room {}", self.number);
        let failure = Failure::new(FailureKind::OutOfMemory, root.clone());
        let handle = self
            .memory
            .reserve_failed(size as u64, "unallocated", failure);
        let failed = self.model.operation(Fate::Failed(root));
        let buffer = ModelBuffer {
            writer: vec![failed; size],
            value: vec![0; size],
            unallocated: true,
            lost: false,
        };
        self.model.buffers.insert(handle.id().get(), buffer);
        self.handles.insert(handle.id().get(), handle);
        Ok(())
    }

    fn fail_page(&mut self) {
        let Some(id) = self.any_usable() else {
            return;
        };
        let Ok(location) = self.memory.locate(&self.handles[&id].binding()) else {
            return;
        };
        let root = format!("page failed {}", self.number);
        let failed = self.model.operation(Fate::Failed(root.clone()));
        for (&other, handle) in &self.handles {
            let on_page = self
                .memory
                .locate(&handle.binding())
                .is_ok_and(|other| other.storage == location.storage);
            if on_page {
                let buffer = self.model.buffers.get_mut(&other).expect("a live buffer");
                buffer.unallocated = true;
                buffer.writer.fill(failed);
            }
        }
        self.memory.fail_page(
            location.storage,
            "page",
            Failure::new(FailureKind::OutOfMemory, root),
        );
    }

    fn free(&mut self) -> Told<()> {
        let ids: Vec<u64> = self.handles.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = ids[self.random.below(ids.len())];
        let binding = self.handles[&id].binding();
        let clone = self.handles[&id].clone();
        self.handles.remove(&id);
        same!(
            self.memory.spans(&binding).is_ok(),
            true,
            "a clone keeps {id} alive"
        );
        drop(clone);
        self.model.buffers.remove(&id);
        same!(
            self.memory.spans(&binding).err(),
            Some(HandleError::Freed {
                buffer: binding.buffer()
            }),
            "freed {id}"
        );
        Ok(())
    }

    fn any_usable(&mut self) -> Option<u64> {
        let ids: Vec<u64> = self
            .model
            .buffers
            .iter()
            .filter(|(_, buffer)| !buffer.lost)
            .map(|(id, _)| *id)
            .collect();
        (!ids.is_empty()).then(|| ids[self.random.below(ids.len())])
    }

    fn bindings(&mut self, most: usize) -> Told<(Vec<BufferBinding>, Vec<Bytes>)> {
        let mut bindings = Vec::new();
        let mut bytes = Vec::new();
        for _ in 0..self.random.below(most + 1) {
            let Some(id) = self.any_usable() else { break };
            let (start, end) = self.some_range(id);
            let slice = self.handles[&id].slice(start as u64, end as u64);
            bindings.push(slice.map_err(|error| error.to_string())?);
            bytes.push((id, start, end));
        }
        Ok((bindings, bytes))
    }

    fn some_range(&mut self, id: u64) -> (usize, usize) {
        let size = self.model.buffers[&id].writer.len();
        if self.plan.whole || self.random.once_in(3) {
            return (0, size);
        }
        let (one, other) = (self.random.below(size + 1), self.random.below(size + 1));
        (one.min(other), one.max(other))
    }

    fn scribble(&mut self, binding: &BufferBinding, value: u8) -> Told<()> {
        let location = self
            .memory
            .locate(binding)
            .map_err(|error| error.to_string())?;
        let (start, len) = (location.offset as usize, location.size_bytes as usize);
        let page = self
            .memory
            .storage_mut()
            .page_mut(location.storage)
            .ok_or("no such page")?;
        page[start..start + len].fill(value);
        Ok(())
    }

    fn launch(&mut self) -> Told<()> {
        let (mut reads, read_bytes) = self.bindings(2)?;
        let (mut writes, write_bytes) = self.bindings(3)?;
        let skips = self.model.would_skip(&read_bytes, &write_bytes);
        if !read_bytes.is_empty() && skips && self.lies(Sabotage::ForgottenRead) {
            reads.clear();
        }
        if let Some(last) = writes.last_mut().filter(|last| last.size_bytes() > 1) {
            let short = last.slice(0, last.size_bytes() - 1);
            if !skips && self.lies(Sabotage::ShortWriteSet) {
                *last = short.map_err(|error| error.to_string())?;
            }
        }
        let work = format!("op {}", self.number % 7);
        let entry = self
            .memory
            .enter(&work, &reads, &writes)
            .map_err(|error| error.to_string())?;
        let unit = match entry {
            Entry::Skipped { failure } => {
                same!(true, skips, "skipped");
                let root = self
                    .memory
                    .graph()
                    .error(failure)
                    .map(|failure| failure.message.clone());
                let all: Vec<Bytes> = read_bytes.iter().chain(&write_bytes).copied().collect();
                let roots = self.model.roots(&all);
                // The failure is gone again where the work writes the very bytes that carried it nowhere.
                if let Some(root) = root {
                    same!(roots.contains(&root), true, "root {root}");
                    self.model.launch(Fate::Skipped(root), &[], &write_bytes);
                }
                self.compared.skips += 1;
                return Ok(());
            }
            Entry::Entered(unit) => unit,
        };
        same!(false, skips, "entered");
        let value = (self.number % 200) as u8 + 1;
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            self.scribble(binding, value)?;
        }
        let operation = self.model.launch(Fate::Pending, &read_bytes, &write_bytes);
        self.model.fill(&write_bytes, value);
        self.end(unit, operation);
        Ok(())
    }

    fn end(&mut self, unit: UnitId, operation: usize) {
        let tears = self.random.once_in(3);
        let choice = self.random.below(if self.plan.late { 20 } else { 10 });
        match choice {
            0..=2 => {
                let root = format!("op {} failed", self.number);
                self.model
                    .finish(operation, Fate::Failed(root.clone()), None);
                if self.lies(Sabotage::FailedAsClean) {
                    self.memory.finish_clean(unit);
                } else {
                    self.memory
                        .finish_failed(unit, Failure::new(FailureKind::HostKernel, root));
                }
            }
            3 if tears => {
                let root = "the work entered its write scope and never told how it ended";
                self.model.tear(operation, root);
            }
            3..=9 => {
                self.memory.finish_clean(unit);
                self.model.finish(operation, Fate::Pending, None);
            }
            _ => {
                let current = self.next_submission;
                self.memory.finish_pending(unit, SubmissionId(current));
                self.model.finish(operation, Fate::Pending, Some(current));
                self.open
                    .entry(current)
                    .or_default()
                    .push((unit, operation));
                if self.random.once_in(2) {
                    self.next_submission += 1;
                }
            }
        }
    }

    fn settle(&mut self) -> Told<()> {
        let submissions: Vec<u64> = self.open.keys().copied().collect();
        if submissions.is_empty() {
            return Ok(());
        }
        let submission = submissions[self.random.below(submissions.len())];
        if submission == self.next_submission {
            self.next_submission += 1;
        }
        self.open.remove(&submission);
        let root = format!("submission {submission} failed");
        let fails = self.random.once_in(2);
        let lies = fails && self.lies(Sabotage::FailedAsSettled);
        let outcome = if fails && !lies {
            Err(Failure::new(FailureKind::Validation, root.clone()))
        } else {
            Ok(())
        };
        self.memory.settle(SubmissionId(submission), outcome);
        same!(
            self.memory.settle(SubmissionId(submission), Ok(())),
            false,
            "settled again"
        );
        self.model
            .settle(submission, fails.then_some(root.as_str()));
        self.compared.settlements += 1;
        Ok(())
    }

    fn blame(&mut self) {
        let units: Vec<(UnitId, usize)> = self.open.values().flatten().copied().collect();
        if units.is_empty() {
            return;
        }
        let (unit, operation) = units[self.random.below(units.len())];
        let root = format!("culprit {}", self.number);
        self.memory
            .fail_unit(unit, Failure::new(FailureKind::Shader, root.clone()));
        self.model.blame(operation, &root);
    }

    fn lose(&mut self) -> Told<()> {
        let root = format!("lost {}", self.number);
        self.memory
            .lose(Failure::new(FailureKind::DeviceLost, root.clone()));
        self.memory.storage_mut().clear();
        let lost = self.model.lose(&root);
        self.open.clear();
        self.next_submission += 1;
        for flight in &mut self.flights {
            for writer in &mut flight.writers {
                if self.model.fate(*writer).root().is_none() {
                    *writer = lost;
                }
            }
        }
        for (id, handle) in &self.handles {
            if self.model.buffers[id].lost {
                let refused = self.memory.enter("after", &[], &[handle.binding()]);
                let named = matches!(refused, Err(HandleError::Lost { .. }));
                same!(named, true, "lost {id}: {refused:?}");
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Told<()> {
        let ids: Vec<u64> = self.handles.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let buffer = ids[self.random.below(ids.len())];
        let (start, end) = self.some_range(buffer);
        let binding = self.handles[&buffer].slice(start as u64, end as u64);
        let binding = binding.map_err(|error| error.to_string())?;
        let writers = self.model.buffers[&buffer].writer[start..end].to_vec();
        let stale = writers
            .iter()
            .any(|&writer| self.model.fate(writer).root().is_some())
            || self.model.buffers[&buffer].unallocated;
        match self.memory.watch(&binding) {
            Ok(watch) => {
                same!(false, stale, "a read of {buffer} [{start}, {end}) began");
                let mut values = Vec::new();
                if let Ok(location) = self.memory.locate(&binding) {
                    let (at, len) = (location.offset as usize, location.size_bytes as usize);
                    let page = self
                        .memory
                        .storage()
                        .page(location.storage)
                        .ok_or("no such page")?;
                    values.extend_from_slice(&page[at..at + len]);
                    if self.lies(Sabotage::WrongValue) {
                        for value in &mut values {
                            *value = value.wrapping_add(1);
                        }
                    }
                    same!(
                        values,
                        self.model.buffers[&buffer].value[start..end].to_vec(),
                        "values of {buffer} [{start}, {end})"
                    );
                }
                self.flights.push(Flight {
                    watch,
                    buffer,
                    start,
                    writers,
                    values,
                });
            }
            Err(ReadRefusal::Unwritten(report)) => {
                same!(
                    true,
                    stale,
                    "a read of {buffer} [{start}, {end}) was refused"
                );
                self.compare_report(&report, start, &writers)?;
                self.compared.refused_reads += 1;
            }
            Err(ReadRefusal::Unallocated { .. }) => {
                same!(true, self.model.buffers[&buffer].unallocated, "unallocated");
            }
            Err(other) => return Err(other.to_string()),
        }
        if self.flights.len() > 6 {
            self.flights.remove(0);
        }
        Ok(())
    }

    fn compare_report(
        &self,
        report: &UnwrittenReport,
        start: usize,
        writers: &[usize],
    ) -> Told<()> {
        for (index, &writer) in writers.iter().enumerate() {
            let byte = (start + index) as u64;
            let found = report
                .ranges
                .iter()
                .find(|range| range.start <= byte && byte < range.end);
            let told = found.map(|range| {
                let named = report
                    .failures
                    .iter()
                    .find(|failure| failure.id == range.failure_id);
                fate_of(range.state, named.map(|failure| failure.message.as_str()))
            });
            let expected =
                Some(self.model.fate(writer).clone()).filter(|fate| fate.root().is_some());
            same!(told, expected, "byte {byte} in the report");
        }
        for failure in &report.failures {
            for pair in failure.path.windows(2) {
                same!(
                    pair[0].produced.label,
                    pair[1].needed.label,
                    "path of {}",
                    failure.message
                );
            }
            if let Some(last) = failure.path.last() {
                same!(
                    last.produced.label,
                    report.label,
                    "end of the path of {}",
                    failure.message
                );
            }
        }
        same!(
            report.to_string().starts_with(&report.failures[0].work),
            true,
            "first line"
        );
        Ok(())
    }

    fn compare(&mut self) -> Told<()> {
        self.memory.cleanup(false);
        let mut carried = BTreeSet::new();
        let mut stale_buffers = 0;
        for (id, handle) in &self.handles {
            let spans = self
                .memory
                .spans(&handle.binding())
                .map_err(|error| error.to_string())?;
            let mut at = 0;
            let mut stale = false;
            for span in &spans {
                same!(span.start, at, "spans of {id} leave no gap");
                at = span.end;
                carried.extend(span.failure_id);
                stale |= span.failure_id.is_some();
                let root = span.failure_id.and_then(|id| self.memory.graph().error(id));
                let told = fate_of(span.state, root.map(|failure| failure.message.as_str()));
                for byte in span.start..span.end {
                    let expected = self.model.fate_of(*id, byte as usize);
                    same!(&told, expected, "byte {byte} of {id}");
                    self.compared.bytes += 1;
                }
            }
            stale_buffers += usize::from(stale);
            same!(at, handle.size_bytes(), "spans of {id} cover it");
        }
        self.compare_flights()?;
        let held: BTreeSet<_> = self.memory.graph().ids().into_iter().collect();
        same!(held.is_superset(&carried), true, "what is carried is held");
        if self.flights.is_empty() {
            same!(held, carried, "what is held is carried");
            if self.plan.whole {
                same!(
                    held.len() <= stale_buffers,
                    true,
                    "{} failures, {stale_buffers} stale",
                    held.len()
                );
            }
        }
        Ok(())
    }

    fn compare_flights(&mut self) -> Told<()> {
        let flights = std::mem::take(&mut self.flights);
        for flight in &flights {
            let fates: Vec<&Fate> = flight
                .writers
                .iter()
                .map(|&writer| self.model.fate(writer))
                .collect();
            let pending = fates.iter().any(|fate| **fate == Fate::Pending);
            let stale = fates.iter().any(|fate| fate.root().is_some());
            match self
                .memory
                .resolve(&flight.watch)
                .map_err(|error| error.to_string())?
            {
                Watched::Pending(submissions) => {
                    same!(true, pending, "a read of {} waits", flight.buffer);
                    let mut awaited = BTreeSet::new();
                    for &writer in &flight.writers {
                        self.model.awaited(writer, &mut awaited);
                    }
                    let told: BTreeSet<u64> =
                        submissions.iter().map(|submission| submission.0).collect();
                    same!(told, awaited, "what a read waits for");
                }
                Watched::Trusted => {
                    same!(
                        (false, false),
                        (pending, stale),
                        "a read of {} is trusted",
                        flight.buffer
                    );
                    self.compared.trusted_reads += 1;
                    self.compared.bytes += flight.values.len();
                }
                Watched::Unwritten(report) => {
                    same!(
                        (false, true),
                        (pending, stale),
                        "a read of {} is refused",
                        flight.buffer
                    );
                    self.compare_report(&report, flight.start, &flight.writers)?;
                    self.compared.late_refusals += 1;
                }
            }
        }
        self.flights = flights;
        Ok(())
    }

    /// Once every buffer and read is dropped and every pool swept, nothing is left.
    fn finish(&mut self) -> Told<()> {
        self.flights.clear();
        self.handles.clear();
        self.memory.cleanup(true);
        let (failures, steps) = (self.memory.graph().len(), self.memory.graph().steps());
        same!((failures, steps), (0, 0), "failures and steps at the end");
        same!(self.memory.storage().pages(), 0, "pages at the end");
        same!(
            self.memory.memory_usage(),
            wellwritten_memory::MemoryUsage::default(),
            "usage at the end"
        );
        Ok(())
    }
}
