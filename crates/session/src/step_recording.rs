//! [`StepRecording`]: what went into the transitions of a run and what came of them, so that they can be repeated.

use std::collections::VecDeque;

use serde::Serialize;
use wellwritten_envelope::{Digest, Id, sort_few_by};

use crate::behaviour_fields::each_field;
use crate::{Admission, Behaviour, TaskEvent};

/// Transitions a recording keeps at most; older ones are forgotten.
pub const MAX_RECORDED_STEPS: usize = 65_536;
/// Stimuli from outside that the transitions of a recording keep at most, all together.
pub const MAX_RECORDED_INPUTS: usize = 65_536;
/// Checkpoints a recording remembers at most.
const MAX_CHECKPOINTS: usize = 1024;

/// One transition: what it was given from outside, and what it did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedStep {
    /// The stimuli that were applied, in their order.
    pub inputs: Vec<Admission>,
    /// Of the whole behaviour, as it is under no epoch in particular.
    digest: Digest,
    /// The beginning of each field's digest: enough to say which differ, once the whole does.
    fields: Box<[u32]>,
}

impl RecordedStep {
    /// `events` are those of the transition, whose names stand in `behaviour`.
    pub(crate) fn new(inputs: Vec<Admission>, behaviour: &Behaviour, events: &[TaskEvent]) -> Self {
        let (mut fields, mut all) = (Vec::new(), Vec::new());
        each_field(behaviour, events, &mut |_, digest| {
            fields.push(beginning_of(&digest));
            all.extend_from_slice(digest.as_bytes());
        });
        Self {
            inputs,
            digest: Digest::blake3(&all),
            fields: fields.into_boxed_slice(),
        }
    }

    /// The fields in which a transition that was meant to be this one differs from it; none where it is the same.
    pub(crate) fn differing(&self, behaviour: &Behaviour, events: &[TaskEvent]) -> Vec<String> {
        let again = Self::new(Vec::new(), behaviour, events);
        if again.digest == self.digest {
            return Vec::new();
        }
        let (mut differing, mut recorded) = (Vec::new(), self.fields.iter());
        each_field(behaviour, events, &mut |name, digest| {
            if recorded.next() != Some(&beginning_of(&digest)) {
                differing.push(name.to_string());
            }
        });
        if again.fields.len() != self.fields.len() || differing.is_empty() {
            let (found, was) = (again.fields.len(), self.fields.len());
            differing.push(format!(
                "the number of fields: {found}, recorded were {was}"
            ));
        }
        differing
    }

    /// A recording that was tampered with, for a test that must notice.
    #[cfg(feature = "testing")]
    pub(crate) fn tamper(&mut self) {
        self.digest = Digest::blake3(self.digest.as_bytes());
        if let Some(field) = self.fields.first_mut() {
            *field ^= 1;
        }
    }
}

fn beginning_of(digest: &Digest) -> u32 {
    let [first, second, third, fourth, ..] = *digest.as_bytes();
    u32::from_le_bytes([first, second, third, fourth])
}

/// A checkpoint of the recorded timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct RecordedCheckpoint {
    /// The checkpoint.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub checkpoint_id: Id,
    /// The epoch it was captured in.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub epoch: Id,
    /// The boundary it holds.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub boundary: u64,
}

/// How a transition stands to what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It is the first of its boundary.
    New,
    /// It did what was recorded, on the same inputs.
    Repeated,
    /// It is another one: what was recorded from there on is no part of the timeline any more.
    Branched {
        /// The fields that differ; none where only the inputs do.
        fields: Vec<String>,
    },
}

/// One timeline as far as it is known: a stretch of transitions, and checkpoints within it, before it and behind it.
///
/// It outlives restores: going back to a checkpoint of it forgets nothing, and stepping on as recorded neither. Stepping on in
/// another way begins a branch, and what was recorded behind it is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepRecording {
    /// The boundary of the first transition kept.
    start: u64,
    steps: VecDeque<RecordedStep>,
    /// Inputs of all of them.
    inputs: usize,
    /// By boundary, then in the order in which they were remembered.
    checkpoints: Vec<RecordedCheckpoint>,
}

