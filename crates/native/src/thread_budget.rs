//! [`ThreadBudget`]: how many threads a session's participants may use.

use std::collections::BTreeMap;

use wellwritten_session::Id;

use crate::LaunchError;

/// Threads in all, those kept for the coordinator, and one allocation a participant.
///
/// It counts, and refuses before anything is started; that nobody uses more than it was given is each participant's
/// responsibility.
#[derive(Clone, Debug)]
pub struct ThreadBudget {
    total: usize,
    coordinator: usize,
    allocations: BTreeMap<Id, usize>,
    /// Of threads that nobody reaches any more and that have not ended.
    stranded: usize,
}

impl ThreadBudget {
    /// A budget of `total` threads, `coordinator` of which are not for participants.
    pub fn new(total: usize, coordinator: usize) -> Result<Self, LaunchError> {
        if coordinator > total {
            return Err(LaunchError::Reservation { coordinator, total });
        }
        Ok(Self {
            total,
            coordinator,
            allocations: BTreeMap::new(),
            stranded: 0,
        })
    }

    /// Threads that are neither reserved nor allocated.
    #[must_use]
    pub fn free(&self) -> usize {
        let allocated: usize = self.allocations.values().sum();
        self.total - self.coordinator - self.stranded - allocated
    }

    /// What a participant holds; 0 where it holds nothing.
    #[must_use]
    pub fn allocated_to(&self, participant: &Id) -> usize {
        self.allocations.get(participant).copied().unwrap_or(0)
    }

    /// Gives `threads` to a participant. Refused, and nothing changes, where it holds some already
    /// ([`LaunchError::AllocatedTwice`]), where there are not so many ([`LaunchError::OverBudget`]), and where none are
    /// asked for.
    pub fn allocate(&mut self, participant: &Id, threads: usize) -> Result<(), LaunchError> {
        if self.allocations.contains_key(participant) {
            return Err(LaunchError::AllocatedTwice {
                participant: participant.clone(),
            });
        }
        let free = self.free();
        if threads == 0 || threads > free {
            return Err(LaunchError::OverBudget {
                participant: participant.clone(),
                threads,
                free,
            });
        }
        self.allocations.insert(participant.clone(), threads);
        Ok(())
    }

    /// Takes back what a participant holds; nothing where it holds nothing.
    pub fn release(&mut self, participant: &Id) {
        self.allocations.remove(participant);
    }

    /// What a participant holds stays taken, under nobody's name: it cannot be made to give it back.
    pub(crate) fn strand(&mut self, participant: &Id) -> usize {
        let threads = self.allocations.remove(participant).unwrap_or(0);
        self.stranded += threads;
        threads
    }

    /// Takes back what was stranded.
    pub(crate) fn recover(&mut self, threads: usize) {
        self.stranded -= threads;
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: sums done by hand.

    use wellwritten_session::{ErrorCode, Id, ParticipantError};

    use super::ThreadBudget;
    use crate::LaunchError;

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    fn code(refused: Result<(), LaunchError>) -> ErrorCode {
        ParticipantError::from(refused.unwrap_err()).code
    }

    #[test]
    fn what_is_allocated_is_gone_until_it_is_released() {
        let mut budget = ThreadBudget::new(4, 1).unwrap();
        assert_eq!(budget.free(), 3);
        budget.allocate(&id("world"), 1).unwrap();
        budget.allocate(&id("fly-a"), 2).unwrap();
        assert_eq!(budget.free(), 0);
        assert_eq!(code(budget.allocate(&id("fly-b"), 1)), ErrorCode::Busy);
        assert_eq!(code(budget.allocate(&id("fly-a"), 1)), ErrorCode::Conflict);
        assert_eq!(budget.allocated_to(&id("fly-a")), 2);
        budget.release(&id("fly-a"));
        budget.release(&id("fly-a"));
        assert_eq!((budget.free(), budget.allocated_to(&id("fly-a"))), (2, 0));
        budget.allocate(&id("fly-b"), 2).unwrap();
        assert_eq!(budget.free(), 0);
        let stranded = budget.strand(&id("fly-b"));
        assert_eq!(
            (stranded, budget.free(), budget.allocated_to(&id("fly-b"))),
            (2, 0, 0)
        );
        budget.recover(stranded);
        assert_eq!(budget.free(), 2);
    }

    #[test]
    fn a_reservation_above_the_total_and_an_allocation_of_nothing_are_refused() {
        assert!(matches!(
            ThreadBudget::new(1, 2),
            Err(LaunchError::Reservation {
                coordinator: 2,
                total: 1
            })
        ));
        let mut budget = ThreadBudget::new(2, 1).unwrap();
        assert_eq!(code(budget.allocate(&id("fly-a"), 0)), ErrorCode::Busy);
        assert_eq!(
            code(budget.allocate(&id("fly-a"), usize::MAX)),
            ErrorCode::Busy
        );
        assert_eq!(budget.free(), 1);
    }
}
