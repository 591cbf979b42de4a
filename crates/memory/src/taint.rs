//! [`Taint`]: which ranges of one allocation may not be trusted, and because of what.

use crate::byte_range::ByteRange;
use crate::error_graph::{Provenance, StepId};
use crate::identity::{FailureId, UnitId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What holds a byte. A byte that nothing holds was last written by work that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Written by a unit that is running or has not settled.
    Unit(UnitId),
    /// Written by work that failed.
    Failed(FailureId),
    /// Would have been written by work that was skipped.
    Skipped(StepId),
    /// Not written since the allocation was made.
    NeverWritten(FailureId),
}

impl Claim {
    /// The node of the error graph that the claim holds, if it is a claim of a failure.
    pub(crate) fn provenance(self) -> Option<Provenance> {
        match self {
            Self::Unit(_) => None,
            Self::Failed(id) | Self::NeverWritten(id) => Some(Provenance::Root(id)),
            Self::Skipped(id) => Some(Provenance::Step(id)),
        }
    }
}

/// A span that appeared or went while claims were set: once per span, not per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Gained(Claim),
    Lost(Claim),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    end: u64,
    claim: Claim,
}

/// The claims on one allocation: disjoint ranges, no two neighbours of one claim.
///
/// Look-up and update are O(log n) in the number of ranges. One range sits inline; the tree appears
/// with the second and then stays, so that a buffer whose count hovers around one does not allocate at
/// every launch.
#[derive(Debug, Default)]
pub(crate) struct Taint {
    spans: Spans,
}

#[derive(Debug, Default)]
enum Spans {
    #[default]
    None,
    One(u64, Span),
    Many(BTreeMap<u64, Span>),
}

impl Taint {
    /// The claims that touch `range`, cut to it, in order.
    pub(crate) fn within(&self, range: ByteRange) -> impl Iterator<Item = (ByteRange, Claim)> + '_ {
        let (one, many) = match &self.spans {
            Spans::None => (None, None),
            Spans::One(start, span) => (Some((*start, *span)), None),
            Spans::Many(spans) => {
                let first = spans
                    .range(..range.start)
                    .next_back()
                    .filter(|(_, span)| span.end > range.start)
                    .map(|(start, span)| (*start, *span));
                (first, Some(spans.range(range.start..range.end)))
            }
        };
        one.into_iter()
            .chain(
                many.into_iter()
                    .flatten()
                    .map(|(start, span)| (*start, *span)),
            )
            .filter_map(move |(start, span)| {
                let start = start.max(range.start);
                let end = span.end.min(range.end);
                ByteRange::new(start, end)
                    .ok()
                    .filter(|cut| !cut.is_empty())
                    .map(|cut| (cut, span.claim))
            })
    }

    /// Gives `range` to `claim`, or to nothing: whatever held those bytes loses exactly them. Tells
    /// `changes` of every span that appeared or went. An empty range changes nothing.
    pub(crate) fn set(
        &mut self,
        range: ByteRange,
        claim: Option<Claim>,
        changes: &mut Vec<Change>,
    ) {
        if range.is_empty() {
            return;
        }
        if let Some(done) = self.set_inline(range, claim, changes) {
            self.spans = done;
            return;
        }
        let Spans::Many(spans) = &mut self.spans else {
            return;
        };
        set_in_tree(spans, range, claim, changes);
    }

    /// The new state where no more than one span results and there is no tree; otherwise makes a tree.
    fn set_inline(
        &mut self,
        range: ByteRange,
        claim: Option<Claim>,
        changes: &mut Vec<Change>,
    ) -> Option<Spans> {
        let (start, span) = match &self.spans {
            Spans::Many(_) => return None,
            Spans::None => {
                return Some(claim.map_or(Spans::None, |claim| {
                    changes.push(Change::Gained(claim));
                    Spans::One(
                        range.start,
                        Span {
                            end: range.end,
                            claim,
                        },
                    )
                }));
            }
            Spans::One(start, span) => (*start, *span),
        };
        if range.start <= start && span.end <= range.end {
            changes.push(Change::Lost(span.claim));
            return Some(claim.map_or(Spans::None, |claim| {
                changes.push(Change::Gained(claim));
                Spans::One(
                    range.start,
                    Span {
                        end: range.end,
                        claim,
                    },
                )
            }));
        }
        if claim.is_none() {
            if range.end <= start || span.end <= range.start {
                return Some(Spans::One(start, span));
            }
            if range.start <= start {
                return Some(Spans::One(range.end, span));
            }
            if span.end <= range.end {
                return Some(Spans::One(
                    start,
                    Span {
                        end: range.start,
                        claim: span.claim,
                    },
                ));
            }
        }
        self.spans = Spans::Many(BTreeMap::from([(start, span)]));
        None
    }

    /// Drops every claim.
    pub(crate) fn clear(&mut self, changes: &mut Vec<Change>) {
        match core::mem::take(&mut self.spans) {
            Spans::None => {}
            Spans::One(_, span) => changes.push(Change::Lost(span.claim)),
            Spans::Many(spans) => {
                changes.extend(spans.into_values().map(|span| Change::Lost(span.claim)));
            }
        }
    }
}

fn set_in_tree(
    spans: &mut BTreeMap<u64, Span>,
    range: ByteRange,
    claim: Option<Claim>,
    changes: &mut Vec<Change>,
) {
    let ByteRange {
        mut start, mut end, ..
    } = range;
    // A span that begins before the range keeps its front, and its tail if it outlasts the range.
    if let Some((&before, &span)) = spans.range(..start).next_back()
        && span.end > start
    {
        if claim == Some(span.claim) && span.end >= end {
            return;
        }
        spans.insert(
            before,
            Span {
                end: start,
                claim: span.claim,
            },
        );
        if span.end > end {
            spans.insert(end, span);
            changes.push(Change::Gained(span.claim));
        }
    }
    while let Some((&inside, &span)) = spans.range(start..end).next() {
        spans.remove(&inside);
        if span.end > end {
            spans.insert(end, span);
        } else {
            changes.push(Change::Lost(span.claim));
        }
    }
    let Some(claim) = claim else { return };
    if let Some((&before, &span)) = spans.range(..start).next_back()
        && span.end == start
        && span.claim == claim
    {
        spans.remove(&before);
        changes.push(Change::Lost(claim));
        start = before;
    }
    if let Some(&span) = spans.get(&end)
        && span.claim == claim
    {
        spans.remove(&end);
        changes.push(Change::Lost(claim));
        end = span.end;
    }
    changes.push(Change::Gained(claim));
    spans.insert(start, Span { end, claim });
}
