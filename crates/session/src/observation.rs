//! What a world shows: [`ViewDescriptor`], [`ViewRef`], [`SensoryInput`], [`WorldObservation`].

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, RationalNs, U64};

use crate::{Artifact, AudioRef, TypedValue};

/// For whom a view is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViewAudience {
    /// Agents see it, as spectators may: a frame is required at every boundary.
    #[default]
    Sensory,
    /// Spectators only. A world may leave a frame out; one it shows is as timely as an agent's.
    Spectator,
}

/// Shape of one pixel as it is shown: width to height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PixelAspect {
    /// Its width, 1 to 65,535.
    pub numerator: u16,
    /// Its height, 1 to 65,535.
    pub denominator: u16,
}

impl PixelAspect {
    /// As wide as it is high.
    pub const SQUARE: Self = Self {
        numerator: 1,
        denominator: 1,
    };
}

/// One declared view: RGBA8, top-left origin, rows of exactly `4 * width` bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViewDescriptor {
    /// Its name.
    pub view_id: Id,
    /// Width in pixels, 1 to 4096.
    pub width: u32,
    /// Height in pixels, 1 to 4096.
    pub height: u32,
    /// Shape of its pixels.
    pub pixel_aspect: PixelAspect,
    /// How many steps after its production a frame is seen, 0 to 8. Until that many steps were taken, the first frame
    /// is seen again and again: the very same bytes.
    pub observation_delay_steps: u8,
    /// For whom it is.
    pub audience: ViewAudience,
}

impl ViewDescriptor {
    /// Largest width and height, in pixels.
    pub const MAX_DIMENSION: u32 = 4096;
    /// Largest observation delay, in steps.
    pub const MAX_DELAY_STEPS: u8 = 8;

    /// Length of one frame, in bytes.
    #[must_use]
    pub const fn byte_length(&self) -> u64 {
        4 * self.width as u64 * self.height as u64
    }

    /// The step whose frame must be shown at `boundary`: `max(0, boundary - delay)`.
    #[must_use]
    pub const fn producing_step(&self, boundary: u64) -> u64 {
        boundary.saturating_sub(self.observation_delay_steps as u64)
    }
}

/// One frame of a view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViewRef {
    /// The view.
    pub view_id: Id,
    /// The step that rendered it.
    pub produced_step: U64,
    /// Its bytes.
    pub pixels: Artifact,
}

/// What an agent sees at a boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SensoryInput {
    /// The boundary.
    pub boundary: U64,
    /// One frame of every declared sensory view, in declared order; the very same bytes for every agent.
    pub views: Vec<ViewRef>,
    /// Structured input, for profiles that accept it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub structured: Option<TypedValue>,
}

impl SensoryInput {
    /// The frame of a view, where it is listed.
    #[must_use]
    pub fn view(&self, view_id: &str) -> Option<&ViewRef> {
        self.views
            .iter()
            .find(|view| view.view_id.as_str() == view_id)
    }
}

/// What the world shows at a boundary.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorldObservation {
    /// The boundary.
    pub boundary: U64,
    /// Logical time since the episode began; a restore preserves it.
    pub world_time: RationalNs,
    /// The engine's own frame name, at most 64 characters, for a person.
    #[serde(deserialize_with = "Option::deserialize")]
    pub engine_frame: Option<String>,
    /// One frame of every declared sensory view, in declared order.
    pub sensory_views: Vec<ViewRef>,
    /// Frames of declared spectator views, in declared order; none of them is required.
    pub broadcast_views: Vec<ViewRef>,
    /// One chunk of every declared stream, in declared order, from a transition; none where the observation was
    /// installed, by a bootstrap, a restore or a reset: nothing moved that could have sounded.
    pub audio: Vec<AudioRef>,
    /// What the task judges.
    pub inspection: TypedValue,
}

impl WorldObservation {
    /// Every frame of the boundary: those agents see, then those for spectators.
    pub fn views(&self) -> impl Iterator<Item = &ViewRef> {
        self.sensory_views.iter().chain(&self.broadcast_views)
    }

    /// Every artifact of the boundary, under the name it travels by: `view.<id>`, `audio.<id>`.
    pub fn attachments(&self) -> impl Iterator<Item = (String, &Artifact)> {
        let views = self.views();
        let views = views.map(|view| (format!("view.{}", view.view_id), &view.pixels));
        let audio = self.audio.iter();
        views.chain(audio.map(|chunk| (format!("audio.{}", chunk.stream_id), &chunk.samples)))
    }
}
