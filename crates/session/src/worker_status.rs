//! [`WorkerStatus`]: what a participant is doing.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, Scope, U64};

use crate::RequestId;

/// What a participant is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum WorkerState {
    /// Nothing has begun.
    Uninitialized,
    /// At a committed boundary.
    Ready,
    /// Running ticks.
    Preparing,
    /// Decided, waiting for the commit.
    Prepared,
    /// The world is moving.
    Advancing,
    /// Taking in an outcome.
    Committing,
    /// Its state is being read.
    Capturing,
    /// A restore is staged.
    StagedRestore,
    /// Becoming what was staged.
    Restoring,
    /// Something failed halfway.
    Failed,
    /// It was told to stop.
    Stopping,
}

/// Result of `Worker.Status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerStatus {
    /// What it is doing.
    pub state: WorkerState,
    /// Where it stands; absent while uninitialized.
    #[serde(deserialize_with = "Option::deserialize")]
    pub current_scope: Option<Scope>,
    /// The operation that runs.
    #[serde(deserialize_with = "Option::deserialize")]
    pub active_request_id: Option<RequestId>,
    /// The last one that ended.
    #[serde(deserialize_with = "Option::deserialize")]
    pub last_completed_request_id: Option<RequestId>,
    /// The batch a world applied last.
    #[serde(deserialize_with = "Option::deserialize")]
    pub last_batch_id: Option<Id>,
    /// Rises with every operation that ends, and within one as far as the participant says so
    /// ([`Progress`](crate::Progress)); asking for a status is no progress.
    pub progress_counter: U64,
}
