//! [`Books`]: a server that does nothing but keep the books, and the life of one launch over it.

use std::convert::Infallible;
use std::hint::black_box;
use wellwritten_memory::{
    BufferBinding, BytesStorage, ExecuteScope, Failure, FailureKind, FailureStore, Handle,
    MemoryConfiguration, MemoryManagement, ScopedOutcome, StreamId, SubmissionId, Uninitialized,
    WriteScoped, WriteSet,
};

/// All the work of this bench is on one stream.
const STREAM: StreamId = StreamId(0);

/// What the work of a failing launch returns: the message is made when the launch fails.
#[derive(Debug)]
pub struct Refused;

impl From<&Refused> for Failure {
    fn from(_: &Refused) -> Self {
        Self::new(FailureKind::Validation, "the launch was refused")
    }
}

/// The work of a launch that cannot fail.
#[derive(Debug)]
pub struct Never(Infallible);

impl From<&Never> for Failure {
    fn from(never: &Never) -> Self {
        match never.0 {}
    }
}

/// A server without a device.
pub struct Books {
    /// What is measured.
    pub memory: MemoryManagement<BytesStorage>,
}

impl WriteScoped for Books {
    type Streams = MemoryManagement<BytesStorage>;

    fn streams(&mut self) -> &mut MemoryManagement<BytesStorage> {
        &mut self.memory
    }

    fn log_failure(&mut self, _: StreamId, _: &str, _: &Failure) {}
}

impl Books {
    /// Books without buffers.
    pub fn new(configuration: MemoryConfiguration) -> Self {
        Self {
            memory: MemoryManagement::new(
                BytesStorage::default(),
                configuration,
                Uninitialized::Trust,
            ),
        }
    }

    /// `count` new buffers, and a view of the whole of each.
    pub fn buffers(&mut self, count: usize, size_bytes: u64) -> (Vec<Handle>, Vec<BufferBinding>) {
        let handles: Vec<Handle> = (0..count)
            .map(|_| {
                let reserved = self.memory.reserve(size_bytes, "field");
                reserved.expect("the bench reserves little").handle
            })
            .collect();
        let bindings = handles.iter().map(Handle::binding).collect();
        (handles, bindings)
    }

    fn write_set(&mut self, writes: &[BufferBinding]) -> WriteSet {
        let mut set = self.memory.write_set();
        set.extend_from_slice(black_box(writes));
        set
    }

    fn over(&mut self, writes: &[BufferBinding]) -> ExecuteScope<'_, Self> {
        let set = self.write_set(writes);
        ExecuteScope::over(self, "kernel step", STREAM, set).expect("the handles live")
    }

    /// One launch that succeeds, from taking a write set to handing it back.
    pub fn succeed(&mut self, writes: &[BufferBinding]) {
        let outcome = self.over(writes).execute(|_| Ok::<(), Never>(()));
        assert!(matches!(outcome, ScopedOutcome::Executed(())));
    }

    /// One launch that fails.
    pub fn fail(&mut self, writes: &[BufferBinding]) {
        let outcome = self.over(writes).execute(|_| Err::<(), Refused>(Refused));
        assert!(matches!(outcome, ScopedOutcome::Failed(Refused)));
    }

    fn launching(
        &mut self,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> ExecuteScope<'_, Self> {
        let set = self.write_set(writes);
        ExecuteScope::launching(self, "kernel step", STREAM, black_box(reads), set)
            .expect("the handles live")
    }

    /// One launch that reads and succeeds.
    pub fn launch(&mut self, reads: &[BufferBinding], writes: &[BufferBinding]) {
        let scope = self.launching(reads, writes);
        let outcome = scope.execute(|_| Ok::<(), Never>(()));
        assert!(matches!(outcome, ScopedOutcome::Executed(())));
    }

    /// One launch that does not run, because what it reads is stale.
    pub fn skip(&mut self, reads: &[BufferBinding], writes: &[BufferBinding]) {
        let scope = self.launching(reads, writes);
        let outcome = scope.execute(|_| Ok::<(), Never>(()));
        assert!(matches!(outcome, ScopedOutcome::Skipped(_)));
    }

    /// One launch that ends pending on `submission`.
    pub fn submit(
        &mut self,
        submission: SubmissionId,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) {
        let scope = self.launching(reads, writes);
        let outcome = scope.execute_pending(submission, |_| Ok::<(), Never>(()));
        assert!(matches!(outcome, ScopedOutcome::Executed(())));
    }

    /// A submission settles clean.
    pub fn settle(&mut self, submission: SubmissionId) {
        assert!(self.memory.settle(submission, Ok(())));
    }

    /// Asks how the bytes of a view stand.
    pub fn look_up(&self, binding: &BufferBinding) -> bool {
        let failure = self.memory.failure(black_box(binding));
        failure.expect("the handle lives").is_none()
    }

    /// Nothing is left to be released: what was measured is a cycle and not a leak.
    pub fn assert_clean(&self) {
        assert!(self.memory.graph().is_empty());
    }
}
