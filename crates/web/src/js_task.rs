//! [`JsTask`]: the rules of a game in JavaScript, as pure functions of a state.

use std::collections::BTreeMap;

use js_sys::{Function, Object, Reflect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tsify::Tsify;
use wasm_bindgen::{JsCast as _, JsValue};
use wellwritten_envelope::{Id, U64};
use wellwritten_session::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, EventIdentity, EventLedger,
    EventWatermark, PortBinding, RestoredTask, Reward, SchemaRef, Stimulus, Task, TaskBootstrap,
    TaskError, TaskEvent, Transition, TypedValue,
};

use crate::convert::{from_js, to_js};
use crate::error::{WebError, WebResult, message_of};
use crate::js_participant::{SchemaName, json_to_js};

/// A JSON object.
type Fields = Map<String, Value>;

/// The schemas of what a task gives.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskSchemas {
    /// Of every agent's contexts.
    context: SchemaName,
    /// Of the progress, and of what an episode came to.
    progress: SchemaName,
}

/// Something that happened.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEventDraft {
    /// What kind of event; also the rule its name is derived from.
    #[tsify(type = "string")]
    kind_id: Id,
    /// The agent it concerns.
    #[serde(default)]
    #[tsify(optional, type = "string | null")]
    agent_id: Option<Id>,
}

/// A reward.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRewardDraft {
    /// Which of the transition's events earned it, from 0.
    event: usize,
    /// The rule that valued it.
    #[tsify(type = "string")]
    rule_id: Id,
    /// Finite.
    value: f64,
}

/// A stimulus.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskStimulusDraft {
    /// One that the agent supports.
    #[tsify(type = "string")]
    kind_id: Id,
    /// Finite, above zero.
    duration_ms: f64,
}

/// What a transition means for one agent.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TaskOutcome {
    /// At most 64.
    #[tsify(optional)]
    rewards: Vec<TaskRewardDraft>,
    /// At most 64.
    #[tsify(optional)]
    stimuli: Vec<TaskStimulusDraft>,
}

/// What a task starts with.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskStart {
    /// The first context of every agent, by name.
    #[tsify(type = "Record<string, object>")]
    contexts: BTreeMap<Id, Fields>,
    /// Progress so far.
    #[tsify(type = "object")]
    progress: Fields,
    /// What the next judgement depends on.
    #[tsify(type = "object")]
    state: Fields,
    /// Events of the set-up.
    #[serde(default)]
    #[tsify(optional)]
    events: Vec<TaskEventDraft>,
}

/// A task's judgement of one transition.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEvaluation {
    /// What it means for each agent, by name; nothing for one that is left out.
    #[tsify(type = "Record<string, TaskOutcome>")]
    outcomes: BTreeMap<Id, TaskOutcome>,
    /// The next context of every agent.
    #[tsify(type = "Record<string, object>")]
    contexts: BTreeMap<Id, Fields>,
    /// Progress so far.
    #[tsify(type = "object")]
    progress: Fields,
    /// What the next judgement depends on.
    #[tsify(type = "object")]
    state: Fields,
    /// In the task's order, at most 64.
    #[serde(default)]
    #[tsify(optional)]
    events: Vec<TaskEventDraft>,
    /// The episode is over, and why.
    #[serde(default)]
    #[tsify(optional)]
    terminal: Option<TaskEnd>,
}

/// How an episode ended.
#[derive(Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskEnd {
    /// An id.
    #[tsify(type = "string")]
    reason: Id,
    /// A value of the progress schema.
    #[tsify(type = "object")]
    outcome: Fields,
}

/// A task whose `bootstrap` and `evaluate` are JavaScript.
pub struct JsTask {
    handlers: JsValue,
    context_schema: SchemaRef,
    progress_schema: SchemaRef,
    kept: Option<Kept>,
}

/// Where the task stands.
#[derive(Clone)]
struct Kept {
    events: EventLedger,
    standing: Standing,
}

/// What is captured of it, beside what the events are counted by.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Standing {
    state: Fields,
    contexts: BTreeMap<Id, TypedValue>,
    progress: TypedValue,
    #[serde(deserialize_with = "Option::deserialize")]
    episode_request: Option<EpisodeRequest>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Ledger {
    standing: Standing,
    issued: U64,
    last_source_step: U64,
}

