//! What a person looks at: spans, buffers and the failure graph, on [`Failures`].

use crate::buffers::{Buffer, Standing};
use crate::byte_range::ByteRange;
use crate::failure::FailureKind;
use crate::failures::Failures;
use crate::handle::{BufferBinding, HandleError};
use crate::identity::{BufferId, FailureId};
use crate::report::{GraphStep, ReportBuilder, ReportedFailure, TaintState, claim_state};
use crate::sorted_map::SortedMap;
use crate::taint::Claim;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Bytes `start..end` of a buffer, all in one state and under one failure.
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
pub struct TaintSpan {
    /// First byte, in the buffer's coordinates.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// What is known of them.
    pub state: TaintState,
    /// The root failure; none where the bytes are trusted or pending.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub failure_id: Option<FailureId>,
}

/// One live buffer, and how its bytes stand.
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
pub struct BufferSummary {
    /// The buffer.
    pub buffer_id: BufferId,
    /// The name it was reserved under.
    pub label: String,
    /// How many bytes were asked for.
    pub size_bytes: u64,
    /// The manager's revision at the last change of this buffer.
    pub revision: u64,
    /// The worst state of any byte.
    pub state: TaintState,
    /// Bytes last written by work that succeeded.
    pub trusted_bytes: u64,
    /// Bytes that wait for a submission.
    pub pending_bytes: u64,
    /// Bytes last written by work that failed.
    pub failed_bytes: u64,
    /// Bytes that skipped work would have written.
    pub skipped_bytes: u64,
    /// Bytes that nothing has written.
    pub never_written_bytes: u64,
    /// Whether its reservation failed.
    pub unallocated: bool,
    /// Whether it went with a lost device.
    pub lost: bool,
}

/// Bytes that carry a failure.
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
pub struct Carrier {
    /// The buffer.
    pub buffer_id: BufferId,
    /// Its label.
    pub label: String,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Failed, skipped or never written.
    pub state: TaintState,
}

/// A failure and the live bytes that carry it.
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
pub struct GraphFailure {
    /// The failure.
    pub id: FailureId,
    /// Its kind.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
    /// The work in which it arose.
    pub work: String,
    /// The bytes that carry it, by buffer and start. Empty where only a read in flight does.
    pub carriers: Vec<Carrier>,
}

/// Every failure held, what carries it, and the skips between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
pub struct FailureGraph {
    /// The failures, oldest first.
    pub failures: Vec<GraphFailure>,
    /// The skips, each after the one it follows.
    pub steps: Vec<GraphStep>,
}

impl Failures {
    fn span(&self, range: ByteRange, claim: Claim) -> TaintSpan {
        let claim = self.as_read(claim);
        TaintSpan {
            start: range.start,
            end: range.end,
            state: claim_state(claim),
            failure_id: claim
                .provenance()
                .map(|provenance| self.graph.root(provenance)),
        }
    }

    /// Calls `each` with the spans of `range` in order, trusted gaps included, nothing fused.
    fn each_span(&self, buffer: &Buffer, range: ByteRange, mut each: impl FnMut(TaintSpan)) {
        let trusted = |start, end| TaintSpan {
            start,
            end,
            state: TaintState::Trusted,
            failure_id: None,
        };
        let mut at = range.start;
        for (piece, claim) in buffer.taint.within(range) {
            if piece.start > at {
                each(trusted(at, piece.start));
            }
            each(self.span(piece, claim));
            at = piece.end;
        }
        if at < range.end {
            each(trusted(at, range.end));
        }
    }

    /// The spans of a binding: they cover it exactly, equal neighbours fused.
    pub(crate) fn spans(&self, binding: &BufferBinding) -> Result<Vec<TaintSpan>, HandleError> {
        let buffer = self.buffer(binding)?;
        let mut spans = Vec::new();
        self.each_span(buffer, binding.range(), |span| push_fused(&mut spans, span));
        Ok(spans)
    }

