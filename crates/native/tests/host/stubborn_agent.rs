//! An agent that never comes to a point where it waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use wellwritten_counter::{CounterAgent, CounterComposition, Faults};
use wellwritten_native::Incarnation;
use wellwritten_session::{
    Agent, AgentInitialize, AgentInitialized, AgentProfile, Commit, Committed, ParticipantError,
    Prepare, Prepared, Scope, StagedAgent,
};

/// A counter agent whose first prepare holds its thread until it is let go.
pub struct StubbornAgent {
    agent: CounterAgent,
    let_go: Arc<AtomicBool>,
}

impl StubbornAgent {
    pub fn new(
        counter: &CounterComposition,
        incarnation: &Incarnation,
        let_go: Arc<AtomicBool>,
    ) -> Self {
        let agent = CounterAgent::new(counter, &incarnation.participant_id, 1, Faults::none());
        Self {
            agent: agent.unwrap(),
            let_go,
        }
    }
}

#[async_trait(?Send)]
impl Agent for StubbornAgent {
    fn profile(&self) -> AgentProfile {
        self.agent.profile()
    }

    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        self.agent.initialize(parameters).await
    }

    async fn verify(&mut self) -> Result<(), ParticipantError> {
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
        while !self.let_go.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(5));
        }
        self.agent.prepare(scope, parameters).await
    }

    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        self.agent.commit(scope, parameters).await
    }

    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        self.agent.capture().await
    }

    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        self.agent.stage_restore(payload).await
    }

    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        self.agent.activate_restore().await
    }
}
