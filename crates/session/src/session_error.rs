//! [`SessionError`]: why a session did not do as asked.

use std::fmt;

use wellwritten_envelope::{CompatibilityDifference, EnvelopeError, Id};
use wellwritten_store::{CommitError, ReadError, SaveRefusal, SelectError, WriterConfigError};

use crate::state_payload::StatePayloadError;
use crate::{
    DeclarationError, ErrorCode, FailureRecord, MutationCertainty, ParticipantError, Phase,
};

/// Why a session did not do as asked.
///
/// Every variant but [`SessionError::EpochFailed`] is a refusal: the session is exactly what it was. A caller's
/// mistake never ends an epoch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Not legal where the session stands.
    #[error("{operation} is not possible while the session is {phase}")]
    InvalidPhase {
        /// What was asked.
        operation: &'static str,
        /// Where the session stands.
        phase: Phase,
    },
    /// Another operation of this session has not ended. Retry when it has.
    #[error("{operation} has to wait: {running} is still running")]
    Busy {
        /// What was asked.
        operation: &'static str,
        /// What runs.
        running: &'static str,
    },
    /// A save that is on its way has not ended within its time, and nothing goes on from elsewhere before it has. Nothing
    /// changed; retry when the store answers again.
    #[error(
        "checkpoint `{checkpoint_id}` is still on its way to the store, which has not answered for {waited_ms} ms"
    )]
    SaveOutstanding {
        /// The checkpoint.
        checkpoint_id: Id,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The episode is over; a restore goes on from before its end.
    #[error("the episode is over: {reason}")]
    EpisodeOver {
        /// The task's reason.
        reason: Id,
    },
    /// The composition cannot be run as it is.
    #[error("the composition is refused: {reason}")]
    Composition {
        /// What does not fit, with both values.
        reason: String,
    },
    /// A participant declares something out of its bounds.
    #[error("the declaration of {participant} is refused: {source}")]
    Declaration {
        /// The participant.
        participant: Id,
        /// What does not fit.
        source: DeclarationError,
    },
    /// An executor's first state cannot be kept, or cannot be gone back to.
    #[error("the executor of {agent} cannot begin: {reason}")]
    Executor {
        /// The agent.
        agent: Id,
        /// What the executor said.
        reason: String,
    },
    /// The agent does not support that kind of stimulus.
    #[error("{agent} does not support stimuli of kind {kind}")]
    UnsupportedStimulus {
        /// The agent.
        agent: Id,
        /// The kind asked for.
        kind: Id,
    },
    /// A stimulus lasts a finite time above zero.
    #[error(
        "a stimulus cannot last {} ms",
        ryu_js::Buffer::new().format(*duration_ms)
    )]
    StimulusDuration {
        /// The duration asked for, in milliseconds.
        duration_ms: f64,
    },
    /// As many admissions wait for the agent as one step can apply. Retry when a step was taken.
    #[error("{waiting} stimuli wait for {agent}, the limit is {limit}")]
    AdmissionsFull {
        /// The agent.
        agent: Id,
        /// How many wait.
        waiting: usize,
        /// [`Coordinator::MAX_ADMISSIONS`](crate::Coordinator::MAX_ADMISSIONS).
        limit: usize,
    },
    /// The episode's name was used before.
    #[error("episode {episode} was used before; a reset begins one under a name that never was")]
    EpisodeUsed {
        /// The name asked for.
        episode: Id,
    },
    /// There is no such participant.
    #[error("there is no participant {participant}")]
    UnknownParticipant {
        /// The name asked for.
        participant: Id,
    },
    /// A participant refused; nothing changed. Its report, if any, is the error's detail.
    #[error("{participant} refused: {error}")]
    Refused {
        /// Who refused.
        participant: Id,
        /// What it said.
        error: ParticipantError,
    },
    /// No store is attached.
    #[error("this session has no store")]
    NoStore,
    /// The checkpoint id was used before.
    #[error("checkpoint id {checkpoint_id} was used before; an id names one checkpoint for ever")]
    CheckpointIdUsed {
        /// The id.
        checkpoint_id: Id,
    },
    /// The coordinator's own part of a checkpoint could not be made.
    #[error("the {payload} could not be captured: {reason}")]
    Uncapturable {
        /// The payload.
        payload: Id,
        /// What its owner said.
        reason: String,
    },
    /// There is no room for another checkpoint on its way to the store. Retry when one of those has ended.
    #[error("the checkpoint has to wait: {refusal}")]
    SaveRefused {
        /// What there is no room for.
        #[from]
        refusal: SaveRefusal,
    },
    /// How many checkpoints may be on their way makes no sense.
    #[error("the composition is refused: {source}")]
    SaveConfig {
        /// What does not.
        #[from]
        source: WriterConfigError,
    },
    /// The store refused something other than a save.
    #[error("the store refused: {source}")]
    Store {
        /// What it said.
        #[from]
        source: CommitError,
    },
    /// The store could not be looked at.
    #[error("the store cannot be looked at: {source}")]
    StoreRead {
        /// What it said.
        #[from]
        source: ReadError,
    },
    /// No generation could be taken.
    #[error("{source}")]
    Select {
        /// What the store said.
        #[from]
        source: SelectError,
    },
    /// The generation is no envelope.
    #[error("the checkpoint does not decode: {source}")]
    Envelope {
        /// The rule it breaks.
        #[from]
        source: EnvelopeError,
    },
    /// Participants still hold parts of a restore that failed; they must be replaced first.
    #[error("participants {participants:?} may hold half a restore; replace them first")]
    Tainted {
        /// Who.
        participants: Vec<Id>,
    },
    /// The epoch was used before.
    #[error("epoch {epoch} was used before; a restore goes on under a name that never was")]
    StaleEpoch {
        /// The name asked for.
        epoch: Id,
    },
    /// The epoch's name is too long to build batch names from.
    #[error("the epoch name {epoch} has {length} characters, the limit is {limit}")]
    EpochName {
        /// The name asked for.
        epoch: Id,
        /// Its length.
        length: usize,
        /// The longest.
        limit: usize,
    },
    /// The epoch's name ends in a number that leaves too few for the epochs after it.
    #[error(
        "the epoch name {epoch} ends in a number of {digits} digits, the limit is {limit}: no epoch could follow it"
    )]
    EpochNumber {
        /// The name asked for.
        epoch: Id,
        /// Digits of the number.
        digits: usize,
        /// The most there may be.
        limit: usize,
    },
    /// No unused epoch name could be derived; name one.
    #[error("no unused epoch name follows {epoch}; name one of another stem")]
    NoFreshEpoch {
        /// The name it was to follow.
        epoch: Id,
    },
    /// The checkpoint was taken under another compatibility block.
    #[error("{difference}{}", Others(others))]
    Incompatible {
        /// The first field that differs, and both values.
        difference: CompatibilityDifference,
        /// Everything else that differs.
        others: Vec<IdentityDifference>,
    },
    /// The checkpoint is of something else.
    #[error(
        "the checkpoint's {field} is {stored}, this session's is {running}{}",
        Others(others)
    )]
    Identity {
        /// The first field that differs.
        field: String,
        /// What the checkpoint says.
        stored: String,
        /// What this session is.
        running: String,
        /// Everything else that differs.
        others: Vec<IdentityDifference>,
    },
    /// A participant cannot be reached, so that nobody can be restored.
    #[error(
        "{participant} cannot be restored ({reason}); build everyone anew first, with \
         `replaceParticipants()`"
    )]
    Gone {
        /// Who.
        participant: Id,
        /// What became of asking it.
        reason: String,
    },
    /// The episode has no checkpoint, so that there is nothing to restore it from.
    #[error(
        "episode {episode} has no checkpoint; name one of an earlier episode to go back to that, the newest is \
         {newest} of {newest_episode}"
    )]
    EpisodeNotSaved {
        /// The episode the session is in.
        episode: Id,
        /// The newest checkpoint of this session.
        newest: Id,
        /// Its episode.
        newest_episode: Id,
    },
    /// A payload of the coordinator is not what it must be.
    #[error("the payload {payload} is refused: {source}")]
    CoordinatorPayload {
        /// The payload.
        payload: Id,
        /// Why.
        source: PayloadFault,
    },
    /// The epoch ended, now or before.
    #[error("the epoch {} failed: {}", .0.epoch, .0)]
    EpochFailed(Box<FailureRecord>),
}

