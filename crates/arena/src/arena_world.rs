//! [`ArenaWorld`]: the environment of the arena.

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_device::ReadError;
use wellwritten_envelope::{Digest, Id, RationalNs, Scope, U64, digest_json};
use wellwritten_session::{
    Advance, Artifact, BoxedFuture, Environment, EnvironmentDescriptor, EnvironmentInitialize,
    ErrorCode, ParticipantError, PixelAspect, PortBinding, PortControl, PortDescriptor,
    StagedWorld, StepResult, TypedValue, ViewAudience, ViewDescriptor, ViewRef, WorldObservation,
    join_all,
};

use crate::fault_board::KernelName;
use crate::food::{Food, RETURN_STEPS, STRENGTH};
use crate::geometry::{CELLS, HEIGHT, WIDTH};
use crate::guarded_words::{device_failed, read, read_failed, read_refused};
use crate::kernels::field::FIELD_MAX;
use crate::kernels::{field, view};
use crate::launcher::Launcher;
use crate::motor::TURN_FULL;
use crate::payload::{self, PayloadError, PayloadKind};
use crate::physics::{Action, Flies, REACH, WALK_SPEED};
use crate::schemas::{
    FEED, InspectedFly, InspectedFood, Inspection, TURN, VIEW, WALK, controller_schema,
    inspection_schema, known_id,
};
use crate::world_state::{CAPTURED_WORDS, VIEW_LABEL, WorldState};

/// Worker id of the world.
pub const WORLD_ID: &str = "world";

/// One step: 1/60 s.
#[must_use]
pub fn step_duration() -> RationalNs {
    RationalNs::duration(50_000_000, 3).expect("a sixtieth of a second is a duration")
}

/// A toroidal arena with odour, food and up to four flies, its state in guarded buffers.
///
/// Flies and food are stepped on the host, field and view by kernels. The guarded buffers are the
/// only copy: every step reads flies and food through the guard.
pub struct ArenaWorld {
    launcher: Rc<Launcher>,
    bindings: Vec<PortBinding>,
    seed: u32,
    state: Option<WorldState>,
    staged: Option<Staged>,
}

struct Staged {
    boundary: u64,
    episode_id: Id,
    captured: [Vec<u32>; 5],
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WorldScalars {
    boundary: U64,
    episode_id: Id,
}

impl ArenaWorld {
    /// A world whose ports are `bindings`, sorted by agent id, and whose food is drawn from `seed`.
    #[must_use]
    pub(crate) fn new(launcher: Rc<Launcher>, bindings: Vec<PortBinding>, seed: u32) -> Self {
        Self {
            launcher,
            bindings,
            seed,
            state: None,
            staged: None,
        }
    }

    fn state(&self) -> Result<&WorldState, ParticipantError> {
        self.state.as_ref().ok_or_else(not_initialized)
    }

    fn identity(&self) -> Result<Digest, ParticipantError> {
        digest_json(&(self.descriptor(), &self.bindings))
            .map_err(|error| ParticipantError::refused(ErrorCode::Internal, error.to_string()))
    }

    /// The observation of the boundary the world is at; its view is read through the guard.
    async fn observe(
        &self,
        flies: &Flies,
        food: &Food,
    ) -> Result<WorldObservation, ParticipantError> {
        let state = self.state()?;
        let pixels = self.launcher.device().read(&state.view().binding()).await;
        let pixels = pixels
            .map_err(|error| read_failed(&error, "the view is required and does not read"))?;
        let internal = |message: String| ParticipantError::uncertain(ErrorCode::Internal, message);
        Ok(WorldObservation {
            boundary: U64(state.boundary),
            world_time: step_duration()
                .checked_mul_u64(state.boundary)
                .map_err(|error| internal(error.to_string()))?,
            engine_frame: Some(format!("frame-{}", state.boundary)),
            sensory_views: vec![ViewRef {
                view_id: known_id(VIEW),
                produced_step: U64(state.boundary),
                pixels: Artifact::seal(pixels, Artifact::RGBA8),
            }],
            broadcast_views: Vec::new(),
            audio: Vec::new(),
            inspection: self.inspection(flies, food)?,
        })
    }

    fn inspection(&self, flies: &Flies, food: &Food) -> Result<TypedValue, ParticipantError> {
        let inspection = Inspection {
            flies: flies
                .as_slice()
                .iter()
                .zip(&self.bindings)
                .map(|(fly, binding)| InspectedFly {
                    agent_id: binding.agent_id.clone(),
                    x: fly.x,
                    y: fly.y,
                    heading: fly.heading,
                    speed: fly.speed,
                    eaten: fly.eaten,
                })
                .collect(),
            food: InspectedFood {
                present: food.present(),
                eaten: food.eaten(),
            },
        };
        TypedValue::from_serialize(inspection_schema(), &inspection)
            .map_err(|error| ParticipantError::uncertain(ErrorCode::Internal, error.to_string()))
    }

