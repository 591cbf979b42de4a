//! From `Starting` to `Ready(0)`: the world stopped, the task begun, every brain warmed up.

use std::collections::BTreeMap;

use wellwritten_envelope::{Id, RationalNs};
use wellwritten_store::{CommitError, EpochHistory};

use crate::audio_rules::fresh_timelines;
use crate::coordinator::Fault;
use crate::coordinator::asking::{Asking, Unanswered};
use crate::observation_rules::{check_installed, check_telemetry};
use crate::session_state::{Link, SessionState};
use crate::{
    AgentInitialize, AgentInitialized, Answer, Behaviour, Call, Composition, Coordinator,
    EnvironmentInitialize, ErrorCode, EventLedger, Phase, RequestId, SensoryInput, SessionError,
    Status, TaskEvent, TickClock, TypedValue, WorldObservation,
};

/// One agent's initialization, answered.
struct Begun {
    request_id: RequestId,
    initialized: AgentInitialized,
}

impl Coordinator {
    /// Starts the session at boundary 0. A second bootstrap is refused and does no harm; a failure ends the epoch.
    pub async fn bootstrap(&self) -> Result<Status, SessionError> {
        let guard = self.begin("bootstrap")?;
        if self.phase() != Phase::Starting {
            return Err(self.refuse_phase("bootstrap"));
        }
        let epoch = self.claim_first_epoch().await?;
        self.adopt_epoch(&epoch);
        let episode_id = self.episode_id();
        self.start(epoch, &episode_id)
            .await
            .map_err(|fault| self.fail(fault))?;
        drop(guard);
        Ok(self.status())
    }

    /// The epoch to begin with, recorded in the store so that no later session uses its name.
    async fn claim_first_epoch(&self) -> Result<Id, SessionError> {
        let asked = self.state.borrow().first_epoch.clone();
        let epoch = match (&asked, &self.saves) {
            (Some(epoch), _) => epoch.clone(),
            (None, Some(_)) => self.unused_epoch(first_of('e')).await?,
            (None, None) => Id::parse("e1").expect("a legal id"),
        };
        Self::check_epoch_name(&epoch)?;
        if let Some(saves) = &self.saves {
            if saves.ask(saves.client.is_epoch_used(&epoch)).await? {
                return Err(SessionError::StaleEpoch { epoch });
            }
            self.learn_checkpoints().await?;
            self.claim_epoch(&epoch).await?;
        }
        Ok(epoch)
    }

    /// Has the store write down that `epoch` begins. A store that cannot, being full for instance, keeps nobody from
    /// running: nothing durable carries the name then, and the first save that succeeds writes it down. Status says
    /// so until then.
    pub(crate) async fn claim_epoch(&self, epoch: &Id) -> Result<(), SessionError> {
        let Some(saves) = &self.saves else {
            return Ok(());
        };
        let warning = match saves.ask(saves.client.claim_epoch(epoch)).await {
            Ok(_) => None,
            Err(error @ CommitError::EpochUsed { .. }) => return Err(error.into()),
            Err(error) => Some(format!(
                "the store could not write down that epoch {epoch} begins: {error}"
            )),
        };
        self.state.borrow_mut().store_warning = warning;
        Ok(())
    }

    /// The next epoch name after `current` that was never used; of another stem where that one has run out of names.
    pub(crate) async fn unused_epoch(&self, current: Id) -> Result<Id, SessionError> {
        let used = self.used_epochs();
        for stem in std::iter::once(current.clone()).chain(('e'..='z').map(first_of)) {
            let mut next = self.next_epoch_after(&stem).await?;
            while let Some(epoch) = next.take_if(|epoch| used.contains(epoch)) {
                next = self.next_epoch_after(&epoch).await?;
            }
            if let Some(epoch) = next.filter(|epoch| Self::check_epoch_name(epoch).is_ok()) {
                return Ok(epoch);
            }
        }
        Err(SessionError::NoFreshEpoch { epoch: current })
    }

