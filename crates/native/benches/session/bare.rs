//! The floor of a session in process: the very calls that its participants got, made again on fresh ones, with no session
//! around them.

use wellwritten_counter::{CounterAgent, CounterComposition, CounterWorld, Faults};
use wellwritten_session::{Agent as _, Call, Environment as _, ParticipantError, Request};

/// A world and its agents, made and not initialized.
pub struct Bare {
    world: CounterWorld,
    agents: Vec<CounterAgent>,
}

impl Bare {
    pub fn new(counter: &CounterComposition) -> Self {
        let agents = counter.agent_ids();
        let agent = |id| CounterAgent::new(counter, id, 1, Faults::none());
        Self {
            world: CounterWorld::new(counter, 1, Faults::none()).expect("it is legal"),
            agents: agents
                .iter()
                .map(|id| agent(id).expect("it is legal"))
                .collect(),
        }
    }

    /// Makes every call that is the participants' own business. The peer is 0 for the world, then agents by name.
    pub async fn replay(&mut self, requests: &[(usize, Request)]) {
        for (peer, request) in requests {
            self.call(*peer, request)
                .await
                .expect("what went well goes well again");
        }
    }

    async fn call(&mut self, peer: usize, request: &Request) -> Result<(), ParticipantError> {
        let scope = request.scope.as_ref();
        let scope = || scope.expect("a step has a scope");
        match (&request.call, peer.checked_sub(1)) {
            (Call::InitializeEnvironment(parameters), _) => {
                self.world.initialize(parameters).await.map(drop)
            }
            (Call::Advance(parameters), _) => {
                self.world.advance(scope(), parameters).await.map(drop)
            }
            (Call::Verify {}, None) => self.world.verify().await,
            (Call::Verify {}, Some(agent)) => self.agents[agent].verify().await,
            (Call::InitializeAgent(parameters), Some(agent)) => {
                self.agents[agent].initialize(parameters).await.map(drop)
            }
            (Call::Prepare(parameters), Some(agent)) => self.agents[agent]
                .prepare(scope(), parameters)
                .await
                .map(drop),
            (Call::Commit(parameters), Some(agent)) => self.agents[agent]
                .commit(scope(), parameters)
                .await
                .map(drop),
            _ => Ok(()),
        }
    }
}
