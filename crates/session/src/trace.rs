//! [`Trace`]: the transitions of the running timeline, as many as fit.

use std::collections::VecDeque;

use wellwritten_envelope::Id;

use crate::{MAX_TRACE_RECORDS, TraceRecord};

/// A stretch of the timeline under one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    epoch: Id,
    /// The boundary it begins at.
    start: u64,
}

/// The transitions that lead to the present, oldest first: one timeline, over as many epochs as it took.
///
/// A restore to boundary `k` drops what came after `k`, so that the trace goes on from there. It keeps the last
/// [`MAX_TRACE_RECORDS`] records and counts those it dropped.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    records: VecDeque<TraceRecord>,
    segments: Vec<Segment>,
    forgotten: u64,
}

impl Trace {
    /// The records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = &TraceRecord> {
        self.records.iter()
    }

    /// Records of this timeline that are no longer kept.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The epochs the timeline ran under, oldest first.
    pub fn epochs(&self) -> impl Iterator<Item = &Id> {
        self.segments.iter().map(|segment| &segment.epoch)
    }

    /// A timeline begins at `boundary`.
    pub(crate) fn begin(&mut self, epoch: Id, boundary: u64) {
        self.records.clear();
        self.forgotten = 0;
        self.segments = vec![Segment {
            epoch,
            start: boundary,
        }];
    }

    pub(crate) fn push(&mut self, record: TraceRecord) {
        if self.records.len() == MAX_TRACE_RECORDS {
            self.records.pop_front();
            self.forgotten += 1;
        }
        self.records.push_back(record);
    }

    /// The timeline goes on under `to_epoch` from `boundary`, as `source_epoch` had it there.
    ///
    /// Where that boundary of that epoch is not on the timeline kept here (another process ran it, or it was
    /// abandoned by an earlier restore), there is nothing to go on from and the trace begins anew.
    pub(crate) fn restore(&mut self, source_epoch: &Id, boundary: u64, to_epoch: Id) {
        let Some(last) = self.segment_of(source_epoch, boundary) else {
            return self.begin(to_epoch, boundary);
        };
        self.records
            .retain(|record| record.behaviour.scope.step.0 < boundary);
        self.segments.truncate(last + 1);
        self.segments.push(Segment {
            epoch: to_epoch,
            start: boundary,
        });
    }

    fn segment_of(&self, epoch: &Id, boundary: u64) -> Option<usize> {
        let position = self
            .segments
            .iter()
            .position(|segment| segment.epoch == *epoch)?;
        let ends_in_time = self
            .segments
            .get(position + 1)
            .is_none_or(|next| next.start >= boundary);
        (self.segments[position].start <= boundary && ends_in_time).then_some(position)
    }
}
