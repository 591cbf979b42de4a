//! A task that counts transitions.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use wellwritten_session::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, EventLedger, EventWatermark, Id,
    PortBinding, RestoredTask, SchemaRef, Task, TaskBootstrap, TaskError, TaskEvent, Transition,
    TypedValue, U64,
};

use crate::agent::context_schema;
use crate::bench::{AGENTS, Bench, id};

pub struct CountingTask {
    bench: Rc<Bench>,
    count: u64,
    events: EventLedger,
}

#[derive(Serialize, Deserialize)]
struct Ledger {
    count: u64,
    issued: u64,
    last: u64,
}

fn counted(schema: SchemaRef, count: u64) -> TypedValue {
    TypedValue::from_serialize(schema, &serde_json::json!({"count": count})).unwrap()
}

fn schema(name: &str) -> SchemaRef {
    SchemaRef::synthetic(id(name), 1)
}

impl CountingTask {
    pub fn new(bench: Rc<Bench>) -> Self {
        Self {
            bench,
            count: 0,
            events: EventLedger::new(id("e0")),
        }
    }

    fn contexts(&self) -> BTreeMap<Id, TypedValue> {
        let agents = AGENTS.iter();
        agents
            .map(|agent| (id(agent), counted(context_schema(), self.count)))
            .collect()
    }

    fn progress(&self) -> TypedValue {
        counted(schema("number.progress"), self.count)
    }

    fn episode_request(&self) -> Option<EpisodeRequest> {
        let over = self
            .bench
            .terminal_after
            .get()
            .is_some_and(|after| self.count >= after);
        over.then(|| EpisodeRequest {
            kind: EpisodeRequestKind::Terminal,
            reason: id("enough"),
            outcome: self.progress(),
        })
    }
}

impl Task for CountingTask {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        _inspection: &TypedValue,
        _bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        self.count = 0;
        self.events = EventLedger::new(epoch.clone());
        Ok(TaskBootstrap {
            contexts: self.contexts(),
            progress: self.progress(),
            events: Vec::new(),
        })
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        self.bench.judged.set(self.bench.judged.get() + 1);
        self.count += 1;
        let step = transition.scope.step.0 + 1;
        let event = TaskEvent {
            id: self.events.issue(step, &id("count")),
            kind_id: id("count"),
            source_step: U64(step),
            agent_id: None,
            payload: None,
        };
        Ok(Evaluation {
            outcomes: AGENTS
                .map(|agent| (id(agent), AgentOutcome::default()))
                .into(),
            contexts: self.contexts(),
            progress: self.progress(),
            events: vec![event],
            episode_request: self.episode_request(),
        })
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        let EventWatermark {
            issued,
            last_source_step,
        } = self.events.watermark();
        let ledger = Ledger {
            count: self.count,
            issued,
            last: last_source_step,
        };
        Ok(TypedValue::from_serialize(schema("number.ledger"), &ledger).unwrap())
    }

    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        _inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError> {
        let ledger: Ledger = ledger
            .read()
            .map_err(|error| TaskError::new(error.to_string()))?;
        let events = EventWatermark {
            issued: ledger.issued,
            last_source_step: ledger.last,
        };
        let task = Self {
            bench: self.bench.clone(),
            count: ledger.count,
            events: self.events.restored(new_epoch.clone(), step, events),
        };
        Ok(RestoredTask {
            contexts: task.contexts(),
            progress: task.progress(),
            episode_request: (step > 0).then(|| task.episode_request()).flatten(),
            events,
            task: Box::new(task),
        })
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.events.rebase_ids(to_epoch)
    }
}