    /// The actions of a batch, by slot.
    fn actions(&self, controls: &[PortControl]) -> Result<Vec<Action>, ParticipantError> {
        if !controls
            .iter()
            .map(|control| &control.port_id)
            .eq(self.bindings.iter().map(|binding| &binding.port_id))
        {
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                "the controls do not list every port once, in the order of the descriptor",
            ));
        }
        let schema = controller_schema();
        controls
            .iter()
            .map(|control| {
                schema.check(&control.intent()).map_err(|error| {
                    ParticipantError::refused(ErrorCode::InvalidArgument, error.to_string())
                })?;
                Ok(Action {
                    walk: control.is_down(WALK),
                    feed: control.is_down(FEED),
                    turn: turn_units(control.axis(TURN).unwrap_or(0.0)),
                })
            })
            .collect()
    }

    async fn bodies(&self) -> Result<(Flies, Food), ParticipantError> {
        let (flies, food) = self
            .state()?
            .read_bodies(self.launcher.device())
            .await
            .map_err(|error| read_refused(&error, "flies and food do not read"))?;
        let flies =
            Flies::from_words(&flies).filter(|flies| flies.as_slice().len() == self.bindings.len());
        flies.zip(Food::from_words(food)).ok_or_else(|| {
            ParticipantError::refused(
                ErrorCode::BufferInvalid,
                "the flies or food buffer holds no possible state",
            )
        })
    }
}

/// Axis units of 1/256. Agents send multiples of it, which JSON carries exactly; anything in between
/// is rounded, and the range has been checked.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the schema bounds the axis to -1..=1, so this is at most 256"
)]
fn turn_units(axis: f64) -> i32 {
    (axis * f64::from(TURN_FULL)).round() as i32
}

fn not_initialized() -> ParticipantError {
    ParticipantError::refused(ErrorCode::InvalidPhase, "the world is not initialized")
}

