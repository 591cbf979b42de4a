//! [`FaultPlan`]: everything that will go wrong in a session.

use serde::{Deserialize, Serialize};

use crate::names::{TASK, WORLD};
use crate::{CounterError, Fault, FaultKind, FaultPoint};

/// Everything that will go wrong, as data: it can be handed to a participant in another program.
///
/// Every fault happens once. Several at one point of one life happen together, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultPlan {
    faults: Vec<Fault>,
}

impl FaultPlan {
    /// Nothing goes wrong.
    #[must_use]
    pub const fn none() -> Self {
        Self { faults: Vec::new() }
    }

    /// The faults of a plan, in the order given.
    #[must_use]
    pub const fn new(faults: Vec<Fault>) -> Self {
        Self { faults }
    }

    /// What will go wrong.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Refuses a fault that could not happen where it is planned: it would make a test pass for nothing.
    pub fn check(&self) -> Result<(), CounterError> {
        match self.faults.iter().find(|fault| !can_happen(fault)) {
            Some(fault) => Err(CounterError::FaultCannotHappen {
                fault: Box::new(fault.clone()),
            }),
            None => Ok(()),
        }
    }
}

/// Whether the participant ever comes to that point, and what goes wrong there can.
pub(crate) fn can_happen(fault: &Fault) -> bool {
    let participant = fault.participant.as_str();
    let comes_there = match fault.at {
        FaultPoint::Evaluate => participant == TASK,
        FaultPoint::Advance => participant == WORLD,
        FaultPoint::Prepare | FaultPoint::Commit => participant != WORLD && participant != TASK,
        _ => participant != TASK,
    };
    let of_the_world = matches!(fault.kind, FaultKind::Dirty | FaultKind::Lie(_));
    comes_there
        && fault.life > 0
        && fault.kind.fits(fault.at)
        && (!of_the_world || participant == WORLD)
}
