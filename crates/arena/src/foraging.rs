//! [`Foraging`]: the task. Eating is an event and a reward; every fifth meal arouses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{Id, U64, sort_few_by};
use wellwritten_session::{
    AgentOutcome, EpisodeRequest, EpisodeRequestKind, Evaluation, EventLedger, EventWatermark,
    PortBinding, RestoredTask, Reward, Stimulus, Task, TaskBootstrap, TaskError, TaskEvent,
    Transition, TypedValue,
};

use crate::fly_agent::AROUSAL;
use crate::schemas::{
    InspectedFly, Inspection, Proprioception, context_schema, event_schema, inspection_schema,
    known_id, ledger_schema, progress_schema,
};

/// Every how many meals a fly is aroused.
pub const MILESTONE: u32 = 5;
/// How long it then is, in milliseconds.
pub const AROUSAL_MS: f64 = 400.0;
/// What a meal is worth.
const MEAL_REWARD: f64 = 1.0;

/// When the episode ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EpisodeEnd {
    /// Never.
    #[default]
    Never,
    /// After this many meals of all flies together.
    AfterMeals(u32),
}

/// Progress of a fly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlyProgress {
    /// The fly's agent.
    pub agent_id: Id,
    /// Food eaten.
    pub eaten: u32,
}

/// Progress of the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForagingProgress {
    /// Food eaten by all.
    pub eaten: u32,
    /// Each fly, sorted by agent id.
    pub flies: Vec<FlyProgress>,
}

/// The captured ledger: the judged progress and the rules it was judged by.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Ledger {
    end: EpisodeEnd,
    step: U64,
    progress: ForagingProgress,
    events_issued: U64,
    last_event_step: U64,
}

/// Payload of an event.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Meal {
    eaten: u32,
}

/// Flies earn one for each piece of food they eat.
pub struct Foraging {
    end: EpisodeEnd,
    game: Option<Game>,
}

#[derive(Clone)]
struct Game {
    events: EventLedger,
    step: u64,
    progress: ForagingProgress,
}

impl Foraging {
    /// The task before its bootstrap.
    #[must_use]
    pub fn new(end: EpisodeEnd) -> Self {
        Self { end, game: None }
    }

    fn game(&self) -> Result<&Game, TaskError> {
        self.game.as_ref().ok_or_else(not_started)
    }
}

impl Task for Foraging {
    fn bootstrap(
        &mut self,
        epoch: &Id,
        inspection: &TypedValue,
        bindings: &[PortBinding],
    ) -> Result<TaskBootstrap, TaskError> {
        let inspection = read_inspection(inspection)?;
        let mut agents: Vec<&Id> = bindings.iter().map(|binding| &binding.agent_id).collect();
        sort_few_by(&mut agents, Ord::cmp);
        if !agents
            .into_iter()
            .eq(inspection.flies.iter().map(|fly| &fly.agent_id))
        {
            return Err(TaskError::new(
                "the flies of the world are not the agents of the session",
            ));
        }
        let progress = progress(&inspection);
        let bootstrap = TaskBootstrap {
            contexts: contexts(&inspection)?,
            progress: typed_progress(&progress)?,
            events: Vec::new(),
        };
        self.game = Some(Game {
            events: EventLedger::new(epoch.clone()),
            step: 0,
            progress,
        });
        Ok(bootstrap)
    }

    fn evaluate_transition(
        &mut self,
        transition: &Transition<'_>,
    ) -> Result<Evaluation, TaskError> {
        let end = self.end;
        let game = self.game.as_mut().ok_or_else(not_started)?;
        let inspection = read_inspection(transition.new_inspection)?;
        let boundary = transition.scope.step.get().saturating_add(1);
        let mut evaluation = Evaluation {
            outcomes: BTreeMap::new(),
            contexts: contexts(&inspection)?,
            progress: typed_progress(&progress(&inspection))?,
            events: Vec::new(),
            episode_request: None,
        };
        if inspection.flies.len() != game.progress.flies.len() {
            return Err(TaskError::new("the number of flies changed"));
        }
        let judged = game.progress.flies.clone();
        for (before, fly) in judged.iter().zip(&inspection.flies) {
            let outcome = game.judge(boundary, before, fly, &mut evaluation.events)?;
            evaluation.outcomes.insert(fly.agent_id.clone(), outcome);
        }
        game.step = boundary;
        game.progress = progress(&inspection);
        evaluation.episode_request = episode_request(end, &game.progress, &evaluation.progress);
        Ok(evaluation)
    }

