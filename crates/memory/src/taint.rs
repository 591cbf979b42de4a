//! [`Taint`]: which ranges of one allocation may not be trusted, and because of what.

use crate::byte_range::ByteRange;
use crate::error_graph::{Provenance, StepId};
use crate::identity::{FailureId, UnitKey};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What holds a byte. A byte that nothing holds was last written by work that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Written by a unit that is running or has not settled.
    Unit(UnitKey),
    /// Written by work that failed.
    Failed(FailureId),
    /// Would have been written by work that was skipped.
    Skipped(StepId),
    /// Not written since the allocation was made.
    NeverWritten(FailureId),
}

impl Claim {
    /// The unit whose outcome decides, if that is open.
    pub(crate) fn unit(self) -> Option<UnitKey> {
        match self {
            Self::Unit(id) => Some(id),
            Self::Failed(_) | Self::Skipped(_) | Self::NeverWritten(_) => None,
        }
    }

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

/// What setting a claim moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Whether any byte changed hands.
    pub(crate) any: bool,
    /// Whether a failure came to bytes or lost some.
    pub(crate) of_failures: bool,
    /// Whether a unit did.
    pub(crate) of_units: bool,
}

impl Moved {
    /// Bytes came to this claim, or went from it.
    fn note(&mut self, claim: Claim) {
        self.any = true;
        match claim {
            Claim::Unit(_) => self.of_units = true,
            Claim::Failed(_) | Claim::Skipped(_) | Claim::NeverWritten(_) => {
                self.of_failures = true;
            }
        }
    }
}

/// What setting a claim did where at most one span was there before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inline {
    /// What changed hands.
    pub(crate) moved: Moved,
    /// The claim of a span that appeared.
    pub(crate) gained: Option<Claim>,
    /// The claim of a span that went.
    pub(crate) lost: Option<Claim>,
}

impl Inline {
    const UNCHANGED: Self = Self {
        moved: Moved {
            any: false,
            of_failures: false,
            of_units: false,
        },
        gained: None,
        lost: None,
    };

    fn changed(gained: Option<Claim>, lost: Option<Claim>) -> Self {
        let mut moved = Moved::default();
        for claim in gained.into_iter().chain(lost) {
            moved.note(claim);
        }
        Self {
            moved,
            gained,
            lost,
        }
    }

    /// A span of this claim grew or shrank.
    fn resized(claim: Claim) -> Self {
        let mut moved = Moved::default();
        moved.note(claim);
        Self {
            moved,
            gained: None,
            lost: None,
        }
    }
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

    /// Whether nothing holds any byte.
    pub(crate) fn is_clean(&self) -> bool {
        match &self.spans {
            Spans::None => true,
            Spans::One(..) => false,
            Spans::Many(spans) => spans.is_empty(),
        }
    }

    /// Gives `range`, which is not empty, to `claim` where nothing holds any byte. False, and no effect,
    /// otherwise.
    #[inline]
    pub(crate) fn claim_clean(&mut self, range: ByteRange, claim: Claim) -> bool {
        let is_clean = matches!(self.spans, Spans::None);
        if is_clean {
            self.put(range.start, range.end, claim);
        }
        is_clean
    }

    /// Releases `range` where one span of `claim` over exactly those bytes is all there is. False, and no
    /// effect, otherwise.
    #[inline]
    pub(crate) fn release_sole(&mut self, range: ByteRange, claim: Claim) -> bool {
        let is_sole = matches!(
            &self.spans,
            Spans::One(start, span)
                if span.claim == claim && (*start, span.end) == (range.start, range.end)
        );
        if is_sole {
            self.spans = Spans::None;
        }
        is_sole
    }

    /// Whether one span of this claim is all there is.
    pub(crate) fn is_solely(&self, claim: Claim) -> bool {
        matches!(&self.spans, Spans::One(_, span) if span.claim == claim)
    }

    /// Gives `range` to `claim`, or to nothing, where no more than one span was there and no more than one
    /// results: the case of every launch that succeeds. `None`, and no effect, in any other case:
    /// [`Taint::set`] does it.
    pub(crate) fn set_inline(&mut self, range: ByteRange, claim: Option<Claim>) -> Option<Inline> {
        if range.is_empty() {
            return Some(Inline::UNCHANGED);
        }
        let (start, span) = match &self.spans {
            Spans::Many(_) => return None,
            Spans::None => {
                let Some(claim) = claim else {
                    return Some(Inline::UNCHANGED);
                };
                self.put(range.start, range.end, claim);
                return Some(Inline::changed(Some(claim), None));
            }
            Spans::One(start, span) => (*start, *span),
        };
        let covered = range.start <= start && span.end <= range.end;
        let apart = range.end < start || span.end < range.start;
        match claim {
            Some(claim) if claim == span.claim && !apart => {
                let (from, to) = (start.min(range.start), span.end.max(range.end));
                if (from, to) == (start, span.end) {
                    return Some(Inline::UNCHANGED);
                }
                self.put(from, to, claim);
                Some(Inline::resized(span.claim))
            }
            Some(claim) if covered => {
                self.put(range.start, range.end, claim);
                Some(Inline::changed(Some(claim), Some(span.claim)))
            }
            None if covered => {
                self.spans = Spans::None;
                Some(Inline::changed(None, Some(span.claim)))
            }
            None if range.end <= start || span.end <= range.start => Some(Inline::UNCHANGED),
            None if range.start <= start => {
                self.put(range.end, span.end, span.claim);
                Some(Inline::resized(span.claim))
            }
            None if span.end <= range.end => {
                self.put(start, range.start, span.claim);
                Some(Inline::resized(span.claim))
            }
            // Two claims side by side, or a hole in the middle of one.
            Some(_) | None => None,
        }
    }

    fn put(&mut self, start: u64, end: u64, claim: Claim) {
        self.spans = Spans::One(start, Span { end, claim });
    }

    /// Gives `range` to `claim`, or to nothing: whatever held those bytes loses exactly them. Tells
    /// `changes` of every span that appeared or went.
    pub(crate) fn set(
        &mut self,
        range: ByteRange,
        claim: Option<Claim>,
        changes: &mut Vec<Change>,
    ) -> Moved {
        if range.is_empty() {
            return Moved::default();
        }
        if let Spans::None = self.spans {
            self.spans = Spans::Many(BTreeMap::new());
        }
        if let Spans::One(start, span) = self.spans {
            self.spans = Spans::Many(BTreeMap::from([(start, span)]));
        }
        let Spans::Many(spans) = &mut self.spans else {
            return Moved::default();
        };
        set_in_tree(spans, range, claim, changes)
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
) -> Moved {
    let ByteRange {
        mut start, mut end, ..
    } = range;
    let mut moved = Moved::default();
    if let Some(claim) = claim {
        moved.note(claim);
    }
    // A span that begins before the range keeps its front, and its tail if it outlasts the range.
    if let Some((&before, &span)) = spans.range(..start).next_back()
        && span.end > start
    {
        if claim == Some(span.claim) && span.end >= end {
            return Moved::default();
        }
        moved.note(span.claim);
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
        if (inside, span.end) == (start, end) && claim == Some(span.claim) {
            return Moved::default();
        }
        moved.note(span.claim);
        spans.remove(&inside);
        if span.end > end {
            spans.insert(end, span);
        } else {
            changes.push(Change::Lost(span.claim));
        }
    }
    let Some(claim) = claim else { return moved };
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
    moved
}
