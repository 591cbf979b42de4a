//! [`StreamCapture`]: the capture window of one pooled stream, and [`Recording`], what it recorded.

use crate::buffers::BufferKey;
use crate::byte_set::ByteSet;
use crate::failure::{Failure, FailureKind};
use crate::handle::{BufferBinding, DropList, HandleError};
use crate::identity::{FailureId, StreamId, UnitKey};
use crate::sorted_map::SortedMap;
use crate::stream_pool::StreamFactory;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::convert::Infallible;
use core::mem;

/// Where a capture window stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapturePhase {
    /// No window.
    #[default]
    Idle,
    /// A window is prepared: work on the stream warms up what the recording will use, and is not recorded.
    Prepared {
        /// The logical stream that owns the window.
        owner: StreamId,
    },
    /// Work on the stream is recorded.
    Recording {
        /// The logical stream that owns the window.
        owner: StreamId,
    },
}

/// Why a window cannot go where it was asked to. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A window is prepared or recording on this pooled stream already. Its owner ends or aborts it.
    #[error("{owner} has a capture window open here already")]
    Open {
        /// The logical stream that owns it.
        owner: StreamId,
    },
    /// There is no prepared window to begin.
    #[error("no capture window is prepared on this stream")]
    NotPrepared,
    /// The prepared window belongs to another logical stream.
    #[error("the capture window prepared here belongs to {owner}, not to {caller}")]
    Foreign {
        /// The logical stream that owns it.
        owner: StreamId,
        /// The logical stream that asked.
        caller: StreamId,
    },
    /// There is no recording to end.
    #[error("no capture window is recording on this stream")]
    NotRecording,
}

/// How a window closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureEnd {
    /// Everything in it ended clean: what [`StreamCapture::take_recorded`] gives can be sealed. Work that is still
    /// pending on a submission may turn out failed; it dooms the closed window too, until the next is prepared. So
    /// settle, ask [`StreamCapture::take_failure`], then seal.
    Sealable,
    /// Work in it failed, was skipped or was torn down: the recording lacks that work and must not be sealed.
    /// [`StreamCapture::take_failure`] says why.
    Doomed,
    /// Another logical stream than the owner closed it: it is abandoned, and nothing of it is to be sealed. What it
    /// recorded can still be taken, to claim those bytes where they were only recorded.
    Abandoned {
        /// The logical stream whose window it was.
        owner: StreamId,
    },
}

/// What doomed a window: its first failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowFailure {
    /// The failure in the error graph. The graph may have let go of it since; this copy says what it was.
    pub id: Option<FailureId>,
    /// The work that failed or was skipped.
    pub work: String,
    /// The root failure.
    pub failure: Failure,
}

/// What a window recorded, each range of bytes once: the read and the write set of a sealed graph.
///
/// It keeps no buffer alive. Replaying a graph after one of its buffers was freed is refused by name.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    reads: Vec<BufferBinding>,
    writes: Vec<BufferBinding>,
}

impl Recording {
    /// What the recorded work reads and nothing in the recording wrote before: what a replay depends on.
    #[must_use]
    pub fn reads(&self) -> &[BufferBinding] {
        &self.reads
    }

    /// What the recorded work writes.
    #[must_use]
    pub fn writes(&self) -> &[BufferBinding] {
        &self.writes
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
}

/// Which window of which pooled stream a unit of work was entered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowKey {
    /// The logical stream of the unit; it finds the pooled one.
    pub(crate) stream: StreamId,
    pub(crate) number: u64,
}

/// A range of a buffer: what a window records is told apart by it.
type Extent = (BufferKey, u64, u64);

fn extent(binding: &BufferBinding) -> Extent {
    let range = binding.range();
    (binding.key(), range.start, range.end)
}

