//! The [`Environment`] trait: the one world of a session.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_envelope::{CanonicalError, Digest, Id, RationalNs, Scope, U64, digest_json};

use crate::{
    AudioDescriptor, ControllerSchema, ParticipantError, PortControl, Progress, SchemaRef,
    StagedWorld, ViewDescriptor, WorldObservation,
};

/// One port of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortDescriptor {
    /// Its name.
    pub port_id: Id,
    /// What it accepts.
    pub controls: ControllerSchema,
}

/// What a world is; constant for its lifetime, and known before it is initialized.
///
/// The digests are what a checkpoint is compared by: a world whose content differs in one byte cannot take
/// the other's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentDescriptor {
    /// The worker.
    pub worker_id: Id,
    /// Digest of the engine's code. Backends that give the same bytes share it.
    pub backend_digest: Digest,
    /// Digest of the content the engine runs.
    pub content_digest: Digest,
    /// Digest of the configuration.
    pub patch_digest: Digest,
    /// Digest of the parser that makes the inspection out of the world's state.
    pub parser_digest: Digest,
    /// Format of the captured state.
    pub state_format_id: Id,
    /// Logical time of one step, above zero.
    pub step_duration: RationalNs,
    /// Ports, 1 to 4, in the order in which controls list them.
    pub ports: Vec<PortDescriptor>,
    /// Schema of the inspection.
    pub inspection_schema: SchemaRef,
    /// Declared views, at most 8; every sensory one is required at every boundary.
    pub views: Vec<ViewDescriptor>,
    /// Declared streams of sound, at most 8; every transition gives a chunk of each.
    pub audio: Vec<AudioDescriptor>,
}

impl EnvironmentDescriptor {
    /// Most views of one world.
    pub const MAX_VIEWS: usize = 8;
    /// Most streams of sound of one world.
    pub const MAX_AUDIO: usize = 8;

    /// Digest of every port with its controller.
    pub fn controller_digest(&self) -> Result<Digest, CanonicalError> {
        digest_json(&self.ports)
    }
}

/// Which agent drives which port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortBinding {
    /// The port.
    pub port_id: Id,
    /// The agent.
    pub agent_id: Id,
}

/// Parameters of `Environment.Initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentInitialize {
    /// The episode that starts.
    pub episode_id: Id,
    /// One binding for each port, unique both ways, in the order of the descriptor's ports.
    pub port_bindings: Vec<PortBinding>,
}

/// Parameters of `Environment.Advance`: one complete batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Advance {
    /// Unique in its epoch: `batch-<epoch>-<step>`.
    pub batch_id: Id,
    /// Controls of every port, in the order of the descriptor's ports.
    pub controls: Vec<PortControl>,
}

impl Advance {
    /// Digest of the controls.
    pub fn controls_digest(&self) -> Result<Digest, CanonicalError> {
        digest_json(&self.controls)
    }

    /// The reply of a world that applied exactly this batch at `scope` and now shows `observation`.
    pub fn applied(
        &self,
        scope: &Scope,
        observation: WorldObservation,
    ) -> Result<StepResult, CanonicalError> {
        Ok(StepResult {
            batch_id: self.batch_id.clone(),
            applied_from_step: scope.step,
            next_step: observation.boundary,
            applied_controls_digest: self.controls_digest()?,
            state_digest: None,
            observation,
        })
    }
}

/// Result of `Environment.Advance`; [`Advance::applied`] makes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepResult {
    /// The batch that was applied.
    pub batch_id: Id,
    /// The boundary it was applied at.
    pub applied_from_step: U64,
    /// The boundary the world is at now, exactly one more.
    pub next_step: U64,
    /// Digest of the controls that were applied.
    pub applied_controls_digest: Digest,
    /// Digest of the whole state, from a world to which it costs little: it goes into the trace.
    #[serde(deserialize_with = "Option::deserialize")]
    pub state_digest: Option<Digest>,
    /// What the world shows now.
    pub observation: WorldObservation,
}

/// A world.
///
/// The runtime around it checks session, epoch, phase, step and parameters before it calls, calls one method at
/// a time, and answers duplicates itself: an implementation only does the work. It moves by exactly one step
/// in each `advance` and never in between.
#[async_trait(?Send)]
pub trait Environment {
    /// What this world is.
    fn descriptor(&self) -> EnvironmentDescriptor;

    /// Whether its state can be captured and restored. Where not, it is never asked to, and no session with it has a
    /// checkpoint.
    fn can_checkpoint(&self) -> bool {
        true
    }

    /// Hands over what it may raise within a long operation. Called once, before anything else.
    fn attach_progress(&mut self, _progress: Progress) {}

    /// Sets the world up at boundary 0, world time zero, and leaves it stopped. It sounds first when it moves, from
    /// sample 0 on.
    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError>;

    /// Waits until everything this world's state depends on has settled, and says whether every byte of it reads
    /// cleanly. An error leaves the world as it was and carries the report in its detail.
    async fn verify(&mut self) -> Result<(), ParticipantError>;

    /// Does the work that wrote a buffer again, from inputs that are still trusted. A world that keeps no such
    /// inputs, or does not know the buffer, answers `UNSUPPORTED`.
    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError>;

    /// Applies one complete batch and moves from `scope.step` to the next boundary.
    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError>;

    /// The whole state at the current boundary. A read: nothing changes. Refused with the report where a byte
    /// does not read cleanly.
    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError>;

    /// Validates `payload` wholly, keeps it aside and says what is in it; nothing visible changes. What it will show
    /// must follow from the state: pixels that the state does not give are no state of this world.
    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError>;

    /// Becomes what was staged, without moving, and shows it. The next chunk of every stream goes on where the state
    /// was and is marked as a discontinuity.
    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError>;
}
