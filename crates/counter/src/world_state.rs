//! [`WorldState`]: what a world is made of, and how it is captured.

use serde::{Deserialize, Serialize};
use wellwritten_envelope::{canonical_json, digest_json, from_json, parse_strict_json};
use wellwritten_session::{
    AudioDescriptor, Digest, Id, RationalNs, SampleBudget, SampleBudgetError, StagedWorld,
    TypedValue, U64,
};

use crate::StateError;
use crate::names::{ARENA, id, inspection_schema};

/// What a world is, and never changes.
#[derive(Clone, Debug)]
pub(crate) struct WorldShape {
    pub ports: usize,
    pub view_delay_steps: u8,
    pub sample_rate: u32,
}

/// The counter at a boundary whose frame is still to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Frame {
    pub counter: i64,
    pub step: U64,
}

/// Everything a world's future depends on. Its canonical JSON is what is captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WorldState {
    pub counter: i64,
    #[serde(deserialize_with = "Option::deserialize")]
    pub episode: Option<Id>,
    /// Oldest first; the last is of `step`.
    pub frames: Vec<Frame>,
    pub sound: SampleBudget,
    pub step: U64,
    pub time: RationalNs,
}

/// 60 Hz.
pub(crate) fn step_duration() -> RationalNs {
    RationalNs::new(50_000_000, 3).expect("a reduced fraction")
}

impl WorldState {
    /// The furthest a counter goes from zero: a JSON number says no more.
    pub(crate) const MAX_COUNTER: i64 = (1 << 53) - 1;

    pub(crate) fn new(shape: &WorldShape) -> Result<Self, SampleBudgetError> {
        Ok(Self {
            counter: 0,
            episode: None,
            frames: vec![Frame {
                counter: 0,
                step: U64(0),
            }],
            sound: SampleBudget::new(shape.sample_rate)?,
            step: U64(0),
            time: RationalNs::ZERO,
        })
    }

    pub(crate) fn inspection(&self) -> TypedValue {
        #[derive(Serialize)]
        struct Inspection {
            counter: i64,
            step: u64,
        }
        let inspection = Inspection {
            counter: self.counter,
            step: self.step.0,
        };
        TypedValue::from_serialize(inspection_schema(), &inspection).expect("two integers")
    }

    pub(crate) fn capture(&self) -> Vec<u8> {
        canonical_json(self).expect("a state has integers and text only")
    }

    pub(crate) fn digest(&self) -> Digest {
        digest_json(self).expect("a state has integers and text only")
    }

    /// Reads a captured state and holds everything in it against everything else.
    pub(crate) fn read(bytes: &[u8], shape: &WorldShape) -> Result<Self, StateError> {
        let state: Self = from_json(parse_strict_json(bytes)?)?;
        let step = state.step.0;
        let first = step.saturating_sub(u64::from(shape.view_delay_steps));
        let kept = state.frames.iter().map(|frame| frame.step.0);
        if !kept.clone().eq(first..=step) {
            return Err(StateError::Frames {
                found: kept.collect(),
                first,
                last: step,
            });
        }
        let shown = state
            .frames
            .last()
            .map_or(state.counter, |frame| frame.counter);
        if shown != state.counter {
            return Err(StateError::LastFrame {
                shown,
                counter: state.counter,
            });
        }
        let due = step_duration().checked_mul_u64(step)?;
        if state.time != due {
            return Err(StateError::Time {
                step,
                found: state.time,
                due,
            });
        }
        state.check_sound(shape)?;
        if state.episode.is_none() {
            return Err(StateError::NoEpisode);
        }
        if state.capture() != bytes {
            return Err(StateError::NotCanonical);
        }
        Ok(state)
    }

    /// Whole sample frames in the time that passed, and what is left over of it.
    fn check_sound(&self, shape: &WorldShape) -> Result<(), StateError> {
        let sample = SampleBudget::new(shape.sample_rate)?;
        let frame_duration = RationalNs::new(1_000_000_000, u64::from(sample.sample_rate()))?;
        let (next_sample, remainder) = self.time.div_floor(frame_duration)?;
        let found = (
            self.sound.sample_rate(),
            self.sound.next_sample(),
            self.sound.remainder(),
        );
        if found == (shape.sample_rate, next_sample, remainder) {
            return Ok(());
        }
        Err(StateError::Sound {
            step: self.step.0,
            found: self.sound.next_sample(),
            due: next_sample,
        })
    }

    /// What a coordinator compares with the rest of the checkpoint.
    pub(crate) fn staged(&self) -> Option<StagedWorld> {
        Some(StagedWorld {
            boundary: self.step,
            world_time: self.time,
            episode_id: self.episode.clone()?,
            inspection_digest: self.inspection().digest(),
            audio: vec![wellwritten_session::AudioPosition {
                stream_id: id(ARENA),
                next_sample: U64(self.sound.next_sample()),
            }],
        })
    }
}

/// The samples of a chunk: whole 128ths, so that no rounding tells two machines apart.
pub(crate) fn samples(counter: i64, first_sample: u64, sample_frames: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sample_frames as usize * 8);
    let tone = counter.cast_unsigned().wrapping_mul(37);
    for frame in 0..u64::from(sample_frames) {
        for channel in 0..2_u64 {
            let phase = first_sample
                .wrapping_add(frame)
                .wrapping_add(tone)
                .wrapping_add(channel * 128);
            let level = i16::from(phase.to_le_bytes()[0]) - 128;
            bytes.extend((f32::from(level) / 128.0).to_le_bytes());
        }
    }
    bytes
}

/// The one stream of sound.
pub(crate) fn stream(shape: &WorldShape) -> AudioDescriptor {
    AudioDescriptor {
        stream_id: id(ARENA),
        sample_rate: shape.sample_rate,
        channels: 2,
        format: wellwritten_session::AudioFormat::F32leInterleaved,
    }
}
