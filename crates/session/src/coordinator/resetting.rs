//! A new episode: the whole group built and set up anew.

use wellwritten_envelope::Id;

use crate::coordinator::Fault;
use crate::session_state::Link;
use crate::{Coordinator, Executor, ParticipantError, Phase, SessionError, Status};

/// What begins with a reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetRequest {
    /// The episode; no episode of this session had the name before.
    pub episode_id: Id,
    /// The epoch to begin under; the next unused one where none is named.
    pub epoch: Option<Id>,
}

impl Coordinator {
    /// Ends the episode and begins another, from `Paused(k)` to `Ready(0)`. Nobody is reset alone: it is the whole group.
    ///
    /// - *Retained*: session, composition, who drives which port, seeds, dispatch order, the store with every checkpoint
    ///   of earlier episodes, the names of episodes and epochs used, and the counts of transitions and late steps.
    /// - *Cleared*: boundary, world time, every sound's position (all zero); the task, which begins again; executors, which
    ///   are what they were before the first episode; trace; durable mark; the word that the episode is over; a pause
    ///   that was asked for; stimuli that wait, which are aborted.
    /// - *Warmed and recalibrated*: world and agents are built anew under new incarnations, and each agent warms up and
    ///   calibrates as at a bootstrap. Nothing learned is carried over. The participants that were are cut off: what they
    ///   still answer reaches nobody.
    ///
    /// A refusal (another phase, a name used before) changes nothing. From `Resetting` on, whatever goes wrong ends the
    /// new epoch: the session is failed, in the episode it was in, and every participant must be replaced before a
    /// restore from one of that episode's checkpoints. An episode that has begun and fails before its first checkpoint
    /// leaves nothing to restore it from: then a checkpoint of an earlier one may be named, and the session is in that
    /// again.
    pub async fn reset(&self, request: ResetRequest) -> Result<Status, SessionError> {
        let guard = self.begin("reset")?;
        let Phase::Paused { boundary } = self.phase() else {
            return Err(self.refuse_phase("reset"));
        };
        let ResetRequest { episode_id, epoch } = request;
        self.saves_ended().await?;
        self.require_fresh_episode(&episode_id).await?;
        let epoch = self.fresh_epoch(epoch.as_ref()).await?;
        let executors = self.pristine_executors()?;
        self.claim_epoch(&epoch).await?;
        let left = self
            .leave_episode(boundary, &episode_id, &epoch)
            .map_err(|fault| self.fail(fault))?;
        let begun = self
            .begin_episode(&left, executors, epoch, &episode_id)
            .await;
        if let Err(fault) = begun {
            self.taint_all();
            return Err(self.fail(fault));
        }
        drop(guard);
        Ok(self.status())
    }

    /// Builds everyone anew and sets them up. Those that were left are closed for good, however that ends, but not
    /// before others were built: whoever builds them brings the old ones to their end in his own order.
    async fn begin_episode(
        &self,
        left: &[Link],
        executors: Vec<Box<dyn Executor>>,
        epoch: Id,
        episode_id: &Id,
    ) -> Result<(), Fault> {
        let connected = self.connect_all().await;
        for link in left {
            link.transport.close();
        }
        connected.map_err(|error| {
            let message = format!("a participant was not built anew: {error}");
            Fault {
                participant: error.participant().cloned(),
                error: ParticipantError::uncertain(error.code(), message),
            }
        })?;
        for (slot, executor) in self.state.borrow_mut().agents.iter_mut().zip(executors) {
            slot.executor = executor;
        }
        self.start(epoch, episode_id).await
    }

    async fn require_fresh_episode(&self, episode_id: &Id) -> Result<(), SessionError> {
        let is_used = self.state.borrow().used_episodes.contains(episode_id);
        let is_stored = match &self.saves {
            Some(saves) => {
                let is_used = saves.client.is_episode_used(&self.session_id, episode_id);
                saves.ask(is_used).await?
            }
            None => false,
        };
        if is_used || is_stored {
            return Err(SessionError::EpisodeUsed {
                episode: episode_id.clone(),
            });
        }
        Ok(())
    }

    /// The executors as they were before anything was decided.
    fn pristine_executors(&self) -> Result<Vec<Box<dyn Executor>>, SessionError> {
        let state = self.state.borrow();
        let slots = state.agents.iter();
        slots
            .map(|slot| {
                slot.executor
                    .restored(&slot.pristine_executor)
                    .map_err(|error| SessionError::Executor {
                        agent: slot.link.participant_id.clone(),
                        reason: error.to_string(),
                    })
            })
            .collect()
    }

    /// Leaves everything of the old episode behind, so that nothing of it is ever taken for the new one's: from here on
    /// no question reaches the participants that were, who are returned.
    fn leave_episode(
        &self,
        boundary: u64,
        episode_id: &Id,
        epoch: &Id,
    ) -> Result<Vec<Link>, Fault> {
        let (mut left, mut aborted) = (Vec::new(), Vec::new());
        self.go_and(Phase::Resetting { boundary }, |state| {
            left = state.links();
            state.environment = state.environment.cut_off();
            for slot in &mut state.agents {
                slot.link = slot.link.cut_off();
            }
            state.used_epochs.insert(epoch.clone());
            state.epoch = epoch.clone();
            state.used_episodes.insert(episode_id.clone());
            state.observation = None;
            state.timelines.clear();
            state.terminal = None;
            state.durable = None;
            state.pause_requested = false;
            state.trace.begin(epoch.clone(), 0);
            state.recording.begin(0);
            aborted = state.admissions.take_all();
            self.publisher.fence();
        })?;
        self.tell_aborted(aborted);
        Ok(left)
    }
}
