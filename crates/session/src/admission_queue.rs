//! [`AdmissionQueue`]: admissions between their acceptance and the boundary that holds them.

use wellwritten_envelope::Id;

use crate::{Admission, Stimulus};

/// Admissions in the order in which they were accepted: some wait, some are in the cut of the running step.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdmissionQueue {
    waiting: Vec<Admission>,
    cut: Vec<Admission>,
}

impl AdmissionQueue {
    /// How many wait for an agent.
    pub(crate) fn waiting_for(&self, agent_id: &Id) -> usize {
        let waiting = self.waiting.iter();
        waiting.filter(|one| one.agent_id == *agent_id).count()
    }

    pub(crate) fn push(&mut self, admission: Admission) {
        self.waiting.push(admission);
    }

    /// Everything that waits becomes the cut of the step that begins; what comes later waits for the next.
    pub(crate) fn freeze(&mut self) {
        self.cut.append(&mut self.waiting);
    }

    /// An agent's part of the cut.
    pub(crate) fn cut_of(&self, agent_id: &Id) -> Vec<Stimulus> {
        let cut = self.cut.iter().filter(|one| one.agent_id == *agent_id);
        cut.map(Admission::stimulus).collect()
    }

    /// The step was committed: its cut was applied.
    pub(crate) fn take_applied(&mut self) -> Vec<Admission> {
        std::mem::take(&mut self.cut)
    }

    /// The epoch ended: nothing of it will be applied.
    pub(crate) fn take_all(&mut self) -> Vec<Admission> {
        let mut all = std::mem::take(&mut self.cut);
        all.append(&mut self.waiting);
        all
    }

    /// What waits. At a committed boundary that is all there is.
    pub(crate) fn waiting(&self) -> &[Admission] {
        &self.waiting
    }
}