    /// The next name that no store knows of, where there is none: the next there is.
    async fn next_epoch_after(&self, epoch: &Id) -> Result<Option<Id>, SessionError> {
        match &self.saves {
            Some(saves) => Ok(saves.ask(saves.client.next_epoch_after(epoch)).await?),
            None => Ok(EpochHistory::default().next_after(epoch)),
        }
    }

    /// Refuses a name too long to build others from, and one that ends in a number so high that names after it would
    /// run out.
    pub(crate) fn check_epoch_name(epoch: &Id) -> Result<(), SessionError> {
        let length = epoch.as_str().len();
        if length > Composition::MAX_EPOCH {
            return Err(SessionError::EpochName {
                epoch: epoch.clone(),
                length,
                limit: Composition::MAX_EPOCH,
            });
        }
        let stem = epoch
            .as_str()
            .trim_end_matches(|it: char| it.is_ascii_digit());
        let number = epoch.as_str()[stem.len()..].trim_start_matches('0');
        if number.len() > Composition::MAX_EPOCH_DIGITS {
            return Err(SessionError::EpochNumber {
                epoch: epoch.clone(),
                digits: number.len(),
                limit: Composition::MAX_EPOCH_DIGITS,
            });
        }
        Ok(())
    }

    /// Sets everyone up for an episode and stands at `Ready(0)`.
    pub(crate) async fn start(&self, epoch: Id, episode_id: &Id) -> Result<(), Fault> {
        let mut kept = Vec::new();
        let environment = self.state.borrow().environment.clone();
        let (request_id, observation) = self
            .initialize_world(&environment, episode_id)
            .await
            .map_err(Unanswered::into_fault)?;
        kept.push((environment.clone(), request_id));
        check_installed(environment.descriptor(), &observation, 0, RationalNs::ZERO)?;
        let (contexts, events) = self.begin_task(&epoch, &observation)?;
        let links: Vec<Link> = self
            .state
            .borrow()
            .agents
            .iter()
            .map(|slot| slot.link.clone())
            .collect();
        let questions = links
            .iter()
            .map(|link| {
                let asked =
                    self.initialize_agent(link, contexts.get(&link.participant_id), &observation);
                Box::pin(asked) as Asking<'_, Begun>
            })
            .collect();
        let begun = self
            .in_order(questions)
            .await
            .map_err(Unanswered::into_fault)?;
        check_begun(&links, &begun)?;
        let replies = links.iter().zip(&begun);
        kept.extend(replies.map(|(link, begun)| (link.clone(), begun.request_id)));
        self.acknowledge(&kept).await;
        // Behind a fence that came down in the meantime nothing is put anywhere.
        self.go_and(Phase::Ready { boundary: 0 }, |state| {
            state.episode_id = episode_id.clone();
            install_start(state, epoch, observation, contexts, begun);
        })?;
        self.publish_begun(events);
        Ok(())
    }

    async fn initialize_world(
        &self,
        link: &Link,
        episode_id: &Id,
    ) -> Result<(RequestId, WorldObservation), Unanswered> {
        let call = Call::InitializeEnvironment(EnvironmentInitialize {
            episode_id: episode_id.clone(),
            port_bindings: self.state.borrow().bindings(),
        });
        let request_id = self.next_request_id();
        match self
            .ask(link, request_id, Some(self.scope(0)), call)
            .await?
        {
            Answer::WorldInitialized(observation) => Ok((request_id, observation)),
            _ => Err(Self::wrong_answer(link, "Environment.Initialize")),
        }
    }

