//! [`Manifest`]: what a checkpoint holds, for whom, and what it may be restored into.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Digest, DigestAlgorithm, EnvelopeVersion, Id, RationalNs, Scope, U64};

/// Fields that a version 1 file carries and this crate does not know, kept so that the file can be
/// written again byte for byte. In version 2 any entry here is refused. The values of [`Scope`] and [`RationalNs`] have
/// no place for any: within `sourceScope`, `worldTime` and `remainder` a field more is refused in both versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownFields(pub Map<String, Value>);

impl UnknownFields {
    /// No unknown fields: what a program that writes checkpoints uses.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
}

/// The manifest of one envelope. [`crate::encode`] and [`crate::decode`] check what the types cannot
/// say: that every named payload exists and is named once, and what each version allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Version of the envelope; decides how [`crate::encode`] writes it.
    #[cfg_attr(feature = "typescript", tsify(type = "1 | 2"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub envelope_version: EnvelopeVersion,
    /// `blake3` in version 2, usually absent in version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "schema", schemars(with = "DigestAlgorithm"))]
    pub digest_algorithm: Option<DigestAlgorithm>,
    /// The identity every participant's part of the checkpoint shares.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// The committed boundary it was taken at: provenance, not a claim on a running session.
    pub source_scope: Scope,
    /// The episode the boundary belongs to.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub episode_id: Id,
    /// Logical time of the world at that boundary, since the episode began.
    pub world_time: RationalNs,
    /// How the session schedules its participants, such as `lockstep-v1`.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub scheduler_id: Id,
    /// Identity of the session's composition and configuration.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub composition_digest: Digest,
    /// Which agent drives which port.
    pub port_map: Vec<PortBinding>,
    /// What a session must share with this checkpoint to restore it.
    pub compatibility: Compatibility,
    /// The world's part.
    pub environment: EnvironmentEntry,
    /// Each agent's part.
    pub agents: Vec<AgentEntry>,
    /// The coordinator's part.
    pub coordinator: CoordinatorEntry,
    /// Payloads of external helpers whose state an exact resume needs.
    #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
    pub helper_state: Vec<Id>,
    /// The payload table again, so that a listing needs only the manifest. Left empty for
    /// [`crate::encode`] to fill in; otherwise it must match the payloads given.
    pub payloads: Vec<PayloadRow>,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// One port and the agent that drives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortBinding {
    /// The port of the world.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub port_id: Id,
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// The identities that decide whether a session can restore this checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compatibility {
    /// The world's backend.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub backend_digest: Digest,
    /// The world's content.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub content_digest: Digest,
    /// Patches applied to the content.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub patch_digest: Digest,
    /// The controller schema.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub controller_digest: Digest,
    /// The parser of inspections.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub parser_digest: Digest,
    /// The format of the participants' payloads.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub state_format_id: Id,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// The world's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvironmentEntry {
    /// The participant the world ran in.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub worker_id: Id,
    /// The payload that holds its state.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub payload: Id,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// One agent's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentEntry {
    /// The agent.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// Its profile.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub profile_digest: Digest,
    /// The data set behind its model.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub dataset_digest: Digest,
    /// The index it attested to when it was initialised; a later amendment, so it may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "Digest"))]
    pub index_digest: Option<Digest>,
    /// Version of its model.
    pub model_version: String,
    /// Version of its learning rule.
    pub plasticity_version: String,
    /// The seed it was initialised with.
    pub seed: i32,
    /// Ticks of its own clock so far, warm-up included.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub brain_ticks: U64,
    /// Time its clock still owes: less than one tick.
    pub remainder: RationalNs,
    /// The payload that holds its state.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub payload: Id,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// The coordinator's part of a checkpoint: each state a payload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoordinatorEntry {
    /// The payload that holds the task's ledger.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub task_ledger: Id,
    /// The payload that holds the inspection of the boundary before.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub prior_inspection: Id,
    /// The payloads that hold the executors' states.
    pub executor_state: Vec<ExecutorEntry>,
    /// The payload that holds the coordinator's own record. The field is always there; it is null where
    /// the writer kept no such record, which a session needs to restore from.
    #[cfg_attr(feature = "typescript", tsify(type = "string | null"))]
    pub admission_state: Option<Id>,
    /// Where the event numbering stood.
    #[cfg_attr(
        feature = "typescript",
        tsify(
            type = "{ lastSourceStep: string; issued: string } | { lastEventId: string; lastOrdinal: string }"
        )
    )]
    pub event_watermarks: EventWatermarks,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// One agent's executor and the payload that holds its state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutorEntry {
    /// The agent whose decisions it turns into controls.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub agent_id: Id,
    /// The payload.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub payload: Id,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}

