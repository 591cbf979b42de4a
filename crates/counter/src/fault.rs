//! [`Fault`]: one thing that goes wrong, as data.

use serde::{Deserialize, Serialize};
use wellwritten_session::{ErrorCode, Id, U64};

/// Where a participant is when it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultPoint {
    /// It is initialized.
    Initialize,
    /// It is asked whether its state reads cleanly.
    Verify,
    /// An agent prepares.
    Prepare,
    /// An agent commits.
    Commit,
    /// The world moves.
    Advance,
    /// Its state is captured.
    Capture,
    /// A state is staged.
    Stage,
    /// The staged state becomes its own.
    Activate,
    /// The task judges.
    Evaluate,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// It refuses before it does anything.
    Refuse(ErrorCode),
    /// It does what it is asked, as far as [`FaultKind::BreakAfterInput`] does not say otherwise, and then fails: nobody
    /// can tell what changed.
    Break,
    /// An agent fails its commit when the next input is installed and nothing else is.
    BreakAfterInput,
    /// Its program panics.
    Panic,
    /// It never answers.
    Hang,
    /// It gives others this many turns before it answers.
    DelayTurns(u32),
    /// It sleeps this many milliseconds before it answers, and does nothing that could be seen as progress.
    DelayMs(u32),
    /// It works this many milliseconds before it answers and reports progress every [`FaultKind::PROGRESS_MS`].
    WorkMs(u32),
    /// An agent runs this many ticks more than the interval holds.
    ExtraTicks(u32),
    /// Bytes of the world no longer read cleanly, until they are rewritten.
    Dirty,
    /// The world says or does something that is not so.
    Lie(Lie),
    /// The task stimulates every agent with a kind that none declares.
    UndeclaredStimulus,
}

/// What a world says or does that it must not. All but [`Lie::Cheat`] leave its state as the batch made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lie {
    /// It moves 100 further than the batch says.
    Cheat,
    /// It names another batch.
    Batch,
    /// It names another boundary that it started from.
    AppliedFromStep,
    /// It names another boundary that it went to.
    NextStep,
    /// It digests other controls.
    Controls,
    /// It shows another boundary.
    Boundary,
    /// Its time is zero.
    WorldTime,
    /// The name of its engine frame is a character too long.
    EngineFrame,
    /// Its inspection follows another schema.
    InspectionSchema,
    /// Its inspection shows another counter.
    Inspection,
    /// The view is not there.
    ViewMissing,
    /// The view is one step older than it must be.
    ViewStale,
    /// The view is one step newer than it must be.
    ViewFromTheFuture,
    /// The view has a byte too few.
    ViewTruncated,
    /// The view is rendered again instead of shown again.
    ViewRerendered,
    /// The view is there twice.
    ViewTwice,
    /// The chunk of sound is not there.
    AudioMissing,
    /// The chunk begins a sample frame before the last one ended.
    AudioOverlapping,
    /// The chunk has a byte too many for whole sample frames.
    AudioMisaligned,
    /// The chunk's first sample is no number.
    AudioNotFinite,
    /// The chunk claims that it does not follow the last one, or, after a restore, that it does.
    AudioMismarked,
    /// There is a chunk of sound although nothing moved.
    AudioAtRest,
}

/// One thing that goes wrong, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Whose fault it is: a worker, or [`TASK`](crate::TASK).
    pub participant: Id,
    /// Which life of the participant has it, from 1; one that was replaced lives its second. Always 1 for the task.
    pub life: u32,
    /// Where.
    pub at: FaultPoint,
    /// The boundary it stands at then; whichever comes first where none is named.
    #[serde(deserialize_with = "Option::deserialize")]
    pub boundary: Option<U64>,
    /// What goes wrong.
    pub kind: FaultKind,
}

impl FaultKind {
    /// How often work that takes long reports progress, in milliseconds.
    pub const PROGRESS_MS: u32 = 100;

    /// Whether this can go wrong there.
    #[must_use]
    pub const fn fits(self, at: FaultPoint) -> bool {
        use FaultPoint::{Activate, Advance, Commit, Evaluate, Initialize, Prepare, Verify};
        match self {
            Self::Refuse(_) | Self::Break | Self::Panic => true,
            Self::Hang | Self::DelayTurns(_) | Self::DelayMs(_) | Self::WorkMs(_) => {
                !matches!(at, Evaluate)
            }
            Self::BreakAfterInput => matches!(at, Commit),
            Self::ExtraTicks(_) => matches!(at, Prepare),
            Self::Dirty => matches!(at, Initialize | Verify | Advance | FaultPoint::Capture),
            Self::Lie(lie) => match lie {
                Lie::Inspection => matches!(at, Advance | Activate),
                Lie::AudioAtRest => matches!(at, Initialize | Activate),
                Lie::Boundary
                | Lie::WorldTime
                | Lie::EngineFrame
                | Lie::InspectionSchema
                | Lie::ViewMissing
                | Lie::ViewFromTheFuture
                | Lie::ViewTruncated
                | Lie::ViewTwice => matches!(at, Initialize | Advance | Activate),
                _ => matches!(at, Advance),
            },
            Self::UndeclaredStimulus => matches!(at, Evaluate),
        }
    }
}

impl Fault {
    /// A fault of a participant's first life, at whichever boundary comes first.
    #[must_use]
    pub const fn new(participant: Id, at: FaultPoint, kind: FaultKind) -> Self {
        Self {
            participant,
            life: 1,
            at,
            boundary: None,
            kind,
        }
    }

    /// The same, only where the participant stands at `boundary`.
    #[must_use]
    pub fn at_boundary(self, boundary: u64) -> Self {
        Self {
            boundary: Some(U64(boundary)),
            ..self
        }
    }

    /// The same, of another life.
    #[must_use]
    pub fn in_life(self, life: u32) -> Self {
        Self { life, ..self }
    }
}
