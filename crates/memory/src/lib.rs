//! Which bytes of device memory may be read, and why the others may not.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod byte_range;
mod bytes_storage;
mod configuration;
mod error_graph;
mod exclusive_pages;
mod execute_scope;
mod failure;
mod handle;
mod identity;
mod labels;
mod ledger;
mod management;
mod pools;
mod reading;
mod region;
mod report;
mod settlement;
mod snapshot;
mod storage;
mod sub_slices;
mod taint;
mod unit;
mod watch;

pub use byte_range::{ByteRange, RangeError};
pub use bytes_storage::{BytesError, BytesId, BytesStorage};
pub use configuration::{
    DEFAULT_PAGE_SIZE_BYTES, MemoryConfiguration, PoolConfiguration, PoolKind, Uninitialized,
    WhenFull,
};
pub use error_graph::{ErrorGraph, SkipStep};
pub use execute_scope::{ExecuteScope, ScopedOutcome, WriteScoped, WriteSet};
pub use failure::{Failure, FailureKind};
pub use handle::{BufferBinding, Handle, HandleError};
pub use identity::{BufferId, FailureId, SubmissionId, UnitId};
pub use management::{Location, MemoryManagement, MemoryUsage, Reservation};
pub use pools::ReserveError;
pub use region::Region;
pub use report::{ReportedFailure, TaintState, UnwrittenRange, UnwrittenReport};
pub use settlement::Entry;
pub use snapshot::{BufferSummary, Carrier, FailureGraph, GraphFailure, GraphStep, TaintSpan};
pub use storage::Storage;
pub use watch::{ReadRefusal, Watch, Watched};
