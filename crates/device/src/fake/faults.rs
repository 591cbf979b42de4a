//! What is to go wrong.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wellwritten_memory::{Failure, FailureKind};

/// Which of the errors of a submission its error scope delivers. WebGPU promises one of them, not which one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorChoice {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// This one, counted from 0; the last where there are fewer.
    Nth(usize),
}

impl ErrorChoice {
    pub(super) fn of(self, mut errors: Vec<Failure>) -> Result<(), Failure> {
        let Some(last) = errors.len().checked_sub(1) else {
            return Ok(());
        };
        Err(errors.swap_remove(match self {
            Self::First => 0,
            Self::Last => last,
            Self::Nth(index) => index.min(last),
        }))
    }
}

/// What is to go wrong, on whatever generation of the device it comes up.
#[derive(Default)]
pub(super) struct Faults {
    /// Buffers ever created, on all generations.
    created: u64,
    /// Creations, counted from 1, that turn out to have had no memory.
    failing_creations: BTreeSet<u64>,
    /// What the browser says of the shaders of these kernels.
    pub(super) broken_shaders: BTreeMap<String, Failure>,
    /// Labels of kernels whose next dispatch is invalid, without anyone having known.
    invalid_dispatches: BTreeSet<String>,
    /// What the next submissions fail with.
    failing_submissions: VecDeque<Failure>,
    failing_reads: u32,
    /// Say "clean" of this many dropped submissions.
    lies: u32,
    pub(super) lies_told: u32,
    /// Connections to refuse.
    refusals: u32,
    /// After a loss, copies succeed too.
    pub(super) copies_survive: bool,
    pub(super) error_choice: ErrorChoice,
}

impl Faults {
    pub(super) fn fail_creation_after(&mut self, skipped: u64) {
        self.failing_creations.insert(self.created + skipped + 1);
    }

    pub(super) fn next_creation_fails(&self) -> bool {
        self.failing_creations.contains(&(self.created + 1))
    }

    /// Counts a creation; its number, and whether it works.
    pub(super) fn create(&mut self) -> (u64, bool) {
        self.created += 1;
        let works = !self.failing_creations.remove(&self.created);
        (self.created, works)
    }

    pub(super) fn fail_dispatch(&mut self, label: &str) {
        self.invalid_dispatches.insert(label.to_owned());
    }

    /// The error of the next dispatch of that kernel, if it is invalid.
    pub(super) fn take_dispatch(&mut self, label: &str) -> Option<Failure> {
        let is_invalid = self.invalid_dispatches.remove(label);
        is_invalid.then(|| Failure {
            kind: FailureKind::Validation,
            message: format!("the dispatch of {label} is invalid"),
        })
    }

    pub(super) fn fail_submission(&mut self, failure: Failure) {
        self.failing_submissions.push_back(failure);
    }

    pub(super) fn take_submission(&mut self) -> Option<Failure> {
        self.failing_submissions.pop_front()
    }

    pub(super) fn fail_read(&mut self) {
        self.failing_reads += 1;
    }

    pub(super) fn take_read(&mut self) -> bool {
        take(&mut self.failing_reads)
    }

    pub(super) fn lie(&mut self, times: u32) {
        self.lies += times;
    }

    /// Whether to say "clean" of a submission that was dropped.
    pub(super) fn take_lie(&mut self) -> bool {
        let is_lie = take(&mut self.lies);
        self.lies_told += u32::from(is_lie);
        is_lie
    }

    pub(super) fn refuse_connections(&mut self, times: u32) {
        self.refusals += times;
    }

    /// How many refusals are left after this one, if it is one.
    pub(super) fn take_refusal(&mut self) -> Option<u32> {
        take(&mut self.refusals).then_some(self.refusals)
    }
}

fn take(count: &mut u32) -> bool {
    let any = *count > 0;
    *count -= u32::from(any);
    any
}
