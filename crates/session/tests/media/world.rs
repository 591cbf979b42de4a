//! A world that shows the number of its step and sounds the numbers of its samples.

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_session::{
    Advance, Artifact, AudioDescriptor, AudioFormat, AudioPosition, AudioRef, ButtonState,
    ControllerIntent, ControllerSchema, Environment, EnvironmentDescriptor, EnvironmentInitialize,
    ErrorCode, Id, ParticipantError, PixelAspect, PortDescriptor, RationalNs, SampleBudget,
    SchemaRef, Scope, StagedWorld, StepResult, TypedValue, U64, ViewAudience, ViewDescriptor,
    ViewRef, WorldObservation,
};

use crate::bench::{Bench, digest_of, id};

#[derive(Clone, Serialize, Deserialize)]
struct State {
    episode: Option<Id>,
    step: u64,
    time: RationalNs,
    /// One for each declared stream.
    budgets: Vec<SampleBudget>,
    /// Steps whose frames are still to be shown.
    frames: Vec<u64>,
}

pub struct NumberWorld {
    bench: Rc<Bench>,
    state: State,
    rendered: Vec<(Id, u64, Artifact)>,
    /// The next chunk does not follow what was heard before.
    has_been_restored: bool,
    staged: Option<State>,
}

pub fn inspection_schema() -> SchemaRef {
    SchemaRef::synthetic(id("number.inspection"), 1)
}

fn inspection(state: &State) -> TypedValue {
    let inspection = serde_json::json!({"step": state.step});
    TypedValue::from_serialize(inspection_schema(), &inspection).unwrap()
}

pub fn step_duration() -> RationalNs {
    RationalNs::new(50_000_000, 3).unwrap()
}

pub fn pressed(is_down: bool) -> ControllerIntent {
    ControllerIntent {
        buttons: vec![ButtonState {
            id: id("go"),
            down: is_down,
        }],
        axes: Vec::new(),
    }
}

fn view(view_id: &str, audience: ViewAudience) -> ViewDescriptor {
    ViewDescriptor {
        view_id: id(view_id),
        width: 2,
        height: 2,
        pixel_aspect: PixelAspect::SQUARE,
        observation_delay_steps: 0,
        audience,
    }
}

fn stream(stream_id: &str, sample_rate: u32, channels: u8) -> AudioDescriptor {
    AudioDescriptor {
        stream_id: id(stream_id),
        sample_rate,
        channels,
        format: AudioFormat::F32leInterleaved,
    }
}

fn descriptor(bench: &Bench) -> EnvironmentDescriptor {
    let ports = ["p1", "p2"].map(|port| PortDescriptor {
        port_id: id(port),
        controls: ControllerSchema {
            schema: SchemaRef::synthetic(id("number.controls"), 1),
            buttons: vec![id("go")],
            axes: Vec::new(),
        },
    });
    let mut descriptor = EnvironmentDescriptor {
        worker_id: id("world"),
        backend_digest: digest_of("backend"),
        content_digest: digest_of("content"),
        patch_digest: digest_of("patch"),
        parser_digest: digest_of("parser"),
        state_format_id: id("number-1"),
        step_duration: step_duration(),
        ports: ports.into(),
        inspection_schema: inspection_schema(),
        views: vec![
            view("eye", ViewAudience::Sensory),
            view("map", ViewAudience::Spectator),
            view("plan", ViewAudience::Spectator),
        ],
        audio: vec![stream("room", 48_000, 2), stream("voice", 8_000, 1)],
    };
    (bench.declare.borrow_mut())(&mut descriptor);
    descriptor
}

/// Sample `n` of a channel, where it is said in advance.
pub fn sample(first: u64, index: usize) -> f32 {
    let number = first.wrapping_mul(31).wrapping_add(index as u64);
    f32::from(u8::try_from(number % 251).unwrap()) / 256.0
}

impl NumberWorld {
    pub fn new(bench: Rc<Bench>) -> Self {
        let descriptor = descriptor(&bench);
        let streams = descriptor.audio.iter();
        let budgets = streams.filter_map(|stream| SampleBudget::new(stream.sample_rate).ok());
        Self {
            bench,
            state: State {
                episode: None,
                step: 0,
                time: RationalNs::ZERO,
                budgets: budgets.collect(),
                frames: vec![0],
            },
            rendered: Vec::new(),
            has_been_restored: false,
            staged: None,
        }
    }

