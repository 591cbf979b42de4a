//! [`MemoryManagement`]: pools over a storage, and the books on every byte in them.

use crate::buffers::{BufferKey, Standing};
use crate::configuration::{MemoryConfiguration, Uninitialized};
use crate::error_graph::ErrorGraph;
use crate::failure::Failure;
use crate::failure_store::FailureStore;
use crate::failures::Failures;
use crate::handle::{BufferBinding, Handle, HandleError};
use crate::identity::{BufferId, FailureId, StreamId, SubmissionId, UnitId};
use crate::memory_report::{MemoryReport, MemoryUsage};
use crate::pools::{Placement, ReserveError, StreamPools};
use crate::snapshot::Snapshot;
use crate::storage::Storage;
use crate::stream_capture::StreamCapture;
use crate::stream_pool::StreamPool;
use crate::views::{BufferSummary, FailureGraph, TaintSpan};
use crate::watch::{ReadRefusal, Watch, Watched};
use crate::write_scope::{EnterError, Entry};
use alloc::vec::Vec;
use core::num::NonZeroU32;

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

/// Why a handle could not be bound to a new allocation. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The handle cannot be used.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// There is no room. Freeing, then trying again, may succeed.
    #[error(transparent)]
    Reserve(#[from] ReserveError),
}

/// Pools over a storage, and for every byte in them whether its last writer succeeded.
///
/// One owner at a time; everything is single-threaded. Dropping the last [`Handle`] of a buffer frees
/// it at the next call that takes `&mut self`.
#[derive(Debug)]
pub struct MemoryManagement<S: Storage> {
    storage: S,
    streams: StreamPool<StreamPools<S::Id>>,
    /// Where each buffer lies, by its slot in the books.
    placements: Vec<Option<Placement<S::Id>>>,
    failures: Failures,
    uninitialized: Uninitialized,
}

impl<S: Storage> MemoryManagement<S> {
    /// A manager without buffers, with one pooled stream.
    pub fn new(
        storage: S,
        configuration: MemoryConfiguration,
        uninitialized: Uninitialized,
    ) -> Self {
        Self::with_streams(storage, configuration, uninitialized, NonZeroU32::MIN)
    }

