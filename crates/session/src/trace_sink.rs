//! [`TraceSink`]: where a whole trace goes, however long.

use wellwritten_envelope::{Id, Scope};

use crate::{BehaviourDigest, TraceRecord};

/// Hears of every transition as it is committed, so that a long run can be written down in full while a session keeps its
/// last records only. Called in order, between two states of the session; it must not wait.
///
/// What is captured at a boundary after its transition was told is in the session's own record, not in what was told.
pub trait TraceSink {
    /// A timeline begins at boundary 0, with an episode under an epoch: nothing told before is part of it.
    fn began(&self, episode_id: &Id, epoch: &Id);

    /// A transition was committed. `digest` is the digest of the timeline with it.
    fn committed(&self, record: &TraceRecord, digest: &BehaviourDigest);

    /// The timeline goes on under `to_epoch` from the boundary that `source` names: records told after that boundary, and
    /// those of other epochs since, are no part of it any more.
    fn restored(&self, source: &Scope, to_epoch: &Id);
}
