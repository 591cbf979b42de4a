//! A reward for each agent, of what its port moved the counter by.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use wellwritten_session::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, EventLedger, EventWatermark, Id,
    PortBinding, RestoredTask, Reward, SchemaRef, Stimulus, Task, TaskBootstrap, TaskError,
    TaskEvent, Transition, TypedValue, U64,
};

use crate::agent::context_schema;
use crate::rig::{Bench, id};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    transitions: u64,
    counter: i64,
}

/// The captured ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Captured {
    transitions: u64,
    counter: i64,
    issued: u64,
    last_event: u64,
    agents: Vec<Id>,
}

#[derive(Deserialize)]
struct Inspection {
    counter: i64,
}

pub struct CounterTask {
    bench: Rc<Bench>,
    terminal_after: Option<u64>,
    ledger: Ledger,
    events: EventLedger,
    agents: Vec<Id>,
}

fn schema(name: &str) -> SchemaRef {
    SchemaRef::synthetic(id(name), 1)
}

fn counter(inspection: &TypedValue) -> Result<i64, TaskError> {
    let inspection: Inspection = inspection
        .read()
        .map_err(|error| TaskError::new(error.to_string()))?;
    Ok(inspection.counter)
}

impl CounterTask {
    pub fn new(bench: Rc<Bench>, terminal_after: Option<u64>) -> Self {
        Self {
            bench,
            terminal_after,
            ledger: Ledger {
                transitions: 0,
                counter: 0,
            },
            events: EventLedger::new(id("e0")),
            agents: Vec::new(),
        }
    }

    fn context(&self) -> TypedValue {
        let context = serde_json::json!({"transitions": self.ledger.transitions});
        TypedValue::from_serialize(context_schema(), &context).unwrap()
    }

    fn episode_request(&self) -> Option<EpisodeRequest> {
        let over = self
            .terminal_after
            .is_some_and(|after| self.ledger.transitions >= after);
        over.then(|| EpisodeRequest {
            kind: EpisodeRequestKind::Terminal,
            reason: id("enough"),
            outcome: self.progress(),
        })
    }

    fn progress(&self) -> TypedValue {
        TypedValue::from_serialize(schema("counter.progress"), &self.ledger).unwrap()
    }
}

impl Task for CounterTask {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        self.bench
            .log
            .borrow_mut()
            .push("task.bootstrap".to_owned());
        self.events = EventLedger::new(epoch.clone());
        self.ledger.counter = counter(inspection)?;
        self.agents = bindings.iter().map(|it| it.agent_id.clone()).collect();
        let begun = TaskEvent {
            id: self.events.issue(0, &id("bootstrap")),
            kind_id: id("bootstrap"),
            source_step: U64(0),
            agent_id: None,
            payload: None,
        };
        Ok(TaskBootstrap {
            contexts: bindings
                .iter()
                .map(|binding| (binding.agent_id.clone(), self.context()))
                .collect(),
            progress: self.progress(),
            events: vec![begun],
        })
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        self.bench.log.borrow_mut().push("task.evaluate".to_owned());
        let (old, new) = (
            counter(transition.old_inspection)?,
            counter(transition.new_inspection)?,
        );
        let deltas: Vec<i64> = transition
            .controls
            .iter()
            .map(|control| i64::from(control.is_down("inc")) - i64::from(control.is_down("dec")))
            .collect();
        let due: i64 = deltas.iter().sum();
        if new - old != due {
            return Err(TaskError::new(format!(
                "the counter went from {old} to {new}, the batch moves it by {due}"
            )));
        }
        self.ledger.transitions += 1;
        self.ledger.counter = new;
        let step = transition.scope.step.0 + 1;
        let mut outcomes = BTreeMap::new();
        let mut events = Vec::new();
        for (binding, delta) in transition.bindings.iter().zip(deltas) {
            let event_id = self.events.issue(step, &id("counter-delta"));
            events.push(TaskEvent {
                id: event_id.clone(),
                kind_id: id("counter-delta"),
                source_step: U64(step),
                agent_id: Some(binding.agent_id.clone()),
                payload: None,
            });
            let sparks = new % 5 == 0 && delta != 0;
            let outcome = AgentOutcome {
                rewards: vec![Reward {
                    event_id: event_id.clone(),
                    rule_id: id("counter-delta"),
                    value: f64::from(i32::try_from(delta).unwrap()),
                }],
                stimulations: sparks
                    .then(|| Stimulus {
                        id: event_id,
                        kind_id: id("spark"),
                        duration_ms: 20.0,
                    })
                    .into_iter()
                    .collect(),
            };
            outcomes.insert(binding.agent_id.clone(), outcome);
        }
        Ok(Evaluation {
            outcomes,
            contexts: transition
                .bindings
                .iter()
                .map(|binding| (binding.agent_id.clone(), self.context()))
                .collect(),
            progress: self.progress(),
            events,
            episode_request: self.episode_request(),
        })
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        let EventWatermark {
            issued,
            last_source_step: last_event,
        } = self.events.watermark();
        let captured = Captured {
            transitions: self.ledger.transitions,
            counter: self.ledger.counter,
            issued,
            last_event,
            agents: self.agents.clone(),
        };
        Ok(TypedValue::from_serialize(schema("counter.ledger"), &captured).unwrap())
    }

    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError> {
        if *ledger.schema() != schema("counter.ledger") {
            return Err(TaskError::new("another kind of ledger"));
        }
        let ledger: Captured = ledger
            .read()
            .map_err(|error| TaskError::new(error.to_string()))?;
        if ledger.counter != counter(inspection)? || ledger.transitions != step {
            return Err(TaskError::new("the ledger counts another world"));
        }
        let watermark = EventWatermark {
            issued: ledger.issued,
            last_source_step: ledger.last_event,
        };
        let task = Self {
            bench: self.bench.clone(),
            terminal_after: self.terminal_after,
            ledger: Ledger {
                transitions: ledger.transitions,
                counter: ledger.counter,
            },
            events: self.events.restored(new_epoch.clone(), step, watermark),
            agents: ledger.agents,
        };
        let contexts = task.agents.iter().cloned();
        Ok(RestoredTask {
            contexts: contexts.map(|agent| (agent, task.context())).collect(),
            progress: task.progress(),
            episode_request: (step > 0).then(|| task.episode_request()).flatten(),
            events: watermark,
            task: Box::new(task),
        })
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.events.rebase_ids(to_epoch)
    }
}
