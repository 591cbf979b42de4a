//! A fly's buffers and the few numbers beside them.

use serde::{Deserialize, Serialize};
use wellwritten_device::{BufferBinding, GuardedBuffer, GuardedDevice, ReadError};
use wellwritten_envelope::{Id, U64};
use wellwritten_session::{
    BoxedFuture, ErrorCode, ParticipantError, TickClock, TypedValue, join_all,
};

use crate::fault_board::KernelName;
use crate::guarded_words::{device_failed, read, reserve, reserve_with, write};
use crate::kernels::agent::{
    INPUT_CURRENTS, INPUT_WORDS, MEMBRANE_WORDS, OUTPUTS, POPULATIONS, READOUT_COUNTS,
    READOUT_DRIVES, READOUT_WORDS, WEIGHT_WORDS,
};
use crate::launcher::Launcher;
use crate::population::Population;

/// What a fly holds beside its buffers; part of its captured state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FlyScalars {
    /// Whole ticks out of intervals.
    pub(crate) clock: TickClock,
    /// Ticks since it was built, warm-up included.
    pub(crate) brain_ticks: U64,
    /// Right minus left turn drive of one tick at rest.
    pub(crate) turn_bias: i32,
    /// Reinforcements applied.
    pub(crate) updates: U64,
    /// Of these, those that moved a weight.
    pub(crate) changed: U64,
    /// The last reinforcement, as the bits of its double: JSON would have to round-trip it exactly.
    pub(crate) signal_bits: U64,
    /// Ticks the stimulus still lasts.
    pub(crate) stimulus_ticks: u32,
    /// The context the next decision is decoded with.
    pub(crate) context: TypedValue,
}

/// What one launch of the network gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Ticks that were run.
    pub(crate) ticks: u32,
    /// Spikes of each population.
    pub(crate) counts: [u32; POPULATIONS as usize],
    /// Drive of each output, in 1/256 spike.
    pub(crate) drives: [i32; OUTPUTS as usize],
}

/// Words of the captured buffers: input, weights, membrane, eligibility, readout.
pub(crate) const CAPTURED_WORDS: [u32; 5] = [
    INPUT_WORDS,
    WEIGHT_WORDS,
    MEMBRANE_WORDS,
    WEIGHT_WORDS,
    READOUT_WORDS,
];

/// The buffers of one fly, labelled `<agent-id>/<name>`.
pub(crate) struct FlyBuffers {
    pub(crate) synapses: GuardedBuffer,
    input: GuardedBuffer,
    weights: GuardedBuffer,
    membrane: GuardedBuffer,
    eligibility: GuardedBuffer,
    readout: GuardedBuffer,
}

impl FlyBuffers {
    /// Reserves the buffers and writes `synapses` and the captured words, in the order of
    /// [`CAPTURED_WORDS`].
    pub(crate) fn new(
        device: &GuardedDevice,
        agent_id: &Id,
        synapses: &[u32],
        captured: &[Vec<u32>; 5],
    ) -> Result<Self, ParticipantError> {
        let label = |name: &str| format!("{agent_id}/{name}");
        let [input, weights, membrane, eligibility, readout] = captured;
        Ok(Self {
            synapses: reserve_with(device, synapses, &label("synapses"))?,
            input: reserve_with(device, input, &label("input"))?,
            weights: reserve_with(device, weights, &label("weights"))?,
            membrane: reserve_with(device, membrane, &label("membrane"))?,
            eligibility: reserve_with(device, eligibility, &label("eligibility"))?,
            readout: reserve_with(device, readout, &label("readout"))?,
        })
    }

    /// Reserves the buffers of a newborn fly: everything but synapses and weights is zero.
    pub(crate) fn newborn(
        device: &GuardedDevice,
        agent_id: &Id,
        synapses: &[u32],
        weights: &[i32],
    ) -> Result<Self, ParticipantError> {
        let label = |name: &str| format!("{agent_id}/{name}");
        let weights: Vec<u32> = weights
            .iter()
            .map(|weight| weight.cast_unsigned())
            .collect();
        Ok(Self {
            synapses: reserve_with(device, synapses, &label("synapses"))?,
            input: reserve(device, INPUT_WORDS as usize, &label("input"))?,
            weights: reserve_with(device, &weights, &label("weights"))?,
            membrane: reserve(device, MEMBRANE_WORDS as usize, &label("membrane"))?,
            eligibility: reserve(device, WEIGHT_WORDS as usize, &label("eligibility"))?,
            readout: reserve(device, READOUT_WORDS as usize, &label("readout"))?,
        })
    }

