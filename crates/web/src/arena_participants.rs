//! The arena's participants, in process.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_arena::Arena;
use wellwritten_envelope::Id;
use wellwritten_session::{Direct, ErrorCode, ParticipantError, ParticipantFactory, Transport};

/// Makes the arena's participants behind in-memory routes.
pub struct ArenaParticipants {
    session_id: Id,
    arena: Arena,
}

impl ArenaParticipants {
    /// Participants of session `session_id`.
    pub fn new(session_id: Id, arena: Arena) -> Self {
        Self { session_id, arena }
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for ArenaParticipants {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let world = Box::new(self.arena.world());
        Ok(Direct::environment(
            self.session_id.clone(),
            incarnation_id.clone(),
            world,
        ))
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let fly = self.arena.fly(agent_id).ok_or_else(|| {
            ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                format!("the arena has no agent {agent_id}"),
            )
        })?;
        Ok(Direct::agent(
            self.session_id.clone(),
            incarnation_id.clone(),
            Box::new(fly),
        ))
    }
}
