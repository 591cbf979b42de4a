//! [`DirectCounters`]: the participants of a counter session, in the coordinator's own program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_session::{Direct, ErrorCode, Id, ParticipantError, ParticipantFactory, Transport};

use crate::names::{WORLD, id};
use crate::{CounterComposition, CounterError, Faults};

/// Builds the participants of a counter session in the coordinator's own program, and counts their lives.
pub struct DirectCounters {
    composition: CounterComposition,
    faults: Rc<Faults>,
    lives: RefCell<BTreeMap<Id, u32>>,
}

impl DirectCounters {
    /// For a composition; `faults` are those of its plan, shared with its task.
    #[must_use]
    pub fn new(composition: CounterComposition, faults: Rc<Faults>) -> Rc<Self> {
        Rc::new(Self {
            composition,
            faults,
            lives: RefCell::default(),
        })
    }

    fn make(
        &self,
        worker: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let life = {
            let mut lives = self.lives.borrow_mut();
            let life = lives.entry(worker.clone()).or_insert(0);
            *life += 1;
            *life
        };
        let faults = self.faults.clone();
        let runtime = self
            .composition
            .participant(worker, incarnation_id.clone(), life, faults)?;
        Ok(Direct::new(runtime))
    }
}

impl From<CounterError> for ParticipantError {
    fn from(error: CounterError) -> Self {
        Self::refused(ErrorCode::InvalidArgument, error.to_string())
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for DirectCounters {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.make(&id(WORLD), incarnation_id)
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.make(agent_id, incarnation_id)
    }
}
