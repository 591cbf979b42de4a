//! [`MemoryManagement`]: pools over a storage, and the books on every byte in them.

use crate::byte_range::ByteRange;
use crate::configuration::{MemoryConfiguration, Uninitialized};
use crate::error_graph::{ErrorGraph, Provenance};
use crate::execute_scope::WriteSet;
use crate::failure::{Failure, FailureKind};
use crate::handle::{BufferBinding, Handle, HandleError};
use crate::identity::{BufferId, FailureId, SubmissionId, UnitId};
use crate::ledger::{Ledger, Standing};
use crate::pools::{Placement, Pools, ReserveError};
use crate::settlement::Entry;
use crate::snapshot::{BufferSummary, FailureGraph, TaintSpan};
use crate::sorted_map::SortedMap;
use crate::storage::Storage;
use crate::taint::Claim;
use crate::watch::{ReadRefusal, Watch, Watched};
use alloc::string::ToString;
use alloc::vec::Vec;

/// A new allocation.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// Its owner.
    pub handle: Handle,
    /// Whether its bytes may hold old values: the caller fills them, as a unit of work.
    pub recycled: bool,
}

/// Where the bytes of a binding lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<Id> {
    /// The page.
    pub storage: Id,
    /// The first byte of the binding in the page.
    pub offset: u64,
    /// How many bytes the binding holds.
    pub size_bytes: u64,
}

/// What a manager holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct MemoryUsage {
    /// Live buffers with bytes behind them.
    pub buffers: u64,
    /// The bytes that were asked for.
    pub live_bytes: u64,
    /// The bytes they take up, with rounding.
    pub taken_bytes: u64,
    /// The bytes of all pages, free ones included.
    pub page_bytes: u64,
    /// How many pages there are.
    pub pages: u64,
}

/// Pools over a storage, and for every byte in them whether its last writer succeeded.
///
/// One owner at a time; everything is single-threaded. Dropping the last [`Handle`] of a buffer frees
/// it at the next call that takes `&mut self`.
#[derive(Debug)]
pub struct MemoryManagement<S: Storage> {
    storage: S,
    pools: Pools<S::Id>,
    placements: SortedMap<BufferId, Placement<S::Id>>,
    ledger: Ledger,
    uninitialized: Uninitialized,
    spare_write_sets: Vec<WriteSet>,
}

impl<S: Storage> MemoryManagement<S> {
    /// A manager without buffers.
    pub fn new(
        storage: S,
        configuration: MemoryConfiguration,
        uninitialized: Uninitialized,
    ) -> Self {
        Self {
            storage,
            pools: Pools::new(configuration.pools()),
            placements: SortedMap::new(),
            ledger: Ledger::new(),
            uninitialized,
            spare_write_sets: Vec::new(),
        }
    }

