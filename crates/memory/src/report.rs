//! [`UnwrittenReport`] and [`UnwrittenReads`]: why reads are refused, from the root failure down to the bytes.

use crate::byte_range::ByteRange;
use crate::error_graph::{ErrorGraph, Provenance, SkipStep, StepId};
use crate::failure::FailureKind;
use crate::identity::{BufferId, FailureId};
use crate::region::Region;
use crate::sort_by_key::sort_by_key;
use crate::sorted_map::{SortedMap, SortedSet};
use crate::taint::Claim;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// What is known of a byte, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum TaintState {
    /// Last written by work that succeeded, or fresh.
    Trusted,
    /// Last written by work that has not settled.
    Pending,
    /// Not written since the allocation was made, where the manager refuses such bytes.
    NeverWritten,
    /// Work that would have written it was skipped.
    Skipped,
    /// Last written by work that failed.
    Failed,
}

impl fmt::Display for TaintState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Trusted => "trusted",
            Self::Pending => "pending",
            Self::NeverWritten => "never written",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        })
    }
}

/// Bytes of a read that may not be returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct UnwrittenRange {
    /// First byte, in the buffer's coordinates.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Failed, skipped or never written.
    pub state: TaintState,
    /// The failure at the root.
    pub failure_id: FailureId,
    /// The skip that left these bytes, as an index into the report's steps; none where they belong to the
    /// failed work itself.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "number"))]
    pub step: Option<u32>,
}

/// A failure that a read ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct ReportedFailure {
    /// The failure.
    pub id: FailureId,
    /// Its kind.
    pub kind: FailureKind,
    /// What happened, as its source told it.
    pub message: String,
    /// The work in which it arose.
    pub work: String,
}

/// A skip on the way from a failure to bytes that carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct GraphStep {
    /// The root failure.
    pub failure: FailureId,
    /// The step that this one follows, as an index into the same list; none where it follows the failure
    /// itself.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "number"))]
    pub parent: Option<u32>,
    /// What was skipped, needed and left stale.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub step: SkipStep,
}

/// Why a read of one buffer was refused. Complete: every range, every failure once, every step once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct UnwrittenReport {
    /// The buffer that was read.
    pub buffer_id: BufferId,
    /// Its label.
    pub label: String,
    /// First byte of the read.
    pub start: u64,
    /// One past the last byte of the read.
    pub end: u64,
    /// The bytes of the read that may not be returned, in order, equal neighbours fused.
    pub ranges: Vec<UnwrittenRange>,
    /// The failures under them, each once, in the order of their first byte.
    pub failures: Vec<ReportedFailure>,
    /// The skips between those failures and the ranges, each once and after the one it follows.
    pub steps: Vec<GraphStep>,
}

/// One of several reads, and what of it may not be returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct UnwrittenRead {
    /// What was read.
    pub region: Region,
    /// Whether the buffer has no bytes at all, because its reservation failed.
    pub unallocated: bool,
    /// The bytes that may not be returned, in order, equal neighbours fused.
    pub ranges: Vec<UnwrittenRange>,
}

/// Why some of several reads are refused. A failure is named once, however many buffers carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
pub struct UnwrittenReads {
    /// The reads that are refused, in the order asked.
    pub reads: Vec<UnwrittenRead>,
    /// The failures under them, each once, in the order of the reads.
    pub failures: Vec<ReportedFailure>,
    /// The skips between those failures and the ranges, each once and after the one it follows.
    pub steps: Vec<GraphStep>,
}

impl UnwrittenReport {
    /// The skips that carried the failure to a range of this report, root first. Empty where those bytes
    /// belong to the failed work itself.
    #[must_use]
    pub fn path(&self, range: &UnwrittenRange) -> Vec<&SkipStep> {
        path(&self.steps, range)
    }
}

impl UnwrittenReads {
    /// The skips that carried the failure to a range of this report, root first. Empty where those bytes
    /// belong to the failed work itself.
    #[must_use]
    pub fn path(&self, range: &UnwrittenRange) -> Vec<&SkipStep> {
        path(&self.steps, range)
    }
}

fn path<'steps>(steps: &'steps [GraphStep], range: &UnwrittenRange) -> Vec<&'steps SkipStep> {
    let step = |index: Option<u32>| steps.get(usize::try_from(index?).ok()?);
    let mut path: Vec<&SkipStep> =
        core::iter::successors(step(range.step), |child| step(child.parent))
            .map(|step| &step.step)
            .collect();
    path.reverse();
    path
}

/// Gathers the ranges of one or more reads, and names each failure and each step once.
pub(crate) struct ReportBuilder<'graph> {
    graph: &'graph ErrorGraph,
    failures: Vec<ReportedFailure>,
    named: SortedSet<FailureId>,
    steps: Vec<GraphStep>,
    index_by_step: SortedMap<StepId, u32>,
}

impl<'graph> ReportBuilder<'graph> {
    pub(crate) fn new(graph: &'graph ErrorGraph) -> Self {
        Self {
            graph,
            failures: Vec::new(),
            named: SortedSet::new(),
            steps: Vec::new(),
            index_by_step: SortedMap::new(),
        }
    }