    /// At most `limit` spans, and at least one, that cover the binding; where there are more, one for each of `limit`
    /// equal cells, in the worst state of the cell.
    pub(crate) fn spans_limited(
        &self,
        binding: &BufferBinding,
        limit: usize,
    ) -> Result<Vec<TaintSpan>, HandleError> {
        let exact = self.spans(binding)?;
        if exact.len() <= limit {
            return Ok(exact);
        }
        let range = binding.range();
        let cells = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        // In 128 bits: the product passes 64.
        let edge = |cell: u64| {
            let offset = u128::from(range.len()) * u128::from(cell) / u128::from(cells);
            range.start + u64::try_from(offset).expect("a fraction of a u64 length")
        };
        let mut coarse = Vec::new();
        let mut spans = exact.iter().peekable();
        for cell in 0..cells {
            let (start, end) = (edge(cell), edge(cell + 1));
            let mut worst = TaintSpan {
                start,
                end,
                state: TaintState::Trusted,
                failure_id: None,
            };
            while let Some(span) = spans.peek().filter(|span| span.start < end) {
                if span.state > worst.state {
                    worst.state = span.state;
                    worst.failure_id = span.failure_id;
                }
                if span.end > end {
                    break;
                }
                spans.next();
            }
            if start < end {
                push_fused(&mut coarse, worst);
            }
        }
        Ok(coarse)
    }

    /// The spans of a whole buffer, equal neighbours fused.
    pub(crate) fn all_spans(&self, buffer: &Buffer) -> Vec<TaintSpan> {
        let mut spans = Vec::new();
        self.each_span(buffer, ByteRange::whole(buffer.size_bytes), |span| {
            push_fused(&mut spans, span);
        });
        spans
    }

    pub(crate) fn summary(&self, buffer: &Buffer) -> BufferSummary {
        let mut summary = BufferSummary {
            buffer_id: buffer.key.id,
            label: buffer.label.to_string(),
            size_bytes: buffer.size_bytes,
            revision: buffer.revision(),
            state: TaintState::Trusted,
            trusted_bytes: 0,
            pending_bytes: 0,
            failed_bytes: 0,
            skipped_bytes: 0,
            never_written_bytes: 0,
            unallocated: matches!(buffer.standing, Standing::Unallocated(_)),
            lost: buffer.standing == Standing::Lost,
        };
        self.each_span(buffer, ByteRange::whole(buffer.size_bytes), |span| {
            let bytes = match span.state {
                TaintState::Trusted => &mut summary.trusted_bytes,
                TaintState::Pending => &mut summary.pending_bytes,
                TaintState::Failed => &mut summary.failed_bytes,
                TaintState::Skipped => &mut summary.skipped_bytes,
                TaintState::NeverWritten => &mut summary.never_written_bytes,
            };
            *bytes += span.end - span.start;
            summary.state = summary.state.max(span.state);
        });
        summary
    }

    pub(crate) fn failure_graph(&self) -> FailureGraph {
        let mut carriers: SortedMap<FailureId, Vec<Carrier>> = SortedMap::new();
        for buffer in self.buffers.live() {
            if buffer.taint.is_clean() {
                continue;
            }
            for span in self.all_spans(buffer) {
                let Some(failure) = span.failure_id else {
                    continue;
                };
                carriers.get_or_insert_default(failure).push(Carrier {
                    buffer_id: buffer.key.id,
                    label: buffer.label.to_string(),
                    start: span.start,
                    end: span.end,
                    state: span.state,
                });
            }
        }
        let (failures, steps) = ReportBuilder::new(&self.graph).everything();
        let with_carriers = |failure: ReportedFailure| GraphFailure {
            carriers: carriers
                .get_mut(&failure.id)
                .map(core::mem::take)
                .unwrap_or_default(),
            id: failure.id,
            kind: failure.kind,
            message: failure.message,
            work: failure.work,
        };
        FailureGraph {
            failures: failures.into_iter().map(with_carriers).collect(),
            steps,
        }
    }
}

fn push_fused(spans: &mut Vec<TaintSpan>, span: TaintSpan) {
    match spans.last_mut() {
        Some(last)
            if (last.state, last.failure_id, last.end)
                == (span.state, span.failure_id, span.start) =>
        {
            last.end = span.end;
        }
        _ => spans.push(span),
    }
}