#[async_trait(?Send)]
impl Environment for ArenaWorld {
    fn descriptor(&self) -> EnvironmentDescriptor {
        // No digest names the backend: both compute the same bytes, and a checkpoint taken on one
        // restores on the other.
        let content = format!(
            "wellwritten-arena/foraging-v1\n{STRENGTH}\n{RETURN_STEPS}\n{WALK_SPEED}\n{REACH}\n"
        );
        let engine = format!(
            "{}\n{}",
            field::DECLARATION.wgsl(),
            view::DECLARATION.wgsl()
        );
        EnvironmentDescriptor {
            worker_id: known_id(WORLD_ID),
            backend_digest: Digest::blake3(engine.as_bytes()),
            content_digest: Digest::blake3(content.as_bytes()),
            patch_digest: Digest::blake3(
                format!("wellwritten-arena/seed-v1\n{}\n", self.seed).as_bytes(),
            ),
            parser_digest: inspection_schema().digest,
            state_format_id: known_id("wwarena1.v1"),
            step_duration: step_duration(),
            ports: self
                .bindings
                .iter()
                .map(|binding| PortDescriptor {
                    port_id: binding.port_id.clone(),
                    controls: controller_schema(),
                })
                .collect(),
            inspection_schema: inspection_schema(),
            views: vec![ViewDescriptor {
                view_id: known_id(VIEW),
                width: WIDTH,
                height: HEIGHT,
                pixel_aspect: PixelAspect::SQUARE,
                observation_delay_steps: 0,
                audience: ViewAudience::Sensory,
            }],
            audio: Vec::new(),
        }
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        if parameters.port_bindings != self.bindings {
            return Err(ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                "the port bindings are not the ones this world was composed with",
            ));
        }
        let flies = Flies::new(u32::try_from(self.bindings.len()).unwrap_or(u32::MAX));
        let food = Food::new(self.seed, &flies.cells());
        self.state = None;
        self.state = Some(WorldState::begin(
            &self.launcher,
            parameters.episode_id.clone(),
            &flies,
            &food,
        )?);
        self.observe(&flies, &food).await
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        let bindings = self.state()?.bindings();
        self.launcher
            .device()
            .verify(&bindings)
            .await
            .map_err(|error| read_refused(&error, "the world does not read cleanly"))
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        let state = self.state()?;
        let target = if buffer_label == state.present_field().label() {
            let launched = self
                .launcher
                .launch_sound(KernelName::Field, &state.field_bindings());
            launched.map(|()| state.present_field())
        } else if buffer_label == VIEW_LABEL {
            let launched = self
                .launcher
                .launch_sound(KernelName::View, &state.view_bindings());
            launched.map(|()| state.view())
        } else {
            return Err(ParticipantError::refused(
                ErrorCode::Unsupported,
                format!(
                    "{buffer_label} cannot be written again: only {} and {VIEW_LABEL} have their inputs kept",
                    state.present_field().label()
                ),
            ));
        };
        let target = target.map_err(|error| device_failed(&error, "the launch was refused"))?;
        let verdict = self.launcher.device().verify(&[target.binding()]).await;
        verdict
            .map_err(|error| read_refused(&error, "written again, the buffer still does not read"))
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        let actions = self.actions(&batch.controls)?;
        let (mut flies, mut food) = self.bodies().await?;
        flies.step(&actions, &mut food);
        let launcher = Rc::clone(&self.launcher);
        let state = self.state.as_mut().ok_or_else(not_initialized)?;
        state.write_bodies(launcher.device(), &flies, &food)?;
        state.launch_step(&launcher)?;
        let observation = self.observe(&flies, &food).await?;
        batch
            .applied(scope, observation)
            .map_err(|error| ParticipantError::uncertain(ErrorCode::Internal, error.to_string()))
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let state = self.state()?;
        let device = self.launcher.device();
        let reads = state
            .buffers()
            .map(|buffer| Box::pin(read(device, buffer)) as BoxedFuture<'_, _>);
        let words: Result<Vec<Vec<u32>>, ReadError> = join_all(reads).await.into_iter().collect();
        let words = words.map_err(|error| read_refused(&error, "the world cannot be captured"))?;
        let scalars = WorldScalars {
            boundary: U64(state.boundary),
            episode_id: state.episode_id.clone(),
        };
        payload::encode(PayloadKind::World, self.identity()?, &scalars, &words)
            .map_err(|error| ParticipantError::refused(ErrorCode::Internal, error.to_string()))
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        let incompatible = |error: PayloadError| {
            ParticipantError::refused(ErrorCode::IncompatibleState, error.to_string())
        };
        let identity = self.identity()?;
        let (scalars, words) =
            payload::decode::<WorldScalars>(payload, PayloadKind::World, identity, &CAPTURED_WORDS)
                .map_err(incompatible)?;
        let impossible = |what| incompatible(PayloadError::Impossible { what });
        // The next boundary must still have a world time.
        let boundary = scalars.boundary.get();
        let next = boundary.checked_add(1);
        let next = next.and_then(|next| step_duration().checked_mul_u64(next).ok());
        let world_time = step_duration().checked_mul_u64(boundary);
        let (Some(_), Ok(world_time)) = (next, world_time) else {
            return Err(impossible("the boundary"));
        };
        let captured: [Vec<u32>; 5] = words
            .try_into()
            .map_err(|_| impossible("the number of buffers"))?;
        let [present, before, food_words, fly_words, view] = &captured;
        if present.iter().chain(before).any(|cell| *cell > FIELD_MAX) {
            return Err(impossible("the field"));
        }
        let flies = Flies::from_words(fly_words)
            .filter(|flies| flies.as_slice().len() == self.bindings.len())
            .ok_or_else(|| impossible("the flies"))?;
        let food = Food::from_words(food_words.clone()).ok_or_else(|| impossible("the food"))?;
        // Field and view of a boundary follow from what is kept beside them, on every backend to the last bit: a
        // payload that holds others was never captured, and agents would be shown what nobody saw.
        let mut proof = vec![0; CELLS as usize];
        field::step(before, food_words, &mut proof);
        if proof != *present {
            return Err(impossible("the field"));
        }
        view::render(before, food_words, fly_words, &mut proof);
        if proof != *view {
            return Err(impossible("the view"));
        }
        let found = StagedWorld {
            boundary: scalars.boundary,
            world_time,
            episode_id: scalars.episode_id.clone(),
            inspection_digest: self.inspection(&flies, &food)?.digest(),
            audio: Vec::new(),
        };
        self.staged = Some(Staged {
            boundary,
            episode_id: scalars.episode_id,
            captured,
        });
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        let staged = self.staged.take().ok_or_else(|| {
            ParticipantError::refused(ErrorCode::InvalidPhase, "nothing is staged")
        })?;
        self.state = None;
        let device = self.launcher.device();
        self.state = Some(WorldState::restore(
            device,
            staged.boundary,
            staged.episode_id,
            &staged.captured,
        )?);
        let (flies, food) = self.bodies().await?;
        self.observe(&flies, &food).await
    }
}
