//! [`contradictions`]: states that can be told from what was captured by nobody who looks at one of them alone.

use serde_json::{Value, json};
use wellwritten_counter::WORLD;

use super::forgery_bench::Noticed;

/// The payload of the coordinator's own record.
const RECORD: &str = "coordinator-admission";

/// One contradiction: the payload, other values in it, and who notices.
pub(super) type Contradiction = (&'static str, Vec<(&'static str, Value)>, Noticed);

/// States that are well made and contradict another part of the checkpoint, which was taken at boundary 2.
pub(super) fn contradictions() -> Vec<Contradiction> {
    [of_participants(), of_the_task(), of_the_record()].concat()
}

fn of_participants() -> Vec<Contradiction> {
    use Noticed::{ByComparison, ByItsOwner};
    let of_world = ByComparison(WORLD);
    vec![
        // The world.
        (
            WORLD,
            vec![("/counter", json!(40)), ("/frames/0/counter", json!(40))],
            of_world,
        ),
        (WORLD, vec![("/episode", json!("ep2"))], of_world),
        (WORLD, vec![("/counter", json!(40))], ByItsOwner),
        (WORLD, vec![("/step", json!("3"))], ByItsOwner),
        (WORLD, vec![("/episode", Value::Null)], ByItsOwner),
        (WORLD, vec![("/frames", json!([]))], ByItsOwner),
        // An agent.
        ("agent-fly-a", vec![("/ticks", json!("44"))], ByItsOwner),
        ("agent-fly-b", vec![("/updates", json!("3"))], ByItsOwner),
        (
            "agent-fly-a",
            vec![("/context/value/transitions", json!(3))],
            ByItsOwner,
        ),
        ("agent-fly-b", vec![("/context", Value::Null)], ByItsOwner),
    ]
}

fn of_the_task() -> Vec<Contradiction> {
    use Noticed::{Before, BeforeBy, ByComparison};
    let of_world = ByComparison(WORLD);
    vec![
        // The task's ledger and what the world was inspected as.
        (
            "task-ledger",
            vec![("/value/transitions", json!(3))],
            Before,
        ),
        ("task-ledger", vec![("/value/counter", json!(40))], Before),
        (
            "task-ledger",
            vec![("/value/eventsIssued", json!(6))],
            BeforeBy(RECORD),
        ),
        (
            "task-ledger",
            vec![("/value/lastEventStep", json!(1))],
            BeforeBy(RECORD),
        ),
        (
            "task-ledger",
            vec![("/value/agents", json!(["fly-a"]))],
            BeforeBy(RECORD),
        ),
        (
            "task-ledger",
            vec![("/schema/id", json!("another.ledger"))],
            Before,
        ),
        (
            "prior-inspection",
            vec![("/value/counter", json!(40))],
            BeforeBy("task-ledger"),
        ),
        (
            "prior-inspection",
            vec![("/value/step", json!(1))],
            of_world,
        ),
        (
            "prior-inspection",
            vec![("/schema/id", json!("another.inspection"))],
            Before,
        ),
        // An executor.
        (
            "executor-fly-a",
            vec![("/value/executor", json!("another"))],
            Before,
        ),
        (
            "executor-fly-b",
            vec![("/schema/id", json!("another.executor"))],
            Before,
        ),
    ]
}

fn of_the_record() -> Vec<Contradiction> {
    use Noticed::{Before, ByComparison};
    let of_world = ByComparison(WORLD);
    vec![
        // The coordinator's own record.
        (RECORD, vec![("/committedStep", json!("3"))], Before),
        (RECORD, vec![("/eventsIssued", json!("6"))], Before),
        (RECORD, vec![("/lastEventStep", json!("1"))], Before),
        (RECORD, vec![("/executorEventsIssued", json!("1"))], Before),
        (RECORD, vec![("/lastExecutorEventStep", json!("1"))], Before),
        (
            RECORD,
            vec![("/progress/value/transitions", json!(3))],
            Before,
        ),
        (RECORD, vec![("/audioPositions", json!([]))], Before),
        (
            RECORD,
            vec![("/audioPositions/0/nextSample", json!("1601"))],
            of_world,
        ),
        (RECORD, vec![("/agents/0/brainTicks", json!("44"))], Before),
        (RECORD, vec![("/agents/1/seed", json!(7))], Before),
        (RECORD, vec![("/agents/0/portId", json!("p2"))], Before),
        (RECORD, vec![("/agents/1/agentId", json!("fly-c"))], Before),
        (
            RECORD,
            vec![("/agents/0/context/value/transitions", json!(1))],
            Before,
        ),
        (RECORD, vec![("/agents", json!({"fly-a": 1}))], Before),
        (
            RECORD,
            vec![("/admissions", json!([{"agentId": "fly-a"}]))],
            Before,
        ),
    ]
}
