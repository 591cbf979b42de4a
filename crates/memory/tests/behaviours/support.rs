//! What the behaviours share: a server that logs, buffers of 64 bytes, and a word for every usual step.

use wellwritten_memory::{
    BufferBinding, BytesStorage, Entry, ExecuteScope, Failure, FailureKind, FailureStore, Handle,
    MemoryConfiguration, MemoryManagement, ReadRefusal, Storage, StreamId, SubmissionId, TaintSpan,
    Uninitialized, UnitId, UnwrittenReport, Watched, WriteScoped,
};

pub type Memory = MemoryManagement<BytesStorage>;

/// A manager, and what it was told of failures.
pub struct Server {
    pub memory: Memory,
    pub log: Vec<String>,
}

impl WriteScoped for Server {
    type Streams = Memory;

    fn streams(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn log_failure(&mut self, _: StreamId, work: &str, failure: &Failure) {
        self.log.push(format!("{work}: {failure}"));
    }
}

/// The error of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub &'static str);

impl From<&Broken> for Failure {
    fn from(broken: &Broken) -> Self {
        Failure::new(FailureKind::HostKernel, broken.0)
    }
}

pub fn memory() -> Memory {
    memory_of(MemoryConfiguration::ExclusivePages)
}

pub fn memory_of(configuration: MemoryConfiguration) -> Memory {
    MemoryManagement::new(
        BytesStorage::new(16, u64::MAX),
        configuration,
        Uninitialized::Trust,
    )
}

pub fn server() -> Server {
    server_of_streams(1)
}

/// A server whose logical streams fold onto at most `max_streams` pooled ones.
pub fn server_of_streams(max_streams: u32) -> Server {
    Server {
        memory: MemoryManagement::with_streams(
            BytesStorage::new(16, u64::MAX),
            MemoryConfiguration::ExclusivePages,
            Uninitialized::Trust,
            max_streams.try_into().expect("at least one"),
        ),
        log: Vec::new(),
    }
}

pub fn buffer<S: Storage>(memory: &mut MemoryManagement<S>, label: &str) -> Handle {
    memory.reserve(64, label).expect("room").handle
}

/// Bytes `start..end` of a buffer that has them.
pub fn part(handle: &Handle, start: u64, end: u64) -> BufferBinding {
    handle.slice(start, end).expect("in bounds")
}

pub fn failure(message: &str) -> Failure {
    Failure::new(FailureKind::Validation, message)
}

/// Enters, and requires that it was not skipped.
pub fn enters<S: Storage>(
    memory: &mut MemoryManagement<S>,
    work: &str,
    reads: &[BufferBinding],
    writes: &[BufferBinding],
) -> UnitId {
    match memory.enter(work, reads, writes).expect("usable bindings") {
        Entry::Entered(unit) => unit,
        Entry::Skipped { failure } => panic!("{work} was skipped under {failure}"),
    }
}

/// Requires that it was skipped.
pub fn skips<S: Storage>(
    memory: &mut MemoryManagement<S>,
    work: &str,
    reads: &[BufferBinding],
    writes: &[BufferBinding],
) {
    let entry = memory.enter(work, reads, writes).expect("usable bindings");
    assert!(matches!(entry, Entry::Skipped { .. }), "{work} was entered");
}

pub fn fails<S: Storage>(
    memory: &mut MemoryManagement<S>,
    work: &str,
    writes: &[BufferBinding],
    message: &str,
) {
    let unit = enters(memory, work, &[], writes);
    memory.finish_failed(unit, failure(message));
}

/// A host write, which succeeds.
pub fn writes<S: Storage>(memory: &mut MemoryManagement<S>, binding: &BufferBinding) {
    let unit = enters(memory, "write", &[], std::slice::from_ref(binding));
    memory.finish_clean(unit);
}

pub fn pends<S: Storage>(
    memory: &mut MemoryManagement<S>,
    work: &str,
    reads: &[BufferBinding],
    writes: &[BufferBinding],
    submission: u64,
) -> UnitId {
    let unit = enters(memory, work, reads, writes);
    memory.finish_pending(unit, SubmissionId(submission));
    unit
}

/// Why a read is refused, which it must be.
pub fn refused<S: Storage>(
    memory: &mut MemoryManagement<S>,
    binding: &BufferBinding,
) -> UnwrittenReport {
    match memory.watch(binding) {
        Err(ReadRefusal::Unwritten(report)) => *report,
        other => panic!("the read was not refused: {other:?}"),
    }
}

/// Requires that every byte is trusted.
pub fn reads<S: Storage>(memory: &mut MemoryManagement<S>, binding: &BufferBinding) {
    let watch = memory.watch(binding).expect("a read that begins");
    assert_eq!(memory.resolve(&watch), Ok(Watched::Trusted));
}

pub fn roots(report: &UnwrittenReport) -> Vec<&str> {
    let failures = report.failures.iter();
    failures.map(|failure| failure.message.as_str()).collect()
}

/// The spans of a whole buffer in words: `0..16 root failure`, `16..64 trusted`.
pub fn spans<S: Storage>(memory: &MemoryManagement<S>, handle: &Handle) -> Vec<String> {
    let spans = memory.spans(&handle.binding()).expect("a live buffer");
    let in_words = |span: &TaintSpan| {
        let root = span.failure_id.and_then(|id| memory.graph().error(id));
        let held = root.map_or(span.state.to_string(), |failure| failure.message.clone());
        format!("{}..{} {held}", span.start, span.end)
    };
    spans.iter().map(in_words).collect()
}

/// Requires that nothing is left once everything was dropped and swept.
pub fn is_empty_when_swept<S: Storage>(memory: &mut MemoryManagement<S>) {
    memory.cleanup(true);
    assert_eq!((memory.graph().len(), memory.graph().steps()), (0, 0));
    assert_eq!(
        memory.memory_usage(),
        wellwritten_memory::MemoryUsage::default()
    );
}

/// The scope of a launch on the stream 0.
pub fn scope<'s>(
    server: &'s mut Server,
    work: &'s str,
    inputs: &[BufferBinding],
    outputs: &[BufferBinding],
) -> ExecuteScope<'s, Server> {
    scope_on(server, work, StreamId::default(), inputs, outputs)
}

pub fn scope_on<'s>(
    server: &'s mut Server,
    work: &'s str,
    stream: StreamId,
    inputs: &[BufferBinding],
    outputs: &[BufferBinding],
) -> ExecuteScope<'s, Server> {
    let mut set = server.memory.write_set();
    set.extend_from_slice(outputs);
    ExecuteScope::launching(server, work, stream, inputs, set).expect("usable bindings")
}

/// How often to repeat what must not grow: a million times with `WELLWRITTEN_LONG=1`.
pub fn repeats() -> usize {
    if std::env::var("WELLWRITTEN_LONG").is_ok() {
        1_000_000
    } else {
        100_000
    }
}
