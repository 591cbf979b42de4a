//! [`Snapshot`]: everything a person may look at, or only what changed since an earlier one.

use crate::failures::Failures;
use crate::identity::BufferId;
use crate::views::{BufferSummary, FailureGraph, TaintSpan};
use alloc::vec::Vec;

/// One live buffer in a snapshot.
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
pub struct BufferSnapshot {
    /// The buffer, and how its bytes stand.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub summary: BufferSummary,
    /// Its spans: in order, covering it exactly, equal neighbours fused.
    pub spans: Vec<TaintSpan>,
}

/// The books at one revision: whole, or what changed since an earlier revision.
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
pub struct Snapshot {
    /// The revision it shows: what the next snapshot is asked to go on from.
    pub revision: u64,
    /// Whether it is whole. Then it replaces everything known before: it was asked for from the beginning, or
    /// from a revision that is too far back to tell which buffers went since.
    pub complete: bool,
    /// Every live buffer where the snapshot is whole; otherwise those that changed. By id.
    pub buffers: Vec<BufferSnapshot>,
    /// The buffers that were freed, oldest first; some may have come and gone since. Empty where the snapshot
    /// is whole.
    pub gone: Vec<BufferId>,
    /// The failures held, the bytes that carry each, and the skips between; none where nothing of it changed.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub graph: Option<FailureGraph>,
}

impl Failures {
    pub(crate) fn snapshot(&mut self, since: u64) -> Snapshot {
        self.note_graph();
        let is_complete = since == 0 || !self.buffers.remembers(since);
        let buffers = if is_complete {
            self.buffers.live()
        } else {
            self.buffers.changed_since(since)
        };
        let buffers = buffers.into_iter().map(|buffer| BufferSnapshot {
            summary: self.summary(buffer),
            spans: self.all_spans(buffer),
        });
        Snapshot {
            revision: self.buffers.revision(),
            complete: is_complete,
            buffers: buffers.collect(),
            gone: if is_complete {
                Vec::new()
            } else {
                self.buffers.gone_since(since).collect()
            },
            graph: (is_complete || self.graph_revision > since).then(|| self.failure_graph()),
        }
    }

    /// Moves the revision where the graph changed since somebody last looked. A provisional failure that came and
    /// went between two looks is no change: every launch has one.
    fn note_graph(&mut self) {
        let now = (self.graph.changes(), self.graph.open_scopes());
        if now != self.graph_noted {
            self.graph_noted = now;
            self.graph_revision = self.buffers.advance();
        }
    }
}
