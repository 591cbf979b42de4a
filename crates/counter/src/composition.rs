//! [`CounterComposition`]: a whole counter session, as data.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use wellwritten_session::{
    AgentBinding, Composition, DispatchOrder, Id, IdentityExecutor, ParticipantRuntime,
    SampleBudget, ViewDescriptor,
};

use crate::names::{AGENTS, WORLD, id};
use crate::{CounterAgent, CounterError, CounterTask, CounterWorld, FaultPlan, Faults, Terminal};

/// A whole counter session, as data: what its coordinator and each of its participants is made from, wherever that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CounterComposition {
    /// The session.
    pub session_id: Id,
    /// The episode.
    pub episode_id: Id,
    /// The first epoch; the first unused one where none is named.
    #[serde(deserialize_with = "Option::deserialize")]
    pub epoch: Option<Id>,
    /// How many of [`AGENTS`](crate::AGENTS) take part, 1 to 4.
    pub agents: usize,
    /// When the episode is over.
    pub terminal: Terminal,
    /// How many steps after its production a frame is seen, 0 to 8.
    pub view_delay_steps: u8,
    /// Sample frames in a second of sound, 8,000 to 192,000.
    pub sample_rate: u32,
    /// What goes wrong.
    pub faults: FaultPlan,
}

impl Default for CounterComposition {
    /// Session `demo`, episode `ep1`, two agents, an episode without end, no delay, 48 kHz, no faults.
    fn default() -> Self {
        Self {
            session_id: id("demo"),
            episode_id: id("ep1"),
            epoch: None,
            agents: 2,
            terminal: Terminal::Never,
            view_delay_steps: 0,
            sample_rate: 48_000,
            faults: FaultPlan::none(),
        }
    }
}

impl CounterComposition {
    /// Refuses what no session can be. Everything that is made from a composition asks this first.
    pub fn check(&self) -> Result<(), CounterError> {
        if !(1..=AGENTS.len()).contains(&self.agents) {
            return Err(CounterError::Agents {
                agents: self.agents,
                limit: AGENTS.len(),
            });
        }
        if self.view_delay_steps > ViewDescriptor::MAX_DELAY_STEPS {
            return Err(CounterError::ViewDelay {
                steps: self.view_delay_steps,
                limit: ViewDescriptor::MAX_DELAY_STEPS,
            });
        }
        SampleBudget::new(self.sample_rate)?;
        self.faults.check()
    }

    /// The agents that take part, by name.
    #[must_use]
    pub fn agent_ids(&self) -> Vec<Id> {
        let agents = AGENTS.iter().take(self.agents);
        agents.map(|(agent, ..)| id(agent)).collect()
    }

    /// The seed of an agent that takes part.
    pub fn seed(&self, agent_id: &Id) -> Result<i32, CounterError> {
        self.check()?;
        let mut agents = AGENTS.iter().take(self.agents);
        agents
            .find(|(agent, ..)| *agent == agent_id.as_str())
            .map(|(.., seed)| *seed)
            .ok_or_else(|| CounterError::UnknownWorker {
                worker: agent_id.clone(),
            })
    }

    /// What a coordinator is made from.
    pub fn composition(
        &self,
        dispatch: DispatchOrder,
        faults: Rc<Faults>,
    ) -> Result<Composition, CounterError> {
        self.check()?;
        let bindings = AGENTS.iter().take(self.agents);
        Ok(Composition {
            session_id: self.session_id.clone(),
            episode_id: self.episode_id.clone(),
            epoch: self.epoch.clone(),
            environment_id: id(WORLD),
            agents: bindings
                .map(|(agent_id, port_id, _)| AgentBinding {
                    agent_id: id(agent_id),
                    port_id: id(port_id),
                    executor: Box::new(IdentityExecutor),
                })
                .collect(),
            task: Box::new(CounterTask::new(self, faults)),
            dispatch,
        })
    }

    /// One participant with its runtime, in its `life`th life: what a launcher serves, in whatever program.
    pub fn participant(
        &self,
        worker_id: &Id,
        incarnation_id: Id,
        life: u32,
        faults: Rc<Faults>,
    ) -> Result<ParticipantRuntime, CounterError> {
        let session_id = self.session_id.clone();
        if worker_id.as_str() == WORLD {
            let world = CounterWorld::new(self, life, faults)?;
            let world = Box::new(world);
            return Ok(ParticipantRuntime::environment(
                session_id,
                incarnation_id,
                world,
            ));
        }
        let agent = CounterAgent::new(self, worker_id, life, faults)?;
        let agent = Box::new(agent);
        Ok(ParticipantRuntime::agent(session_id, incarnation_id, agent))
    }
}