/// A field in which a checkpoint and a session differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityDifference {
    /// The field, such as `agents[fly-a].seed`.
    pub field: String,
    /// What the checkpoint says.
    pub stored: String,
    /// What the session is.
    pub running: String,
}

/// Differences after the first, as the rest of a sentence.
struct Others<'a>(&'a [IdentityDifference]);

impl fmt::Display for Others<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|other| {
            let IdentityDifference {
                field,
                stored,
                running,
            } = other;
            write!(
                formatter,
                "; its {field} is {stored}, this session's is {running}"
            )
        })
    }
}

/// Why one of the coordinator's own payloads was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadFault {
    /// The frame around it.
    #[error("{0}")]
    Frame(#[from] StatePayloadError),
    /// Its content does not read.
    #[error("it does not read: {reason}")]
    Unreadable {
        /// What the reader said.
        reason: String,
    },
    /// Its owner does not accept it.
    #[error("{reason}")]
    Rejected {
        /// What the owner said.
        reason: String,
    },
    /// It and another part of the checkpoint disagree.
    #[error("its {field} is {found}, elsewhere in the checkpoint it is {expected}")]
    Disagrees {
        /// The field.
        field: String,
        /// What this payload says.
        found: String,
        /// What the other part says.
        expected: String,
    },
}

