//! Pause, resume, and stepping in a row.

use crate::{Coordinator, Phase, SessionError, SessionEvent, Status};

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// How long to leave the session to an operation that is in the way of the next step, in nanoseconds.
const OTHERS_TURN_NS: u64 = 1_000_000;

/// How long a paced run sleeps before it looks whether it was paused, in nanoseconds.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// How to step in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunOptions {
    /// Steps in a second of wall time, above zero; as fast as possible where absent.
    pub steps_per_second: Option<f64>,
    /// The boundary to stop at.
    pub until: Option<u64>,
}

impl Coordinator {
    /// Pauses: at once where nothing runs, otherwise at the boundary the running transition commits. Pausing a paused
    /// session is no mistake.
    pub fn pause(&self) -> Result<Status, SessionError> {
        match self.phase() {
            Phase::Starting | Phase::Failed | Phase::Restoring { .. } | Phase::Resetting { .. } => {
                return Err(self.refuse_phase("pause"));
            }
            Phase::Paused { .. } => {}
            _ => {
                self.state.borrow_mut().pause_requested = true;
                if self.is_idle() {
                    self.settle_pause();
                }
            }
        }
        Ok(self.status())
    }

    /// Goes from `Paused(k)` to `Ready(k)`.
    pub fn resume(&self) -> Result<Status, SessionError> {
        let _guard = self.begin("resume")?;
        let Phase::Paused { boundary } = self.phase() else {
            return Err(self.refuse_phase("resume"));
        };
        if let Some(terminal) = &self.state.borrow().terminal {
            return Err(SessionError::EpisodeOver {
                reason: terminal.reason.clone(),
            });
        }
        self.go(Phase::Ready { boundary })
            .map_err(|fault| self.fail(fault))?;
        Ok(self.status())
    }

    /// Takes a pause that was asked for, or that the end of the episode asks for, where the session is ready.
    pub(crate) fn settle_pause(&self) {
        let mut state = self.state.borrow_mut();
        let Phase::Ready { boundary } = state.machine.phase() else {
            if matches!(state.machine.phase(), Phase::Paused { .. }) {
                state.pause_requested = false;
            }
            return;
        };
        if !state.pause_requested && state.terminal.is_none() {
            return;
        }
        state.pause_requested = false;
        let change = state
            .machine
            .go(Phase::Paused { boundary })
            .expect("Ready leads to Paused");
        drop(state);
        self.emit(SessionEvent::Phase { change });
    }

    /// Steps until paused, until the named boundary, until the episode is over, or until something goes wrong.
    ///
    /// Paced steps begin at absolute deadlines; one that is late begins at once and is counted, and no step is ever
    /// skipped to catch up. Between two steps other work gets its turn: a checkpoint that is being captured, a step
    /// that someone else takes, are waited for and stop nothing.
    pub async fn run(&self, options: RunOptions) -> Result<Status, SessionError> {
        let interval_ns = options
            .steps_per_second
            .filter(|rate| *rate > 0.0)
            .map(|rate| SECOND_NS / rate);
        let began_ns = self.clock.now_ns();
        let mut due_ns = 0.0;
        if self.is_standing() {
            return Err(self.refuse_phase("run"));
        }
        while !self.is_standing() {
            let Phase::Ready { boundary } = self.phase() else {
                self.clock.sleep_ns(OTHERS_TURN_NS).await;
                continue;
            };
            if options.until.is_some_and(|until| boundary >= until) {
                break;
            }
            self.wait_until(began_ns, due_ns).await;
            // A pause while waiting takes effect at once, and then there is no step to take; someone else's step
            // may have reached the boundary.
            if self.phase() != (Phase::Ready { boundary }) {
                continue;
            }
            match self.step().await {
                Err(SessionError::Busy { .. }) => {
                    self.clock.sleep_ns(OTHERS_TURN_NS).await;
                    continue;
                }
                outcome => outcome?,
            };
            if let Some(interval_ns) = interval_ns {
                due_ns += interval_ns;
            }
        }
        // The epoch may have failed between two of its steps: that is no less the end of this run.
        let status = self.status();
        match status.failure {
            Some(record) if status.fenced => Err(SessionError::EpochFailed(Box::new(record))),
            failure => Ok(Status { failure, ..status }),
        }
    }

    /// Whether nothing moves here until someone does something about it: no phase of a transition or a capture, which
    /// end by themselves, and not ready.
    fn is_standing(&self) -> bool {
        matches!(
            self.phase(),
            Phase::Starting
                | Phase::Paused { .. }
                | Phase::Failed
                | Phase::Restoring { .. }
                | Phase::Resetting { .. }
        )
    }

    /// Waits for the deadline `due_ns` after `began_ns`, or notes by how much it was missed.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "wall time for pacing: a float holds a run of months to the nanosecond, and both are never negative"
    )]
    async fn wait_until(&self, began_ns: u64, due_ns: f64) {
        let elapsed_ns = self.clock.now_ns().saturating_sub(began_ns) as f64;
        let early_ns = (due_ns - elapsed_ns).max(0.0);
        if due_ns > 0.0 {
            let late_ns = (elapsed_ns - due_ns).max(0.0);
            let mut state = self.state.borrow_mut();
            state.lag_ns = late_ns as u64;
            if late_ns > 0.0 {
                state.late_steps += 1;
            }
        }
        let mut left_ns = early_ns as u64;
        loop {
            // In short sleeps, so that a pause of a slow run is heard when it is asked for.
            let sleep_ns = left_ns.min(LONGEST_SLEEP_NS);
            self.clock.sleep_ns(sleep_ns).await;
            left_ns -= sleep_ns;
            if left_ns == 0 || self.is_standing() {
                return;
            }
        }
    }
}
