//! [`Unit`]: one unit of work between entering its write scope and settling.

use crate::byte_range::ByteRange;
use crate::identity::{BufferId, FailureId, SubmissionId, UnitId};
use crate::region::Place;
use crate::sorted_map::SortedSet;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Where a unit of work stands. A unit that settled is gone from the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its body runs, or was torn down. Its bytes read as failed under the provisional failure, which
    /// the unit holds once; work that writes no byte has none.
    Running { provisional: Option<FailureId> },
    /// Its own outcome is open, until this submission settles.
    Submitted(SubmissionId),
    /// It succeeded; what it read has not settled.
    Awaiting,
}

/// Another unit that read this unit's bytes while they were pending.
#[derive(Clone, Debug)]
pub(crate) struct Dependent {
    pub(crate) unit: UnitId,
    /// What the other unit declared that it reads.
    pub(crate) needed: Place,
    /// A byte of this unit's that the other one read: tells which of its write places was read.
    pub(crate) at: (BufferId, u64),
}

/// One unit of work that has not settled.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) work: Rc<str>,
    pub(crate) progress: Progress,
    /// Its write set, as declared.
    pub(crate) writes: Vec<Place>,
    /// How many spans of claims it still owns.
    pub(crate) spans: u64,
    /// Units whose pending bytes it read and that have not settled.
    pub(crate) inputs: SortedSet<UnitId>,
    pub(crate) dependents: Vec<Dependent>,
    /// Reads in flight over its bytes.
    pub(crate) watches: Vec<u64>,
}

impl Unit {
    /// Which of its write places holds a byte it owns.
    pub(crate) fn place_of(&self, at: (BufferId, u64)) -> usize {
        self.writes
            .iter()
            .position(|place| place.buffer == at.0 && place.range.contains(at.1))
            .unwrap_or(0)
    }
}

/// A piece of a read in flight that waits for a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingPiece {
    pub(crate) range: ByteRange,
    pub(crate) unit: UnitId,
}