    fn capture(&self) -> Result<TypedValue, TaskError> {
        let game = self.game()?;
        let ledger = Ledger {
            end: self.end,
            step: U64(game.step),
            progress: game.progress.clone(),
            events_issued: U64(game.events.watermark().issued),
            last_event_step: U64(game.events.watermark().last_source_step),
        };
        TypedValue::from_serialize(ledger_schema(), &ledger)
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
            return Err(TaskError::new(format!(
                "the ledger is a {}",
                ledger.schema().id
            )));
        }
        let ledger: Ledger = ledger
            .read()
            .map_err(|error| TaskError::new(format!("the ledger does not read: {error}")))?;
        if ledger.end != self.end {
            return Err(TaskError::new(
                "the ledger was kept under another end of the episode",
            ));
        }
        if ledger.step.get() != step {
            return Err(TaskError::new(format!(
                "the ledger is of boundary {}, not {step}",
                ledger.step
            )));
        }
        let inspection = read_inspection(inspection)?;
        let found = progress(&inspection);
        if ledger.progress != found {
            return Err(TaskError::new(format!(
                "the ledger counts {} meals, the world {}, or other flies ate them",
                ledger.progress.eaten, found.eaten
            )));
        }
        let watermark = EventWatermark {
            issued: ledger.events_issued.get(),
            last_source_step: ledger.last_event_step.get(),
        };
        let newborn = EventLedger::new(new_epoch.clone());
        let events = self.game.as_ref().map_or(&newborn, |game| &game.events);
        let events = events.restored(new_epoch.clone(), step, watermark);
        let progress = typed_progress(&found)?;
        Ok(RestoredTask {
            contexts: contexts(&inspection)?,
            // The start asks for nothing: only a judgement does.
            episode_request: (step > 0)
                .then(|| episode_request(self.end, &found, &progress))
                .flatten(),
            progress,
            events: watermark,
            task: Box::new(Self {
                end: self.end,
                game: Some(Game {
                    events,
                    step,
                    progress: found,
                }),
            }),
        })
    }

    fn rebase_ids(&self, to_epoch: &Id) -> BTreeMap<Id, Id> {
        self.game
            .as_ref()
            .map(|game| game.events.rebase_ids(to_epoch))
            .unwrap_or_default()
    }
}

impl Game {
    /// What the step to `boundary` means for one fly.
    fn judge(
        &mut self,
        boundary: u64,
        before: &FlyProgress,
        fly: &InspectedFly,
        events: &mut Vec<TaskEvent>,
    ) -> Result<AgentOutcome, TaskError> {
        let mut outcome = AgentOutcome::default();
        if before.agent_id != fly.agent_id {
            return Err(TaskError::new(format!(
                "{} became {}",
                before.agent_id, fly.agent_id
            )));
        }
        match fly.eaten.checked_sub(before.eaten) {
            Some(0) => return Ok(outcome),
            Some(1) => {}
            _ => {
                return Err(TaskError::new(format!(
                    "{} had eaten {} and now {}; a fly eats at most once a step",
                    fly.agent_id, before.eaten, fly.eaten
                )));
            }
        }
        let rule = known_id("eat");
        let id = self.events.issue(boundary, &rule);
        events.push(event(id.clone(), rule.clone(), boundary, fly)?);
        outcome.rewards.push(Reward {
            event_id: id,
            rule_id: rule,
            value: MEAL_REWARD,
        });
        if fly.eaten.is_multiple_of(MILESTONE) {
            let rule = known_id("milestone");
            let id = self.events.issue(boundary, &rule);
            events.push(event(id.clone(), rule, boundary, fly)?);
            outcome.stimulations.push(Stimulus {
                id,
                kind_id: known_id(AROUSAL),
                duration_ms: AROUSAL_MS,
            });
        }
        Ok(outcome)
    }
}