    /// The captured buffers, in the order of [`CAPTURED_WORDS`].
    fn captured(&self) -> [&GuardedBuffer; 5] {
        [
            &self.input,
            &self.weights,
            &self.membrane,
            &self.eligibility,
            &self.readout,
        ]
    }

    /// Every buffer in the order of the kernel's bindings, which is also what to verify.
    pub(crate) fn bindings(&self) -> [BufferBinding; 6] {
        [
            &self.synapses,
            &self.input,
            &self.weights,
            &self.membrane,
            &self.eligibility,
            &self.readout,
        ]
        .map(GuardedBuffer::binding)
    }

    /// Reads the captured buffers through the guard; the synapses, which are drawn anew from the
    /// seed, must read cleanly too.
    pub(crate) async fn read_captured(
        &self,
        device: &GuardedDevice,
    ) -> Result<Vec<Vec<u32>>, ReadError> {
        device.verify(&[self.synapses.binding()]).await?;
        let reads = self
            .captured()
            .map(|buffer| Box::pin(read(device, buffer)) as BoxedFuture<'_, _>);
        join_all(reads).await.into_iter().collect()
    }

    /// Reads weights and eligibility through the guard.
    pub(crate) async fn read_plastic(
        &self,
        device: &GuardedDevice,
    ) -> Result<(Vec<i32>, Vec<i32>), ReadError> {
        let signed = |words: Vec<u32>| words.into_iter().map(u32::cast_signed).collect();
        let (weights, eligibility) =
            futures::join!(read(device, &self.weights), read(device, &self.eligibility));
        Ok((signed(weights?), signed(eligibility?)))
    }

    /// Writes the readout weights.
    pub(crate) fn write_weights(
        &self,
        device: &GuardedDevice,
        weights: &[i32],
    ) -> Result<(), ParticipantError> {
        let words: Vec<u32> = weights
            .iter()
            .map(|weight| weight.cast_unsigned())
            .collect();
        write(device, &self.weights.binding(), &words)
    }

    /// Writes the input currents and leaves the words before them.
    pub(crate) fn write_currents(
        &self,
        device: &GuardedDevice,
        currents: [i32; POPULATIONS as usize],
    ) -> Result<(), ParticipantError> {
        let words = currents.map(i32::cast_unsigned);
        write(
            device,
            &slice(&self.input, INPUT_CURRENTS, INPUT_WORDS)?,
            &words,
        )
    }

    /// Writes what a launch is told beside the currents.
    pub(crate) fn write_interval(
        &self,
        device: &GuardedDevice,
        interval: Interval,
    ) -> Result<(), ParticipantError> {
        let words = [
            interval.ticks,
            interval.first_tick,
            interval.seed,
            u32::from(interval.learning),
            Population::Urge.index(),
            interval.stimulus.cast_unsigned(),
            0,
            0,
        ];
        write(device, &slice(&self.input, 0, INPUT_CURRENTS)?, &words)
    }

    /// Launches the network: one launch for the whole interval. Does not wait.
    pub(crate) fn launch(&self, launcher: &Launcher) -> Result<(), ParticipantError> {
        launcher
            .launch(KernelName::Agent, &self.bindings())
            .map_err(|error| device_failed(&error, "the network could not be launched"))
    }

    /// Reads what the last launch gave, through the guard.
    pub(crate) async fn read_activity(
        &self,
        device: &GuardedDevice,
        ticks: u32,
    ) -> Result<Activity, ReadError> {
        let words = read(device, &self.readout).await?;
        let word = |offset: u32| words[offset as usize];
        let mut activity = Activity {
            ticks,
            counts: [0; POPULATIONS as usize],
            drives: [0; OUTPUTS as usize],
        };
        for (count, offset) in activity.counts.iter_mut().zip(READOUT_COUNTS..) {
            *count = word(offset);
        }
        for (drive, offset) in activity.drives.iter_mut().zip(READOUT_DRIVES..) {
            *drive = word(offset).cast_signed();
        }
        Ok(activity)
    }
}

/// What a launch is told beside the currents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Ticks to run.
    pub(crate) ticks: u32,
    /// Number of the first tick, low 32 bits.
    pub(crate) first_tick: u32,
    /// Seed of the noise.
    pub(crate) seed: u32,
    /// Whether the eligibility follows.
    pub(crate) learning: bool,
    /// Current that a stimulus adds to the urge.
    pub(crate) stimulus: i32,
}

fn slice(buffer: &GuardedBuffer, from: u32, to: u32) -> Result<BufferBinding, ParticipantError> {
    buffer
        .slice(4 * u64::from(from), 4 * u64::from(to))
        .map_err(|error| ParticipantError::uncertain(ErrorCode::Internal, error.to_string()))
}
