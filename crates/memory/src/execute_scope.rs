//! [`ExecuteScope`]: the write scope of one unit of work as a value, with its endings.

use crate::failure::Failure;
use crate::failure_store::FailureStore;
use crate::failures::Failures;
use crate::handle::BufferBinding;
use crate::identity::{FailureId, StreamId, SubmissionId, UnitKey};
use crate::stream_capture::Recording;
use crate::write_scope::{EnterError, Entry};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What runs work in write scopes: it has a driver with the books, and hears of failures.
pub trait WriteScoped {
    /// The driver.
    type Streams: FailureStore;

    /// The driver.
    fn streams(&mut self) -> &mut Self::Streams;

    /// A body failed; the bytes are claimed already. Called once for each failure, as the backstop for those
    /// that nobody ever reads.
    fn log_failure(&mut self, stream: StreamId, work: &str, failure: &Failure);
}

/// The write set of one scope, taken from its driver's pool: every ending hands it back.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// Boxed, so that it goes to the pool and back as one pointer.
    set: Box<Bindings>,
}

#[derive(Debug, Default)]
struct Bindings {
    list: Vec<BufferBinding>,
}

impl WriteSet {
    /// Adds bytes that the work will write.
    #[inline]
    pub fn push(&mut self, binding: BufferBinding) {
        self.set.list.push(binding);
    }

    /// Adds bytes that the work will write.
    #[inline]
    pub fn extend_from_slice(&mut self, bindings: &[BufferBinding]) {
        self.set.list.extend_from_slice(bindings);
    }

    /// What is in it.
    #[inline]
    #[must_use]
    pub fn bindings(&self) -> &[BufferBinding] {
        &self.set.list
    }

    #[inline]
    pub(crate) fn emptied(mut self) -> Self {
        self.set.list.clear();
        self
    }
}

/// How a scope ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopedOutcome<R, E> {
    /// The body ran and returned this.
    Executed(R),
    /// The body did not run: something it reads carries this failure, and its write set does now.
    Skipped(FailureId),
    /// The body ran and failed; its write set carries the failure.
    Failed(E),
}

/// A write scope, entered or skipping: which of the two is decided when it is made. Leaving it any other way
/// than by one of its endings (a panic in the body, an early return) leaves the write set torn down: a read of
/// it fails until something writes it again.
///
/// A capture window that records on the stream hears every ending.
#[derive(Debug)]
#[must_use = "a scope that is dropped leaves its write set torn down"]
pub struct ExecuteScope<'server, W: WriteScoped> {
    server: &'server mut W,
    stream: StreamId,
    work: &'server str,
    writes: WriteSet,
    entry: Entry,
}

impl<'server, W: WriteScoped> ExecuteScope<'server, W> {
    /// Enters without looking at any input: for work that reads nothing, such as a host write. Only an
    /// unallocated buffer in the write set makes it skip.
    #[inline]
    pub fn over(
        server: &'server mut W,
        work: &'server str,
        stream: StreamId,
        writes: WriteSet,
    ) -> Result<Self, EnterError> {
        Self::launching(server, work, stream, &[], writes)
    }

    /// Enters if every byte of `reads` is clean or pending; otherwise the scope is one that skips.
    #[inline]
    pub fn launching(
        server: &'server mut W,
        work: &'server str,
        stream: StreamId,
        reads: &[BufferBinding],
        writes: WriteSet,
    ) -> Result<Self, EnterError> {
        let failures = server.streams().failures_mut();
        match failures.enter(stream, work, reads, writes.bindings()) {
            Ok(entry) => Ok(Self {
                server,
                stream,
                work,
                writes,
                entry,
            }),
            Err(refused) => {
                failures.keep_write_set(writes);
                Err(refused)
            }
        }
    }

    /// A replay of a sealed graph, as one unit of work over everything recorded in it: skipped where a byte
    /// that it reads from outside is stale, and refused where one of its buffers is gone.
    pub fn replaying(
        server: &'server mut W,
        work: &'server str,
        stream: StreamId,
        graph: &Recording,
    ) -> Result<Self, EnterError> {
        let mut writes = server.streams().write_set();
        writes.extend_from_slice(graph.writes());
        Self::launching(server, work, stream, graph.reads(), writes)
    }

    /// The failure because of which this scope will skip.
    #[must_use]
    pub fn skips(&self) -> Option<FailureId> {
        match self.entry {
            Entry::Entered(_) => None,
            Entry::Skipped { failure } => Some(failure),
        }
    }

    /// Runs `body`, whose work is done when it returns. Clean, exactly the write set is released.
    #[inline]
    pub fn execute<R, E>(self, body: impl FnOnce(&mut W) -> Result<R, E>) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        self.end(body, Failures::finish_clean)
    }

    /// Runs `body`, which hands its work to `submission`. Clean, the write set is pending until that
    /// settles.
    #[inline]
    pub fn execute_pending<R, E>(
        self,
        submission: SubmissionId,
        body: impl FnOnce(&mut W) -> Result<R, E>,
    ) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        self.end(body, |failures, unit| {
            failures.finish_pending(unit, submission);
        })
    }

    #[inline]
    fn end<R, E>(
        self,
        body: impl FnOnce(&mut W) -> Result<R, E>,
        finish: impl FnOnce(&mut Failures, UnitKey),
    ) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        let Self {
            server,
            stream,
            work,
            writes,
            entry,
        } = self;
        let outcome = match entry {
            Entry::Skipped { failure } => ScopedOutcome::Skipped(failure),
            Entry::Entered(unit) => match body(server) {
                Ok(result) => {
                    let failures = server.streams().failures_mut();
                    if let Some(unit) = failures.own(unit) {
                        finish(failures, unit);
                    }
                    failures.keep_write_set(writes);
                    return ScopedOutcome::Executed(result);
                }
                Err(error) => {
                    let failure: Failure = (&error).into();
                    let failures = server.streams().failures_mut();
                    if let Some(unit) = failures.own(unit) {
                        failures.fail(unit, failure.clone());
                    }
                    server.log_failure(stream, work, &failure);
                    ScopedOutcome::Failed(error)
                }
            },
        };
        server.streams().failures_mut().keep_write_set(writes);
        outcome
    }
}