    /// The storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The storage, to work on its pages.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    fn sweep(&mut self) {
        let Self {
            pools,
            placements,
            ledger,
            ..
        } = self;
        ledger.sweep(|id| {
            if let Some(placement) = placements.remove(&id) {
                pools.free(&placement);
            }
        });
    }

    /// A new allocation of `size_bytes` (at least one).
    pub fn reserve(&mut self, size_bytes: u64, label: &str) -> Result<Reservation, ReserveError> {
        self.sweep();
        let placement = self.pools.place(&mut self.storage, size_bytes)?;
        let handle = self.ledger.register(size_bytes, label, Standing::Placed);
        self.placements.insert(handle.id(), placement);
        if self.uninitialized == Uninitialized::Refuse {
            let message = "nothing has written these bytes since they were allocated";
            let failure = Failure::new(FailureKind::NeverWritten, message);
            let work = self.ledger.labels.intern(label);
            let id = self.ledger.graph.mint(failure, work);
            self.ledger.set(
                handle.id(),
                ByteRange::whole(size_bytes),
                Some(Claim::NeverWritten(id)),
            );
            self.ledger.graph.release(Provenance::Root(id));
        }
        Ok(Reservation {
            handle,
            recycled: placement.recycled,
        })
    }

    /// A buffer whose reservation failed. It never reads: a read, and everything that would have read
    /// it, names this failure.
    pub fn reserve_failed(&mut self, size_bytes: u64, label: &str, failure: Failure) -> Handle {
        self.sweep();
        let work = self.ledger.labels.intern(label);
        let id = self.ledger.graph.mint(failure, work);
        let handle = self
            .ledger
            .register(size_bytes, label, Standing::Unallocated(id));
        self.ledger.set(
            handle.id(),
            ByteRange::whole(size_bytes),
            Some(Claim::Failed(id)),
        );
        handle
    }

    /// A page turned out never to have been there: every buffer on it becomes unallocated, under one
    /// failure, and the page goes back to the storage. The failure, unless no live buffer was on it.
    pub fn fail_page(&mut self, page: S::Id, label: &str, failure: Failure) -> Option<FailureId> {
        self.sweep();
        let on_page: Vec<(BufferId, Placement<S::Id>)> = self
            .placements
            .iter()
            .filter(|(_, placement)| placement.id == page)
            .map(|(id, placement)| (*id, *placement))
            .collect();
        let (_, first) = on_page.first()?;
        self.pools.abandon(first);
        self.storage.dealloc(page);
        let work = self.ledger.labels.intern(label);
        let root = self.ledger.graph.mint(failure, work);
        for (id, _) in on_page {
            self.placements.remove(&id);
            self.ledger.unallocate(id, root);
        }
        self.ledger.graph.release(Provenance::Root(root));
        self.ledger.graph.error(root).map(|_| root)
    }

    /// Where the bytes of a binding lie, to work on them. It says nothing about whether they may be read.
    pub fn locate(&self, binding: &BufferBinding) -> Result<Location<S::Id>, HandleError> {
        let entry = self.ledger.usable(binding)?;
        let buffer = binding.buffer();
        if let Standing::Unallocated(failure) = entry.standing {
            let reason = self
                .ledger
                .graph
                .error(failure)
                .map(ToString::to_string)
                .unwrap_or_default();
            return Err(HandleError::Unallocated {
                buffer,
                label: entry.label.to_string(),
                reason,
            });
        }
        let placement = self
            .placements
            .get(&buffer)
            .ok_or(HandleError::Freed { buffer })?;
        Ok(Location {
            storage: placement.id,
            offset: placement.offset + binding.offset_start(),
            size_bytes: binding.size_bytes(),
        })
    }

    /// Enters the write scope of one unit of work: claims `writes`, unless a byte of `reads` is known to
    /// be stale, or any binding is unallocated; then the work is skipped, and `writes` carry that
    /// failure. Bytes read while pending make the unit depend on who wrote them.
    ///
    /// Until the unit is finished its bytes read as torn down. Every entered unit is to be finished.
    /// Where pending bytes that it read settle as failed before it is, it is skipped there and then.
    pub fn enter(
        &mut self,
        work: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Entry, HandleError> {
        self.sweep();
        self.ledger.enter(work, reads, writes)
    }

    /// An empty write set, from the pool where there is one.
    #[must_use]
    pub fn write_set(&mut self) -> WriteSet {
        self.spare_write_sets.pop().unwrap_or_default()
    }

    /// Hands a write set back to the pool.
    pub(crate) fn keep_write_set(&mut self, writes: WriteSet) {
        self.spare_write_sets.push(writes.emptied());
    }

    /// The unit succeeded: releases the bytes it owns, or, where it read pending bytes, leaves them
    /// pending on those. No effect on a unit that is not open.
    pub fn finish_clean(&mut self, unit: UnitId) {
        self.sweep();
        self.ledger.finish_clean(unit);
    }

    /// The unit failed: the bytes it owns are claimed by `failure`. The failure's id, unless no byte is
    /// left to claim.
    pub fn finish_failed(&mut self, unit: UnitId, failure: Failure) -> Option<FailureId> {
        self.sweep();
        self.ledger.fail(unit, failure)
    }

    /// The unit was handed to the device: its bytes are pending until `submission` settles.
    pub fn finish_pending(&mut self, unit: UnitId, submission: SubmissionId) {
        self.sweep();
        self.ledger.finish_pending(unit, submission);
    }

    /// The outcome of a submission. Failed, it claims the bytes its units still own, under the failure of
    /// the unit that [`MemoryManagement::fail_unit`] blamed, if it did. False, and no effect, where no
    /// unit ever waited for it or it has settled before.
    pub fn settle(&mut self, submission: SubmissionId, outcome: Result<(), Failure>) -> bool {
        self.sweep();
        self.ledger.settle(submission, outcome)
    }

    /// One pending unit is known to be a culprit, before its submission settles. The failure's id, unless
    /// no byte is left to claim.
    pub fn fail_unit(&mut self, unit: UnitId, failure: Failure) -> Option<FailureId> {
        self.sweep();
        self.ledger.fail(unit, failure)
    }

    /// The device is lost, and every page with it: everything pending fails, every live byte is claimed
    /// under this one failure, every read in flight is stale, and the pages are forgotten without being
    /// given back. Handles from before are refused by name; new reservations work. The failure's id,
    /// unless nothing was there to carry it.
    pub fn lose(&mut self, failure: Failure) -> Option<FailureId> {
        self.sweep();
        self.placements.clear();
        self.pools.forget_pages();
        self.ledger.lose(failure)
    }

    /// Begins a read: refused at once where a byte is known to be stale; otherwise remembers which units
    /// the bytes are pending on. What is written to them later does not matter to this read.
    pub fn watch(&mut self, binding: &BufferBinding) -> Result<Watch, ReadRefusal> {
        self.sweep();
        self.ledger.watch(binding)
    }

    /// How a read stands. It can be asked again until the watch is dropped.
    pub fn resolve(&mut self, watch: &Watch) -> Result<Watched, HandleError> {
        self.sweep();
        self.ledger.resolve(watch)
    }

    /// The spans of a binding: in order, covering it exactly, equal neighbours fused.
    pub fn spans(&self, binding: &BufferBinding) -> Result<Vec<TaintSpan>, HandleError> {
        self.ledger.spans(binding)
    }

    /// At most `spans` spans that cover the binding; where there are more, the binding is cut into that
    /// many cells and each takes the worst state in it.
    pub fn spans_limited(
        &self,
        binding: &BufferBinding,
        spans: usize,
    ) -> Result<Vec<TaintSpan>, HandleError> {
        self.ledger.spans_limited(binding, spans)
    }

    /// Every live buffer, by id.
    pub fn buffers(&self) -> Vec<BufferSummary> {
        self.ledger
            .live()
            .map(|(id, buffer)| self.ledger.summary(id, buffer))
            .collect()
    }

    /// The whole of a live buffer, without keeping it alive.
    pub fn binding(&self, id: BufferId) -> Option<BufferBinding> {
        let buffer = self
            .ledger
            .buffers
            .get(&id)
            .filter(|buffer| buffer.is_live())?;
        Some(BufferBinding::new(
            &self.ledger.manager,
            id,
            buffer.size_bytes,
        ))
    }

    /// A number that moves whenever a claim or a buffer changes.
    pub fn revision(&self) -> u64 {
        self.ledger.revision
    }

    /// The failures held.
    pub fn graph(&self) -> &ErrorGraph {
        &self.ledger.graph
    }

    /// The failures held, the live bytes that carry each, and the skips between.
    pub fn failure_graph(&self) -> FailureGraph {
        self.ledger.failure_graph()
    }

    /// Clears away what dropped handles left, and gives unused pages back to the storage: all of them
    /// where `explicit`, else those that have been unused for three periodic cleanups.
    pub fn cleanup(&mut self, explicit: bool) {
        self.sweep();
        self.pools.cleanup(&mut self.storage, explicit);
    }

    /// What the manager holds.
    pub fn memory_usage(&self) -> MemoryUsage {
        let mut usage = MemoryUsage {
            page_bytes: self.pools.page_bytes(),
            pages: self.pools.pages(),
            ..MemoryUsage::default()
        };
        for (id, buffer) in self.ledger.live() {
            let Some(placement) = self.placements.get(&id) else {
                continue;
            };
            usage.buffers += 1;
            usage.live_bytes += buffer.size_bytes;
            usage.taken_bytes += placement.taken_bytes;
        }
        usage
    }

    /// Whether a binding was made by this manager.
    pub fn owns(&self, binding: &BufferBinding) -> bool {
        binding.belongs_to(&self.ledger.manager)
    }
}

impl Ledger {
    /// Takes the bytes from under a buffer.
    fn unallocate(&mut self, id: BufferId, root: FailureId) {
        let Some(buffer) = self.buffers.get_mut(&id) else {
            return;
        };
        buffer.standing = Standing::Unallocated(root);
        let range = ByteRange::whole(buffer.size_bytes);
        self.graph.hold(Provenance::Root(root), 1);
        self.set(id, range, Some(Claim::Failed(root)));
    }
}
