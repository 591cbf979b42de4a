//! [`FailureStore`]: what a driver of several streams gives over its failures and its memory.

use crate::buffers::Standing;
use crate::error_graph::Provenance;
use crate::execute_scope::WriteSet;
use crate::failure::Failure;
use crate::failures::Failures;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, SubmissionId};
use crate::region::{Place, Region};
use crate::report::{ReportBuilder, UnwrittenRead, UnwrittenReads};
use crate::taint::Claim;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// How reads stand of which none is known to be stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Every byte was last written by work that succeeded.
    Trusted,
    /// Some bytes wait for these submissions, in ascending order. They may still turn out stale.
    Pending(Vec<SubmissionId>),
}

/// Why bytes may not be read. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnsureError {
    /// A binding itself cannot be used.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// Some byte was not last written by work that succeeded, or has no allocation behind it.
    #[error("{0}")]
    Unwritten(Box<UnwrittenReads>),
}

/// Why a launch would be skipped: the first of its inputs that carries a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFailure {
    /// The number of the manager.
    manager: usize,
    failure: FailureId,
    needed: Place,
    parent: Provenance,
}

impl ReadFailure {
    /// The root failure.
    #[must_use]
    pub fn failure(&self) -> FailureId {
        self.failure
    }

    /// The input that carries it, as the launch declared it.
    #[must_use]
    pub fn needed(&self) -> Region {
        self.needed.region()
    }
}

/// The questions and facts that every driver has about the bytes of its buffers.
///
/// A driver says where its [`Failures`] are and gets the rest. Claims land on the memory, whatever stream
/// reserved it and whatever stream failed.
pub trait FailureStore {
    /// The books.
    fn failures(&self) -> &Failures;

    /// The books, cleared of what dropped handles left.
    fn failures_mut(&mut self) -> &mut Failures;

    /// Whether these bytes may be read. Refused where one is known to be stale or has no allocation; each
    /// failure is named once, however many of the buffers carry it.
    fn ensure_written(&self, reads: &[BufferBinding]) -> Result<Written, EnsureError> {
        self.failures().ensure_written(reads)
    }

    /// What a launch that reads these would be skipped for.
    fn read_failure(&self, reads: &[BufferBinding]) -> Result<Option<ReadFailure>, HandleError> {
        self.failures().read_failure(reads)
    }

    /// Claims these bytes: the work that was to write them did not. The failure's id, unless there was no byte
    /// to claim.
    fn taint(
        &mut self,
        work: &str,
        writes: &[BufferBinding],
        failure: Failure,
    ) -> Result<Option<FailureId>, HandleError> {
        self.failures_mut().taint(work, writes, failure)
    }

    /// Releases exactly these bytes: work that writes them has succeeded.
    fn written(&mut self, writes: &[BufferBinding]) -> Result<(), HandleError> {
        self.failures_mut().written(writes)
    }

    /// Points the write set of a launch that is skipped at the failure that its input carries, and hands the
    /// set back to the pool. Nothing is minted. No effect where that failure has gone meanwhile, because
    /// something wrote the input again: ask [`FailureStore::read_failure`] anew.
    fn propagate(
        &mut self,
        work: &str,
        found: &ReadFailure,
        writes: WriteSet,
    ) -> Result<(), HandleError> {
        self.failures_mut().propagate(work, found, writes)
    }

    /// An empty write set, from the pool where there is one. Every ending of a scope hands it back.
    #[inline]
    #[must_use]
    fn write_set(&mut self) -> WriteSet {
        self.failures_mut().write_set()
    }
}

impl FailureStore for Failures {
    fn failures(&self) -> &Failures {
        self
    }

    fn failures_mut(&mut self) -> &mut Failures {
        self
    }

