//! [`CounterWorld`]: a signed counter that buttons move by one.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_session::{
    Advance, Artifact, AudioRef, Environment, EnvironmentDescriptor, EnvironmentInitialize,
    ErrorCode, Id, ParticipantError, PixelAspect, PortDescriptor, Progress, SchemaRef, Scope,
    StagedWorld, StepResult, TypedValue, U64, ViewAudience, ViewDescriptor, ViewRef,
    WorldObservation,
};

use crate::faults::Reached;
use crate::names::{AGENTS, ARENA, FIELD, WORLD, controls, id, inspection_schema, named_digest};
use crate::world_state::{Frame, WorldShape, WorldState, samples, step_duration, stream};
use crate::{CounterComposition, CounterError, FaultKind, FaultPoint, Faults, Lie};

/// Width of the view, in pixels.
pub const VIEW_WIDTH: u32 = 32;
/// Height of the view, in pixels.
pub const VIEW_HEIGHT: u32 = 24;

/// A signed counter. Every port moves it by one up with `inc` and by one down with `dec`; both together leave it.
pub struct CounterWorld {
    worker_id: Id,
    shape: WorldShape,
    life: u32,
    faults: Rc<Faults>,
    progress: Progress,
    state: WorldState,
    /// Frames by the boundary they are of: shown again, they are the same artifact.
    rendered: Vec<(u64, Artifact)>,
    staged: Option<WorldState>,
    is_dirty: bool,
    /// The next chunk is the first since a restore.
    is_resumed: bool,
}

impl CounterWorld {
    /// The world of a composition, in its `life`th life.
    pub fn new(
        composition: &CounterComposition,
        life: u32,
        faults: Rc<Faults>,
    ) -> Result<Self, CounterError> {
        composition.check()?;
        let shape = WorldShape {
            ports: composition.agents,
            view_delay_steps: composition.view_delay_steps,
            sample_rate: composition.sample_rate,
        };
        Ok(Self {
            worker_id: id(WORLD),
            state: WorldState::new(&shape)?,
            shape,
            life,
            faults,
            progress: Progress::new(),
            rendered: Vec::new(),
            staged: None,
            is_dirty: false,
            is_resumed: false,
        })
    }

    /// The counter.
    #[must_use]
    pub const fn counter(&self) -> i64 {
        self.state.counter
    }

    fn reach(&self, at: FaultPoint) -> Result<Reached, ParticipantError> {
        let reached = self
            .faults
            .reach(&self.worker_id, self.life, at, self.state.step.0);
        reached.refuse()?;
        Ok(reached)
    }

    /// Renders what is not rendered yet, forgets what is no longer shown, and shows the frame that is due.
    fn observe(&mut self) -> WorldObservation {
        let delay = u64::from(self.shape.view_delay_steps);
        let shown = self.state.step.0.saturating_sub(delay);
        self.state.frames.retain(|frame| frame.step.0 >= shown);
        self.rendered.retain(|(step, _)| *step >= shown);
        for frame in &self.state.frames {
            if self.rendered.iter().all(|(step, _)| *step != frame.step.0) {
                let frame = (frame.step.0, render(frame.counter));
                self.rendered.push(frame);
            }
        }
        let frames = self.rendered.iter().find(|(step, _)| *step == shown);
        let sensory_views = frames.map(|(step, pixels)| ViewRef {
            view_id: id(ARENA),
            produced_step: U64(*step),
            pixels: pixels.clone(),
        });
        WorldObservation {
            boundary: self.state.step,
            world_time: self.state.time,
            engine_frame: Some(format!("frame {}", self.state.step)),
            sensory_views: sensory_views.into_iter().collect(),
            broadcast_views: Vec::new(),
            audio: Vec::new(),
            inspection: self.state.inspection(),
        }
    }

    /// The state after a batch. Nothing moves yet.
    fn moved(&self, batch: &Advance, by: i64) -> Result<(WorldState, AudioRef), ParticipantError> {
        let refuse =
            |message: String| ParticipantError::refused(ErrorCode::InvalidArgument, message);
        let mut state = self.state.clone();
        let pressed = batch.controls.iter();
        let delta: i64 = pressed
            .map(|port| i64::from(port.is_down("inc")) - i64::from(port.is_down("dec")))
            .sum();
        state.counter += delta + by;
        if state.counter.abs() > WorldState::MAX_COUNTER {
            let message = format!("the counter cannot go to {}", state.counter);
            return Err(refuse(message));
        }
        state.step.0 = (state.step.0.checked_add(1))
            .ok_or_else(|| refuse("the last step there is has been taken".to_owned()))?;
        state.time =
            (state.time.checked_add(step_duration())).map_err(|error| refuse(error.to_string()))?;
        let span =
            (state.sound.advance(step_duration())).map_err(|error| refuse(error.to_string()))?;
        state.frames.push(Frame {
            counter: state.counter,
            step: state.step,
        });
        let bytes = samples(state.counter, span.first_sample, span.sample_frames);
        let chunk = AudioRef {
            stream_id: id(ARENA),
            first_sample: U64(span.first_sample),
            sample_frames: span.sample_frames,
            samples: Artifact::seal(bytes, Artifact::F32LE),
            discontinuity: self.is_resumed,
        };
        Ok((state, chunk))
    }

