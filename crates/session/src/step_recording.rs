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

#[cfg(test)]
mod tests {
    use wellwritten_envelope::{RationalNs, Scope, U64};

    use super::*;
    use crate::AgentBehaviour;

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    fn behaviour(epoch: &str, step: u64, salt: u64) -> Behaviour {
        let digest = Digest::blake3(&salt.to_le_bytes());
        Behaviour {
            scope: Scope {
                session_id: id("demo"),
                epoch: id(epoch),
                step: U64(step),
            },
            agents: vec![AgentBehaviour {
                agent_id: id("fly-a"),
                profile_digest: Digest::blake3(b"profile"),
                ticks_advanced: U64(16),
                brain_ticks: U64(16 * step),
                remainder: RationalNs::ZERO,
                decision_digest: digest,
                committed_step: U64(step + 1),
                telemetry_digest: None,
                outcome_digest: None,
                pre_step_digest: None,
                state_digest: Some(digest),
            }],
            batch_id: id(&format!("batch-{epoch}-{step}")),
            control_digest: Digest::blake3(b"controls"),
            acknowledged_boundary: U64(step + 1),
            observation_boundaries: Vec::new(),
            inspection_digest: None,
            world_state_digest: None,
            audio: Vec::new(),
            outcome_ids: Vec::new(),
            event_ids: Vec::new(),
            episode_request: None,
            published_boundary: None,
        }
    }

    fn input(name: &str) -> Admission {
        Admission {
            admission_id: id(name),
            agent_id: id("fly-a"),
            kind_id: id("spark"),
            duration_ms: 1.0,
        }
    }

    /// Notes a step of some epoch, with so many inputs.
    fn note(
        recording: &mut StepRecording,
        epoch: &str,
        step: u64,
        salt: u64,
        inputs: usize,
    ) -> Noted {
        let behaviour = behaviour(epoch, step, salt);
        let inputs = (0..inputs).map(|it| input(&format!("adm-{step}-{it}")));
        let recorded = RecordedStep::new(inputs.collect(), &behaviour, &[]);
        recording.note(step, recorded, |recorded| {
            recorded.differing(&behaviour, &[])
        })
    }

    #[test]
    fn the_epoch_and_who_published_leave_no_mark_and_every_value_does() {
        let recorded = RecordedStep::new(Vec::new(), &behaviour("e1", 7, 1), &[]);
        let mut again = behaviour("e2", 7, 1);
        again.published_boundary = Some(U64(8));
        assert!(recorded.differing(&again, &[]).is_empty());
        let other = recorded.differing(&behaviour("e1", 7, 2), &[]);
        assert_eq!(
            other,
            ["agents[fly-a].decisionDigest", "agents[fly-a].stateDigest"]
        );
        again.agents.clear();
        let fewer = recorded.differing(&again, &[]);
        assert_eq!(fewer, ["the number of fields: 8, recorded were 18"]);
    }

    #[test]
    fn steps_and_inputs_are_bounded_and_the_oldest_are_forgotten() {
        let mut recording = StepRecording::default();
        recording.begin(0);
        recording.remember(&id("at-0"), &id("e1"), 0);
        let last = MAX_RECORDED_STEPS as u64 + 99;
        for step in 0..=last {
            note(&mut recording, "e1", step, 1, 0);
        }
        assert_eq!(recording.span(), (100, last + 1));
        assert!(recording.step(99).is_none() && recording.step(100).is_some());
        assert!(!recording.leads(0, 200) && recording.leads(0, 0));
        // 64 inputs a step: as many steps as there is room for inputs.
        let room = MAX_RECORDED_INPUTS as u64 / 64;
        for step in 0..2 * room {
            note(&mut recording, "e1", last + 1 + step, 1, 64);
        }
        let (start, end) = recording.span();
        assert_eq!(end - start, room);
        assert_eq!(recording.inputs, MAX_RECORDED_INPUTS);
    }

    #[test]
    fn checkpoints_are_bounded_and_a_name_counts_as_it_was_last_taken() {
        let mut recording = StepRecording::default();
        for boundary in 0..MAX_CHECKPOINTS as u64 + 10 {
            recording.remember(&id(&format!("c-{boundary}")), &id("e1"), boundary);
        }
        assert_eq!(recording.checkpoints().len(), MAX_CHECKPOINTS);
        recording.remember(&id("c-500"), &id("e2"), 501);
        assert!(!recording.knows(&id("c-500"), &id("e1"), 500));
        assert!(recording.knows(&id("c-500"), &id("e2"), 501));
        assert_eq!(recording.checkpoints().len(), MAX_CHECKPOINTS);
    }

    #[test]
    fn a_gap_ends_the_stretch_and_other_inputs_are_a_branch() {
        let mut recording = StepRecording::default();
        recording.begin(0);
        for step in 0..6 {
            assert_eq!(note(&mut recording, "e1", step, 1, 1), Noted::New);
            recording.remember(&id(&format!("c-{}", step + 1)), &id("e1"), step + 1);
        }
        assert_eq!(note(&mut recording, "e2", 2, 1, 1), Noted::Repeated);
        assert_eq!(recording.span(), (0, 6));
        let branched = note(&mut recording, "e2", 3, 1, 2);
        assert_eq!(branched, Noted::Branched { fields: Vec::new() });
        assert_eq!((recording.span(), recording.inputs), ((0, 4), 5));
        assert_eq!(recording.checkpoints().last().unwrap().boundary, 3);
        // A checkpoint far ahead, of which only the store knows that it is of this timeline.
        recording.remember(&id("far"), &id("e1"), 20);
        recording.go_on_from(&id("far"), &id("e1"), 20);
        assert_eq!(recording.span(), (0, 4));
        assert_eq!(note(&mut recording, "e3", 20, 1, 0), Noted::New);
        assert_eq!(recording.span(), (20, 21));
        assert_eq!(recording.checkpoints().len(), 4);
        // And one of another timeline.
        recording.go_on_from(&id("stray"), &id("e9"), 8);
        assert_eq!(
            (recording.span(), recording.checkpoints().len()),
            ((8, 8), 1)
        );
    }
}