    fn frame(&mut self, view: &ViewDescriptor) -> ViewRef {
        let shown = view.producing_step(self.state.step);
        let kept = self
            .rendered
            .iter()
            .find(|(view_id, step, _)| (view_id, *step) == (&view.view_id, shown));
        let pixels = if let Some((.., pixels)) = kept {
            pixels.clone()
        } else {
            let length = usize::try_from(view.byte_length()).unwrap();
            let pixels = Artifact::seal(vec![shown.to_le_bytes()[0]; length], Artifact::RGBA8);
            self.rendered
                .push((view.view_id.clone(), shown, pixels.clone()));
            pixels
        };
        ViewRef {
            view_id: view.view_id.clone(),
            produced_step: U64(shown),
            pixels,
        }
    }

    fn observe(&mut self, audio: Vec<AudioRef>) -> WorldObservation {
        let (mut sensory_views, mut broadcast_views) = (Vec::new(), Vec::new());
        for view in descriptor(&self.bench).views {
            let frame = self.frame(&view);
            match view.audience {
                ViewAudience::Sensory => sensory_views.push(frame),
                ViewAudience::Spectator => broadcast_views.push(frame),
            }
        }
        let mut observation = WorldObservation {
            boundary: U64(self.state.step),
            world_time: self.state.time,
            engine_frame: None,
            sensory_views,
            broadcast_views,
            audio,
            inspection: inspection(&self.state),
        };
        (self.bench.tamper.borrow_mut())(&mut observation);
        observation
    }

    fn sound(&mut self) -> Vec<AudioRef> {
        let is_discontinuous = std::mem::take(&mut self.has_been_restored);
        let streams = descriptor(&self.bench).audio;
        let budgets = streams.iter().zip(&mut self.state.budgets);
        budgets
            .map(|(stream, budget)| {
                let span = budget.advance(step_duration()).unwrap();
                let count = span.sample_frames as usize * usize::from(stream.channels);
                let samples =
                    (0..count).flat_map(|index| sample(span.first_sample, index).to_le_bytes());
                AudioRef {
                    stream_id: stream.stream_id.clone(),
                    first_sample: U64(span.first_sample),
                    sample_frames: span.sample_frames,
                    samples: Artifact::seal(samples.collect(), Artifact::F32LE),
                    discontinuity: is_discontinuous,
                }
            })
            .collect()
    }
}

#[async_trait(?Send)]
impl Environment for NumberWorld {
    fn descriptor(&self) -> EnvironmentDescriptor {
        descriptor(&self.bench)
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        self.bench.reach("world", "initialize").await?;
        self.state.episode = Some(parameters.episode_id.clone());
        Ok(self.observe(Vec::new()))
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.bench.reach("world", "verify").await
    }

    async fn rewrite(&mut self, _buffer_label: &str) -> Result<(), ParticipantError> {
        self.bench.reach("world", "rewrite").await
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        self.bench.reach("world", "advance").await?;
        self.state.step += 1;
        self.state.time = self.state.time.checked_add(step_duration()).unwrap();
        self.state.frames.push(self.state.step);
        let audio = self.sound();
        let observation = self.observe(audio);
        let mut result = batch.applied(scope, observation).unwrap();
        result.next_step = U64(scope.step.0 + 1);
        Ok(result)
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.bench.reach("world", "capture").await?;
        Ok(serde_json::to_vec(&self.state).unwrap())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        self.bench.reach("world", "stage").await?;
        let state: State = serde_json::from_slice(payload).map_err(|error| {
            ParticipantError::refused(ErrorCode::IncompatibleState, error.to_string())
        })?;
        let streams = descriptor(&self.bench).audio;
        let positions = streams.iter().zip(&state.budgets);
        let found = StagedWorld {
            boundary: U64(state.step),
            world_time: state.time,
            episode_id: state.episode.clone().unwrap(),
            inspection_digest: inspection(&state).digest(),
            audio: positions
                .map(|(stream, budget)| AudioPosition {
                    stream_id: stream.stream_id.clone(),
                    next_sample: U64(budget.next_sample()),
                })
                .collect(),
        };
        self.staged = Some(state);
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        self.bench.reach("world", "activate").await?;
        self.state = self.staged.take().unwrap();
        self.rendered.clear();
        self.has_been_restored = true;
        Ok(self.observe(Vec::new()))
    }
}