impl SessionError {
    /// The error's code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidPhase { .. }
            | Self::EpisodeOver { .. }
            | Self::Tainted { .. }
            | Self::Gone { .. } => ErrorCode::InvalidPhase,
            Self::Busy { .. }
            | Self::AdmissionsFull { .. }
            | Self::SaveRefused { .. }
            | Self::SaveOutstanding { .. } => ErrorCode::Busy,
            Self::Composition { .. }
            | Self::SaveConfig { .. }
            | Self::Declaration { .. }
            | Self::StimulusDuration { .. }
            | Self::EpochName { .. }
            | Self::EpochNumber { .. }
            | Self::NoFreshEpoch { .. } => ErrorCode::InvalidArgument,
            Self::UnknownParticipant { .. } | Self::Identity { .. } => ErrorCode::IdentityMismatch,
            Self::Refused { error, .. } => error.code,
            Self::NoStore | Self::UnsupportedStimulus { .. } => ErrorCode::Unsupported,
            Self::CheckpointIdUsed { .. } | Self::EpisodeUsed { .. } => ErrorCode::Conflict,
            Self::StaleEpoch { .. } => ErrorCode::StaleEpoch,
            Self::Incompatible { .. }
            | Self::EpisodeNotSaved { .. }
            | Self::CoordinatorPayload { .. }
            | Self::Select { .. }
            | Self::Envelope { .. } => ErrorCode::IncompatibleState,
            Self::Uncapturable { .. } | Self::Executor { .. } => ErrorCode::Internal,
            Self::Store { .. } | Self::StoreRead { .. } => ErrorCode::BackendFailure,
            Self::EpochFailed(record) => record.error.code,
        }
    }

    /// Whether anything changed: `none` for every refusal.
    #[must_use]
    pub const fn mutation(&self) -> MutationCertainty {
        match self {
            Self::EpochFailed(record) => record.error.mutation,
            _ => MutationCertainty::None,
        }
    }

    /// Whether the session is what it was before.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        !matches!(self, Self::EpochFailed(_))
    }

    /// A participant's report, untouched: for instance which bytes do not read cleanly, and why.
    #[must_use]
    pub const fn detail(&self) -> Option<&serde_json::Value> {
        match self {
            Self::Refused { error, .. } => error.detail.as_ref(),
            Self::EpochFailed(record) => record.error.detail.as_ref(),
            _ => None,
        }
    }

    /// The participant that is to blame, where one is.
    #[must_use]
    pub const fn participant(&self) -> Option<&Id> {
        match self {
            Self::Refused { participant, .. }
            | Self::Gone { participant, .. }
            | Self::Declaration { participant, .. }
            | Self::UnknownParticipant { participant } => Some(participant),
            Self::EpochFailed(record) => record.participant.as_ref(),
            _ => None,
        }
    }
}
