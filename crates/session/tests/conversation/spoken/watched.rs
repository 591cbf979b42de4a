//! A participant that is watched: how often it was asked anything, and the digest of its state since.

use std::cell::Cell;
use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_session::{
    Advance, Agent, AgentInitialize, AgentInitialized, AgentProfile, Commit, Committed, Digest,
    Environment, EnvironmentDescriptor, EnvironmentInitialize, ParticipantError, Prepare, Prepared,
    Progress, Scope, StagedAgent, StagedWorld, StepResult, WorldObservation,
};

/// What was seen of a participant.
#[derive(Default)]
pub struct Seen {
    /// How often anything was asked of it.
    pub calls: Cell<u64>,
    /// Its state after the last.
    pub digest: Cell<Option<Digest>>,
}

pub struct Watched<T> {
    pub inner: T,
    pub seen: Rc<Seen>,
}

macro_rules! look {
    ($self:ident, $call:ident($($argument:expr),*)) => {{
        $self.seen.calls.set($self.seen.calls.get() + 1);
        let outcome = $self.inner.$call($($argument),*).await;
        let state = $self.inner.capture().await?;
        $self.seen.digest.set(Some(Digest::blake3(&state)));
        outcome
    }};
}

#[async_trait(?Send)]
impl<T: Environment> Environment for Watched<T> {
    fn descriptor(&self) -> EnvironmentDescriptor {
        self.inner.descriptor()
    }
    fn attach_progress(&mut self, progress: Progress) {
        self.inner.attach_progress(progress);
    }
    async fn initialize(
        &mut self,
        parameters: &EnvironmentInitialize,
    ) -> Result<WorldObservation, ParticipantError> {
        look!(self, initialize(parameters))
    }
    async fn verify(&mut self) -> Result<(), ParticipantError> {
        look!(self, verify())
    }
    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        look!(self, rewrite(buffer_label))
    }
    async fn advance(
        &mut self,
        scope: &Scope,
        batch: &Advance,
    ) -> Result<StepResult, ParticipantError> {
        look!(self, advance(scope, batch))
    }
    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        look!(self, capture())
    }
    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedWorld, ParticipantError> {
        look!(self, stage_restore(payload))
    }
    async fn activate_restore(&mut self) -> Result<WorldObservation, ParticipantError> {
        look!(self, activate_restore())
    }
}

#[async_trait(?Send)]
impl<T: Agent> Agent for Watched<T> {
    fn profile(&self) -> AgentProfile {
        self.inner.profile()
    }
    fn attach_progress(&mut self, progress: Progress) {
        self.inner.attach_progress(progress);
    }
    async fn initialize(
        &mut self,
        parameters: &AgentInitialize,
    ) -> Result<AgentInitialized, ParticipantError> {
        look!(self, initialize(parameters))
    }
    async fn verify(&mut self) -> Result<(), ParticipantError> {
        look!(self, verify())
    }
    async fn rewrite(&mut self, buffer_label: &str) -> Result<(), ParticipantError> {
        look!(self, rewrite(buffer_label))
    }
    async fn prepare(
        &mut self,
        scope: &Scope,
        parameters: &Prepare,
    ) -> Result<Prepared, ParticipantError> {
        look!(self, prepare(scope, parameters))
    }
    async fn commit(
        &mut self,
        scope: &Scope,
        parameters: &Commit,
    ) -> Result<Committed, ParticipantError> {
        look!(self, commit(scope, parameters))
    }
    async fn capture(&mut self) -> Result<Vec<u8>, ParticipantError> {
        look!(self, capture())
    }
    async fn stage_restore(&mut self, payload: &[u8]) -> Result<StagedAgent, ParticipantError> {
        look!(self, stage_restore(payload))
    }
    async fn activate_restore(&mut self) -> Result<(), ParticipantError> {
        look!(self, activate_restore())
    }
}
