//! [`Phase`]: where a session stands, and the edges between phases.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a session stands. `boundary` counts the transitions behind it.
///
/// Only [`Phase::Ready`] and [`Phase::Paused`] are committed boundaries: the places for a step, a pause or a
/// checkpoint. In [`Phase::Observing`] the boundary is the one the world has reached and nobody has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum Phase {
    /// Nothing has begun.
    Starting,
    /// A committed boundary; a step may begin.
    Ready {
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// Agents decide.
    Preparing {
        /// The boundary the transition began at.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// The world applies one complete batch.
    Applying {
        /// The boundary the transition began at.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// The world moved; what it shows is verified and judged.
    Observing {
        /// The boundary the world has reached.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// Agents take in the outcome.
    Committing {
        /// The boundary the transition began at.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// A committed boundary; nothing moves until it is resumed.
    Paused {
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// Every participant's state is being read.
    Capturing {
        /// The boundary.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// The epoch ended; only a group restore goes on.
    Failed,
    /// The whole group is being restored.
    Restoring {
        /// The boundary of the checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// A new episode is being set up.
    Resetting {
        /// The boundary that is left.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
}

/// A phase without its boundary: a node of the phase diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum PhaseKind {
    /// See [`Phase::Starting`].
    Starting,
    /// See [`Phase::Ready`].
    Ready,
    /// See [`Phase::Preparing`].
    Preparing,
    /// See [`Phase::Applying`].
    Applying,
    /// See [`Phase::Observing`].
    Observing,
    /// See [`Phase::Committing`].
    Committing,
    /// See [`Phase::Paused`].
    Paused,
    /// See [`Phase::Capturing`].
    Capturing,
    /// See [`Phase::Failed`].
    Failed,
    /// See [`Phase::Restoring`].
    Restoring,
    /// See [`Phase::Resetting`].
    Resetting,
}

impl PhaseKind {
    /// Every kind, in the order of a session's life.
    pub const ALL: [Self; 11] = [
        Self::Starting,
        Self::Ready,
        Self::Preparing,
        Self::Applying,
        Self::Observing,
        Self::Committing,
        Self::Paused,
        Self::Capturing,
        Self::Failed,
        Self::Restoring,
        Self::Resetting,
    ];
}

impl Phase {
    /// The phase without its boundary.
    #[must_use]
    pub const fn kind(self) -> PhaseKind {
        match self {
            Self::Starting => PhaseKind::Starting,
            Self::Ready { .. } => PhaseKind::Ready,
            Self::Preparing { .. } => PhaseKind::Preparing,
            Self::Applying { .. } => PhaseKind::Applying,
            Self::Observing { .. } => PhaseKind::Observing,
            Self::Committing { .. } => PhaseKind::Committing,
            Self::Paused { .. } => PhaseKind::Paused,
            Self::Capturing { .. } => PhaseKind::Capturing,
            Self::Failed => PhaseKind::Failed,
            Self::Restoring { .. } => PhaseKind::Restoring,
            Self::Resetting { .. } => PhaseKind::Resetting,
        }
    }

    /// The boundary it carries; `Starting` and `Failed` carry none.
    #[must_use]
    pub const fn boundary(self) -> Option<u64> {
        match self {
            Self::Starting | Self::Failed => None,
            Self::Ready { boundary }
            | Self::Preparing { boundary }
            | Self::Applying { boundary }
            | Self::Observing { boundary }
            | Self::Committing { boundary }
            | Self::Paused { boundary }
            | Self::Capturing { boundary }
            | Self::Restoring { boundary }
            | Self::Resetting { boundary } => Some(boundary),
        }
    }

    /// The boundary, where it is a committed one that may be captured: `Ready` or `Paused`.
    #[must_use]
    pub const fn committed_boundary(self) -> Option<u64> {
        match self {
            Self::Ready { boundary } | Self::Paused { boundary } => Some(boundary),
            _ => None,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.boundary() {
            Some(boundary) => write!(formatter, "{:?}({boundary})", self.kind()),
            None => write!(formatter, "{:?}", self.kind()),
        }
    }
}

/// One edge of the phase diagram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct PhaseEdge {
    /// Where it leaves.
    pub from: PhaseKind,
    /// Where it leads.
    pub to: PhaseKind,
    /// When it is taken, for a person.
    pub guard: &'static str,
}

/// Every edge but the one to `Failed`, which leaves every phase.
const EDGES: [(PhaseKind, PhaseKind, &str); 17] = [
    (
        PhaseKind::Starting,
        PhaseKind::Ready,
        "bootstrap finished, every acknowledgment in hand; boundary 0",
    ),
    (
        PhaseKind::Starting,
        PhaseKind::Restoring,
        "group restore by a coordinator that just came up over a store",
    ),
    (
        PhaseKind::Ready,
        PhaseKind::Preparing,
        "a step begins, same boundary",
    ),
    (
        PhaseKind::Preparing,
        PhaseKind::Applying,
        "every agent has decided",
    ),
    (
        PhaseKind::Applying,
        PhaseKind::Observing,
        "the world has applied the whole batch; boundary one higher",
    ),
    (
        PhaseKind::Observing,
        PhaseKind::Committing,
        "the result is verified and the task has judged it once",
    ),
    (
        PhaseKind::Committing,
        PhaseKind::Ready,
        "every agent has committed; boundary one higher",
    ),
    (
        PhaseKind::Ready,
        PhaseKind::Paused,
        "a pause was asked for, or the episode is over",
    ),
    (PhaseKind::Paused, PhaseKind::Ready, "resume"),
    (PhaseKind::Ready, PhaseKind::Capturing, "checkpoint"),
    (PhaseKind::Paused, PhaseKind::Capturing, "checkpoint"),
    (
        PhaseKind::Capturing,
        PhaseKind::Ready,
        "captured or refused, only if it came from Ready",
    ),
    (
        PhaseKind::Capturing,
        PhaseKind::Paused,
        "captured or refused, only if it came from Paused",
    ),
    (
        PhaseKind::Failed,
        PhaseKind::Restoring,
        "group restore under a new epoch",
    ),
    (
        PhaseKind::Restoring,
        PhaseKind::Paused,
        "the whole group is installed, same boundary",
    ),
    (
        PhaseKind::Paused,
        PhaseKind::Resetting,
        "the episode is reset, same boundary",
    ),
    (
        PhaseKind::Resetting,
        PhaseKind::Ready,
        "new epoch and episode; boundary 0",
    ),
];

impl PhaseEdge {
    /// Every legal edge.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let listed = EDGES
            .iter()
            .map(|&(from, to, guard)| Self { from, to, guard });
        let failing = PhaseKind::ALL
            .into_iter()
            .filter(|from| *from != PhaseKind::Failed)
            .map(|from| Self {
                from,
                to: PhaseKind::Failed,
                guard: "any unresolved failure",
            });
        listed.chain(failing).collect()
    }
}
