//! [`StateError`]: why bytes are no state of a participant.

use wellwritten_envelope::{JsonShapeError, RationalError, StrictJsonError};
use wellwritten_session::{ErrorCode, ParticipantError, RationalNs, SampleBudgetError};

/// Why bytes are no state of a participant. Nothing was staged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The bytes are no JSON.
    #[error("the state is no JSON: {0}")]
    NotJson(#[from] StrictJsonError),
    /// The JSON has other fields than a state.
    #[error("the state does not read: {0}")]
    Shape(#[from] JsonShapeError),
    /// The state is spelled otherwise than it is captured.
    #[error("the state is not in its canonical spelling")]
    NotCanonical,
    /// No episode has begun in it.
    #[error("the state is of no episode")]
    NoEpisode,
    /// It keeps frames of other boundaries than are still to be shown.
    #[error("the state keeps frames of boundaries {found:?}, those from {first} to {last} are due")]
    Frames {
        /// Those kept.
        found: Vec<u64>,
        /// The first that is due.
        first: u64,
        /// The last.
        last: u64,
    },
    /// The newest frame shows another counter.
    #[error("the last frame shows the counter at {shown}, it stands at {counter}")]
    LastFrame {
        /// What the frame shows.
        shown: i64,
        /// The counter.
        counter: i64,
    },
    /// Its time is not that of its boundary.
    #[error("the world's time is {found:?} at boundary {step}, {due:?} is due")]
    Time {
        /// The boundary.
        step: u64,
        /// The time it claims.
        found: RationalNs,
        /// The time of that boundary.
        due: RationalNs,
    },
    /// Its sound is not where its boundary is.
    #[error("the sound is at sample {found}, at boundary {step} sample {due} is due")]
    Sound {
        /// The boundary.
        step: u64,
        /// The next sample frame it claims, or as many with another rest.
        found: u64,
        /// The next sample frame of that boundary.
        due: u64,
    },
    /// What is left over is not less than a tick, or the tick is another.
    #[error("the clock has {remainder:?} left over of a tick of {tick_duration:?}")]
    Clock {
        /// What is left over.
        remainder: RationalNs,
        /// One tick of it.
        tick_duration: RationalNs,
    },
    /// No context is retained.
    #[error("the state retains no context")]
    NoContext,
    /// A rate of sound that no stream has, or a position beyond the last sample.
    #[error(transparent)]
    SampleBudget(#[from] SampleBudgetError),
    /// A time that does not fit.
    #[error(transparent)]
    Rational(#[from] RationalError),
}

impl From<StateError> for ParticipantError {
    fn from(error: StateError) -> Self {
        Self::refused(ErrorCode::IncompatibleState, error.to_string())
    }
}