/// The capture window of one pooled stream: where it stands, and what it has recorded.
///
/// The write scopes are its only informants: while it records, work that ends clean hands over what it read
/// and wrote, and work that fails or is skipped dooms the window, as it would be missing from the recording.
/// Whether recorded work also runs is the server's affair; where it does not, the server claims what was
/// recorded until a replay writes it.
#[derive(Debug)]
pub struct StreamCapture {
    manager: Rc<DropList>,
    phase: CapturePhase,
    /// Counts the windows of this stream, to tell one from the next.
    number: u64,
    reads: SortedMap<Extent, BufferBinding>,
    writes: SortedMap<Extent, BufferBinding>,
    written: ByteSet,
    failure: Option<WindowFailure>,
    /// Units entered in this window that have not ended.
    open: Vec<(UnitKey, Rc<str>)>,
    /// Units that had not ended when an earlier window was closed.
    left_open: Vec<UnitKey>,
}

impl StreamCapture {
    /// Where the window stands.
    #[must_use]
    pub fn phase(&self) -> CapturePhase {
        self.phase
    }

    /// The logical stream that owns the window, if there is one.
    #[must_use]
    pub fn owner(&self) -> Option<StreamId> {
        match self.phase {
            CapturePhase::Idle => None,
            CapturePhase::Prepared { owner } | CapturePhase::Recording { owner } => Some(owner),
        }
    }

