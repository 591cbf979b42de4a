//! [`Stepping`]: the steps of a run, and the checkpoints between them.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{Either, select};
use tokio::time::Instant;
use wellwritten_session::{Coordinator, Phase, RunOptions, SessionError};

use super::interruption::Interruption;
use super::run_store::RunStore;

/// How a session takes its steps.
pub struct Stepping<'a> {
    pub session: &'a Rc<Coordinator>,
    /// Steps in a second; as fast as possible without.
    pub rate: Option<f64>,
    /// The boundary to stop at.
    pub until: u64,
    pub interruption: &'a Interruption,
    pub store: Option<&'a RunStore>,
}

impl Stepping<'_> {
    /// Steps to the end, or until somebody does not want to wait for the boundary: a step that is left then ends the epoch.
    /// What was taken to be saved until then is waited for as long.
    pub async fn run(&self) -> Result<(), SessionError> {
        if let Some(stepped) = self.unless_hurried(self.step_and_save()).await {
            if let Some(store) = self.store {
                self.unless_hurried(store.finish(self.session)).await;
            }
            stepped?;
        }
        // It may have failed between two steps.
        let status = self.session.status();
        match status.failure.filter(|_| status.fenced) {
            Some(record) => Err(SessionError::EpochFailed(Box::new(record))),
            None => Ok(()),
        }
    }

    /// Waits for it, or until somebody does not want to wait.
    async fn unless_hurried<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (work, hurried) = (pin!(work), pin!(self.interruption.hurried()));
        match select(work, hurried).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    async fn step_and_save(&self) -> Result<(), SessionError> {
        let (first, began) = (self.session.status().boundary, Instant::now());
        // Paused where it was interrupted before the first step, or where the episode was over.
        while let Phase::Ready { boundary } = self.session.phase() {
            if boundary >= self.until {
                break;
            }
            self.wait_until_due(began, boundary - first).await;
            let next = self.store.and_then(|store| store.next_checkpoint(boundary));
            let options = RunOptions {
                steps_per_second: self.rate,
                until: Some(next.map_or(self.until, |next| next.min(self.until))),
            };
            match self.session.run(options).await {
                Ok(_) => {}
                // Paused while it was waited for the next step.
                Err(SessionError::InvalidPhase {
                    phase: Phase::Paused { .. },
                    ..
                }) => break,
                Err(error) => return Err(error),
            }
            if let Some(store) = self.store
                && next == Some(self.session.status().boundary)
            {
                store.save(self.session).await?;
            }
        }
        match self.store {
            Some(store) => store.save_last(self.session).await,
            None => Ok(()),
        }
    }

    /// Between two rows of steps that a checkpoint parts the rate holds as well.
    async fn wait_until_due(&self, began: Instant, steps: u64) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "wall time for pacing: a float holds a run of months to the nanosecond"
        )]
        if let Some(rate) = self.rate {
            let due = Duration::try_from_secs_f64(steps as f64 / rate).unwrap_or(Duration::MAX);
            let sleeping = tokio::time::sleep_until(began.checked_add(due).unwrap_or(began));
            select(pin!(sleeping), pin!(self.interruption.asked())).await;
        }
    }
}
