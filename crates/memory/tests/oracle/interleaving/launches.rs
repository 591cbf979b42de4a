//! What a run launches: a unit of work over random bindings, and how it ends.

use super::byte_model::{Bytes, Fate};
use super::{Run, Sabotage, Told, same};
use std::collections::BTreeSet;
use wellwritten_memory::{
    BufferBinding, EnterError, Entry, Failure, FailureId, FailureKind, SubmissionId, UnitId,
};

impl Run<'_> {
    pub(super) fn launch(&mut self) -> Told<()> {
        let (mut reads, read_bytes) = self.bindings(2)?;
        let (mut writes, write_bytes) = self.bindings(3)?;
        let reasons = self.model.reasons_to_skip(&read_bytes, &write_bytes);
        let skips = !reasons.is_empty();
        if !read_bytes.is_empty() && skips && self.lies(Sabotage::ForgottenRead) {
            reads.clear();
        }
        if let Some(last) = writes.last_mut().filter(|last| last.size_bytes() > 1) {
            let short = last.slice(0, last.size_bytes() - 1);
            if !skips && self.lies(Sabotage::ShortWriteSet) {
                *last = short.map_err(|error| error.to_string())?;
            }
        }
        let work = format!("op {}", self.number % 7);
        let stream = self.some_stream();
        let shut_out = self.is_shut_out(stream);
        let entry = self.memory.enter_on(stream, &work, &reads, &writes);
        if shut_out {
            let named = matches!(entry, Err(EnterError::WindowOpen { .. }));
            same!(named, true, "a neighbour of a window: {entry:?}");
            return Ok(());
        }
        let unit = match entry.map_err(|error| error.to_string())? {
            Entry::Skipped { failure } => {
                same!(true, skips, "skipped");
                if let Some(window) = self.recording(stream) {
                    window.is_doomed = true;
                }
                return self.skipped(&work, failure, &reasons, &write_bytes);
            }
            Entry::Entered(unit) => unit,
        };
        same!(false, skips, "entered");
        let value = (self.number % 200) as u8 + 1;
        for binding in writes.iter().filter(|binding| binding.size_bytes() > 0) {
            self.scribble(binding, value)?;
        }
        let operation = self
            .model
            .launch(&work, Fate::Pending, &read_bytes, &write_bytes);
        self.model.fill(&write_bytes, value);
        if let Some(window) = self.recording(stream) {
            window.entered.push(operation);
        }
        if self.end(unit, operation, &writes) {
            self.record(stream, &read_bytes, &write_bytes);
        }
        Ok(())
    }

    fn skipped(
        &mut self,
        work: &str,
        failure: FailureId,
        reasons: &BTreeSet<String>,
        writes: &[Bytes],
    ) -> Told<()> {
        self.compared.skips += 1;
        let root = self.memory.graph().error(failure);
        // The failure is gone again where the work writes the very bytes that carried it nowhere.
        if let Some(root) = root.map(|failure| failure.message.clone()) {
            same!(reasons.contains(&root), true, "root {root}");
            self.model.launch(work, Fate::Skipped(root), &[], writes);
        }
        Ok(())
    }

    /// Whether it ended well, as far as is known.
    fn end(&mut self, unit: UnitId, operation: usize, writes: &[BufferBinding]) -> bool {
        let tears = self.choices.once_in(3);
        let choice = self.choices.below(if self.plan.late { 20 } else { 10 });
        match choice {
            0..=2 => {
                let root = format!("op {} failed", self.number);
                let fate = Fate::Failed(root.clone());
                self.model.finish(operation, fate, None);
                let failure = Failure::new(FailureKind::HostKernel, root);
                if self.lies(Sabotage::FailedAsClean) {
                    self.memory.finish_clean(unit);
                } else {
                    self.memory.finish_failed(unit, failure.clone());
                }
                if self.lies(Sabotage::FailedTwice) {
                    self.fail_again(writes, &failure);
                }
                false
            }
            3 if tears => {
                let root = "the work entered its write scope and never told how it ended";
                self.model.tear(operation, root);
                false
            }
            3..=9 => {
                self.memory.finish_clean(unit);
                self.model.finish(operation, Fate::Pending, None);
                true
            }
            _ => {
                let current = self.next_submission;
                self.memory.finish_pending(unit, SubmissionId(current));
                self.model.finish(operation, Fate::Pending, Some(current));
                let units = self.open.entry(current).or_default();
                units.push((unit, operation));
                if self.choices.once_in(2) {
                    self.next_submission += 1;
                }
                true
            }
        }
    }

    /// The bytes once more in four pieces, each under a failure that only its identity tells apart.
    fn fail_again(&mut self, writes: &[BufferBinding], failure: &Failure) {
        for binding in writes {
            let size = binding.size_bytes();
            for piece in 0..4 {
                let quarter = binding.slice(size * piece / 4, size * (piece + 1) / 4);
                let quarter = Vec::from_iter(quarter);
                if let Ok(Entry::Entered(unit)) = self.memory.enter("again", &[], &quarter) {
                    self.memory.finish_failed(unit, failure.clone());
                }
            }
        }
    }
}