    /// Whether work on the stream is being recorded.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        matches!(self.phase, CapturePhase::Recording { .. })
    }

    /// Prepares a window for `owner`, from an empty recording: what an earlier one left and nobody took is
    /// dropped. Refused while one is open.
    pub fn prepare(&mut self, owner: StreamId) -> Result<(), CaptureError> {
        if let Some(owner) = self.owner() {
            return Err(CaptureError::Open { owner });
        }
        self.clear();
        self.phase = CapturePhase::Prepared { owner };
        Ok(())
    }

    /// Begins to record in the window that `caller` prepared.
    pub fn begin(&mut self, caller: StreamId) -> Result<(), CaptureError> {
        match self.phase {
            CapturePhase::Idle => Err(CaptureError::NotPrepared),
            CapturePhase::Recording { owner } => Err(CaptureError::Open { owner }),
            CapturePhase::Prepared { owner } if owner != caller => {
                Err(CaptureError::Foreign { owner, caller })
            }
            CapturePhase::Prepared { owner } => {
                self.number += 1;
                self.phase = CapturePhase::Recording { owner };
                Ok(())
            }
        }
    }

    /// Closes the window. What it recorded, and what doomed it, can be taken until the next is prepared.
    /// Work that was entered in it and has not ended is missing from the recording, and dooms it.
    pub fn end(&mut self, caller: StreamId) -> Result<CaptureEnd, CaptureError> {
        let CapturePhase::Recording { owner } = self.phase else {
            return Err(CaptureError::NotRecording);
        };
        if let Some((_, work)) = self.open.first() {
            let torn_down = WindowFailure {
                id: None,
                work: work.to_string(),
                failure: Failure::new(
                    FailureKind::TornDown,
                    "the window was closed before this work told how it ended",
                ),
            };
            self.fail(torn_down);
        }
        self.leave_open();
        self.phase = CapturePhase::Idle;
        Ok(if owner != caller {
            CaptureEnd::Abandoned { owner }
        } else if self.failure.is_some() {
            CaptureEnd::Doomed
        } else {
            CaptureEnd::Sealable
        })
    }

    /// Gives the window up, whoever owns it and wherever it stands, with all it recorded.
    pub fn abort(&mut self) {
        self.clear();
        self.phase = CapturePhase::Idle;
        // What was entered in it is not heard any more.
        self.number += 1;
    }

    /// Records work that ended clean: what it reads is compared with what was recorded so far. No effect unless the
    /// window is recording; refused, and nothing is recorded, where a binding is another manager's.
    pub fn record(
        &mut self,
        reads: &[BufferBinding],
        writes: &[BufferBinding],
    ) -> Result<(), HandleError> {
        for binding in reads.iter().chain(writes) {
            if !binding.belongs_to(&self.manager) {
                let buffer = binding.buffer();
                return Err(HandleError::Foreign { buffer });
            }
        }
        if self.is_recording() {
            let external = self.external(reads);
            self.record_unit(&external, writes);
        }
        Ok(())
    }

    /// What of these reads nothing recorded so far has written.
    pub(crate) fn external(&self, reads: &[BufferBinding]) -> Vec<BufferBinding> {
        let missing = |read: &BufferBinding| {
            let ranges = self.written.missing(read.key(), read.range());
            let read = read.clone();
            ranges.into_iter().map(move |range| read.over(range))
        };
        reads.iter().flat_map(missing).collect()
    }

    /// Records a unit that reads this from outside.
    pub(crate) fn record_unit(&mut self, external: &[BufferBinding], writes: &[BufferBinding]) {
        for read in external {
            self.reads.insert(extent(read), read.clone());
        }
        for write in writes.iter().filter(|write| write.size_bytes() > 0) {
            self.written.insert(write.key(), write.range());
            self.writes.insert(extent(write), write.clone());
        }
    }

    /// Dooms the window; its first failure wins. No effect unless it is recording.
    pub fn fail(&mut self, failure: WindowFailure) {
        if self.is_recording() {
            self.doom(failure);
        }
    }

    /// Dooms the window, also one that is closed already.
    pub(crate) fn doom(&mut self, failure: WindowFailure) {
        self.failure.get_or_insert(failure);
    }

    /// The failure that doomed the window, once.
    pub fn take_failure(&mut self) -> Option<WindowFailure> {
        self.failure.take()
    }

    /// What the closed window recorded, once; each range of bytes is in it once. Nothing while it records.
    pub fn take_recorded(&mut self) -> Recording {
        if self.is_recording() {
            return Recording::default();
        }
        let bindings = |by_extent: SortedMap<Extent, BufferBinding>| {
            by_extent.into_iter().map(|(_, binding)| binding).collect()
        };
        Recording {
            reads: bindings(mem::take(&mut self.reads)),
            writes: bindings(mem::take(&mut self.writes)),
        }
    }

    /// The number of the window that records now.
    pub(crate) fn recording(&self) -> Option<u64> {
        self.is_recording().then_some(self.number)
    }

    /// Whether this window still hears of work that was entered in it: it records, or is closed and no other is
    /// prepared yet.
    pub(crate) fn hears(&self, number: u64) -> bool {
        self.number == number && !matches!(self.phase, CapturePhase::Prepared { .. })
    }

    /// The units that had not ended when their window was closed, once.
    pub(crate) fn take_left_open(&mut self) -> Vec<UnitKey> {
        mem::take(&mut self.left_open)
    }

    fn leave_open(&mut self) {
        let units = self.open.drain(..).map(|(unit, _)| unit);
        self.left_open.extend(units);
    }

    /// Work was entered in this window.
    pub(crate) fn opened(&mut self, unit: UnitKey, work: &Rc<str>) {
        self.open.push((unit, Rc::clone(work)));
    }

    /// Work that was entered in this window told how it ended.
    pub(crate) fn closed(&mut self, unit: UnitKey) {
        // Scopes nest: it is the last of them, or close to it.
        if let Some(at) = self.open.iter().rposition(|(open, _)| *open == unit) {
            self.open.swap_remove(at);
        }
    }

    fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.written.clear();
        self.failure = None;
        self.leave_open();
    }
}

/// Makes the windows of a pool of streams.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    manager: Rc<DropList>,
}

impl Windows {
    pub(crate) fn new(manager: &Rc<DropList>) -> Self {
        let manager = Rc::clone(manager);
        Self { manager }
    }
}

impl StreamFactory for Windows {
    type Stream = StreamCapture;
    type Error = Infallible;

    fn create(&mut self) -> Result<StreamCapture, Infallible> {
        Ok(StreamCapture {
            manager: Rc::clone(&self.manager),
            phase: CapturePhase::Idle,
            number: 0,
            reads: SortedMap::new(),
            writes: SortedMap::new(),
            written: ByteSet::default(),
            failure: None,
            open: Vec::new(),
            left_open: Vec::new(),
        })
    }
}