fn not_started() -> TaskError {
    TaskError::new("the task was not started")
}

fn event(id: Id, kind_id: Id, boundary: u64, fly: &InspectedFly) -> Result<TaskEvent, TaskError> {
    let payload = TypedValue::from_serialize(event_schema(), &Meal { eaten: fly.eaten })
        .map_err(|error| TaskError::new(error.to_string()))?;
    Ok(TaskEvent {
        id,
        kind_id,
        source_step: U64(boundary),
        agent_id: Some(fly.agent_id.clone()),
        payload: Some(payload),
    })
}

fn read_inspection(inspection: &TypedValue) -> Result<Inspection, TaskError> {
    if *inspection.schema() != inspection_schema() {
        return Err(TaskError::new(format!(
            "the inspection is a {}",
            inspection.schema().id
        )));
    }
    inspection
        .read()
        .map_err(|error| TaskError::new(format!("the inspection does not read: {error}")))
}

fn progress(inspection: &Inspection) -> ForagingProgress {
    let flies = inspection.flies.iter();
    ForagingProgress {
        eaten: inspection.food.eaten,
        flies: flies
            .map(|fly| FlyProgress {
                agent_id: fly.agent_id.clone(),
                eaten: fly.eaten,
            })
            .collect(),
    }
}

/// What the rules ask of the episode at that progress.
fn episode_request(
    end: EpisodeEnd,
    progress: &ForagingProgress,
    outcome: &TypedValue,
) -> Option<EpisodeRequest> {
    matches!(end, EpisodeEnd::AfterMeals(meals) if progress.eaten >= meals).then(|| {
        EpisodeRequest {
            kind: EpisodeRequestKind::Terminal,
            reason: known_id("all-meals-eaten"),
            outcome: outcome.clone(),
        }
    })
}

fn typed_progress(progress: &ForagingProgress) -> Result<TypedValue, TaskError> {
    TypedValue::from_serialize(progress_schema(), progress)
        .map_err(|error| TaskError::new(error.to_string()))
}

