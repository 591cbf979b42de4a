//! [`JsEnvironment`]: a world that moves in JavaScript.

use std::collections::VecDeque;

use async_trait::async_trait;
use js_sys::{Float32Array, Object, Reflect, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{Id, RationalNs, Scope, U64};
use wellwritten_session::{
    Advance, Artifact, AudioPosition, AudioRef, Environment, EnvironmentDescriptor,
    EnvironmentInitialize, ErrorCode, ParticipantError, Progress, StagedWorld, StepResult,
    TypedValue, ViewAudience, ViewDescriptor, ViewRef, WorldObservation,
};

use super::WorldDeclaration;
use super::handlers::{Handlers, bytes_of, take_state};
use super::kept_state::{KeptState, incompatible};
use super::typed_json::{malformed, set, typed_from_js};
use crate::convert::{from_js, to_js};

/// A world whose `initialize`, `advance`, `capture`, `stageRestore` and `activateRestore` are JavaScript.
pub struct JsEnvironment {
    handlers: Handlers,
    descriptor: EnvironmentDescriptor,
    now: Option<Standing>,
    staged: Option<Standing>,
}

/// Where the world stands, and what it shows there.
struct Standing {
    boundary: u64,
    world_time: RationalNs,
    episode_id: Id,
    /// For each declared view the frames that are or will be seen, oldest first.
    frames: Vec<VecDeque<Frame>>,
    /// For each declared stream the next sample.
    next_samples: Vec<u64>,
    /// Whether the next chunk follows a restore.
    is_restored: bool,
    inspection: TypedValue,
    engine_frame: Option<String>,
}

struct Frame {
    produced_step: u64,
    pixels: Artifact,
}

/// What is kept of a standing in a captured state, beside its frames.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Record {
    boundary: U64,
    world_time: RationalNs,
    episode_id: Id,
    /// For each view, the steps that rendered its frames.
    frames: Vec<Vec<U64>>,
    next_samples: Vec<U64>,
    inspection: TypedValue,
    #[serde(deserialize_with = "Option::deserialize")]
    engine_frame: Option<String>,
}

/// What a world shows, as JavaScript gave it.
struct Shown {
    frames: Vec<Option<Vec<u8>>>,
    inspection: TypedValue,
    engine_frame: Option<String>,
}

impl JsEnvironment {
    /// The world `worker_id` that `declaration` describes and `handlers` moves.
    pub fn new(
        worker_id: Id,
        declaration: JsValue,
        handlers: JsValue,
    ) -> Result<Self, ParticipantError> {
        let declaration: WorldDeclaration =
            from_js("descriptor", declaration).map_err(|error| {
                ParticipantError::refused(ErrorCode::InvalidArgument, error.message())
            })?;
        Ok(Self {
            handlers: Handlers::new(handlers),
            descriptor: declaration.describe(worker_id)?,
            now: None,
            staged: None,
        })
    }

    fn standing(&self) -> Result<&Standing, ParticipantError> {
        self.now.as_ref().ok_or_else(|| {
            ParticipantError::refused(ErrorCode::InvalidPhase, "the world is not initialized")
        })
    }

    /// Reads `{views, inspection, engineFrame}`.
    fn shown(&self, what: &str, given: &JsValue) -> Result<Shown, ParticipantError> {
        let views = field(given, "views");
        let frames = self.descriptor.views.iter().map(|view| {
            let pixels = field(&views, view.view_id.as_str());
            if pixels.is_undefined() {
                return match view.audience {
                    ViewAudience::Spectator => Ok(None),
                    ViewAudience::Sensory => {
                        Err(malformed(format!("{what} gave no view {}", view.view_id)))
                    }
                };
            }
            bytes_of(&format!("{what}, view {}", view.view_id), &pixels).map(Some)
        });
        let frames = frames.collect::<Result<_, _>>()?;
        let inspection = typed_from_js(
            &format!("{what}, inspection"),
            &self.descriptor.inspection_schema,
            field(given, "inspection"),
        )?;
        Ok(Shown {
            frames,
            inspection,
            engine_frame: field(given, "engineFrame").as_string(),
        })
    }

    /// One chunk of every declared stream, each where its stream is.
    fn sounded(
        &self,
        given: &JsValue,
        now: &mut Standing,
    ) -> Result<Vec<AudioRef>, ParticipantError> {
        let sounds = field(given, "audio");
        let mut chunks = Vec::with_capacity(self.descriptor.audio.len());
        for (stream, next) in self.descriptor.audio.iter().zip(&mut now.next_samples) {
            let samples = field(&sounds, stream.stream_id.as_str())
                .dyn_into::<Float32Array>()
                .map_err(|_| {
                    malformed(format!("advance gave no samples of {}", stream.stream_id))
                })?;
            let sample_frames = samples.length() / u32::from(stream.channels);
            let bytes: Vec<u8> = samples
                .to_vec()
                .into_iter()
                .flat_map(f32::to_le_bytes)
                .collect();
            chunks.push(AudioRef {
                stream_id: stream.stream_id.clone(),
                first_sample: U64(*next),
                sample_frames,
                samples: Artifact::seal(bytes, Artifact::F32LE),
                discontinuity: now.is_restored,
            });
            *next = next.saturating_add(u64::from(sample_frames));
        }
        now.is_restored = false;
        Ok(chunks)
    }

