//! [`Status`]: a session at a glance, for whoever shows it.

use std::fmt;

use serde::Serialize;
use wellwritten_envelope::{Id, RationalNs};

use crate::{EpisodeRequest, ParticipantError, Phase, PublicationCounts, Role};

/// Why an epoch ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct FailureRecord {
    /// The epoch that ended.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// Where the session stood.
    pub phase: Phase,
    /// The participant to blame, where one is.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub participant: Option<Id>,
    /// What happened; its detail is for a person.
    pub error: ParticipantError,
}

impl fmt::Display for FailureRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.participant {
            Some(participant) => {
                write!(formatter, "{participant} in {}: {}", self.phase, self.error)
            }
            None => write!(formatter, "in {}: {}", self.phase, self.error),
        }
    }
}

/// The newest boundary that is known to be durable on this timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct DurableMark {
    /// The checkpoint that holds it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// The epoch it was taken in.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The boundary.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub boundary: u64,
}

/// One participant at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct ParticipantInfo {
    /// Who.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub participant_id: Id,
    /// As what.
    pub role: Role,
    /// The port an agent drives.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub port_id: Option<Id>,
    /// Which life of the participant.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub incarnation_id: Id,
    /// Whether it may hold half a restore and must be replaced before the next.
    pub tainted: bool,
}

/// A session at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Status {
    /// The session.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub session_id: Id,
    /// The episode.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub episode_id: Id,
    /// The epoch that runs, or the one that failed last.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// Where it stands.
    pub phase: Phase,
    /// The last committed boundary.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub boundary: u64,
    /// Logical time of the world at that boundary.
    pub world_time: RationalNs,
    /// Whether the epoch ended: nothing but a restore, or replacing participants, is possible.
    pub fenced: bool,
    /// Whether a pause takes effect at the next boundary.
    pub pause_requested: bool,
    /// The task's word that the episode is over.
    pub terminal: Option<EpisodeRequest>,
    /// Whether a checkpoint is being written.
    pub saving: bool,
    /// What the store could not write down about this epoch; nothing else is wrong.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub store_warning: Option<String>,
    /// The newest durable boundary of this timeline.
    pub durable: Option<DurableMark>,
    /// Participants that must be replaced before the next restore.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub tainted: Vec<Id>,
    /// Why the epoch ended.
    pub failure: Option<FailureRecord>,
    /// Every participant, the environment first, then agents by name.
    pub participants: Vec<ParticipantInfo>,
    /// Transitions committed by this coordinator, over every epoch.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub advances: u64,
    /// Paced steps that began after their deadline.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub late_steps: u64,
    /// How far the last paced step began after its deadline, in nanoseconds.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub lag_ns: u64,
    /// What became of publishing its boundaries.
    pub publication: PublicationCounts,
}