/// Every fly's own place and heading: what its body tells it.
fn contexts(inspection: &Inspection) -> Result<BTreeMap<Id, TypedValue>, TaskError> {
    let context = |fly: &InspectedFly| {
        let own = Proprioception {
            x: fly.x,
            y: fly.y,
            heading: fly.heading,
        };
        TypedValue::from_serialize(context_schema(), &own)
            .map_err(|error| TaskError::new(error.to_string()))
    };
    let mut contexts = BTreeMap::new();
    for fly in &inspection.flies {
        contexts.insert(fly.agent_id.clone(), context(fly)?);
    }
    Ok(contexts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena_world::step_duration;
    use crate::schemas::InspectedFood;
    use wellwritten_envelope::Scope;

    fn inspection(eaten: [u32; 2]) -> TypedValue {
        let fly = |(name, eaten): (&str, u32)| InspectedFly {
            agent_id: known_id(name),
            x: 1,
            y: 2,
            heading: 3,
            speed: 4,
            eaten,
        };
        let flies: Vec<InspectedFly> = ["fly-a", "fly-b"].into_iter().zip(eaten).map(fly).collect();
        let food = InspectedFood {
            present: 6,
            eaten: eaten.iter().sum(),
        };
        TypedValue::from_serialize(inspection_schema(), &Inspection { flies, food }).unwrap()
    }

    fn bindings() -> Vec<PortBinding> {
        let binding = |port: &str, agent: &str| PortBinding {
            port_id: known_id(port),
            agent_id: known_id(agent),
        };
        vec![binding("p1", "fly-a"), binding("p2", "fly-b")]
    }

    fn judge(task: &mut dyn Task, step: u64, eaten: [u32; 2]) -> Result<Evaluation, TaskError> {
        let scope = Scope {
            session_id: known_id("demo"),
            epoch: known_id("e1"),
            step: U64(step),
        };
        task.evaluate_transition(&Transition {
            scope: &scope,
            old_inspection: &inspection([0, 0]),
            new_inspection: &inspection(eaten),
            world_time: step_duration(),
            controls: &[],
            bindings: &bindings(),
        })
    }

    fn started(end: EpisodeEnd, eaten: [u32; 2]) -> Foraging {
        let mut task = Foraging::new(end);
        task.bootstrap(&known_id("e1"), &inspection(eaten), &bindings())
            .unwrap();
        task
    }

    #[test]
    fn a_meal_is_an_event_and_a_reward_and_every_fifth_arouses() {
        let mut task = started(EpisodeEnd::Never, [4, 0]);
        let evaluation = judge(&mut task, 0, [5, 1]).unwrap();
        let kinds: Vec<&str> = evaluation
            .events
            .iter()
            .map(|event| event.kind_id.as_str())
            .collect();
        assert_eq!(kinds, ["eat", "milestone", "eat"]);
        let first = &evaluation.outcomes[&known_id("fly-a")];
        assert_eq!((first.rewards.len(), first.stimulations.len()), (1, 1));
        assert_eq!(first.rewards[0].event_id, evaluation.events[0].id);
        let second = &evaluation.outcomes[&known_id("fly-b")];
        assert_eq!((second.rewards.len(), second.stimulations.len()), (1, 0));
        let quiet = judge(&mut task, 1, [5, 1]).unwrap();
        assert!(quiet.events.is_empty());
        assert_eq!(quiet.outcomes[&known_id("fly-a")], AgentOutcome::default());
        assert_eq!(task.rebase_ids(&known_id("e2")).len(), 3);
    }

    #[test]
    fn meals_that_cannot_be_are_refused() {
        for eaten in [[4, 2], [3, 0], [9, 9]] {
            assert!(
                judge(&mut started(EpisodeEnd::Never, [4, 0]), 0, eaten).is_err(),
                "{eaten:?}"
            );
        }
        assert!(judge(&mut Foraging::new(EpisodeEnd::Never), 0, [0, 0]).is_err());
    }

    #[test]
    fn the_episode_ends_when_it_should() {
        let mut task = started(EpisodeEnd::AfterMeals(2), [0, 0]);
        assert_eq!(judge(&mut task, 0, [1, 0]).unwrap().episode_request, None);
        assert!(
            judge(&mut task, 1, [1, 1])
                .unwrap()
                .episode_request
                .is_some()
        );
    }

    #[test]
    fn a_ledger_is_taken_only_with_its_world_its_boundary_and_its_rules() {
        let mut task = started(EpisodeEnd::Never, [0, 0]);
        judge(&mut task, 0, [1, 0]).unwrap();
        let ledger = task.capture().unwrap();
        let epoch = known_id("e2");
        let mut restored = task
            .restored(&epoch, 1, &ledger, &inspection([1, 0]))
            .unwrap();
        assert_eq!(restored.task.capture().unwrap(), ledger);
        assert_eq!(
            judge(restored.task.as_mut(), 1, [1, 1])
                .unwrap()
                .events
                .len(),
            1
        );
        assert!(
            task.restored(&epoch, 2, &ledger, &inspection([1, 0]))
                .is_err()
        );
        assert!(
            task.restored(&epoch, 1, &ledger, &inspection([0, 1]))
                .is_err()
        );
        assert!(
            task.restored(&epoch, 1, &inspection([1, 0]), &inspection([1, 0]))
                .is_err()
        );
        let other = Foraging::new(EpisodeEnd::AfterMeals(9));
        assert!(
            other
                .restored(&epoch, 1, &ledger, &inspection([1, 0]))
                .is_err()
        );
    }
}
