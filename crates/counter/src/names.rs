//! The names of everything in a counter session: ids, schemas, the controller.

use std::cell::RefCell;

use wellwritten_session::{AxisRange, AxisSchema, ControllerSchema, Digest, Id, SchemaRef};

/// The world's worker id.
pub const WORLD: &str = "world";
/// Whom a fault of the task names as its participant.
pub const TASK: &str = "task";
/// The one view, and the one stream of sound.
pub const ARENA: &str = "arena";
/// The one kind of stimulus.
pub const SPARK: &str = "spark";
/// A kind of stimulus that no agent declares.
pub const UNDECLARED: &str = "undeclared";
/// The rule of every reward and the kind of every event but the first.
pub const COUNTER_DELTA: &str = "counter-delta";
/// The buffer of the world that can be dirty, and rewritten.
pub const FIELD: &str = "field";

/// Agents in the order of their names, each with its port and its seed.
pub const AGENTS: [(&str, &str, i32); 4] = [
    ("fly-a", "p1", 7),
    ("fly-b", "p2", 11),
    ("fly-c", "p3", 13),
    ("fly-d", "p4", 17),
];

/// An id that is written in this crate.
pub(crate) fn id(text: &str) -> Id {
    Id::parse(text).expect("a legal id")
}

thread_local! {
    static SCHEMAS: RefCell<Vec<SchemaRef>> = const { RefCell::new(Vec::new()) };
}

/// Made once: the digest of a schema is a hash, and every decision, context and inspection bears one.
fn schema(name: &str) -> SchemaRef {
    SCHEMAS.with_borrow_mut(|schemas| {
        let known = schemas.iter().find(|schema| schema.id.as_str() == name);
        known.cloned().unwrap_or_else(|| {
            let made = SchemaRef::synthetic(id(name), 1);
            schemas.push(made.clone());
            made
        })
    })
}

/// A digest that stands for something which this crate has no bytes of.
pub(crate) fn named_digest(name: &str) -> Digest {
    Digest::blake3(name.as_bytes())
}

/// `{"counter": integer, "step": integer}`.
#[must_use]
pub fn inspection_schema() -> SchemaRef {
    schema("counter.inspection")
}

/// `{"transitions": integer}`.
#[must_use]
pub fn context_schema() -> SchemaRef {
    schema("counter.context")
}

/// A [`ControllerIntent`](wellwritten_session::ControllerIntent) of [`controls`].
#[must_use]
pub fn decision_schema() -> SchemaRef {
    schema("counter.decision")
}

/// `{"counter": integer, "transitions": integer}`.
#[must_use]
pub fn progress_schema() -> SchemaRef {
    schema("counter.progress")
}

/// What a [`CounterTask`](crate::CounterTask) captures.
#[must_use]
pub fn ledger_schema() -> SchemaRef {
    schema("counter.ledger")
}

/// What every port accepts: buttons `inc` and `dec`, and an axis `bias` from -1 to 1 that moves nothing.
#[must_use]
pub fn controls() -> ControllerSchema {
    ControllerSchema {
        schema: schema("counter.controls"),
        buttons: vec![id("inc"), id("dec")],
        axes: vec![AxisSchema {
            id: id("bias"),
            range: AxisRange::Bipolar,
            neutral: 0.0,
        }],
    }
}