    /// What agents and spectators see of a standing: of each view the frame whose delay is over.
    fn observation(&self, now: &Standing, audio: Vec<AudioRef>) -> WorldObservation {
        let seen = |audience: ViewAudience| {
            let views = self.descriptor.views.iter().zip(&now.frames);
            views
                .filter(|(view, _)| view.audience == audience)
                .filter_map(|(view, frames)| {
                    frames.front().map(|frame| ViewRef {
                        view_id: view.view_id.clone(),
                        produced_step: U64(frame.produced_step),
                        pixels: frame.pixels.clone(),
                    })
                })
                .collect()
        };
        WorldObservation {
            boundary: U64(now.boundary),
            world_time: now.world_time,
            engine_frame: now.engine_frame.clone(),
            sensory_views: seen(ViewAudience::Sensory),
            broadcast_views: seen(ViewAudience::Spectator),
            audio,
            inspection: now.inspection.clone(),
        }
    }

    fn read_state<'a>(&self, payload: &'a [u8]) -> Result<(Standing, &'a [u8]), ParticipantError> {
        let KeptState { record, mut rest } = KeptState::<Record>::decode(payload)?;
        let views = &self.descriptor.views;
        if record.frames.len() != views.len()
            || record.next_samples.len() != self.descriptor.audio.len()
        {
            return Err(incompatible(
                "the captured state has other views or streams",
            ));
        }
        let mut frames = Vec::with_capacity(views.len());
        for (view, steps) in views.iter().zip(&record.frames) {
            check_steps(view, steps, record.boundary.0)?;
            let length = usize::try_from(view.byte_length()).unwrap_or(usize::MAX);
            let mut queue = VecDeque::with_capacity(steps.len());
            for step in steps {
                let (pixels, behind) = rest
                    .split_at_checked(length)
                    .ok_or_else(|| incompatible("the captured state is cut short"))?;
                rest = behind;
                queue.push_back(Frame {
                    produced_step: step.0,
                    pixels: Artifact::seal(pixels.to_vec(), Artifact::RGBA8),
                });
            }
            frames.push(queue);
        }
        let standing = Standing {
            boundary: record.boundary.0,
            world_time: record.world_time,
            episode_id: record.episode_id,
            frames,
            next_samples: record.next_samples.iter().map(|sample| sample.0).collect(),
            is_restored: true,
            inspection: record.inspection,
            engine_frame: record.engine_frame,
        };
        Ok((standing, rest))
    }
}

/// Frames are those of the last steps, one each, as many as wait; a view for spectators may have left some out.
fn check_steps(
    view: &ViewDescriptor,
    steps: &[U64],
    boundary: u64,
) -> Result<(), ParticipantError> {
    let oldest = view.producing_step(boundary);
    let in_order = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let in_range = steps
        .iter()
        .all(|step| (oldest..=boundary).contains(&step.0));
    let complete =
        view.audience == ViewAudience::Spectator || steps.len() as u64 == boundary - oldest + 1;
    if in_order && in_range && complete {
        return Ok(());
    }
    Err(incompatible(format!(
        "the captured state holds other frames of {} than are due at boundary {boundary}",
        view.view_id
    )))
}

/// A property; undefined where there is none.
fn field(value: &JsValue, key: &str) -> JsValue {
    if value.is_object() {
        Reflect::get(value, &key.into()).unwrap_or(JsValue::UNDEFINED)
    } else {
        JsValue::UNDEFINED
    }
}

/// Adds the newest frame and lets go of those whose delay is over.
fn queue_frame(
    queue: &mut VecDeque<Frame>,
    view: &ViewDescriptor,
    boundary: u64,
    pixels: Option<Vec<u8>>,
) {
    if let Some(pixels) = pixels {
        queue.push_back(Frame {
            produced_step: boundary,
            pixels: Artifact::seal(pixels, Artifact::RGBA8),
        });
    }
    let due = view.producing_step(boundary);
    while queue.front().is_some_and(|frame| frame.produced_step < due) {
        queue.pop_front();
    }
}