    /// The ranges of `stale`, which is in order of its bytes; claims that hold no failure are left out.
    pub(crate) fn ranges(
        &mut self,
        stale: impl IntoIterator<Item = (ByteRange, Claim)>,
    ) -> Vec<UnwrittenRange> {
        let mut ranges: Vec<UnwrittenRange> = Vec::new();
        for (piece, claim) in stale {
            let Some(provenance) = claim.provenance() else {
                continue;
            };
            let range = UnwrittenRange {
                start: piece.start,
                end: piece.end,
                state: claim_state(claim),
                failure_id: self.failure(self.graph.root(provenance)),
                step: self.step(provenance),
            };
            match ranges.last_mut() {
                Some(last)
                    if last.end == range.start
                        && (last.state, last.failure_id, last.step)
                            == (range.state, range.failure_id, range.step) =>
                {
                    last.end = range.end;
                }
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// Names a failure, once.
    fn failure(&mut self, id: FailureId) -> FailureId {
        if self.named.insert(id)
            && let Some(failure) = self.graph.error(id)
        {
            self.failures.push(ReportedFailure {
                id,
                kind: failure.kind,
                message: failure.message.clone(),
                work: self.graph.work(id).unwrap_or_default().to_string(),
            });
        }
        id
    }

    /// The index of a step, which is named, once, after those it follows.
    fn step(&mut self, provenance: Provenance) -> Option<u32> {
        let mut new = Vec::new();
        let mut at = self.graph.resolved(provenance);
        let mut parent = None;
        while let Provenance::Step(id) = at {
            if let Some(&known) = self.index_by_step.get(&id) {
                parent = Some(known);
                break;
            }
            new.push(id);
            at = self.graph.parent(id);
        }
        for id in new.into_iter().rev() {
            let index = u32::try_from(self.steps.len()).ok()?;
            self.steps.push(GraphStep {
                failure: self.graph.root(Provenance::Step(id)),
                parent,
                step: self.graph.text(id),
            });
            self.index_by_step.insert(id, index);
            parent = Some(index);
        }
        parent
    }

    /// Every failure that the graph holds, oldest first, and every step.
    pub(crate) fn everything(mut self) -> (Vec<ReportedFailure>, Vec<GraphStep>) {
        for id in self.graph.ids() {
            self.failure(id);
        }
        for id in self.graph.all_steps() {
            self.step(Provenance::Step(id));
        }
        (self.failures, self.steps)
    }

    /// The report on one buffer.
    pub(crate) fn report(self, read: Region, ranges: Vec<UnwrittenRange>) -> UnwrittenReport {
        UnwrittenReport {
            buffer_id: read.buffer_id,
            label: read.label,
            start: read.start,
            end: read.end,
            ranges,
            failures: self.failures,
            steps: self.steps,
        }
    }

    /// The report on several.
    pub(crate) fn reads(self, reads: Vec<UnwrittenRead>) -> UnwrittenReads {
        UnwrittenReads {
            reads,
            failures: self.failures,
            steps: self.steps,
        }
    }
}

/// The state of bytes under a claim of a failure; a unit's bytes are pending unless its scope is open.
pub(crate) fn claim_state(claim: Claim) -> TaintState {
    match claim {
        Claim::Unit(_) => TaintState::Pending,
        Claim::Failed(_) => TaintState::Failed,
        Claim::Skipped(_) => TaintState::Skipped,
        Claim::NeverWritten(_) => TaintState::NeverWritten,
    }
}

fn write_evidence(
    formatter: &mut fmt::Formatter<'_>,
    failures: &[ReportedFailure],
    steps: &[GraphStep],
) -> fmt::Result {
    let mut by_failure: Vec<(FailureId, usize)> = (0..)
        .zip(steps)
        .map(|(at, step)| (step.failure, at))
        .collect();
    sort_by_key(&mut by_failure, |entry| *entry);
    for failure in failures {
        writeln!(formatter, "{}: {}", failure.work, failure.message)?;
        writeln!(formatter, "  {}, {}", failure.id, failure.kind)?;
        let from = by_failure.partition_point(|(of, _)| *of < failure.id);
        let of_this = by_failure[from..].iter();
        for (_, at) in of_this.take_while(|(of, _)| *of == failure.id) {
            let step = &steps[*at].step;
            writeln!(
                formatter,
                "  skipped {}: needed {}, left {}",
                step.work, step.needed, step.produced
            )?;
        }
    }
    Ok(())
}

fn write_ranges(formatter: &mut fmt::Formatter<'_>, ranges: &[UnwrittenRange]) -> fmt::Result {
    // Ranges that only differ in how the failure came to them read as one.
    let mut told: Vec<UnwrittenRange> = Vec::new();
    for range in ranges {
        match told.last_mut() {
            Some(last)
                if last.end == range.start
                    && (last.state, last.failure_id) == (range.state, range.failure_id) =>
            {
                last.end = range.end;
            }
            _ => told.push(*range),
        }
    }
    for range in told {
        write!(
            formatter,
            "\n  [{}, {}) {} ({})",
            range.start, range.end, range.state, range.failure_id
        )?;
    }
    Ok(())
}

impl fmt::Display for UnwrittenReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_evidence(formatter, &self.failures, &self.steps)?;
        write!(
            formatter,
            "so bytes [{}, {}) of \"{}\" ({}) may not be read:",
            self.start, self.end, self.label, self.buffer_id
        )?;
        write_ranges(formatter, &self.ranges)
    }
}

impl fmt::Display for UnwrittenReads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_evidence(formatter, &self.failures, &self.steps)?;
        formatter.write_str("so these may not be read:")?;
        for read in &self.reads {
            let why = if read.unallocated {
                ", unallocated"
            } else {
                ""
            };
            write!(formatter, "\n{}{why}", read.region)?;
            write_ranges(formatter, &read.ranges)?;
        }
        Ok(())
    }
}
