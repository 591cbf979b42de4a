//! The model: for every byte the number of the operation that wrote it last, and for every operation
//! what became of it, recomputed from scratch after every event. Slow, and built of nothing the crate
//! has: no ranges, no graph, no reference counts.
//!
//! An operation that nothing can ask about any more is forgotten: recomputing stays as slow in a long run
//! as it is in a short one. One that is forgotten too early is a panic.

use std::collections::{BTreeMap, BTreeSet};

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Clean,
    Pending,
    Failed(String),
    Skipped(String),
}

impl Fate {
    pub fn root(&self) -> Option<&str> {
        match self {
            Fate::Failed(root) | Fate::Skipped(root) => Some(root),
            Fate::Clean | Fate::Pending => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Operation {
    work: String,
    fate: Fate,
    /// The submission its own outcome waits for.
    waits_for: Option<u64>,
    /// Operations whose pending bytes it read.
    read: BTreeSet<usize>,
    /// Its scope was entered and never left. It has failed, but what it read may still say why.
    torn: bool,
}

#[derive(Clone, Debug)]
pub struct ModelBuffer {
    pub label: String,
    /// The last writer of each byte.
    pub writer: Vec<usize>,
    /// The value of each byte, where its last writer is clean.
    pub value: Vec<u8>,
    pub unallocated: bool,
    pub lost: bool,
}

impl ModelBuffer {
    /// A buffer of zeros that nothing has written yet.
    pub fn new(label: &str, size: usize) -> Self {
        Self {
            label: label.into(),
            writer: vec![0; size],
            value: vec![0; size],
            unallocated: false,
            lost: false,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ByteModel {
    operations: BTreeMap<usize, Operation>,
    next: usize,
    pub buffers: BTreeMap<u64, ModelBuffer>,
    blamed: BTreeMap<u64, String>,
}

/// A range of a buffer: (buffer, start, end).
pub type Bytes = (u64, usize, usize);

/// How many bytes in a row each writer wrote. A plain loop: unoptimised, an iterator takes most of the
/// time of a run.
pub fn stretches(writers: &[usize]) -> Vec<(usize, usize)> {
    let mut stretches = Vec::new();
    let mut start = 0;
    while start < writers.len() {
        let mut end = start + 1;
        while end < writers.len() && writers[end] == writers[start] {
            end += 1;
        }
        stretches.push((end - start, writers[start]));
        start = end;
    }
    stretches
}

impl ByteModel {
    pub fn operation(&mut self, work: &str, fate: Fate) -> usize {
        let number = self.next;
        self.next += 1;
        let operation = Operation {
            work: work.into(),
            fate,
            waits_for: None,
            read: BTreeSet::new(),
            torn: false,
        };
        self.operations.insert(number, operation);
        number
    }

    /// An operation that wrote the whole of a buffer.
    pub fn write_all(&mut self, buffer: u64, work: &str, fate: Fate) {
        let operation = self.operation(work, fate);
        let buffer = self.buffers.get_mut(&buffer).expect("a live buffer");
        buffer.writer.fill(operation);
    }

    fn known(&mut self, operation: usize) -> &mut Operation {
        self.operations.get_mut(&operation).expect("not forgotten")
    }

    /// Forgets every operation but these, the last writers of all bytes, and what those of them have read
    /// whose fate may still turn on it.
    pub fn forget_all_but(&mut self, these: impl Iterator<Item = usize>) {
        let writers = self.buffers.values().flat_map(|buffer| &buffer.writer);
        let mut due: Vec<usize> = these.chain(writers.copied()).collect();
        let mut kept = BTreeSet::new();
        while let Some(operation) = due.pop() {
            let known = &self.operations[&operation];
            let undecided = known.fate == Fate::Pending || known.torn;
            if kept.insert(operation) && undecided {
                due.extend(&known.read);
            }
        }
        self.operations
            .retain(|operation, _| kept.contains(operation));
    }

    pub fn work(&self, operation: usize) -> &str {
        &self.operations[&operation].work
    }

    pub fn fate(&self, operation: usize) -> &Fate {
        &self.operations[&operation].fate
    }

    /// The last writers of a range, each stretch once.
    pub fn writers(&self, &(buffer, start, end): &Bytes) -> impl Iterator<Item = usize> {
        let writers = &self.buffers[&buffer].writer[start..end];
        stretches(writers).into_iter().map(|(_, writer)| writer)
    }

    /// The roots of the stale bytes among these.
    pub fn roots(&self, bytes: &Bytes) -> BTreeSet<String> {
        let roots = self.writers(bytes).map(|writer| self.fate(writer).root());
        roots.flatten().map(String::from).collect()
    }

    fn is_unallocated(&self, &(buffer, start, end): &Bytes) -> bool {
        start < end && self.buffers[&buffer].unallocated
    }

    /// The roots that a skip of such a launch may name: none where it is not skipped.
    pub fn reasons_to_skip(&self, reads: &[Bytes], writes: &[Bytes]) -> BTreeSet<String> {
        let unallocated = writes.iter().filter(|bytes| self.is_unallocated(bytes));
        let roots = reads
            .iter()
            .chain(unallocated)
            .map(|bytes| self.roots(bytes));
        roots.flatten().collect()
    }

    /// A launch: who wrote what it reads is noted before it writes.
    pub fn launch(&mut self, work: &str, fate: Fate, reads: &[Bytes], writes: &[Bytes]) -> usize {
        let operation = self.operation(work, fate);
        let authors = reads.iter().flat_map(|bytes| self.writers(bytes));
        let pending = authors.filter(|&author| *self.fate(author) == Fate::Pending);
        let pending: BTreeSet<usize> = pending.collect();
        self.known(operation).read = pending;
        for &(buffer, start, end) in writes {
            let target = self.buffers.get_mut(&buffer).expect("a live buffer");
            if !target.unallocated {
                target.writer[start..end].fill(operation);
            }
        }
        operation
    }

    pub fn fill(&mut self, writes: &[Bytes], value: u8) {
        for &(buffer, start, end) in writes {
            self.buffers.get_mut(&buffer).expect("a live buffer").value[start..end].fill(value);
        }
    }

    pub fn finish(&mut self, operation: usize, fate: Fate, waits_for: Option<u64>) {
        let known = self.known(operation);
        known.fate = fate;
        known.waits_for = waits_for;
        self.propagate();
    }

    /// The scope of an operation is never left.
    pub fn tear(&mut self, operation: usize, root: &str) {
        self.known(operation).torn = true;
        self.finish(operation, Fate::Failed(root.into()), None);
    }

    /// One operation of a submission turns out to be the culprit.
    pub fn blame(&mut self, operation: usize, root: &str) {
        if *self.fate(operation) != Fate::Pending {
            return;
        }
        if let Some(submission) = self.operations[&operation].waits_for {
            self.blamed.entry(submission).or_insert_with(|| root.into());
        }
        self.known(operation).fate = Fate::Failed(root.into());
        self.propagate();
    }

    pub fn settle(&mut self, submission: u64, failure: Option<&str>) {
        let failure = failure.map(|root| self.blamed.get(&submission).map_or(root, String::as_str));
        let failure = failure.map(String::from);
        for operation in self.operations.values_mut() {
            if operation.waits_for == Some(submission) {
                operation.waits_for = None;
                if let (Some(root), Fate::Pending) = (&failure, &operation.fate) {
                    operation.fate = Fate::Failed(root.clone());
                }
            }
        }
        self.propagate();
    }

    pub fn lose(&mut self, root: &str) -> usize {
        for operation in self.operations.values_mut() {
            operation.waits_for = None;
            if operation.fate == Fate::Pending {
                operation.fate = Fate::Failed(root.into());
            }
        }
        let lost = self.operation("device", Fate::Failed(root.into()));
        for buffer in self.buffers.values_mut().filter(|buffer| !buffer.lost) {
            buffer.writer.fill(lost);
            buffer.unallocated = false;
            buffer.lost = true;
        }
        lost
    }

    /// The page of these buffers was never there: what was to write them and has not settled failed with it.
    pub fn fail_page(&mut self, buffers: &[u64], root: &str) -> usize {
        let failed = self.operation("page", Fate::Failed(root.into()));
        for id in buffers {
            let buffer = self.buffers.get_mut(id).expect("a live buffer");
            buffer.unallocated = true;
            let size = buffer.writer.len();
            let writers = core::mem::replace(&mut buffer.writer, vec![failed; size]);
            for writer in writers {
                let Some(operation) = self.operations.get_mut(&writer) else {
                    continue;
                };
                if operation.torn || operation.fate == Fate::Pending {
                    operation.torn = false;
                    operation.fate = Fate::Failed(root.into());
                }
            }
        }
        self.propagate();
        failed
    }

    /// Until nothing changes: what read failed bytes is skipped; what waits for nothing is clean.
    fn propagate(&mut self) {
        let numbers: Vec<usize> = self.operations.keys().copied().collect();
        loop {
            let mut changed = false;
            for &number in &numbers {
                let operation = &self.operations[&number];
                let fate = match operation.fate {
                    Fate::Pending => self.outlook(operation),
                    _ if operation.torn => match self.inherited(operation) {
                        Some(root) => Fate::Skipped(root),
                        None => continue,
                    },
                    _ => continue,
                };
                changed |= fate != Fate::Pending;
                let known = self.known(number);
                known.fate = fate;
                known.torn = false;
            }
            if !changed {
                return;
            }
        }
    }

    /// The root failure of the first stale thing that an operation has read.
    fn inherited(&self, operation: &Operation) -> Option<String> {
        let mut roots = operation.read.iter().map(|&input| self.fate(input).root());
        roots.find_map(|root| root.map(String::from))
    }

    /// What a pending operation is, from what it has read and what it waits for.
    fn outlook(&self, operation: &Operation) -> Fate {
        if let Some(root) = self.inherited(operation) {
            return Fate::Skipped(root);
        }
        let mut read = operation.read.iter();
        let waits = operation.waits_for.is_some();
        if waits || read.any(|&input| *self.fate(input) == Fate::Pending) {
            Fate::Pending
        } else {
            Fate::Clean
        }
    }

    /// The submissions that operations wait for, their inputs' included.
    pub fn awaited(&self, operations: impl Iterator<Item = usize>) -> BTreeSet<u64> {
        let mut due: Vec<usize> = operations.collect();
        let mut seen = BTreeSet::new();
        let mut awaited = BTreeSet::new();
        while let Some(operation) = due.pop() {
            let known = &self.operations[&operation];
            if known.fate == Fate::Pending && seen.insert(operation) {
                awaited.extend(known.waits_for);
                due.extend(&known.read);
            }
        }
        awaited
    }
}
