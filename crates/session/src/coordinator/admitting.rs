//! Stimuli from outside the task: accepted for the next step, applied once, or aborted with their epoch.

use wellwritten_envelope::Id;

use crate::coordinator::seeking::SEEK;
use crate::stimulus_rules::MAX_PER_STEP;
use crate::{Admission, AdmissionEvent, Admitted, Coordinator, Phase, SessionError, SessionEvent};

impl Coordinator {
    /// Admissions of one agent that may wait at a time: what one step can apply.
    pub const MAX_ADMISSIONS: usize = MAX_PER_STEP;

    /// Accepts a stimulus for an agent, to be applied before the ticks of the next step that begins; a step that runs
    /// is not touched. `duration_ms` is finite and above zero.
    ///
    /// Refused as busy while a seek runs, which puts in what was recorded and nothing else.
    ///
    /// What waits is part of a checkpoint, and a restore puts back exactly what waited then. Where the epoch ends first,
    /// the admission is aborted. [`SessionEvent::Admission`] tells every station.
    pub fn admit(
        &self,
        agent_id: &Id,
        kind_id: &Id,
        duration_ms: f64,
    ) -> Result<Admitted, SessionError> {
        let accepted = self.accept(agent_id, kind_id, duration_ms);
        self.tell(match &accepted {
            Ok(admitted) => AdmissionEvent::Accepted {
                admitted: admitted.clone(),
            },
            Err(error) => AdmissionEvent::Rejected {
                agent_id: agent_id.clone(),
                kind_id: kind_id.clone(),
                reason: error.to_string(),
            },
        });
        accepted
    }

    /// Admissions that wait for a step, in the order in which they will be applied.
    #[must_use]
    pub fn admissions(&self) -> Vec<Admission> {
        self.state.borrow().admissions.waiting().to_vec()
    }

    fn accept(
        &self,
        agent_id: &Id,
        kind_id: &Id,
        duration_ms: f64,
    ) -> Result<Admitted, SessionError> {
        if self.running() == Some(SEEK) {
            return Err(SessionError::Busy {
                operation: "admitting a stimulus",
                running: SEEK,
            });
        }
        let Some(earliest_step) = self.next_cut() else {
            return Err(self.refuse_phase("admitting a stimulus"));
        };
        let mut state = self.state.borrow_mut();
        if let Some(terminal) = &state.terminal {
            let reason = terminal.reason.clone();
            return Err(SessionError::EpisodeOver { reason });
        }
        let slot = state
            .agents
            .iter()
            .find(|slot| slot.link.participant_id == *agent_id);
        let slot = slot.ok_or_else(|| SessionError::UnknownParticipant {
            participant: agent_id.clone(),
        })?;
        if !slot
            .link
            .profile()
            .graph
            .supported_stimuli
            .contains(kind_id)
        {
            return Err(SessionError::UnsupportedStimulus {
                agent: agent_id.clone(),
                kind: kind_id.clone(),
            });
        }
        if !(crate::plain_number::is_plain(duration_ms) && duration_ms > 0.0) {
            return Err(SessionError::StimulusDuration { duration_ms });
        }
        let waiting = state.admissions.waiting_for(agent_id);
        if waiting >= Self::MAX_ADMISSIONS {
            return Err(SessionError::AdmissionsFull {
                agent: agent_id.clone(),
                waiting,
                limit: Self::MAX_ADMISSIONS,
            });
        }
        let epoch = state.epoch.clone();
        let admission = Admission {
            admission_id: Id::parse(&format!("adm-{epoch}-{}", state.admitted))
                .expect("the length of an epoch's name leaves room for a number"),
            agent_id: agent_id.clone(),
            kind_id: kind_id.clone(),
            duration_ms,
        };
        state.admitted += 1;
        state.admissions.push(admission.clone());
        Ok(Admitted {
            admission,
            epoch,
            earliest_step,
        })
    }

    /// The boundary of the next step whose cut is not frozen; none where no step follows.
    fn next_cut(&self) -> Option<u64> {
        match self.phase() {
            Phase::Ready { boundary }
            | Phase::Paused { boundary }
            | Phase::Capturing { boundary }
            | Phase::Observing { boundary } => Some(boundary),
            Phase::Preparing { boundary }
            | Phase::Applying { boundary }
            | Phase::Committing { boundary } => Some(boundary.saturating_add(1)),
            Phase::Starting | Phase::Failed | Phase::Restoring { .. } | Phase::Resetting { .. } => {
                None
            }
        }
    }

    pub(crate) fn tell(&self, admission: AdmissionEvent) {
        self.emit(SessionEvent::Admission { admission });
    }

    pub(crate) fn tell_aborted(&self, aborted: Vec<Admission>) {
        for Admission { admission_id, .. } in aborted {
            self.tell(AdmissionEvent::Aborted { admission_id });
        }
    }
}