#[async_trait(?Send)]
impl Environment for JsEnvironment {
    fn descriptor(&self) -> EnvironmentDescriptor {
        self.descriptor.clone()
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.handlers.attach_progress(progress);
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        let given = self.handlers.call("initialize", &to_js(parameters)).await?;
        let shown = self.shown("initialize", &given)?;
        let mut frames: Vec<VecDeque<Frame>> = Vec::new();
        for (view, pixels) in self.descriptor.views.iter().zip(shown.frames) {
            let mut queue = VecDeque::new();
            queue_frame(&mut queue, view, 0, pixels);
            frames.push(queue);
        }
        let now = Standing {
            boundary: 0,
            world_time: RationalNs::ZERO,
            episode_id: parameters.episode_id.clone(),
            frames,
            next_samples: vec![0; self.descriptor.audio.len()],
            is_restored: false,
            inspection: shown.inspection,
            engine_frame: shown.engine_frame,
        };
        let observation = self.observation(&now, Vec::new());
        self.now = Some(now);
        Ok(observation)
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        Ok(())
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        Err(ParticipantError::refused(
            ErrorCode::Unsupported,
            format!(
                "a world in JavaScript keeps no buffer {buffer_label:?} that it could write again"
            ),
        ))
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        let world_time = self
            .standing()?
            .world_time
            .checked_add(self.descriptor.step_duration)
            .map_err(|error| {
                ParticipantError::refused(ErrorCode::BackendFailure, error.to_string())
            })?;
        let arguments = Object::new();
        set(&arguments, "step", &scope.step.0.into());
        set(&arguments, "controls", &to_js(&batch.controls));
        let given = self.handlers.call("advance", &arguments).await?;
        let (given, state_digest) = take_state(&given)?;
        let shown = self.shown("advance", &given)?;
        let boundary = scope.step.0.saturating_add(1);
        let mut now = self.now.take().expect("looked at before the call");
        now.boundary = boundary;
        now.world_time = world_time;
        now.inspection = shown.inspection;
        now.engine_frame = shown.engine_frame;
        let views = self.descriptor.views.iter().zip(shown.frames);
        for ((view, pixels), queue) in views.zip(&mut now.frames) {
            queue_frame(queue, view, boundary, pixels);
        }
        let sounded = self.sounded(&given, &mut now);
        let observation = sounded.map(|audio| self.observation(&now, audio));
        self.now = Some(now);
        let applied = batch
            .applied(scope, observation?)
            .map_err(|error| malformed(error.to_string()))?;
        Ok(StepResult {
            state_digest,
            ..applied
        })
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let state = self.handlers.bytes("capture", &JsValue::UNDEFINED).await?;
        let now = self.standing()?;
        let steps =
            |queue: &VecDeque<Frame>| queue.iter().map(|frame| U64(frame.produced_step)).collect();
        let record = Record {
            boundary: U64(now.boundary),
            world_time: now.world_time,
            episode_id: now.episode_id.clone(),
            frames: now.frames.iter().map(steps).collect(),
            next_samples: now.next_samples.iter().copied().map(U64).collect(),
            inspection: now.inspection.clone(),
            engine_frame: now.engine_frame.clone(),
        };
        let frames = now.frames.iter().flatten();
        let mut parts: Vec<&[u8]> = frames.map(|frame| frame.pixels.bytes()).collect();
        parts.push(&state);
        KeptState::encode(&record, &parts)
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        let (standing, state) = self.read_state(payload)?;
        let given = self
            .handlers
            .call("stageRestore", &Uint8Array::from(state))
            .await?;
        // What the state shows must be what was seen when it was captured.
        let shown = self.shown("stageRestore", &given)?;
        if shown.inspection.digest() != standing.inspection.digest() {
            return Err(incompatible(
                "the staged state is inspected as another one than was captured",
            ));
        }
        let views = self.descriptor.views.iter().zip(&standing.frames);
        for ((view, frames), pixels) in views.zip(&shown.frames) {
            let newest = frames
                .back()
                .filter(|frame| frame.produced_step == standing.boundary);
            if let (Some(newest), Some(pixels)) = (newest, pixels)
                && newest.pixels.bytes() != pixels.as_slice()
            {
                return Err(incompatible(format!(
                    "the staged state shows {} otherwise than it was captured",
                    view.view_id
                )));
            }
        }
        let audio = self.descriptor.audio.iter().zip(&standing.next_samples);
        let staged = StagedWorld {
            boundary: U64(standing.boundary),
            world_time: standing.world_time,
            episode_id: standing.episode_id.clone(),
            inspection_digest: standing.inspection.digest(),
            audio: audio
                .map(|(stream, next)| AudioPosition {
                    stream_id: stream.stream_id.clone(),
                    next_sample: U64(*next),
                })
                .collect(),
        };
        self.staged = Some(standing);
        Ok(staged)
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        self.handlers
            .call("activateRestore", &JsValue::UNDEFINED)
            .await?;
        let now = self.staged.take().ok_or_else(|| {
            ParticipantError::refused(ErrorCode::InvalidPhase, "nothing is staged")
        })?;
        let observation = self.observation(&now, Vec::new());
        self.now = Some(now);
        Ok(observation)
    }
}
