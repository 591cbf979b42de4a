//! What a run learns late: outcomes of submissions, culprits, and the loss of the device.

use super::{Run, Sabotage, Told, same};
use wellwritten_memory::{EnterError, Failure, FailureKind, HandleError, SubmissionId, UnitId};

impl Run<'_> {
    pub(super) fn settle(&mut self) -> Told<()> {
        let submissions: Vec<u64> = self.open.keys().copied().collect();
        if submissions.is_empty() {
            return Ok(());
        }
        let submission = submissions[self.choices.below(submissions.len())];
        if submission == self.next_submission {
            self.next_submission += 1;
        }
        self.open.remove(&submission);
        let root = format!("submission {submission} failed");
        let fails = self.choices.once_in(2);
        let lies = fails && self.lies(Sabotage::FailedAsSettled);
        let outcome = if fails && !lies {
            Err(Failure::new(FailureKind::Validation, root.clone()))
        } else {
            Ok(())
        };
        self.memory.settle(SubmissionId(submission), outcome);
        let again = self.memory.settle(SubmissionId(submission), Ok(()));
        same!(again, false, "settled again");
        let failure = fails.then_some(root.as_str());
        self.model.settle(submission, failure);
        self.compared.settlements += 1;
        Ok(())
    }

    pub(super) fn blame(&mut self) {
        let units: Vec<(UnitId, usize)> = self.open.values().flatten().copied().collect();
        if units.is_empty() {
            return;
        }
        let (unit, operation) = units[self.choices.below(units.len())];
        let root = format!("culprit {}", self.number);
        let failure = Failure::new(FailureKind::Shader, root.clone());
        self.memory.fail_unit(unit, failure);
        self.model.blame(operation, &root);
    }

    pub(super) fn lose(&mut self) -> Told<()> {
        let root = format!("lost {}", self.number);
        let failure = Failure::new(FailureKind::DeviceLost, root.clone());
        self.memory.lose(failure);
        self.memory.storage_mut().clear();
        let lost = self.model.lose(&root);
        self.open.clear();
        self.doom_windows();
        self.next_submission += 1;
        self.fail_flights(lost, |_| true);
        for (id, handle) in &self.handles {
            if self.model.buffers[id].lost {
                let refused = self.memory.enter("after", &[], &[handle.binding()]);
                let named = matches!(refused, Err(EnterError::Handle(HandleError::Lost { .. })));
                same!(named, true, "lost {id}: {refused:?}");
            }
        }
        Ok(())
    }
}