impl JsTask {
    /// The task that `handlers` judge.
    pub fn new(handlers: JsValue) -> WebResult<Self> {
        let schemas = Reflect::get(&handlers, &"schemas".into()).unwrap_or(JsValue::UNDEFINED);
        let schemas: TaskSchemas = from_js("schemas", schemas)?;
        Ok(Self {
            handlers,
            context_schema: schemas.context.into(),
            progress_schema: schemas.progress.into(),
            kept: None,
        })
    }

    fn call<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
        arguments: &Object,
    ) -> Result<T, TaskError> {
        let function: Function = Reflect::get(&self.handlers, &name.into())
            .ok()
            .and_then(|function| function.dyn_into().ok())
            .ok_or_else(|| TaskError::new(format!("the task has no function {name}")))?;
        let given = function
            .call1(&self.handlers, arguments)
            .map_err(|error| TaskError::new(format!("{name} threw: {}", message_of(&error))))?;
        if given.is_instance_of::<js_sys::Promise>() {
            return Err(TaskError::new(format!(
                "{name} gave a promise; a task judges within the transition and cannot be waited for"
            )));
        }
        from_js(name, given).map_err(|error: WebError| TaskError::new(error.message()))
    }

    fn contexts(&self, given: BTreeMap<Id, Fields>) -> Result<BTreeMap<Id, TypedValue>, TaskError> {
        let contexts = given
            .into_iter()
            .map(|(agent, context)| Ok((agent, typed(&self.context_schema, context)?)));
        contexts.collect()
    }

    fn kept(&self) -> Result<&Kept, TaskError> {
        self.kept
            .as_ref()
            .ok_or_else(|| TaskError::new("the task has not started"))
    }

    fn schema() -> SchemaRef {
        let id = Id::parse("wellwritten.task.javascript").expect("a legal id");
        SchemaRef::synthetic(id, 1)
    }
}

fn typed(schema: &SchemaRef, value: Fields) -> Result<TypedValue, TaskError> {
    TypedValue::new(schema.clone(), value).map_err(|error| TaskError::new(error.to_string()))
}

fn issue(
    ledger: &mut EventLedger,
    source_step: u64,
    drafts: Vec<TaskEventDraft>,
) -> Vec<TaskEvent> {
    let events = drafts.into_iter().map(|draft| TaskEvent {
        id: ledger.issue(source_step, &draft.kind_id),
        kind_id: draft.kind_id,
        source_step: U64(source_step),
        agent_id: draft.agent_id,
        payload: None,
    });
    events.collect()
}

/// The drafts of one agent, with the names of its events and of its stimuli.
fn outcome_of(
    draft: TaskOutcome,
    events: &[TaskEvent],
    source_step: u64,
    epoch: &Id,
    stimuli: &mut u32,
) -> Result<AgentOutcome, TaskError> {
    let rewards = draft.rewards.into_iter().map(|reward| {
        let event = events.get(reward.event).ok_or_else(|| {
            TaskError::new(format!(
                "a reward names event {}, the transition has {}",
                reward.event,
                events.len()
            ))
        })?;
        Ok(Reward {
            event_id: event.id.clone(),
            rule_id: reward.rule_id,
            value: reward.value,
        })
    });
    let rewards = rewards.collect::<Result<_, TaskError>>()?;
    let stimulations = draft.stimuli.into_iter().map(|stimulus| {
        let identity = EventIdentity {
            source_step,
            rule: Id::parse("stimulus").expect("a legal id"),
            ordinal: *stimuli,
        };
        *stimuli += 1;
        Stimulus {
            id: identity.id(epoch),
            kind_id: stimulus.kind_id,
            duration_ms: stimulus.duration_ms,
        }
    });
    Ok(AgentOutcome {
        rewards,
        stimulations: stimulations.collect(),
    })
}

fn set(object: &Object, key: &str, value: &JsValue) {
    Reflect::set(object, &key.into(), value).expect("a fresh object takes properties");
}

fn object_to_js(value: &Fields) -> JsValue {
    json_to_js(&Value::Object(value.clone()))
}