    fn require_clean(&self) -> Result<(), ParticipantError> {
        if !self.is_dirty {
            return Ok(());
        }
        let report = DirtyReport {
            buffer: FIELD,
            start: 0,
            end: 8,
            root: "a planned fault",
        };
        let error = ParticipantError::refused(
            ErrorCode::BufferInvalid,
            "bytes 0..8 of field were never written",
        );
        Err(match wellwritten_envelope::to_json(&report) {
            Ok(detail) => error.with_detail(detail),
            Err(_) => error,
        })
    }

    fn note_dirt(&mut self, reached: &Reached) {
        self.is_dirty |= reached.has(FaultKind::Dirty);
    }
}

/// What a read of dirty bytes reports.
#[derive(serde::Serialize)]
struct DirtyReport {
    buffer: &'static str,
    start: u32,
    end: u32,
    root: &'static str,
}

fn render(counter: i64) -> Artifact {
    let red = counter.to_le_bytes()[0];
    let pixels = [red, 0, 0, 255].repeat((VIEW_WIDTH * VIEW_HEIGHT) as usize);
    Artifact::seal(pixels, Artifact::RGBA8)
}

/// An observation as a world shows it that lies.
fn distort(observation: &mut WorldObservation, reached: &Reached) {
    let when = |lie, distort: &mut dyn FnMut()| {
        if reached.lies(lie) {
            distort();
        }
    };
    let shown = observation;
    when(Lie::Boundary, &mut || shown.boundary.0 += 1);
    when(Lie::WorldTime, &mut || {
        shown.world_time = wellwritten_session::RationalNs::ZERO;
    });
    when(Lie::EngineFrame, &mut || {
        shown.engine_frame = Some("x".repeat(65));
    });
    when(Lie::InspectionSchema, &mut || {
        let other = SchemaRef::synthetic(id("other.inspection"), 1);
        shown.inspection =
            TypedValue::new(other, shown.inspection.value().clone()).expect("as long as before");
    });
    when(Lie::Inspection, &mut || {
        let mut value = shown.inspection.value().clone();
        value.insert("counter".to_owned(), 77.into());
        shown.inspection =
            TypedValue::new(inspection_schema(), value).expect("about as long as before");
    });
    distort_views(&mut shown.sensory_views, reached);
    distort_sound(&mut shown.audio, reached);
}

fn distort_views(views: &mut Vec<ViewRef>, reached: &Reached) {
    for view in views.iter_mut() {
        let resealed = |bytes| Artifact::seal(bytes, Artifact::RGBA8);
        let mut bytes = view.pixels.bytes().to_vec();
        if reached.lies(Lie::ViewTruncated) {
            bytes.pop();
            view.pixels = resealed(bytes);
        } else if reached.lies(Lie::ViewRerendered) {
            view.pixels = resealed(bytes);
        }
        let step = &mut view.produced_step.0;
        *step = (*step + u64::from(reached.lies(Lie::ViewFromTheFuture)))
            .saturating_sub(u64::from(reached.lies(Lie::ViewStale)));
    }
    if reached.lies(Lie::ViewMissing) {
        views.clear();
    }
    if reached.lies(Lie::ViewTwice) {
        views.extend_from_within(..);
    }
}

fn distort_sound(chunks: &mut Vec<AudioRef>, reached: &Reached) {
    for chunk in chunks.iter_mut() {
        let resealed = |bytes| Artifact::seal(bytes, Artifact::F32LE);
        let mut bytes = chunk.samples.bytes().to_vec();
        if reached.lies(Lie::AudioMisaligned) {
            bytes.push(0);
            chunk.samples = resealed(bytes);
        } else if reached.lies(Lie::AudioNotFinite) {
            bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
            chunk.samples = resealed(bytes);
        }
        if reached.lies(Lie::AudioOverlapping) {
            let first = &mut chunk.first_sample.0;
            *first = first.checked_sub(1).unwrap_or(1);
        }
        chunk.discontinuity ^= reached.lies(Lie::AudioMismarked);
    }
    if reached.lies(Lie::AudioMissing) {
        chunks.clear();
    }
    if reached.lies(Lie::AudioAtRest) {
        chunks.push(AudioRef {
            stream_id: id(ARENA),
            first_sample: U64(0),
            sample_frames: 0,
            samples: Artifact::seal(Vec::new(), Artifact::F32LE),
            discontinuity: true,
        });
    }
}

