//! [`Device`]: the peer's counterpart of a server that does nothing but keep the books.

use cubecl_common::device::{DeviceId, ServiceId};
use cubecl_environment::stream::StreamId;
use cubecl_ir::MemoryDeviceProperties;
use cubecl_server::id::KernelId;
use cubecl_server::logging::ServerLogger;
use cubecl_server::memory_management::{
    ErrorGraph, FailureId, MemoryConfiguration, MemoryManagement, MemoryManagementOptions,
    PageUpdate,
};
use cubecl_server::server::{BufferBinding, Handle, ServerError};
use cubecl_server::storage::BytesStorage;
use cubecl_server::stream::{
    ExecuteScope, FailureStore, Failures, ScopedOutcome, StreamFactory, StreamMemory, StreamPool,
    WriteScoped,
};
use std::hint::black_box;
use std::sync::Arc;

/// Bytes that a page can hold: room for the largest allocation of this bench.
const LARGEST_PAGE_BYTES: u64 = 4 << 20;
const ALIGNMENT: u64 = 32;
/// All the work of this bench is on one stream.
const STREAM: StreamId = StreamId { value: 0 };

/// A stream of the peer: the manager of its memory.
pub struct Stream(MemoryManagement<BytesStorage>);

impl StreamMemory for Stream {
    fn failure(&self, binding: &BufferBinding) -> Option<FailureId> {
        self.0.failure(&binding.memory, binding.range())
    }

    fn taint(&mut self, binding: &BufferBinding, failure: FailureId, graph: &mut ErrorGraph) {
        let range = binding.range();
        self.0.taint(&binding.memory, range, failure, graph);
    }

    fn written(&mut self, binding: &BufferBinding, graph: &mut ErrorGraph) {
        self.0.written(&binding.memory, binding.range(), graph);
    }
}

/// Makes the streams.
pub struct Streams {
    configuration: MemoryConfiguration,
    logger: Arc<ServerLogger>,
}

impl StreamFactory for Streams {
    type Stream = Stream;

    fn create(&mut self) -> Result<Stream, ServerError> {
        let properties = MemoryDeviceProperties::new(LARGEST_PAGE_BYTES, ALIGNMENT);
        Ok(Stream(MemoryManagement::from_configuration(
            BytesStorage::default(),
            &properties,
            self.configuration.clone(),
            Arc::clone(&self.logger),
            MemoryManagementOptions::new("bench"),
        )))
    }
}

/// A server without a device. It records no graph, which spares it the work of a capture window.
pub struct Device {
    pool: StreamPool<Streams>,
    failures: Failures,
}

impl FailureStore for Device {
    type Factory = Streams;

    fn split(&mut self) -> (&mut StreamPool<Streams>, &mut Failures) {
        (&mut self.pool, &mut self.failures)
    }

    fn parts(&self) -> (&StreamPool<Streams>, &Failures) {
        (&self.pool, &self.failures)
    }
}

impl WriteScoped for Device {
    type Streams = Self;

    fn write_streams(&mut self) -> &mut Self {
        self
    }
}

impl Device {
    /// A device without buffers.
    pub fn new(configuration: MemoryConfiguration) -> Self {
        let logger = Arc::new(ServerLogger::default());
        let streams = Streams {
            configuration,
            logger: Arc::clone(&logger),
        };
        Self {
            pool: StreamPool::new(streams, 1, 0),
            failures: Failures::new(logger),
        }
    }

    /// `count` new buffers, and a view of the whole of each.
    pub fn buffers(&mut self, count: usize, size_bytes: u64) -> (Vec<Handle>, Vec<BufferBinding>) {
        let service = ServiceId::of::<()>(DeviceId::new(0, 0));
        let handles: Vec<Handle> = (0..count)
            .map(|_| {
                let handle = Handle::new(service, STREAM, size_bytes);
                let memory = &mut self.pool.get_mut(&STREAM).0;
                let graph = self.failures.graph_mut();
                let reserved = memory
                    .reserve(size_bytes, PageUpdate::Allow, graph)
                    .expect("the bench reserves little");
                memory
                    .bind(reserved, handle.memory.clone(), 0, graph)
                    .expect("it was reserved just now");
                handle
            })
            .collect();
        let bindings = handles.iter().cloned().map(Handle::binding).collect();
        (handles, bindings)
    }

    fn filled_set(&mut self, writes: &[BufferBinding]) -> Vec<BufferBinding> {
        let mut set = FailureStore::write_set(self);
        set.extend_from_slice(black_box(writes));
        set
    }

    /// One launch that succeeds, from taking a write set to handing it back.
    pub fn succeed(&mut self, writes: &[BufferBinding]) {
        let set = self.filled_set(writes);
        let outcome = ExecuteScope::over(self, STREAM, set).execute(|_| Ok(()));
        assert!(matches!(outcome, ScopedOutcome::Executed(())));
    }

    /// One launch that fails.
    pub fn fail(&mut self, writes: &[BufferBinding]) {
        let set = self.filled_set(writes);
        let outcome = ExecuteScope::over(self, STREAM, set).execute(|_| Err::<(), _>(refused()));
        assert!(matches!(outcome, ScopedOutcome::Failed(_)));
    }

    fn launching(
        &mut self,
        kernel: &KernelId,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> ExecuteScope<'_, Self> {
        let set = self.filled_set(writes);
        let reads = black_box(reads).iter();
        ExecuteScope::launching(self, kernel.clone(), STREAM, reads, set)
    }

    /// One launch that reads and succeeds.
    pub fn launch(&mut self, kernel: &KernelId, reads: &[BufferBinding], writes: &[BufferBinding]) {
        let scope = self.launching(kernel, reads, writes);
        let outcome = scope.execute(|_| Ok(()));
        assert!(matches!(outcome, ScopedOutcome::Executed(())));
    }

    /// One launch that does not run, because what it reads is stale.
    pub fn skip(&mut self, kernel: &KernelId, reads: &[BufferBinding], writes: &[BufferBinding]) {
        let scope = self.launching(kernel, reads, writes);
        let outcome = scope.execute(|_| Ok(()));
        assert!(matches!(outcome, ScopedOutcome::Skipped));
    }

    /// Asks how the bytes of a view stand.
    pub fn look_up(&self, binding: &BufferBinding) -> bool {
        let binding = black_box(binding);
        let stream = self.pool.try_get(&binding.stream).expect("it was made");
        stream.failure(binding).is_none()
    }

    /// Nothing is left to be released: what was measured is a cycle and not a leak.
    pub fn assert_clean(&self) {
        assert!(self.failures.graph().is_empty());
    }
}

/// What the work of a failing launch returns: the message is made when the launch fails.
fn refused() -> ServerError {
    ServerError::Generic {
        reason: "the launch was refused".into(),
        backtrace: cubecl_environment::backtrace::BackTrace::default(),
    }
}
