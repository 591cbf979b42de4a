//! What executors tell reaches the same feed as the task's events, under names that a rebased trace knows.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::executor::block_on;
use serde::{Deserialize, Serialize};
use wellwritten_session::{
    ErrorCode, EventIdentity, Execution, Executor, ExecutorError, ExecutorEvent, ExecutorInput, Id,
    SchemaRef, TraceRecord, TraceVerdict, TypedValue, compare_traces, rebase_trace,
};

use crate::bench::{Bench, Rig, id};
use crate::forge::refused_record;

/// The identity, which also tells how many decisions it has seen.
pub struct TellingExecutor {
    bench: Rc<Bench>,
    seen: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    seen: u64,
}

fn schema() -> SchemaRef {
    SchemaRef::synthetic(id("number.executor"), 1)
}

impl TellingExecutor {
    pub fn new(bench: Rc<Bench>) -> Self {
        Self { bench, seen: 0 }
    }
}

impl Executor for TellingExecutor {
    fn apply(&mut self, input: &ExecutorInput<'_>) -> Result<Execution, ExecutorError> {
        self.seen += 1;
        self.bench.seen.borrow_mut().push(self.seen);
        let told = State { seen: self.seen };
        let event = ExecutorEvent {
            kind_id: id("decision-seen"),
            payload: Some(TypedValue::from_serialize(schema(), &told).unwrap()),
        };
        Ok(Execution {
            intent: input
                .decision
                .read()
                .map_err(|error| ExecutorError::new(error.to_string()))?,
            events: vec![event; self.bench.told.get()],
        })
    }

    fn capture(&self) -> Result<TypedValue, ExecutorError> {
        let state = State { seen: self.seen };
        Ok(TypedValue::from_serialize(schema(), &state).unwrap())
    }

    fn restored(&self, state: &TypedValue) -> Result<Box<dyn Executor>, ExecutorError> {
        let state: State = state
            .read()
            .map_err(|error| ExecutorError::new(error.to_string()))?;
        Ok(Box::new(Self {
            bench: self.bench.clone(),
            seen: state.seen,
        }))
    }
}

/// The name of an event by the published formula.
fn named(epoch: &str, source_step: u64, rule: &str, ordinal: u32) -> Id {
    let rule = id(rule);
    let event = EventIdentity {
        source_step,
        rule,
        ordinal,
    };
    event.id(&id(epoch))
}

#[test]
fn executors_events_come_before_the_tasks_by_agent() {
    let rig = Rig::ready();
    rig.bench.told.set(2);
    rig.steps(2);
    let (trace, _) = rig.session.trace();
    for (step, record) in (1..).zip(&trace) {
        assert_eq!(
            record.behaviour.event_ids,
            [
                named("e1", step, "executor.fly-a", 0),
                named("e1", step, "executor.fly-a", 1),
                named("e1", step, "executor.fly-b", 2),
                named("e1", step, "executor.fly-b", 3),
                named("e1", step, "count", 0),
            ]
        );
    }
}

#[test]
fn an_executor_that_tells_too_much_ends_the_epoch_and_is_named() {
    let rig = Rig::ready();
    rig.bench.told.set(Execution::MAX_EVENTS);
    rig.steps(1);
    rig.bench.told.set(Execution::MAX_EVENTS + 1);
    let error = block_on(rig.session.step()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(error.participant(), Some(&id("fly-a")));
    assert!(
        error
            .to_string()
            .contains("17 events of one decision, the limit is 16"),
        "{error}"
    );
}

#[test]
fn a_count_of_events_that_could_not_be_is_refused_before_anyone_stages() {
    for (field, value) in [
        ("executorEventsIssued", "0"),
        ("lastExecutorEventStep", "0"),
        ("lastExecutorEventStep", "3"),
    ] {
        let rig = Rig::ready();
        rig.bench.told.set(1);
        rig.steps(2);
        let error = refused_record(&rig, |record| record[field] = value.into());
        assert!(error.to_string().contains("events of executors"), "{error}");
    }
}

#[test]
fn a_resumed_run_tells_what_the_uninterrupted_one_told() {
    let told = |interrupted: bool| -> (Rig, Vec<TraceRecord>) {
        let rig = Rig::ready();
        rig.bench.told.set(1);
        rig.steps(2);
        if interrupted {
            rig.save("here");
            rig.steps(3);
            rig.fail();
            rig.restore();
        }
        rig.steps(3);
        let (trace, _) = rig.session.trace();
        (rig, trace)
    };
    let (whole, expected) = told(false);
    let (resumed, found) = told(true);
    let verdict = |found: &[TraceRecord]| compare_traces(&expected, found).verdict;
    assert_ne!(verdict(&found), TraceVerdict::Equal);
    let ids = resumed.session.rebase_ids(&id("e1"));
    let rebased = rebase_trace(&found, &[id("e2")], &id("e1"), &ids).unwrap();
    assert_eq!(verdict(&rebased), TraceVerdict::Equal);
    // Every name that stands in the trace is known to the session that issued it.
    let known: BTreeSet<Id> = whole.session.rebase_ids(&id("e9")).into_keys().collect();
    let issued = expected
        .iter()
        .flat_map(|record| &record.behaviour.event_ids);
    assert!(issued.into_iter().all(|event| known.contains(event)));
}
