//! A signed counter that buttons move by one.

use std::rc::Rc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use wellwritten_session::{
    Advance, Artifact, AxisRange, AxisSchema, ControllerSchema, Environment, EnvironmentDescriptor,
    EnvironmentInitialize, ErrorCode, Id, ParticipantError, PixelAspect, PortDescriptor,
    RationalNs, SchemaRef, Scope, StagedWorld, StepResult, TypedValue, U64, ViewAudience,
    ViewDescriptor, ViewRef, WorldObservation,
};

use crate::rig::{Bench, digest_of, id};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    episode: Option<Id>,
    counter: i64,
    step: u64,
    time: RationalNs,
    /// Step and counter of every frame that is still to be shown.
    frames: Vec<(u64, i64)>,
}

pub struct CounterWorld {
    bench: Rc<Bench>,
    ports: Vec<Id>,
    state: State,
    rendered: Vec<(u64, Artifact)>,
    staged: Option<State>,
}

pub fn inspection_schema() -> SchemaRef {
    SchemaRef::synthetic(id("counter.inspection"), 1)
}

pub fn controls() -> ControllerSchema {
    ControllerSchema {
        schema: SchemaRef::synthetic(id("counter.controls"), 1),
        buttons: vec![id("inc"), id("dec")],
        axes: vec![AxisSchema {
            id: id("bias"),
            range: AxisRange::Bipolar,
            neutral: 0.0,
        }],
    }
}

fn inspection(state: &State) -> TypedValue {
    let inspection = serde_json::json!({"counter": state.counter, "step": state.step});
    TypedValue::from_serialize(inspection_schema(), &inspection).unwrap()
}

const WIDTH: u32 = 32;
const HEIGHT: u32 = 24;

impl CounterWorld {
    pub fn new(bench: Rc<Bench>, ports: Vec<Id>) -> Self {
        Self {
            bench,
            ports,
            state: State {
                episode: None,
                counter: 0,
                step: 0,
                time: RationalNs::ZERO,
                frames: vec![(0, 0)],
            },
            rendered: Vec::new(),
            staged: None,
        }
    }

    fn render(&self, counter: i64) -> Artifact {
        let red = counter.to_le_bytes()[0];
        let mut pixels = [red, 0, 0, 255].repeat((WIDTH * HEIGHT) as usize);
        if self.bench.short_frame.get() {
            pixels.pop();
        }
        Artifact::seal(pixels, Artifact::RGBA8)
    }

    /// Renders what is not rendered yet and forgets what is no longer shown.
    fn observe(&mut self) -> WorldObservation {
        let shown = self
            .state
            .step
            .saturating_sub(u64::from(self.bench.view_delay.get()));
        self.state.frames.retain(|(step, _)| *step >= shown);
        self.rendered.retain(|(step, _)| *step >= shown);
        for (step, counter) in self.state.frames.clone() {
            if self.rendered.iter().all(|(rendered, _)| *rendered != step) {
                self.rendered.push((step, self.render(counter)));
            }
        }
        let (_, pixels) = self
            .rendered
            .iter()
            .find(|(step, _)| *step == shown)
            .unwrap();
        WorldObservation {
            boundary: U64(self.state.step),
            world_time: self.state.time,
            engine_frame: Some(format!("frame {}", self.state.step)),
            sensory_views: vec![ViewRef {
                view_id: id("arena"),
                produced_step: U64(shown),
                pixels: pixels.clone(),
            }],
            broadcast_views: Vec::new(),
            audio: Vec::new(),
            inspection: inspection(&self.state),
        }
    }

    fn require_clean(&self) -> Result<(), ParticipantError> {
        if !self.bench.is_world_dirty.get() {
            return Ok(());
        }
        Err(ParticipantError::refused(
            ErrorCode::BufferInvalid,
            "bytes 0..8 of field were never written",
        )
        .with_detail(
            serde_json::json!({"buffer": "field", "start": 0, "end": 8, "root": "invalid shader"}),
        ))
    }
}

