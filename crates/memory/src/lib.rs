//! Which bytes of device memory may be read, and for the others: why not, back to the root failure.
//!
//! **Mental model.** Memory is a set of buffers over pools of pages. For every byte the manager knows
//! its last writer, a *unit of work*. A unit *enters* by claiming its write set, and ends clean, failed,
//! skipped, or *pending* on a submission that settles later. A byte is *trusted* once its last writer,
//! and everything that writer read while it was pending, succeeded. A failed unit leaves a *claim* on
//! exactly the bytes it still owns; work that would read claimed bytes is *skipped*, and its own write
//! set is claimed under the same root failure, with the step noted. A read returns bytes if and only if
//! every byte it returns was last written by work that succeeded; otherwise it gets a report.
//!
//! Work belongs to a logical *stream*; streams fold onto a bounded set of pooled ones, each with pools of its
//! own. A *capture window* on a stream hears how every unit on it ends, and records the read and the write set
//! of a graph that is replayed as one unit.
//!
//! **Two ways in.** [`ExecuteScope`] runs a body inside a write scope. Where the work outlives the call, as
//! with a device that answers later, [`MemoryManagement::enter`] and the `finish_` and `settle` calls are the
//! same scope in pieces. [`FailureStore`] asks and tells about bytes without a scope.
//!
//! **Responsibilities.** This crate keeps the books. The caller does the work, tells how each unit
//! ended, mints submission ids and settles each once, fills recycled bytes, and asks before it copies
//! bytes out. A binding is checked here: foreign, freed and lost ones are refused by name. Everything is
//! single-threaded, with one owner (`&mut`) at a time. Handles free by dropping, at any moment; the
//! manager clears away after them when it is next used.
//!
//! **Invariants.** A failure is in the graph exactly while a live byte, an open scope or a read in
//! flight carries it. Claims never overlap, and equal neighbours are one. Once every buffer and read is
//! dropped and the pools are swept, graph and pools are empty. Identities are never reused. A launch that
//! succeeds allocates nothing, whether it settles at once or later.
//!
//! **What it does not do.** It touches no byte, knows no device, no file and no clock, blocks on
//! nothing, and does not say how to recover: writing bytes again is all it takes.
//!
//! ```
//! use wellwritten_memory::{
//!     BytesStorage, Entry, Failure, FailureKind, MemoryConfiguration, MemoryManagement, ReadRefusal,
//!     SubmissionId, Uninitialized,
//! };
//!
//! let mut memory = MemoryManagement::new(
//!     BytesStorage::default(),
//!     MemoryConfiguration::ExclusivePages,
//!     Uninitialized::Trust,
//! );
//! let field = memory.reserve(1024, "field")?.handle.clone();
//! let view = memory.reserve(256, "view")?.handle.clone();
//!
//! // A launch handed to the device; its outcome is not known yet.
//! let Entry::Entered(unit) = memory.enter("kernel diffuse", &[], &[field.slice(0, 512)?])? else {
//!     unreachable!("it reads nothing")
//! };
//! memory.finish_pending(unit, SubmissionId(1));
//! // Another launch reads those bytes meanwhile, and succeeds as far as it knows.
//! let Entry::Entered(unit) = memory.enter("kernel view", &[field.binding()], &[view.binding()])? else {
//!     unreachable!("pending bytes do not stop a launch")
//! };
//! memory.finish_clean(unit);
//!
//! memory.settle(SubmissionId(1), Err(Failure::new(FailureKind::Shader, "`diffuse` line 12: ...")));
//!
//! let Err(ReadRefusal::Unwritten(report)) = memory.watch(&view.binding()) else {
//!     unreachable!("the view was computed from bytes that were never written")
//! };
//! assert_eq!(report.failures[0].work, "kernel diffuse");
//! assert_eq!(report.path(&report.ranges[0])[0].work, "kernel view");
//! assert!(memory.watch(&field.slice(512, 1024)?).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod buffers;
mod byte_range;
mod byte_set;
mod bytes_storage;
mod configuration;
mod error_graph;
mod exclusive_pages;
mod execute_scope;
mod failure;
mod failure_store;
mod failures;
mod handle;
mod identity;
mod labels;
mod management;
mod memory_report;
mod pools;
mod reading;
mod region;
mod report;
mod settlement;
mod slots;
mod snapshot;
mod sort_by_key;
mod sorted_map;
mod storage;
mod stream_capture;
mod stream_pool;
mod sub_slices;
mod taint;
mod unit;
mod views;
mod watch;
mod write_scope;

pub use byte_range::{ByteRange, RangeError};
pub use bytes_storage::{BytesError, BytesId, BytesStorage};
pub use configuration::{
    DEFAULT_PAGE_SIZE_BYTES, MemoryConfiguration, PoolConfiguration, PoolKind, Uninitialized,
    WhenFull,
};
pub use error_graph::{ErrorGraph, SkipStep};
pub use execute_scope::{ExecuteScope, ScopedOutcome, WriteScoped, WriteSet};
pub use failure::{Failure, FailureKind};
pub use failure_store::{EnsureError, FailureStore, ReadFailure, Written};
pub use failures::Failures;
pub use handle::{BufferBinding, Handle, HandleError};
pub use identity::{BufferId, FailureId, StreamId, SubmissionId, UnitId};
pub use management::{BindError, Location, MemoryManagement, Reservation};
pub use memory_report::{MemoryReport, MemoryUsage, PoolReport};
pub use pools::ReserveError;
pub use region::Region;
pub use report::{
    GraphStep, ReportedFailure, TaintState, UnwrittenRange, UnwrittenRead, UnwrittenReads,
    UnwrittenReport,
};
pub use snapshot::{BufferSnapshot, Snapshot};
pub use sorted_map::{SortedMap, SortedSet};
pub use storage::Storage;
pub use stream_capture::{
    CaptureEnd, CaptureError, CapturePhase, Recording, StreamCapture, WindowFailure,
};
pub use stream_pool::{StreamFactory, StreamPool};
pub use views::{BufferSummary, Carrier, FailureGraph, GraphFailure, TaintSpan};
pub use watch::{ReadRefusal, Watch, Watched};
pub use write_scope::{EnterError, Entry};