/// Where the event numbering of the session stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WatermarkFields", into = "WatermarkFields")]
pub enum EventWatermarks {
    /// What is written today: numbers that can be compared across epochs.
    Issued {
        /// The highest source step of any recorded event.
        last_source_step: U64,
        /// How many events the ledger has issued.
        issued: U64,
        /// Fields of a version 1 file that this crate does not know.
        unknown: UnknownFields,
    },
    /// What older writers hold.
    LastEvent {
        /// The last event. Its id is derived from the epoch.
        last_event_id: Id,
        /// Its ordinal.
        last_ordinal: U64,
        /// Fields of a version 1 file that this crate does not know.
        unknown: UnknownFields,
    },
}

/// Both shapes of [`EventWatermarks`] as JSON spells them.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatermarkFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_source_step: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issued: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_event_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_ordinal: Option<U64>,
    #[serde(flatten)]
    pub(crate) unknown: UnknownFields,
}

/// Event watermarks in neither shape, or in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected either lastSourceStep and issued, or lastEventId and lastOrdinal")]
pub struct WatermarkShape;

impl TryFrom<WatermarkFields> for EventWatermarks {
    type Error = WatermarkShape;

    fn try_from(fields: WatermarkFields) -> Result<Self, WatermarkShape> {
        let unknown = fields.unknown;
        match (
            fields.last_source_step,
            fields.issued,
            fields.last_event_id,
            fields.last_ordinal,
        ) {
            (Some(last_source_step), Some(issued), None, None) => Ok(Self::Issued {
                last_source_step,
                issued,
                unknown,
            }),
            (None, None, Some(last_event_id), Some(last_ordinal)) => Ok(Self::LastEvent {
                last_event_id,
                last_ordinal,
                unknown,
            }),
            _ => Err(WatermarkShape),
        }
    }
}

impl From<EventWatermarks> for WatermarkFields {
    fn from(watermarks: EventWatermarks) -> Self {
        let mut fields = Self {
            last_source_step: None,
            issued: None,
            last_event_id: None,
            last_ordinal: None,
            unknown: UnknownFields::none(),
        };
        match watermarks {
            EventWatermarks::Issued {
                last_source_step,
                issued,
                unknown,
            } => {
                fields.last_source_step = Some(last_source_step);
                fields.issued = Some(issued);
                fields.unknown = unknown;
            }
            EventWatermarks::LastEvent {
                last_event_id,
                last_ordinal,
                unknown,
            } => {
                fields.last_event_id = Some(last_event_id);
                fields.last_ordinal = Some(last_ordinal);
                fields.unknown = unknown;
            }
        }
        fields
    }
}

/// One row of the manifest's copy of the payload table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayloadRow {
    /// Name of the payload.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub name: Id,
    /// Its length in bytes.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub byte_length: U64,
    /// The digest of its bytes under the version's function.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub digest: Digest,
    /// Fields of a version 1 file that this crate does not know.
    #[serde(flatten)]
    #[cfg_attr(feature = "typescript", tsify(type = "{}"))]
    pub unknown: UnknownFields,
}