    fn ensure_written(&self, reads: &[BufferBinding]) -> Result<Written, EnsureError> {
        let mut builder = ReportBuilder::new(&self.graph);
        let mut refused = Vec::new();
        let mut units = Vec::new();
        for binding in reads {
            let buffer = self.buffer(binding)?;
            let range = binding.range();
            let ranges = builder.ranges(self.stale(buffer, range));
            let unallocated = matches!(buffer.standing, Standing::Unallocated(_));
            if unallocated || !ranges.is_empty() {
                refused.push(UnwrittenRead {
                    region: Region::new(binding.buffer(), &buffer.label, range),
                    unallocated,
                    ranges,
                });
                continue;
            }
            // Also a view of no bytes is refused where its device is lost.
            self.usable(binding)?;
            let pending = buffer.taint.within(range);
            units.extend(pending.filter_map(|(_, claim)| claim.unit()));
        }
        if !refused.is_empty() {
            return Err(EnsureError::Unwritten(Box::new(builder.reads(refused))));
        }
        if units.is_empty() {
            Ok(Written::Trusted)
        } else {
            Ok(Written::Pending(self.awaited(units)))
        }
    }

    fn read_failure(&self, reads: &[BufferBinding]) -> Result<Option<ReadFailure>, HandleError> {
        for binding in reads {
            self.usable(binding)?;
        }
        let found = self.reason_to_skip(reads, &[])?;
        Ok(found.map(|(needed, parent)| ReadFailure {
            manager: self.manager.number(),
            failure: self.graph.root(parent),
            needed,
            parent,
        }))
    }

    fn taint(
        &mut self,
        work: &str,
        writes: &[BufferBinding],
        failure: Failure,
    ) -> Result<Option<FailureId>, HandleError> {
        for binding in writes {
            self.usable(binding)?;
        }
        let work = self.labels.intern(work);
        let id = self.graph.mint(failure, work);
        for binding in writes {
            if !matches!(self.usable(binding)?.standing, Standing::Unallocated(_)) {
                self.set(binding.key(), binding.range(), Some(Claim::Failed(id)));
            }
        }
        self.graph.release(Provenance::Root(id));
        Ok(self.graph.error(id).map(|_| id))
    }

    fn written(&mut self, writes: &[BufferBinding]) -> Result<(), HandleError> {
        for binding in writes {
            self.allocated(binding)?;
        }
        for binding in writes {
            self.set(binding.key(), binding.range(), None);
        }
        Ok(())
    }

    fn propagate(
        &mut self,
        work: &str,
        found: &ReadFailure,
        writes: WriteSet,
    ) -> Result<(), HandleError> {
        let work = self.labels.intern(work);
        let done = self.propagate_over(&work, found, writes.bindings());
        self.keep_write_set(writes);
        done
    }

    #[inline]
    fn write_set(&mut self) -> WriteSet {
        self.spare_write_sets.pop().unwrap_or_default()
    }
}

/// More write sets than this are not kept: nobody nests scopes so deep.
const MOST_WRITE_SETS: usize = 64;

impl Failures {
    /// Hands a write set back to the pool.
    #[inline]
    pub(crate) fn keep_write_set(&mut self, writes: WriteSet) {
        if self.spare_write_sets.len() < MOST_WRITE_SETS {
            self.spare_write_sets.push(writes.emptied());
        }
    }

    fn propagate_over(
        &mut self,
        work: &Rc<str>,
        found: &ReadFailure,
        writes: &[BufferBinding],
    ) -> Result<(), HandleError> {
        if found.manager != self.manager.number() {
            let buffer = found.needed.key.id;
            return Err(HandleError::Foreign { buffer });
        }
        for binding in writes {
            self.usable(binding)?;
        }
        if self.carries(found) {
            self.skip(work, &found.needed, found.parent, writes)?;
        }
        Ok(())
    }

    /// Whether the bytes that a launch needed still carry the failure that was found on them.
    fn carries(&self, found: &ReadFailure) -> bool {
        let Some(buffer) = self.buffers.get(found.needed.key) else {
            return false;
        };
        self.stale(buffer, found.needed.range)
            .filter_map(|(_, claim)| claim.provenance())
            .any(|node| node == found.parent && self.graph.root(node) == found.failure)
    }
}
