//! [`SessionEvent`]: what a session tells whoever watches it.

use std::rc::Rc;

use serde::Serialize;
use wellwritten_envelope::Id;

use crate::{
    AdmissionEvent, DurableMark, EpisodeRequest, FailureRecord, PhaseChange, RestoreReport,
    SaveOutcome,
};

/// One thing that happened, told once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum SessionEvent {
    /// The phase changed.
    Phase {
        /// From where to where.
        change: PhaseChange,
    },
    /// A transition was committed: exactly one such event for each.
    Boundary {
        /// The epoch.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        epoch: Id,
        /// The boundary just committed.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// The task's word that the episode is over.
        terminal: Option<EpisodeRequest>,
    },
    /// Every participant was captured; the checkpoint is not durable yet.
    Captured {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// It waits for the store.
    Queued {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// The length of its payloads, in bytes.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        byte_length: u64,
    },
    /// A save ended, one way or another.
    Generation {
        /// How.
        outcome: SaveOutcome,
    },
    /// The durable mark moved.
    Durable {
        /// Where to.
        mark: DurableMark,
    },
    /// The epoch ended.
    Failure {
        /// Why.
        record: FailureRecord,
    },
    /// A stimulus from outside the task reached its next station.
    Admission {
        /// Which, of which.
        admission: AdmissionEvent,
    },
    /// The whole group goes on under a new epoch.
    Restored {
        /// From what.
        report: RestoreReport,
    },
}

/// Who watches. Called after the fact, in order, never while the session is in between two states; it must not wait.
pub type Observer = Rc<dyn Fn(SessionEvent)>;
