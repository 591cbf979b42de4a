//! [`Faults`]: the faults that have not happened yet, and how they happen.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use wellwritten_session::{
    Clock, ErrorCode, Id, MutationCertainty, ParticipantError, Progress, U64,
};

use crate::fault_plan::can_happen;
use crate::{CounterError, Fault, FaultKind, FaultPlan, FaultPoint, Lie};

const MILLISECOND_NS: u64 = 1_000_000;

/// The faults that have not happened yet; shared by those of one program who may have them.
#[derive(Default)]
pub struct Faults {
    waiting: RefCell<Vec<Fault>>,
    clock: Option<Rc<dyn Clock>>,
}

impl Faults {
    /// Those of a plan. Faults that take time need a `clock`; without one they fail instead.
    pub fn new(plan: &FaultPlan, clock: Option<Rc<dyn Clock>>) -> Result<Rc<Self>, CounterError> {
        plan.check()?;
        Ok(Rc::new(Self {
            waiting: RefCell::new(plan.faults().to_vec()),
            clock,
        }))
    }

    /// None.
    #[must_use]
    pub fn none() -> Rc<Self> {
        Rc::new(Self::default())
    }

    /// Adds a fault to those that will happen.
    pub fn arm(&self, fault: Fault) -> Result<(), CounterError> {
        if !can_happen(&fault) {
            return Err(CounterError::FaultCannotHappen {
                fault: Box::new(fault),
            });
        }
        self.waiting.borrow_mut().push(fault);
        Ok(())
    }

    /// Whether every fault has happened.
    #[must_use]
    pub fn have_happened(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// What happens to a participant that comes to a point; it happens once.
    pub(crate) fn reach(
        &self,
        participant: &Id,
        life: u32,
        at: FaultPoint,
        boundary: u64,
    ) -> Reached {
        let happens = |fault: &Fault| {
            fault.participant == *participant
                && fault.life == life
                && fault.at == at
                && fault
                    .boundary
                    .is_none_or(|planned| planned == U64(boundary))
        };
        let mut kinds = Vec::new();
        self.waiting.borrow_mut().retain(|fault| {
            let now = happens(fault);
            if now {
                kinds.push(fault.kind);
            }
            !now
        });
        Reached {
            kinds,
            clock: self.clock.clone(),
        }
    }
}

/// What goes wrong here and now.
pub(crate) struct Reached {
    kinds: Vec<FaultKind>,
    clock: Option<Rc<dyn Clock>>,
}

impl Reached {
    /// For before anything is done.
    pub(crate) fn refuse(&self) -> Result<(), ParticipantError> {
        let code = self.kinds.iter().find_map(|kind| match kind {
            FaultKind::Refuse(code) => Some(*code),
            _ => None,
        });
        match code {
            Some(code) => Err(ParticipantError::refused(code, "a planned refusal")),
            None => Ok(()),
        }
    }

    /// For when it is done and not yet answered: the time it takes, and how it ends.
    pub(crate) async fn pass(&self, progress: &Progress) -> Result<(), ParticipantError> {
        for kind in &self.kinds {
            match *kind {
                FaultKind::DelayTurns(turns) => turns_pass(turns).await,
                FaultKind::DelayMs(milliseconds) => self.sleep(milliseconds).await?,
                FaultKind::WorkMs(milliseconds) => {
                    let mut left = milliseconds;
                    while left > 0 {
                        let slice = left.min(FaultKind::PROGRESS_MS);
                        self.sleep(slice).await?;
                        progress.raise(1);
                        left -= slice;
                    }
                }
                FaultKind::Hang => std::future::pending().await,
                FaultKind::Break => return Err(broken("a planned failure")),
                FaultKind::Panic => panic!("a planned panic"),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn has(&self, kind: FaultKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(crate) fn lies(&self, lie: Lie) -> bool {
        self.has(FaultKind::Lie(lie))
    }

    pub(crate) fn extra_ticks(&self) -> u64 {
        let extra = self.kinds.iter().map(|kind| match kind {
            FaultKind::ExtraTicks(ticks) => u64::from(*ticks),
            _ => 0,
        });
        extra.sum()
    }

    async fn sleep(&self, milliseconds: u32) -> Result<(), ParticipantError> {
        let Some(clock) = &self.clock else {
            return Err(broken("a planned delay, and no clock to sleep by"));
        };
        let duration_ns = u64::from(milliseconds) * MILLISECOND_NS;
        clock.sleep_ns(duration_ns).await;
        Ok(())
    }
}

/// A failure after which nobody knows what changed.
pub(crate) fn broken(message: &str) -> ParticipantError {
    ParticipantError::new(
        ErrorCode::BackendFailure,
        MutationCertainty::Unknown,
        message,
    )
}

/// Gives other work its turn, this many times.
async fn turns_pass(turns: u32) {
    let mut left = turns;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
