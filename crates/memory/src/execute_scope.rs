//! [`ExecuteScope`]: the write scope of one unit of work as a value, with its endings.

use crate::failure::Failure;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{FailureId, SubmissionId, UnitId};
use crate::management::MemoryManagement;
use crate::settlement::Entry;
use crate::storage::Storage;
use alloc::vec::Vec;

/// What runs work in write scopes: it owns a manager, and hears of failures.
pub trait WriteScoped {
    /// The storage of its manager.
    type Storage: Storage;

    /// Its manager.
    fn memory(&mut self) -> &mut MemoryManagement<Self::Storage>;

    /// A body failed; the bytes are claimed already. Called once for each failure.
    fn log_failure(&mut self, work: &str, failure: &Failure);
}

/// The write set of one scope, taken from its manager's pool: every ending hands it back.
#[derive(Debug, Default)]
pub struct WriteSet {
    bindings: Vec<BufferBinding>,
}

impl WriteSet {
    /// Adds bytes that the work will write.
    pub fn push(&mut self, binding: BufferBinding) {
        self.bindings.push(binding);
    }

    /// What is in it.
    #[must_use]
    pub fn bindings(&self) -> &[BufferBinding] {
        &self.bindings
    }

    pub(crate) fn emptied(mut self) -> Self {
        self.bindings.clear();
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

/// An entered write scope. Leaving it any other way than by one of its endings (a panic in the body, an
/// early return) leaves the write set torn down: a read of it fails until something writes it again.
#[derive(Debug)]
#[must_use = "a scope that is dropped leaves its write set torn down"]
pub struct ExecuteScope<'server, W: WriteScoped> {
    server: &'server mut W,
    work: &'server str,
    writes: WriteSet,
    entry: Entry,
}

impl<'server, W: WriteScoped> ExecuteScope<'server, W> {
    /// Enters without looking at any input: for work that reads nothing, such as a host write.
    pub fn over(
        server: &'server mut W,
        work: &'server str,
        writes: WriteSet,
    ) -> Result<Self, HandleError> {
        Self::launching(server, work, &[], writes)
    }

    /// Enters if every byte of `reads` is clean or pending; otherwise the scope is one that skips.
    pub fn launching(
        server: &'server mut W,
        work: &'server str,
        reads: &[BufferBinding],
        writes: WriteSet,
    ) -> Result<Self, HandleError> {
        match server.memory().enter(work, reads, writes.bindings()) {
            Ok(entry) => Ok(Self {
                server,
                work,
                writes,
                entry,
            }),
            Err(refused) => {
                server.memory().keep_write_set(writes);
                Err(refused)
            }
        }
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
    pub fn execute<R, E>(self, body: impl FnOnce(&mut W) -> Result<R, E>) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        self.end(body, super::management::MemoryManagement::finish_clean)
    }

    /// Runs `body`, which hands its work to `submission`. Clean, the write set is pending until that
    /// settles.
    pub fn execute_pending<R, E>(
        self,
        submission: SubmissionId,
        body: impl FnOnce(&mut W) -> Result<R, E>,
    ) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        self.end(body, |memory, unit| memory.finish_pending(unit, submission))
    }

    fn end<R, E>(
        self,
        body: impl FnOnce(&mut W) -> Result<R, E>,
        finish: impl FnOnce(&mut MemoryManagement<W::Storage>, UnitId),
    ) -> ScopedOutcome<R, E>
    where
        for<'error> &'error E: Into<Failure>,
    {
        let Self {
            server,
            work,
            writes,
            entry,
        } = self;
        let outcome = match entry {
            Entry::Skipped { failure } => ScopedOutcome::Skipped(failure),
            Entry::Entered(unit) => match body(server) {
                Ok(result) => {
                    finish(server.memory(), unit);
                    ScopedOutcome::Executed(result)
                }
                Err(error) => {
                    let failure: Failure = (&error).into();
                    server.memory().finish_failed(unit, failure.clone());
                    server.log_failure(work, &failure);
                    ScopedOutcome::Failed(error)
                }
            },
        };
        server.memory().keep_write_set(writes);
        outcome
    }
}
