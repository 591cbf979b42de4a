//! [`CounterError`]: why a counter session cannot be made as asked.

use wellwritten_session::{Id, SampleBudgetError};

use crate::Fault;

/// Why a counter session, or a part of it, cannot be made as asked. Nothing was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// A number of agents that no session has.
    #[error("{agents} agents, a counter session has 1 to {limit}")]
    Agents {
        /// How many were asked for.
        agents: usize,
        /// The most there are.
        limit: usize,
    },
    /// A delay that no view has.
    #[error("a view delay of {steps} steps, the limit is {limit}")]
    ViewDelay {
        /// The delay asked for, in steps.
        steps: u8,
        /// The longest.
        limit: u8,
    },
    /// A sample rate that no stream has.
    #[error(transparent)]
    SampleRate(#[from] SampleBudgetError),
    /// A worker that is no participant of this session.
    #[error("{worker} is no participant of this session")]
    UnknownWorker {
        /// The worker.
        worker: Id,
    },
    /// A fault that could not happen where it is planned.
    #[error("{:?} cannot happen to {} at {:?}", .fault.kind, .fault.participant, .fault.at)]
    FaultCannotHappen {
        /// The fault.
        fault: Box<Fault>,
    },
}