    /// A manager without buffers. Logical streams fold onto at most `max_streams` pooled ones, each with
    /// pools of its own: what one frees, the others do not get, as nothing orders their work.
    pub fn with_streams(
        storage: S,
        configuration: MemoryConfiguration,
        uninitialized: Uninitialized,
        max_streams: NonZeroU32,
    ) -> Self {
        Self {
            storage,
            streams: StreamPool::new(StreamPools::new(configuration.pools()), max_streams),
            placements: Vec::new(),
            failures: Failures::new(max_streams),
            uninitialized,
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

    #[inline]
    fn sweep(&mut self) {
        if self.failures.manager.is_waiting() {
            self.sweep_dropped();
        }
    }

    fn sweep_dropped(&mut self) {
        let Self {
            streams,
            placements,
            failures,
            ..
        } = self;
        failures.sweep(|key| {
            let placement = placements.get_mut(key.slot as usize);
            if let Some(placement) = placement.and_then(Option::take) {
                give_back(streams, &placement);
            }
        });
    }

    /// A new allocation of `size_bytes` (at least one), for the stream 0.
    pub fn reserve(&mut self, size_bytes: u64, label: &str) -> Result<Reservation, ReserveError> {
        self.reserve_on(StreamId::default(), size_bytes, label)
    }

    /// A new allocation of `size_bytes` (at least one), from the pools of the pooled stream that serves
    /// `stream`. Any stream may use it.
    pub fn reserve_on(
        &mut self,
        stream: StreamId,
        size_bytes: u64,
        label: &str,
    ) -> Result<Reservation, ReserveError> {
        self.sweep();
        let placement = self.place(stream, size_bytes)?;
        let handle = self.failures.register(size_bytes, label, Standing::Placed);
        self.put(handle.owner().key(), size_bytes, placement);
        Ok(Reservation {
            handle,
            recycled: placement.recycled,
        })
    }

    /// Puts a new allocation under an existing handle, for the stream 0. See [`MemoryManagement::bind_on`].
    pub fn bind(&mut self, handle: &Handle) -> Result<bool, BindError> {
        self.bind_on(StreamId::default(), handle)
    }

    /// Puts a new allocation, from the pools of `stream`, under an existing handle: one whose reservation
    /// failed, or one whose contents are not needed any more. The old allocation is given back, its claims
    /// are shed, and work in flight does not own the new bytes; bindings that exist go on to mean the same
    /// bytes of the buffer. Whether the bytes may hold old values, as with [`Reservation::recycled`].
    ///
    /// Refused, and nothing changed, where there is no room, or where the handle is foreign or was lost.
    pub fn bind_on(&mut self, stream: StreamId, handle: &Handle) -> Result<bool, BindError> {
        self.sweep();
        let binding = handle.binding();
        self.failures.usable(&binding)?;
        let placement = self.place(stream, handle.size_bytes())?;
        self.displace(binding.key());
        self.failures.allocate(binding.key());
        self.put(binding.key(), handle.size_bytes(), placement);
        Ok(placement.recycled)
    }

    fn place(
        &mut self,
        stream: StreamId,
        size_bytes: u64,
    ) -> Result<Placement<S::Id>, ReserveError> {
        let slot = self.streams.slot(stream);
        let Ok(pools) = self.streams.get(stream);
        let mut placement = pools.place(&mut self.storage, size_bytes)?;
        placement.stream = slot;
        Ok(placement)
    }

    /// Enters a new allocation under a buffer.
    fn put(&mut self, key: BufferKey, size_bytes: u64, placement: Placement<S::Id>) {
        let slot = key.slot as usize;
        if self.placements.len() <= slot {
            self.placements.resize(slot + 1, None);
        }
        self.placements[slot] = Some(placement);
        if self.uninitialized == Uninitialized::Refuse {
            self.failures.claim_never_written(key, size_bytes);
        }
    }

    /// Gives the allocation under a buffer back.
    fn displace(&mut self, key: BufferKey) {
        let placement = self.placements.get_mut(key.slot as usize);
        if let Some(placement) = placement.and_then(Option::take) {
            give_back(&mut self.streams, &placement);
        }
    }

    /// A buffer whose reservation failed. It never reads: a read, and everything that would have read
    /// it, names this failure. [`MemoryManagement::bind`] gives it bytes after all.
    pub fn reserve_failed(&mut self, size_bytes: u64, label: &str, failure: Failure) -> Handle {
        self.sweep();
        self.failures.register_failed(size_bytes, label, failure)
    }

    /// A page turned out never to have been there: every buffer on it becomes unallocated, under one
    /// failure, and the page goes back to the storage, whether or not a buffer was on it. Work in flight that was
    /// to write those buffers fails, with all that read from it, and reads of them in flight are stale. The failure,
    /// unless no live buffer was there.
    ///
    /// Work that read the bytes as trusted is not reached: nobody keeps such reads. A caller whose pages may turn
    /// out missing enters each creation as a unit of work that is pending until its verdict; then all that used the
    /// page depends on it.
    pub fn fail_page(&mut self, page: S::Id, label: &str, failure: Failure) -> Option<FailureId> {
        self.sweep();
        let on_page = |placement: &Option<Placement<S::Id>>| {
            placement.is_some_and(|placement| placement.id == page)
        };
        let slots: Vec<usize> = (0..self.placements.len())
            .filter(|slot| on_page(&self.placements[*slot]))
            .collect();
        let known = match slots.first().and_then(|slot| self.placements[*slot]) {
            Some(placement) => {
                let stream = StreamId(u64::from(placement.stream));
                let pools = self.streams.try_get_mut(stream);
                pools.is_some_and(|pools| pools.abandon(&placement))
            }
            None => self
                .streams
                .iter_mut()
                .any(|(_, pools)| pools.abandon_free(page)),
        };
        if !known {
            return None;
        }
        self.storage.dealloc(page);
        for slot in &slots {
            self.placements[*slot] = None;
        }
        let slots = slots
            .into_iter()
            .filter_map(|slot| u32::try_from(slot).ok());
        self.failures.unallocate(slots, label, failure)
    }

    /// Where the bytes of a binding lie, to work on them. It says nothing about whether they may be read.
    pub fn locate(&self, binding: &BufferBinding) -> Result<Location<S::Id>, HandleError> {
        self.failures.allocated(binding)?;
        let placement = self.placements.get(binding.key().slot as usize);
        let placement = placement
            .and_then(Option::as_ref)
            .ok_or(HandleError::Freed {
                buffer: binding.buffer(),
            })?;
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
    ) -> Result<Entry, EnterError> {
        self.enter_on(StreamId::default(), work, reads, writes)
    }

    /// The same for work of a logical stream: a capture window that records on its pooled stream hears how it
    /// ends. Refused where that window is another logical stream's.
    pub fn enter_on(
        &mut self,
        stream: StreamId,
        work: &str,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<Entry, EnterError> {
        self.sweep();
        self.failures.enter(stream, work, reads, writes)
    }

    /// The unit succeeded: releases the bytes it owns, or, where it read pending bytes, leaves them
    /// pending on those. No effect on a unit that is not open.
    pub fn finish_clean(&mut self, unit: UnitId) {
        self.sweep();
        if let Some(unit) = self.failures.own(unit) {
            self.failures.finish_clean(unit);
        }
    }

    /// The unit failed: the bytes it owns are claimed by `failure`. The failure's id, unless no byte is
    /// left to claim.
    pub fn finish_failed(&mut self, unit: UnitId, failure: Failure) -> Option<FailureId> {
        self.sweep();
        let unit = self.failures.own(unit)?;
        self.failures.fail(unit, failure)
    }

    /// The unit was handed to the device: its bytes are pending until `submission` settles.
    pub fn finish_pending(&mut self, unit: UnitId, submission: SubmissionId) {
        self.sweep();
        if let Some(unit) = self.failures.own(unit) {
            self.failures.finish_pending(unit, submission);
        }
    }

    /// The outcome of a submission. Failed, it claims the bytes its units still own, under the failure of
    /// the unit that [`MemoryManagement::fail_unit`] blamed, if it did. False, and no effect, where no
    /// unit waits for it.
    pub fn settle(&mut self, submission: SubmissionId, outcome: Result<(), Failure>) -> bool {
        self.sweep();
        self.failures.settle(submission, outcome)
    }

    /// One pending unit is known to be a culprit, before its submission settles. The failure's id, unless
    /// no byte is left to claim.
    pub fn fail_unit(&mut self, unit: UnitId, failure: Failure) -> Option<FailureId> {
        self.sweep();
        let unit = self.failures.own(unit)?;
        self.failures.fail(unit, failure)
    }

    /// The device is lost, and every page with it: everything pending fails, every live byte is claimed
    /// under this one failure, every read in flight is stale, and the pages are forgotten without being
    /// given back. Handles from before are refused by name; new reservations work. The failure's id,
    /// unless nothing was there to carry it.
    pub fn lose(&mut self, failure: Failure) -> Option<FailureId> {
        self.sweep();
        self.placements.clear();
        for (_, pools) in self.streams.iter_mut() {
            pools.forget_pages();
        }
        self.failures.lose(failure)
    }

    /// Begins a read: refused at once where a byte is known to be stale; otherwise remembers which units
    /// the bytes are pending on. What is written to them later does not matter to this read.
    pub fn watch(&mut self, binding: &BufferBinding) -> Result<Watch, ReadRefusal> {
        self.sweep();
        self.failures.watch(binding)
    }

    /// How a read stands. It can be asked again until the watch is dropped.
    pub fn resolve(&mut self, watch: &Watch) -> Result<Watched, HandleError> {
        self.sweep();
        self.failures.resolve(watch)
    }

    /// The spans of a binding: in order, covering it exactly, equal neighbours fused.
    pub fn spans(&self, binding: &BufferBinding) -> Result<Vec<TaintSpan>, HandleError> {
        self.failures.spans(binding)
    }

    /// At most `spans` spans, and at least one, that cover the binding; where there are more, the binding is cut into that
    /// many cells and each takes the worst state in it.
    pub fn spans_limited(
        &self,
        binding: &BufferBinding,
        spans: usize,
    ) -> Result<Vec<TaintSpan>, HandleError> {
        self.failures.spans_limited(binding, spans)
    }

    /// Every live buffer, by id.
    pub fn buffers(&self) -> Vec<BufferSummary> {
        let live = self.failures.buffers.live();
        live.into_iter()
            .map(|buffer| self.failures.summary(buffer))
            .collect()
    }

    /// The whole of a live buffer, without keeping it alive: at the cost of a look at every buffer, for callers
    /// that know no more than its number.
    pub fn binding(&self, id: BufferId) -> Option<BufferBinding> {
        let key = self.failures.buffers.find(id)?;
        let buffer = self
            .failures
            .buffers
            .get(key)
            .filter(|buffer| buffer.is_live())?;
        Some(BufferBinding::new(
            &self.failures.manager,
            key,
            buffer.size_bytes,
        ))
    }

    /// The failure of the first stale byte of a binding.
    pub fn failure(&self, binding: &BufferBinding) -> Result<Option<FailureId>, HandleError> {
        let buffer = self.failures.buffer(binding)?;
        let stale = self.failures.stale(buffer, binding.range());
        let mut nodes = stale.filter_map(|(_, claim)| claim.provenance());
        Ok(nodes.next().map(|node| self.failures.graph.root(node)))
    }

    /// A number that moves whenever a claim or a buffer changes; for handles that were dropped, at the next call that
    /// takes `&mut self`.
    pub fn revision(&self) -> u64 {
        self.failures.buffers.revision()
    }

    /// Every live buffer with its spans, and the failure graph, where `since` is zero; otherwise what changed
    /// after that revision, at the cost of what changed. See [`Snapshot`].
    pub fn snapshot(&mut self, since: u64) -> Snapshot {
        self.sweep();
        self.failures.snapshot(since)
    }

    /// The capture window of the pooled stream that serves `stream`.
    pub fn capture(&mut self, stream: StreamId) -> &mut StreamCapture {
        self.failures.capture(stream)
    }

    /// The failures held.
    pub fn graph(&self) -> &ErrorGraph {
        &self.failures.graph
    }

    /// The failures held, the live bytes that carry each, and the skips between.
    pub fn failure_graph(&self) -> FailureGraph {
        self.failures.failure_graph()
    }

    /// Clears away what dropped handles left, and gives unused pages back to the storage: all of them
    /// where `explicit`, else those that have been unused for three periodic cleanups.
    pub fn cleanup(&mut self, explicit: bool) {
        self.sweep();
        for (_, pools) in self.streams.iter_mut() {
            pools.cleanup(&mut self.storage, explicit);
        }
    }

    /// What the manager holds.
    pub fn memory_usage(&self) -> MemoryUsage {
        let mut usage = MemoryUsage::default();
        for (_, pools) in self.streams.iter() {
            usage.page_bytes = usage.page_bytes.saturating_add(pools.page_bytes());
            usage.pages += pools.pages();
        }
        for buffer in self.failures.buffers.live() {
            if let Some(Some(placement)) = self.placements.get(buffer.key.slot as usize) {
                usage.buffers += 1;
                usage.live_bytes = usage.live_bytes.saturating_add(buffer.size_bytes);
                usage.taken_bytes = usage.taken_bytes.saturating_add(placement.taken_bytes);
            }
        }
        usage
    }

    /// What each pool holds, pool by pool.
    pub fn memory_report(&self) -> MemoryReport {
        let pools = self
            .streams
            .iter()
            .flat_map(|(slot, pools)| pools.report(slot));
        MemoryReport {
            usage: self.memory_usage(),
            pools: pools.collect(),
        }
    }

    /// Whether a binding was made by this manager.
    pub fn owns(&self, binding: &BufferBinding) -> bool {
        binding.belongs_to(&self.failures.manager)
    }
}

impl<S: Storage> FailureStore for MemoryManagement<S> {
    fn failures(&self) -> &Failures {
        &self.failures
    }

    #[inline]
    fn failures_mut(&mut self) -> &mut Failures {
        self.sweep();
        &mut self.failures
    }
}

fn give_back<Id: Copy + Eq>(streams: &mut StreamPool<StreamPools<Id>>, placement: &Placement<Id>) {
    let stream = StreamId(u64::from(placement.stream));
    if let Some(pools) = streams.try_get_mut(stream) {
        pools.free(placement);
    }
}
