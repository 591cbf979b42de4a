//! One participant built anew while the session is fenced.

use wellwritten_envelope::Id;

use crate::{Coordinator, Phase, Role, SessionError, Status};

impl Coordinator {
    /// Builds one participant anew under a new incarnation, so that a group restore can follow: it is who it was, and
    /// no longer marked as holding half a restore. Whoever else is so marked stays so.
    ///
    /// Only while the epoch has failed; the old incarnation is cut off for good. Where the new one cannot be built or
    /// does not fit, nothing has changed.
    pub async fn replace_participant(&self, participant: &Id) -> Result<Status, SessionError> {
        let guard = self.begin("replacing a participant")?;
        if self.phase() != Phase::Failed {
            return Err(self.refuse_phase("replacing a participant"));
        }
        let mut links = self.links();
        let found = links
            .iter()
            .position(|link| link.participant_id == *participant);
        let index = found.ok_or_else(|| SessionError::UnknownParticipant {
            participant: participant.clone(),
        })?;
        let role = if index == 0 {
            Role::Environment
        } else {
            Role::Agent
        };
        let fresh = self.connect(participant, role).await?;
        let old = std::mem::replace(&mut links[index], fresh.clone());
        self.check_descriptions(&links)
            .inspect_err(|_| fresh.transport.close())?;
        old.transport.close();
        let mut state = self.state.borrow_mut();
        match index.checked_sub(1) {
            None => state.environment = fresh,
            Some(agent) => state.agents[agent].link = fresh,
        }
        state.tainted.remove(participant);
        drop(state);
        drop(guard);
        Ok(self.status())
    }
}
