//! [`UnwrittenReport`]: why a read is refused, from the root failure down to the bytes.

use crate::byte_range::ByteRange;
use crate::error_graph::{ErrorGraph, SkipStep};
use crate::failure::FailureKind;
use crate::identity::{BufferId, FailureId};
use crate::sorted_map::SortedSet;
use crate::taint::Claim;
use alloc::rc::Rc;
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

/// Bytes of the read that may not be returned.
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
}

/// A failure that a read ran into, and how it came to the bytes.
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
    /// The skips that carried it here, root first, down to the first of the ranges under this failure.
    /// Empty where those bytes belong to the failed work itself.
    pub path: Vec<SkipStep>,
}

/// Why a read was refused. Complete: every range, every failure once, every step.
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
}

impl UnwrittenReport {
    /// The report over `stale` claims, in order of their bytes; claims that hold no failure are left out.
    pub(crate) fn new(
        graph: &ErrorGraph,
        (buffer, label, range): (BufferId, &Rc<str>, ByteRange),
        stale: impl IntoIterator<Item = (ByteRange, Claim)>,
    ) -> Self {
        let mut report = Self {
            buffer_id: buffer,
            label: label.to_string(),
            start: range.start,
            end: range.end,
            ranges: Vec::new(),
            failures: Vec::new(),
        };
        let mut named = SortedSet::new();
        for (piece, claim) in stale {
            report.add(graph, &mut named, piece, claim);
        }
        report
    }

    fn add(
        &mut self,
        graph: &ErrorGraph,
        named: &mut SortedSet<FailureId>,
        piece: ByteRange,
        claim: Claim,
    ) {
        let Some(provenance) = claim.provenance() else {
            return;
        };
        let failure_id = graph.root(provenance);
        let range = UnwrittenRange {
            start: piece.start,
            end: piece.end,
            state: claim_state(claim),
            failure_id,
        };
        match self.ranges.last_mut() {
            Some(last)
                if last.end == range.start
                    && (last.state, last.failure_id) == (range.state, range.failure_id) =>
            {
                last.end = range.end;
            }
            _ => self.ranges.push(range),
        }
        if !named.insert(failure_id) {
            return;
        }
        let Some(failure) = graph.error(failure_id) else {
            return;
        };
        self.failures.push(ReportedFailure {
            id: failure_id,
            kind: failure.kind,
            message: failure.message.clone(),
            work: graph.work(failure_id).unwrap_or_default().to_string(),
            path: graph.path(provenance),
        });
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

impl fmt::Display for UnwrittenReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(formatter, "{}: {}", failure.work, failure.message)?;
            writeln!(formatter, "  {}, {}", failure.id, failure.kind)?;
            for step in &failure.path {
                writeln!(
                    formatter,
                    "  skipped {}: needed {}, left {}",
                    step.work, step.needed, step.produced
                )?;
            }
        }
        write!(
            formatter,
            "so bytes [{}, {}) of \"{}\" ({}) may not be read:",
            self.start, self.end, self.label, self.buffer_id
        )?;
        for range in &self.ranges {
            write!(
                formatter,
                "\n  [{}, {}) {} ({})",
                range.start, range.end, range.state, range.failure_id
            )?;
        }
        Ok(())
    }
}