impl StepRecording {
    /// Another timeline begins at `boundary`.
    pub(crate) fn begin(&mut self, boundary: u64) {
        *self = Self {
            start: boundary,
            ..Self::default()
        };
    }

    /// The boundaries between which every transition is recorded.
    pub(crate) fn span(&self) -> (u64, u64) {
        (self.start, self.start + self.steps.len() as u64)
    }

    pub(crate) fn checkpoints(&self) -> &[RecordedCheckpoint] {
        &self.checkpoints
    }

    /// The transition that began at `boundary`.
    pub(crate) fn step(&self, boundary: u64) -> Option<&RecordedStep> {
        self.steps.get(self.index(boundary)?)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn step_mut(&mut self, boundary: u64) -> Option<&mut RecordedStep> {
        let index = self.index(boundary)?;
        self.steps.get_mut(index)
    }

    fn index(&self, boundary: u64) -> Option<usize> {
        usize::try_from(boundary.checked_sub(self.start)?).ok()
    }

    /// Whether everything is known that leads from one boundary of the timeline to another.
    pub(crate) fn leads(&self, from: u64, to: u64) -> bool {
        let (start, end) = self.span();
        from == to || (start <= from && from <= to && to <= end)
    }

    /// A transition was committed that began at `boundary`.
    pub(crate) fn note(
        &mut self,
        boundary: u64,
        step: RecordedStep,
        differing: impl FnOnce(&RecordedStep) -> Vec<String>,
    ) -> Noted {
        let noted = match self.step(boundary) {
            Some(recorded) if recorded.inputs == step.inputs && recorded.digest == step.digest => {
                return Noted::Repeated;
            }
            Some(recorded) => Noted::Branched {
                fields: differing(recorded),
            },
            None => Noted::New,
        };
        // What is known of boundaries behind this one was led to by another transition, or by none that is known.
        self.checkpoints.retain(|it| it.boundary <= boundary);
        match self.index(boundary) {
            Some(length) if length <= self.steps.len() => {
                let dropped = self.steps.drain(length..);
                self.inputs -= dropped.map(|step| step.inputs.len()).sum::<usize>();
            }
            // There is a gap to what is recorded, so that nothing leads from there to here.
            _ => {
                self.steps.clear();
                self.inputs = 0;
                self.start = boundary;
            }
        }
        self.inputs += step.inputs.len();
        self.steps.push_back(step);
        while self.steps.len() > MAX_RECORDED_STEPS || self.inputs > MAX_RECORDED_INPUTS {
            let Some(oldest) = self.steps.pop_front() else {
                break;
            };
            self.inputs -= oldest.inputs.len();
            self.start += 1;
        }
        noted
    }

    /// A checkpoint is of this timeline: it was captured at the present boundary, or the store says so. Of a name that
    /// was captured before, and did not come to be saved, the last counts.
    pub(crate) fn remember(&mut self, checkpoint_id: &Id, epoch: &Id, boundary: u64) {
        let checkpoint = RecordedCheckpoint {
            checkpoint_id: checkpoint_id.clone(),
            epoch: epoch.clone(),
            boundary,
        };
        self.checkpoints
            .retain(|it| it.checkpoint_id != *checkpoint_id);
        if self.checkpoints.len() == MAX_CHECKPOINTS {
            self.checkpoints.remove(0);
        }
        self.checkpoints.push(checkpoint);
        sort_few_by(&mut self.checkpoints, |left, right| {
            left.boundary.cmp(&right.boundary)
        });
    }

    pub(crate) fn knows(&self, checkpoint_id: &Id, epoch: &Id, boundary: u64) -> bool {
        let mut known = self.checkpoints.iter();
        known.any(|it| {
            (&it.checkpoint_id, &it.epoch, it.boundary) == (checkpoint_id, epoch, boundary)
        })
    }

    /// The session goes on from a checkpoint. Where that is none of this timeline, another begins.
    pub(crate) fn go_on_from(&mut self, checkpoint_id: &Id, epoch: &Id, boundary: u64) {
        if !self.knows(checkpoint_id, epoch, boundary) {
            self.begin(boundary);
            self.remember(checkpoint_id, epoch, boundary);
        }
    }
}
