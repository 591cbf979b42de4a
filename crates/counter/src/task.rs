//! [`CounterTask`]: a reward for each agent, of what its port moved the counter by.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use wellwritten_session::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, EventLedger, EventWatermark, Id,
    PortBinding, RestoredTask, Reward, Stimulus, Task, TaskBootstrap, TaskError, TaskEvent,
    Transition, TypedValue, U64,
};

use crate::names::{
    COUNTER_DELTA, SPARK, TASK, UNDECLARED, context_schema, id, ledger_schema, progress_schema,
};
use crate::{CounterComposition, FaultKind, FaultPoint, Faults, Terminal};

/// How long a spark lasts, in milliseconds.
pub const SPARK_MS: f64 = 20.0;

/// What has been judged so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tally {
    counter: i64,
    transitions: u64,
}

/// The captured ledger.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Captured {
    agents: Vec<Id>,
    counter: i64,
    events_issued: u64,
    last_event_step: u64,
    transitions: u64,
}

#[derive(Deserialize)]
struct Inspection {
    counter: i64,
}

/// Rewards each agent with what its port moved the counter by, one event each, and sparks those that moved it where it
/// came to a multiple of five. It refuses a world that did not move by its batch.
pub struct CounterTask {
    faults: Rc<Faults>,
    terminal: Terminal,
    tally: Tally,
    events: EventLedger,
    agents: Vec<Id>,
}

fn counter(inspection: &TypedValue) -> Result<i64, TaskError> {
    let inspection: Inspection = inspection
        .read()
        .map_err(|error| TaskError::new(error.to_string()))?;
    Ok(inspection.counter)
}

impl CounterTask {
    /// The task of a composition.
    #[must_use]
    pub fn new(composition: &CounterComposition, faults: Rc<Faults>) -> Self {
        Self {
            faults,
            terminal: composition.terminal,
            tally: Tally {
                counter: 0,
                transitions: 0,
            },
            events: EventLedger::new(id("e0")),
            agents: Vec::new(),
        }
    }

    fn context(&self) -> TypedValue {
        #[derive(Serialize)]
        struct Context {
            transitions: u64,
        }
        let context = Context {
            transitions: self.tally.transitions,
        };
        TypedValue::from_serialize(context_schema(), &context).expect("one integer")
    }

    fn contexts(&self) -> BTreeMap<Id, TypedValue> {
        let context = self.context();
        let agents = self.agents.iter();
        agents
            .map(|agent| (agent.clone(), context.clone()))
            .collect()
    }

    fn progress(&self) -> TypedValue {
        TypedValue::from_serialize(progress_schema(), &self.tally).expect("two integers")
    }

    fn episode_request(&self) -> Option<EpisodeRequest> {
        let over = self
            .terminal
            .is_over(self.tally.transitions, self.tally.counter);
        over.then(|| EpisodeRequest {
            kind: EpisodeRequestKind::Terminal,
            reason: id("enough"),
            outcome: self.progress(),
        })
    }

    /// One agent's share of a transition: the event, and what comes of it.
    fn judge(
        &mut self,
        agent_id: &Id,
        step: u64,
        delta: i8,
        stimulus: Option<&str>,
    ) -> (TaskEvent, AgentOutcome) {
        let rule_id = id(COUNTER_DELTA);
        let event_id = self.events.issue(step, &rule_id);
        let outcome = AgentOutcome {
            rewards: vec![Reward {
                event_id: event_id.clone(),
                rule_id: rule_id.clone(),
                value: f64::from(delta),
            }],
            stimulations: stimulus
                .map(|kind| Stimulus {
                    id: event_id.clone(),
                    kind_id: id(kind),
                    duration_ms: SPARK_MS,
                })
                .into_iter()
                .collect(),
        };
        let event = TaskEvent {
            id: event_id,
            kind_id: rule_id,
            source_step: U64(step),
            agent_id: Some(agent_id.clone()),
            payload: None,
        };
        (event, outcome)
    }
}