#[async_trait(?Send)]
impl Environment for CounterWorld {
    fn descriptor(&self) -> EnvironmentDescriptor {
        let other = self.bench.other_field.borrow().clone();
        let digest = |field: &str| digest_of(if other == field { "other" } else { field });
        EnvironmentDescriptor {
            worker_id: id("world"),
            backend_digest: digest("backend"),
            content_digest: digest("content"),
            patch_digest: digest("patch"),
            parser_digest: digest_of(if self.bench.other_parser.get() {
                "other parser"
            } else {
                "parser"
            }),
            state_format_id: id(if other == "format" {
                "counter-2"
            } else {
                "counter-1"
            }),
            step_duration: RationalNs::new(50_000_000, 3).unwrap(),
            ports: self
                .ports
                .iter()
                .map(|port_id| PortDescriptor {
                    port_id: port_id.clone(),
                    controls: controls(),
                })
                .collect(),
            inspection_schema: inspection_schema(),
            views: vec![ViewDescriptor {
                view_id: id("arena"),
                width: WIDTH,
                height: HEIGHT,
                pixel_aspect: PixelAspect::SQUARE,
                observation_delay_steps: self.bench.view_delay.get(),
                audience: ViewAudience::Sensory,
            }],
            audio: Vec::new(),
        }
    }

    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        self.bench.reach("world", "initialize").await?;
        self.state.episode = Some(parameters.episode_id.clone());
        Ok(self.observe())
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.bench.reach("world", "verify").await?;
        self.require_clean()
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        if buffer_label != "field" {
            return Err(ParticipantError::refused(
                ErrorCode::Unsupported,
                format!("no buffer {buffer_label}"),
            ));
        }
        self.bench.is_world_dirty.set(false);
        Ok(())
    }

    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        for control in &batch.controls {
            self.state.counter +=
                i64::from(control.is_down("inc")) - i64::from(control.is_down("dec"));
        }
        if self.bench.cheats.get() {
            self.state.counter += 100;
        }
        self.state.step += 1;
        self.state.time = self
            .state
            .time
            .checked_add(RationalNs::new(50_000_000, 3).unwrap())
            .unwrap();
        self.state
            .frames
            .push((self.state.step, self.state.counter));
        self.bench.reach("world", "advance").await?;
        let mut observation = self.observe();
        let lie = self.bench.lie.borrow().clone();
        match lie.as_str() {
            "boundary" => observation.boundary.0 += 1,
            "worldTime" => observation.world_time = RationalNs::ZERO,
            "engineFrame" => observation.engine_frame = Some("x".repeat(65)),
            "inspectionSchema" => {
                let other = SchemaRef::synthetic(id("other.inspection"), 1);
                observation.inspection = TypedValue::new(other, serde_json::Map::new()).unwrap();
            }
            "viewRerendered" => {
                let bytes = observation.sensory_views[0].pixels.bytes().to_vec();
                observation.sensory_views[0].pixels = Artifact::seal(bytes, Artifact::RGBA8);
            }
            "viewMissing" => observation.sensory_views.clear(),
            "viewStale" => observation.sensory_views[0].produced_step = scope.step,
            "viewFromTheFuture" => observation.sensory_views[0].produced_step.0 += 1,
            "viewTwice" => observation
                .sensory_views
                .push(observation.sensory_views[0].clone()),
            _ => {}
        }
        let mut result = batch.applied(scope, observation).unwrap();
        match lie.as_str() {
            "batchId" => result.batch_id = id("batch-e1-9"),
            "appliedFromStep" => result.applied_from_step.0 += 1,
            "nextStep" => result.next_step.0 += 1,
            "controls" => result.applied_controls_digest = digest_of("other controls"),
            _ => {}
        }
        Ok(result)
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.bench.reach("world", "capture").await?;
        self.require_clean()?;
        Ok(serde_json::to_vec(&self.state).unwrap())
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        self.bench.reach("world", "stage").await?;
        let refused =
            |message: String| ParticipantError::refused(ErrorCode::IncompatibleState, message);
        let state: State =
            serde_json::from_slice(payload).map_err(|error| refused(error.to_string()))?;
        if state.frames.last() != Some(&(state.step, state.counter)) {
            return Err(refused("the last frame shows another counter".to_owned()));
        }
        let Some(episode_id) = state.episode.clone() else {
            return Err(refused("a state of no episode".to_owned()));
        };
        let found = StagedWorld {
            boundary: U64(state.step),
            world_time: state.time,
            episode_id,
            inspection_digest: inspection(&state).digest(),
            audio: Vec::new(),
        };
        self.staged = Some(state);
        Ok(found)
    }

    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        self.bench.reach("world", "activate").await?;
        self.state = self.staged.take().unwrap();
        self.rendered.clear();
        let mut observation = self.observe();
        match self.bench.lie.borrow().as_str() {
            "restoredInspection" => {
                let other = serde_json::json!({"counter": 77, "step": self.state.step});
                observation.inspection =
                    TypedValue::from_serialize(inspection_schema(), &other).unwrap();
            }
            "restoredBoundary" => observation.boundary.0 += 1,
            "restoredTime" => observation.world_time = RationalNs::ZERO,
            "restoredView" => observation.sensory_views.clear(),
            _ => {}
        }
        Ok(observation)
    }
}