impl Task for JsTask {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        let arguments = Object::new();
        set(&arguments, "inspection", &object_to_js(inspection.value()));
        set(&arguments, "bindings", &to_js(bindings));
        let start: TaskStart = self.call("bootstrap", &arguments)?;
        let mut ledger = EventLedger::new(epoch.clone());
        let events = issue(&mut ledger, 0, start.events);
        let contexts = self.contexts(start.contexts)?;
        let progress = typed(&self.progress_schema, start.progress)?;
        self.kept = Some(Kept {
            events: ledger,
            standing: Standing {
                state: start.state,
                contexts: contexts.clone(),
                progress: progress.clone(),
                episode_request: None,
            },
        });
        Ok(TaskBootstrap {
            contexts,
            progress,
            events,
        })
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        let step = transition.scope.step.0;
        let arguments = Object::new();
        set(&arguments, "step", &step.into());
        let state = object_to_js(&self.kept()?.standing.state);
        set(&arguments, "state", &state);
        let old = object_to_js(transition.old_inspection.value());
        set(&arguments, "oldInspection", &old);
        let new = object_to_js(transition.new_inspection.value());
        set(&arguments, "newInspection", &new);
        set(&arguments, "controls", &to_js(transition.controls));
        set(&arguments, "bindings", &to_js(transition.bindings));
        let judged: TaskEvaluation = self.call("evaluate", &arguments)?;
        let source_step = step.saturating_add(1);
        let contexts = self.contexts(judged.contexts)?;
        let progress = typed(&self.progress_schema, judged.progress)?;
        let episode_request = judged
            .terminal
            .map(|end| {
                Ok(EpisodeRequest {
                    kind: EpisodeRequestKind::Terminal,
                    reason: end.reason,
                    outcome: typed(&self.progress_schema, end.outcome)?,
                })
            })
            .transpose()?;
        // An error from here on ends the epoch, and a restore drops what was issued beyond its boundary.
        let kept = self.kept.as_mut().expect("looked at above");
        let events = issue(&mut kept.events, source_step, judged.events);
        let mut drafts = judged.outcomes;
        let mut outcomes = BTreeMap::new();
        let mut stimuli = 0;
        for binding in transition.bindings {
            let agent = &binding.agent_id;
            let draft = drafts.remove(agent).unwrap_or_default();
            let epoch = kept.events.epoch();
            let outcome = outcome_of(draft, &events, source_step, epoch, &mut stimuli)?;
            outcomes.insert(agent.clone(), outcome);
        }
        if let Some(agent) = drafts.keys().next() {
            return Err(TaskError::new(format!(
                "there is no agent {agent} to reward"
            )));
        }
        kept.standing = Standing {
            state: judged.state,
            contexts: contexts.clone(),
            progress: progress.clone(),
            episode_request: episode_request.clone(),
        };
        Ok(Evaluation {
            outcomes,
            contexts,
            progress,
            events,
            episode_request,
        })
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        let kept = self.kept()?;
        let watermark = kept.events.watermark();
        let ledger = Ledger {
            standing: kept.standing.clone(),
            issued: U64(watermark.issued),
            last_source_step: U64(watermark.last_source_step),
        };
        TypedValue::from_serialize(Self::schema(), &ledger)
            .map_err(|error| TaskError::new(error.to_string()))
    }

    fn restored(
        &self,
        new_epoch: &Id,
        step: u64,
        ledger: &TypedValue,
        _inspection: &TypedValue,
    ) -> Result<RestoredTask, TaskError> {
        if *ledger.schema() != Self::schema() {
            return Err(TaskError::new("the ledger is of another task"));
        }
        let Ledger {
            standing,
            issued,
            last_source_step,
        } = ledger
            .read()
            .map_err(|error| TaskError::new(format!("the ledger does not read: {error}")))?;
        if last_source_step.0 > step {
            return Err(TaskError::new(
                "the ledger knows of events that are still to come",
            ));
        }
        if *standing.progress.schema() != self.progress_schema
            || standing
                .contexts
                .values()
                .any(|context| *context.schema() != self.context_schema)
        {
            return Err(TaskError::new("the ledger holds values of other schemas"));
        }
        let events = EventWatermark {
            issued: issued.0,
            last_source_step: last_source_step.0,
        };
        let ledger = match &self.kept {
            Some(kept) => kept.events.restored(new_epoch.clone(), step, events),
            None => EventLedger::new(new_epoch.clone()).restored(new_epoch.clone(), step, events),
        };
        let restored = RestoredTask {
            contexts: standing.contexts.clone(),
            progress: standing.progress.clone(),
            episode_request: standing.episode_request.clone(),
            events,
            task: Box::new(Self {
                handlers: self.handlers.clone(),
                context_schema: self.context_schema.clone(),
                progress_schema: self.progress_schema.clone(),
                kept: Some(Kept {
                    events: ledger,
                    standing,
                }),
            }),
        };
        Ok(restored)
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.kept
            .as_ref()
            .map_or_else(BTreeMap::new, |kept| kept.events.rebase_ids(to_epoch))
    }
}
