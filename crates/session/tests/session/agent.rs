//! A counter agent, watched: what it is asked and shown is logged, and a test may kill it.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_counter::{CounterAgent, CounterComposition, SPARK};
use wellwritten_session::{
    Agent, AgentInitialize, AgentInitialized, AgentProfile, Commit, Committed, Id,
    ParticipantError, Prepare, Prepared, Progress, Scope, StagedAgent, Stimulus,
};

use crate::rig::{Bench, id};

pub struct WatchedAgent {
    bench: Rc<Bench>,
    agent_id: Id,
    agent: CounterAgent,
}

impl WatchedAgent {
    pub fn new(bench: Rc<Bench>, agent_id: Id) -> Self {
        let composition = CounterComposition {
            agents: 4,
            ..CounterComposition::default()
        };
        let agent = CounterAgent::new(&composition, &agent_id, 1, bench.planned.clone()).unwrap();
        Self {
            bench,
            agent_id,
            agent,
        }
    }

    fn reach(&self, point: &str) {
        self.bench.reach(self.agent_id.as_str(), point);
    }
}

#[async_trait(?Send)]
impl Agent for WatchedAgent {
    fn profile(&self) -> AgentProfile {
        self.agent.profile()
    }

    fn attach_progress(&mut self, progress: Progress) {
        self.agent.attach_progress(progress);
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        self.reach("initialize");
        self.agent.initialize(parameters).await
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
        self.reach("verify");
        self.agent.verify().await
    }

    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        self.agent.rewrite(buffer_label).await
    }

    async fn prepare(
        &mut self,
        scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        self.reach("prepare");
        let mut parameters = parameters.clone();
        if self.bench.wavers.get() {
            parameters.pre_step_stimulations.push(Stimulus {
                id: id("of-its-own"),
                kind_id: id(SPARK),
                duration_ms: 5.0,
            });
        }
        self.agent.prepare(scope, &parameters).await
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        self.reach("commit");
        let pixels = &parameters.next_input.view("arena").unwrap().pixels;
        self.bench.seen.borrow_mut().push(pixels.clone());
        self.agent.commit(scope, parameters).await
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.reach("capture");
        self.agent.capture().await
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        self.reach("stage");
        self.agent.stage_restore(payload).await
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        self.reach("activate");
        self.agent.activate_restore().await
    }
}