    fn begin_task(
        &self,
        epoch: &Id,
        observation: &WorldObservation,
    ) -> Result<(BTreeMap<Id, TypedValue>, Vec<TaskEvent>), Fault> {
        let mut state = self.state.borrow_mut();
        let bindings = state.bindings();
        let begun = state
            .task
            .bootstrap(epoch, &observation.inspection, &bindings)
            .map_err(|error| {
                Fault::inside(
                    ErrorCode::BackendFailure,
                    format!("the task did not begin: {error}"),
                )
            })?;
        let agents: Vec<&Id> = state
            .agents
            .iter()
            .map(|slot| &slot.link.participant_id)
            .collect();
        if !begun.contexts.keys().eq(agents) {
            return Err(Fault::inside(
                ErrorCode::BackendFailure,
                "the task gives contexts to other agents",
            ));
        }
        check_events(&begun.events, 0)?;
        state.events_issued = begun.events.len() as u64;
        state.last_event_step = 0;
        state.executor_events = EventLedger::new(epoch.clone());
        state.progress = Some(begun.progress);
        Ok((begun.contexts, begun.events))
    }

    async fn initialize_agent(
        &self,
        link: &Link,
        context: Option<&TypedValue>,
        observation: &WorldObservation,
    ) -> Result<Begun, Unanswered> {
        let profile = link.profile();
        let context = context
            .expect("contexts were checked against the agents")
            .clone();
        let context_digest = context.digest();
        let call = Call::InitializeAgent(AgentInitialize {
            agent_id: profile.agent_id.clone(),
            seed: profile.seed,
            initial_input: sensory_input(observation),
            initial_decision_context: context,
        });
        let request_id = self.next_request_id();
        match self
            .ask(link, request_id, Some(self.scope(0)), call)
            .await?
        {
            Answer::AgentInitialized {
                initialized,
                decision_context_digest,
            } if decision_context_digest == context_digest => Ok(Begun {
                request_id,
                initialized,
            }),
            _ => Err(Self::wrong_answer(link, "Agent.Initialize")),
        }
    }
}

fn check_begun(links: &[Link], begun: &[Begun]) -> Result<(), Fault> {
    links.iter().zip(begun).try_for_each(|(link, begun)| {
        check_telemetry(
            &link.participant_id,
            &begun.initialized.telemetry,
            &link.profile().graph,
            begun.initialized.warmup_ticks.0,
        )
    })
}

fn install_start(
    state: &mut SessionState,
    epoch: Id,
    observation: WorldObservation,
    mut contexts: BTreeMap<Id, TypedValue>,
    begun: Vec<Begun>,
) {
    for (slot, begun) in state.agents.iter_mut().zip(begun) {
        slot.context = contexts.remove(&slot.link.participant_id);
        slot.brain_ticks = begun.initialized.warmup_ticks.0;
        slot.clock = Some(TickClock::new(slot.link.profile().tick_duration));
        slot.telemetry = Some(begun.initialized.telemetry);
    }
    state.boundary = 0;
    state.committed_world_time = observation.world_time;
    state.observation = Some(observation);
    state.timelines = fresh_timelines(state.environment.descriptor());
    state.trace.begin(epoch, 0);
    state.recording.begin(0);
}

/// What every agent sees of an observation: the very same frames.
pub(crate) fn sensory_input(observation: &WorldObservation) -> SensoryInput {
    SensoryInput {
        boundary: observation.boundary,
        views: observation.sensory_views.clone(),
        structured: None,
    }
}

/// Events of one boundary: all of it, no name twice.
pub(crate) fn check_events(events: &[TaskEvent], source_step: u64) -> Result<(), Fault> {
    if events.len() > Behaviour::MAX_EVENTS {
        let message = format!(
            "{} events of one transition, the limit is {}",
            events.len(),
            Behaviour::MAX_EVENTS
        );
        return Err(Fault::inside(ErrorCode::BackendFailure, message));
    }
    for (index, event) in events.iter().enumerate() {
        let repeated = events[..index].iter().any(|earlier| earlier.id == event.id);
        if repeated || event.source_step.0 != source_step {
            let message = format!(
                "event {} is named twice or is not of boundary {source_step}",
                event.id
            );
            return Err(Fault::inside(ErrorCode::BackendFailure, message));
        }
    }
    Ok(())
}

/// The name before the first epoch of a stem.
fn first_of(stem: char) -> Id {
    Id::parse(&format!("{stem}0")).expect("a letter and a digit are an id")
}
