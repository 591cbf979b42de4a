//! [`Trace`]: the transitions of the running timeline, as many as fit.

use std::collections::VecDeque;

use wellwritten_envelope::Id;

use crate::{
    BehaviourChain, BehaviourDigest, CaptureMark, MAX_TRACE_RECORDS, Operational, TraceRecord,
};

/// A stretch of the timeline under one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    epoch: Id,
    /// The boundary it begins at.
    start: u64,
}

/// A record, and the chain that ends with it.
#[derive(Clone, Debug)]
struct Kept {
    record: TraceRecord,
    chain: BehaviourChain,
}

/// The chain at a boundary that a restore may come back to when its record is long forgotten.
#[derive(Clone, Debug)]
struct Mark {
    boundary: u64,
    chain: BehaviourChain,
}

/// Captured boundaries whose digest is remembered.
const MAX_MARKS: usize = 256;

/// The transitions that lead to the present, oldest first: one timeline, over as many epochs as it took.
///
/// A restore to boundary `k` drops what came after `k`, so that the trace goes on from there. It keeps the last
/// [`MAX_TRACE_RECORDS`] records and counts those it dropped; the digest of the behaviour goes on over those too. Nothing
/// in it grows with the number of transitions.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    kept: VecDeque<Kept>,
    segments: Vec<Segment>,
    forgotten: u64,
    /// The boundary the chain begins at: the timeline's own, unless a restore went back to a boundary whose digest
    /// nobody remembers.
    chain_start: u64,
    /// The chain before the oldest kept record.
    before_kept: BehaviourChain,
    marks: VecDeque<Mark>,
}

impl Trace {
    /// The records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = &TraceRecord> {
        self.kept.iter().map(|kept| &kept.record)
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

    /// The digest of the whole timeline, forgotten records included.
    #[must_use]
    pub fn digest(&self) -> BehaviourDigest {
        self.digest_of(self.chain())
    }

    /// The digest of the timeline up to `boundary`: of any boundary from that of the oldest kept record on, and of those
    /// captured, as long as they are remembered.
    #[must_use]
    pub fn digest_at(&self, boundary: u64) -> Option<BehaviourDigest> {
        self.chain_at(boundary).map(|chain| self.digest_of(chain))
    }

    const fn digest_of(&self, chain: BehaviourChain) -> BehaviourDigest {
        BehaviourDigest {
            from: self.chain_start,
            length: chain.length(),
            digest: chain.digest(),
        }
    }

    fn chain(&self) -> BehaviourChain {
        self.kept.back().map_or(self.before_kept, |kept| kept.chain)
    }

    fn chain_at(&self, boundary: u64) -> Option<BehaviourChain> {
        let length = boundary.checked_sub(self.chain_start)?;
        let past = length.checked_sub(self.before_kept.length());
        match past.and_then(|past| usize::try_from(past).ok()) {
            Some(0) => Some(self.before_kept),
            Some(past) => self.kept.get(past - 1).map(|kept| kept.chain),
            None => {
                let mark = self.marks.iter().find(|mark| mark.boundary == boundary);
                mark.map(|mark| mark.chain)
            }
        }
    }

    /// Captured boundaries whose digest is remembered.
    #[cfg(test)]
    pub(crate) fn remembered_marks(&self) -> usize {
        self.marks.len()
    }

    /// A timeline begins at `boundary`.
    pub(crate) fn begin(&mut self, epoch: Id, boundary: u64) {
        *self = Self {
            segments: vec![Segment {
                epoch,
                start: boundary,
            }],
            chain_start: boundary,
            ..Self::default()
        };
    }

    /// Appends the transition that was committed last.
    pub(crate) fn push(&mut self, record: TraceRecord) {
        if self.kept.len() == MAX_TRACE_RECORDS
            && let Some(oldest) = self.kept.pop_front()
        {
            self.before_kept = oldest.chain;
            self.forgotten += 1;
        }
        let chain = self.chain().with(&record.behaviour);
        self.kept.push_back(Kept { record, chain });
    }

    /// A checkpoint was captured at the present boundary: it goes down in the record of the transition that ended there,
    /// and the digest up to there is remembered, so that a restore of it can go on from it.
    pub(crate) fn note_capture(&mut self, checkpoint_id: Id, boundary: u64) {
        let chain = self.chain();
        if self.chain_start + chain.length() == boundary {
            self.marks.retain(|mark| mark.boundary != boundary);
            if self.marks.len() == MAX_MARKS {
                self.marks.pop_front();
            }
            self.marks.push_back(Mark { boundary, chain });
        }
        let last = self.kept.back_mut().map(|kept| &mut kept.record);
        if let Some(record) = last.filter(|it| it.behaviour.acknowledged_boundary.0 == boundary) {
            let captures = &mut record.operational.captures;
            if captures.len() == Operational::MAX_CAPTURES {
                captures.remove(0);
            }
            captures.push(CaptureMark {
                checkpoint_id,
                after_actions: 0,
            });
        }
    }

    /// The timeline goes on under `to_epoch` from `boundary`, as `source_epoch` had it there.
    ///
    /// Where that boundary of that epoch is not on the timeline kept here (another process ran it, or it was
    /// abandoned by an earlier restore), there is nothing to go on from and the trace begins anew.
    pub(crate) fn restore(&mut self, source_epoch: &Id, boundary: u64, to_epoch: Id) {
        let Some(last) = self.segment_of(source_epoch, boundary) else {
            return self.begin(to_epoch, boundary);
        };
        let chain = self.chain_at(boundary);
        self.kept
            .retain(|kept| kept.record.behaviour.scope.step.0 < boundary);
        let timeline_start = self.segments[0].start;
        self.forgotten = self.forgotten.min(boundary - timeline_start);
        self.marks.retain(|mark| mark.boundary <= boundary);
        if self.kept.is_empty() {
            // Where nobody remembers it, the digest begins anew, and says so by where it begins.
            if chain.is_none() {
                self.chain_start = boundary;
                self.marks.clear();
            }
            self.before_kept = chain.unwrap_or_default();
        }
        self.segments.truncate(last + 1);
        self.segments.push(Segment {
            epoch: to_epoch,
            start: boundary,
        });
    }

    /// The epoch that the timeline has at `boundary`, where that is on the timeline.
    pub(crate) fn epoch_at(&self, boundary: u64) -> Option<&Id> {
        let last = self.segments.last()?;
        let end = self.kept.back().map_or(last.start, |kept| {
            kept.record.behaviour.acknowledged_boundary.0
        });
        let mut before = self.segments.iter().rev();
        let segment = before.find(|segment| segment.start <= boundary)?;
        (boundary <= end.max(last.start)).then_some(&segment.epoch)
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
