//! The typed values of the arena: inspection, context, decision, progress.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::Id;
use wellwritten_session::{AxisRange, AxisSchema, ControllerSchema, SchemaRef};

/// An id that is written in this crate.
pub(crate) fn known_id(text: &str) -> Id {
    Id::parse(text).expect("ids written in this crate are legal")
}

fn schema(name: &str) -> SchemaRef {
    SchemaRef::synthetic(known_id(name), 1)
}

/// Schema of [`Inspection`].
#[must_use]
pub fn inspection_schema() -> SchemaRef {
    schema("arena.inspection.v1")
}

/// Schema of [`Proprioception`], the decision context of a fly.
#[must_use]
pub fn context_schema() -> SchemaRef {
    schema("arena.proprioception.v1")
}

/// Schema of a fly's decisions: a controller intent.
#[must_use]
pub fn decision_schema() -> SchemaRef {
    schema("arena.decision.v1")
}

/// Schema of the task's progress.
#[must_use]
pub fn progress_schema() -> SchemaRef {
    schema("arena.progress.v1")
}

/// Schema of the payload of an `eat` or `milestone` event.
#[must_use]
pub fn event_schema() -> SchemaRef {
    schema("arena.event.v1")
}

/// Schema of the task's ledger.
#[must_use]
pub fn ledger_schema() -> SchemaRef {
    schema("arena.ledger.v2")
}

/// Button `walk`.
pub const WALK: &str = "walk";
/// Button `feed`.
pub const FEED: &str = "feed";
/// Axis `turn`, bipolar, positive to the right.
pub const TURN: &str = "turn";
/// The view of the arena.
pub const VIEW: &str = "arena";

/// What every port of the arena accepts.
#[must_use]
pub fn controller_schema() -> ControllerSchema {
    ControllerSchema {
        schema: schema("arena.controller.v1"),
        buttons: vec![known_id(WALK), known_id(FEED)],
        axes: vec![AxisSchema {
            id: known_id(TURN),
            range: AxisRange::Bipolar,
            neutral: 0.0,
        }],
    }
}

/// One fly as the task and a page see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InspectedFly {
    /// Who drives it.
    pub agent_id: Id,
    /// In 1/65,536 of a cell.
    pub x: u32,
    /// In 1/65,536 of a cell.
    pub y: u32,
    /// In 1/65,536 of a turn; 0 looks to +x, a quarter turn to +y.
    pub heading: u32,
    /// In 1/65,536 of a cell a step.
    pub speed: u32,
    /// Food eaten.
    pub eaten: u32,
}

/// The food as the task and a page see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InspectedFood {
    /// Sources that are there now.
    pub present: u32,
    /// Food eaten since the episode began, by all.
    pub eaten: u32,
}

/// The world as the task judges it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inspection {
    /// The flies, sorted by agent id.
    pub flies: Vec<InspectedFly>,
    /// The food.
    pub food: InspectedFood,
}

/// Where a fly is and looks, as its own body tells it: the only thing it knows beside the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proprioception {
    /// In 1/65,536 of a cell.
    pub x: u32,
    /// In 1/65,536 of a cell.
    pub y: u32,
    /// In 1/65,536 of a turn.
    pub heading: u32,
}
