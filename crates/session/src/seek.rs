//! [`SeekRequest`] and what comes of it: going to a boundary of the recorded timeline.

use std::cell::Cell;
use std::rc::Rc;

use serde::Serialize;
use wellwritten_envelope::Id;

use crate::{ErrorCode, MutationCertainty, RestoreReport, SessionError, SkippedGeneration};

/// Where to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeekRequest {
    /// The boundary.
    pub boundary: u64,
    /// The epoch to go on under, where a checkpoint has to be restored; the next unused one where none is named.
    pub epoch: Option<Id>,
}

/// How far a seek has come. Told at every boundary from which it repeats a transition, and at its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SeekProgress {
    /// The boundary the first repeated transition begins at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub from: u64,
    /// The boundary the session stands at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub at: u64,
    /// The boundary it goes to.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub to: u64,
}

/// Stops a seek at the next committed boundary. Clones stop the same one.
#[derive(Clone, Debug, Default)]
pub struct SeekCancel(Rc<Cell<bool>>);

impl SeekCancel {
    /// Asks for the stop.
    pub fn cancel(&self) {
        self.0.set(true);
    }

    /// Whether it was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.get()
    }
}

/// What a seek did. The session is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SeekReport {
    /// The boundary it stood at before; none where nothing ran.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint | null"))]
    pub from: Option<u64>,
    /// The boundary it stands at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub boundary: u64,
    /// The restore it began with; none where it only went on.
    pub restored: Option<RestoreReport>,
    /// Transitions that were repeated, each of which did what was recorded.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub repeated: u64,
    /// Whether it was stopped on the way.
    pub cancelled: bool,
}

/// The boundaries that can be gone to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct RecordedSpan {
    /// The boundary the first recorded transition begins at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub from: u64,
    /// The boundary the last one ends at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub to: u64,
    /// The checkpoints of the timeline, as far as they are known, by boundary.
    pub checkpoints: Vec<crate::RecordedCheckpoint>,
}

/// Why a seek did not arrive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeekError {
    /// What the session said. After a failure it is fenced, after a refusal it stands paused at the last boundary that was
    /// reached, or is what it was.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is no whole checkpoint of this timeline at the boundary or before it. Nothing changed.
    #[error("there is no whole checkpoint at boundary {boundary} or before it{}", oldest_text(*oldest))]
    NoGeneration {
        /// The boundary.
        boundary: u64,
        /// The boundary of the oldest checkpoint of this timeline.
        oldest: Option<u64>,
        /// Checkpoints that were passed over, and why.
        skipped: Vec<SkippedGeneration>,
    },
    /// It is not known how to get to the boundary from the nearest checkpoint. Nothing changed.
    #[error(
        "boundary {boundary} cannot be repeated: what was put in is recorded from boundary {recorded_from} to \
         {recorded_to}"
    )]
    NotRecorded {
        /// The boundary.
        boundary: u64,
        /// The first boundary that is recorded.
        recorded_from: u64,
        /// The last.
        recorded_to: u64,
    },
    /// Stimuli wait that were not there when the next transition was recorded. Step, or go back first. Nothing changed.
    #[error(
        "{waiting} stimuli wait that are not of the recorded run; step to apply them, or go back first"
    )]
    InputsWait {
        /// How many wait.
        waiting: usize,
    },
    /// A repeated transition did something else than was recorded: a participant is not deterministic, or the recording
    /// is not of this run. The session is paused behind it, on a branch of its own.
    #[error("repeating step {step} did something else than was recorded: {}", fields.join(", "))]
    Diverged {
        /// The boundary the transition began at.
        step: u64,
        /// The fields that differ.
        fields: Vec<String>,
    },
    /// It was stopped before it began. Nothing changed.
    #[error("the seek was stopped before it began")]
    Cancelled,
}

fn oldest_text(oldest: Option<u64>) -> String {
    oldest.map_or_else(String::new, |oldest| {
        format!("; the oldest is of boundary {oldest}")
    })
}

impl SeekError {
    /// The error's code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Session(error) => error.code(),
            Self::NoGeneration { .. } | Self::NotRecorded { .. } => ErrorCode::Unsupported,
            Self::InputsWait { .. } | Self::Cancelled => ErrorCode::InvalidPhase,
            Self::Diverged { .. } => ErrorCode::IncompatibleState,
        }
    }

    /// Whether anything changed.
    #[must_use]
    pub const fn mutation(&self) -> MutationCertainty {
        match self {
            Self::Session(error) => error.mutation(),
            Self::Diverged { .. } => MutationCertainty::Applied,
            _ => MutationCertainty::None,
        }
    }
}