#[async_trait(?Send)]
impl Environment for CounterWorld {
    fn descriptor(&self) -> EnvironmentDescriptor {
        let ports = AGENTS.iter().take(self.shape.ports);
        let configuration = format!(
            "wellwritten-counter/configuration-v1\nports={}\nviewDelaySteps={}\nsampleRate={}\n",
            self.shape.ports, self.shape.view_delay_steps, self.shape.sample_rate
        );
        EnvironmentDescriptor {
            worker_id: self.worker_id.clone(),
            backend_digest: named_digest("wellwritten-counter/world-v1"),
            content_digest: named_digest("wellwritten-counter/content-v1"),
            patch_digest: named_digest(&configuration),
            parser_digest: named_digest("wellwritten-counter/inspection-v1"),
            state_format_id: id("counter-1"),
            step_duration: step_duration(),
            ports: ports
                .map(|(_, port_id, _)| PortDescriptor {
                    port_id: id(port_id),
                    controls: controls(),
                })
                .collect(),
            inspection_schema: inspection_schema(),
            views: vec![ViewDescriptor {
                view_id: id(ARENA),
                width: VIEW_WIDTH,
                height: VIEW_HEIGHT,
                pixel_aspect: PixelAspect::SQUARE,
                observation_delay_steps: self.shape.view_delay_steps,
                audience: ViewAudience::Sensory,
            }],
            audio: vec![stream(&self.shape)],
        }
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        let reached = self.reach(FaultPoint::Initialize)?;
        self.state.episode = Some(parameters.episode_id.clone());
        self.note_dirt(&reached);
        reached.pass(&self.progress).await?;
        let mut observation = self.observe();
        distort(&mut observation, &reached);
        Ok(observation)
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        let reached = self.reach(FaultPoint::Verify)?;
        self.note_dirt(&reached);
        reached.pass(&self.progress).await?;
        self.require_clean()
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        if buffer_label != FIELD {
            let message = format!("no buffer {buffer_label}");
            return Err(ParticipantError::refused(ErrorCode::Unsupported, message));
        }
        self.is_dirty = false;
        Ok(())
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        let reached = self.reach(FaultPoint::Advance)?;
        let further = if reached.lies(Lie::Cheat) { 100 } else { 0 };
        let (state, chunk) = self.moved(batch, further)?;
        self.state = state;
        self.is_resumed = false;
        self.note_dirt(&reached);
        self.progress.raise(1);
        reached.pass(&self.progress).await?;
        let mut observation = self.observe();
        observation.audio.push(chunk);
        distort(&mut observation, &reached);
        let mut result = batch
            .applied(scope, observation)
            .map_err(|error| crate::faults::broken(&error.to_string()))?;
        result.next_step = self.state.step;
        result.state_digest = Some(self.state.digest());
        result.applied_from_step.0 += u64::from(reached.lies(Lie::AppliedFromStep));
        result.next_step.0 += u64::from(reached.lies(Lie::NextStep));
        if reached.lies(Lie::Batch) {
            result.batch_id = id("batch-of-another");
        }
        if reached.lies(Lie::Controls) {
            result.applied_controls_digest = named_digest("other controls");
        }
        Ok(result)
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        let reached = self.reach(FaultPoint::Capture)?;
        self.note_dirt(&reached);
        reached.pass(&self.progress).await?;
        self.require_clean()?;
        Ok(self.state.capture())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        let reached = self.reach(FaultPoint::Stage)?;
        let state = WorldState::read(payload, &self.shape)?;
        let found = state.staged().ok_or(crate::StateError::NoEpisode)?;
        self.staged = Some(state);
        reached.pass(&self.progress).await?;
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        let reached = self.reach(FaultPoint::Activate)?;
        let Some(staged) = self.staged.take() else {
            let message = "no state is staged";
            return Err(ParticipantError::refused(ErrorCode::InvalidPhase, message));
        };
        self.state = staged;
        self.rendered.clear();
        self.is_resumed = true;
        reached.pass(&self.progress).await?;
        let mut observation = self.observe();
        distort(&mut observation, &reached);
        Ok(observation)
    }
}
