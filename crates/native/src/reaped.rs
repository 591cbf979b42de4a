//! [`Reaped`]: how a participant was brought to its end.

use std::fmt;

use wellwritten_session::Id;

/// How the end came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReapOutcome {
    /// It was told to stop (`Worker.Shutdown`), and did.
    Stopped,
    /// It did not stop when told to, or could not be told, and was ended.
    Terminated,
    /// It had ended before.
    AlreadyGone,
    /// It is a thread that neither stopped nor came to a point where it waits. Nobody reaches it any more, and the threads
    /// that it was given stay taken until it ends.
    Abandoned,
}

impl fmt::Display for ReapOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stopped => "stopped",
            Self::Terminated => "terminated",
            Self::AlreadyGone => "already gone",
            Self::Abandoned => "abandoned",
        })
    }
}

/// One participant's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Who.
    pub participant_id: Id,
    /// Which life of it.
    pub incarnation_id: Id,
    /// How the end came.
    pub outcome: ReapOutcome,
    /// What is known of the end: "exited with status 3; it said last: ...".
    pub ending: String,
}