impl Task for CounterTask {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        self.events = EventLedger::new(epoch.clone());
        self.tally = Tally {
            counter: counter(inspection)?,
            transitions: 0,
        };
        self.agents = bindings.iter().map(|it| it.agent_id.clone()).collect();
        let begun = TaskEvent {
            id: self.events.issue(0, &id("bootstrap")),
            kind_id: id("bootstrap"),
            source_step: U64(0),
            agent_id: None,
            payload: None,
        };
        Ok(TaskBootstrap {
            contexts: self.contexts(),
            progress: self.progress(),
            events: vec![begun],
        })
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        let boundary = transition.scope.step.0;
        let reached = self
            .faults
            .reach(&id(TASK), 1, FaultPoint::Evaluate, boundary);
        if reached.refuse().is_err() || reached.has(FaultKind::Break) {
            return Err(TaskError::new("a planned failure"));
        }
        assert!(!reached.has(FaultKind::Panic), "a planned panic");
        let (old, new) = (
            counter(transition.old_inspection)?,
            counter(transition.new_inspection)?,
        );
        let deltas: Vec<i8> = transition
            .controls
            .iter()
            .map(|control| i8::from(control.is_down("inc")) - i8::from(control.is_down("dec")))
            .collect();
        let due: i64 = deltas.iter().map(|delta| i64::from(*delta)).sum();
        if new.checked_sub(old) != Some(due) {
            return Err(TaskError::new(format!(
                "the counter went from {old} to {new}, the batch moves it by {due}"
            )));
        }
        let step = boundary
            .checked_add(1)
            .ok_or_else(|| TaskError::new("the last step there is has been taken"))?;
        self.tally = Tally {
            counter: new,
            transitions: self.tally.transitions.saturating_add(1),
        };
        let mut outcomes = BTreeMap::new();
        let mut events = Vec::new();
        for (binding, delta) in transition.bindings.iter().zip(deltas) {
            let sparks = (new % 5 == 0 && delta != 0).then_some(SPARK);
            let stimulus = if reached.has(FaultKind::UndeclaredStimulus) {
                Some(UNDECLARED)
            } else {
                sparks
            };
            let (event, outcome) = self.judge(&binding.agent_id, step, delta, stimulus);
            events.push(event);
            outcomes.insert(binding.agent_id.clone(), outcome);
        }
        Ok(Evaluation {
            outcomes,
            contexts: self.contexts(),
            progress: self.progress(),
            events,
            episode_request: self.episode_request(),
        })
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        let watermark = self.events.watermark();
        let captured = Captured {
            agents: self.agents.clone(),
            counter: self.tally.counter,
            events_issued: watermark.issued,
            last_event_step: watermark.last_source_step,
            transitions: self.tally.transitions,
        };
        TypedValue::from_serialize(ledger_schema(), &captured)
            .map_err(|error| TaskError::new(error.to_string()))
    }

    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError> {
        if *ledger.schema() != ledger_schema() {
            return Err(TaskError::new("another kind of ledger"));
        }
        let ledger: Captured = ledger
            .read()
            .map_err(|error| TaskError::new(error.to_string()))?;
        if ledger.counter != counter(inspection)? || ledger.transitions != step {
            return Err(TaskError::new("the ledger counts another world"));
        }
        let events = EventWatermark {
            issued: ledger.events_issued,
            last_source_step: ledger.last_event_step,
        };
        let task = Self {
            faults: self.faults.clone(),
            terminal: self.terminal,
            tally: Tally {
                counter: ledger.counter,
                transitions: ledger.transitions,
            },
            events: self.events.restored(new_epoch.clone(), step, events),
            agents: ledger.agents,
        };
        Ok(RestoredTask {
            contexts: task.contexts(),
            progress: task.progress(),
            episode_request: task.episode_request(),
            events,
            task: Box::new(task),
        })
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.events.rebase_ids(to_epoch)
    }
}
