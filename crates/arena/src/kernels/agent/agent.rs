//! `agent`: a fly's network of 1,024 leaky integrate-and-fire neurons over one interval.
//!
//! Bindings: synapses, input, readout weights, membrane, eligibility, readout. One workgroup of 256
//! invocations owns four neurons each and meets at a barrier after every tick of 1 ms. A tick
//! *gathers* over a neuron's incoming synapses: no atomics, no order, one result. Neurons come in
//! sixteen populations of 64; an input current is per population.
//!
//! The synapses are rows of a sparse matrix: `NEURONS + 1` row starts, then one word a synapse, the
//! signed weight in its high half and the source neuron in its low half.

use super::{
    BindingDeclaration, KernelConstant, KernelDeclaration, SharedDeclaration, StorageAccess,
};

/// Neurons of the network.
pub const NEURONS: u32 = 1_024;
/// Neurons of one population.
pub const POPULATION_NEURONS: u32 = 64;
/// Populations of the network.
pub const POPULATIONS: u32 = NEURONS / POPULATION_NEURONS;
/// Outputs read from the network: walk, feed, turn left, turn right.
pub const OUTPUTS: u32 = 4;
/// Most ticks of one launch; more asked for are not run.
pub const MAX_TICKS: u32 = 256;
/// Most synapses the kernel follows.
pub const SYNAPSE_LIMIT: u32 = 32_768;
/// First synapse word, after the row starts.
pub const SYNAPSE_FIRST: u32 = NEURONS + 1;

/// Offset of the ticks to run.
pub const INPUT_TICKS: u32 = 0;
/// Offset of the number of the first tick (low 32 bits), which keys the noise.
pub const INPUT_FIRST_TICK: u32 = 1;
/// Offset of the noise seed.
pub const INPUT_SEED: u32 = 2;
/// Offset of the learning switch: 0 leaves the eligibility as it is.
pub const INPUT_LEARNING: u32 = 3;
/// Offset of the population that a stimulus excites.
pub const INPUT_STIMULATED: u32 = 4;
/// Offset of the current the stimulus adds there.
pub const INPUT_STIMULUS: u32 = 5;
/// Offset of the currents, one signed word a population.
pub const INPUT_CURRENTS: u32 = 8;
/// Words of the input buffer.
pub const INPUT_WORDS: u32 = INPUT_CURRENTS + POPULATIONS;

/// Words of the membrane buffer: potentials, then who fired in the last tick.
pub const MEMBRANE_WORDS: u32 = 2 * NEURONS;
/// Words of the readout weights and of their eligibility: a row of populations for each output.
pub const WEIGHT_WORDS: u32 = OUTPUTS * POPULATIONS;
/// A readout weight of one.
pub const WEIGHT_ONE: i32 = 256;

/// Offset of the spikes of each population.
pub const READOUT_COUNTS: u32 = 0;
/// Offset of the drive of each output, in 1/256 spike.
pub const READOUT_DRIVES: u32 = POPULATIONS;
/// Offset of the ticks that were run.
pub const READOUT_TICKS: u32 = READOUT_DRIVES + OUTPUTS;
/// Offset of the number of the tick after the last (low 32 bits).
pub const READOUT_LAST_TICK: u32 = READOUT_TICKS + 1;
/// First of the words that are always zero.
pub const READOUT_SPARE: u32 = READOUT_LAST_TICK + 1;
/// Words of the readout buffer.
pub const READOUT_WORDS: u32 = 32;

/// Potential at which a neuron fires.
pub const THRESHOLD: i32 = 4_096;
const RESET: i32 = -1_024;
const POTENTIAL_LIMIT: i32 = 1 << 16;
/// A neuron loses 1/16 of its potential a tick.
const LEAK_BITS: u32 = 4;
/// The noise current is uniform in `-NOISE_MASK/2 ..= NOISE_MASK/2 + 1`.
const NOISE_MASK: u32 = 511;
const SOURCE_MASK: u32 = NEURONS - 1;
const WEIGHT_SHIFT: u32 = 16;
/// A trace loses 1/16 an interval.
const ELIGIBILITY_BITS: u32 = 4;
const ACTIVITY_SHIFT: u32 = 8;
const ACTIVITY_LIMIT: i32 = 255;

const LANES: u32 = 256;

/// The kernel as the device and the tests see it.
pub const DECLARATION: KernelDeclaration = KernelDeclaration {
    name: "agent",
    body: include_str!("agent.wgsl"),
    constants: &[
        KernelConstant::Unsigned("NEURONS", NEURONS),
        KernelConstant::Unsigned("POPULATION_NEURONS", POPULATION_NEURONS),
        KernelConstant::Unsigned("POPULATIONS", POPULATIONS),
        KernelConstant::Unsigned("OUTPUTS", OUTPUTS),
        KernelConstant::Unsigned("LANES", LANES),
        KernelConstant::Unsigned("MAX_TICKS", MAX_TICKS),
        KernelConstant::Unsigned("SYNAPSE_LIMIT", SYNAPSE_LIMIT),
        KernelConstant::Unsigned("SYNAPSE_FIRST", SYNAPSE_FIRST),
        KernelConstant::Unsigned("INPUT_TICKS", INPUT_TICKS),
        KernelConstant::Unsigned("INPUT_FIRST_TICK", INPUT_FIRST_TICK),
        KernelConstant::Unsigned("INPUT_SEED", INPUT_SEED),
        KernelConstant::Unsigned("INPUT_LEARNING", INPUT_LEARNING),
        KernelConstant::Unsigned("INPUT_STIMULATED", INPUT_STIMULATED),
        KernelConstant::Unsigned("INPUT_STIMULUS", INPUT_STIMULUS),
        KernelConstant::Unsigned("INPUT_CURRENTS", INPUT_CURRENTS),
        KernelConstant::Unsigned("READOUT_COUNTS", READOUT_COUNTS),
        KernelConstant::Unsigned("READOUT_DRIVES", READOUT_DRIVES),
        KernelConstant::Unsigned("READOUT_TICKS", READOUT_TICKS),
        KernelConstant::Unsigned("READOUT_LAST_TICK", READOUT_LAST_TICK),
        KernelConstant::Unsigned("READOUT_SPARE", READOUT_SPARE),
        KernelConstant::Unsigned("READOUT_WORDS", READOUT_WORDS),
        KernelConstant::Signed("THRESHOLD", THRESHOLD),
        KernelConstant::Signed("RESET", RESET),
        KernelConstant::Signed("POTENTIAL_LIMIT", POTENTIAL_LIMIT),
        KernelConstant::Unsigned("LEAK_BITS", LEAK_BITS),
        KernelConstant::Unsigned("NOISE_MASK", NOISE_MASK),
        KernelConstant::Unsigned("SOURCE_MASK", SOURCE_MASK),
        KernelConstant::Unsigned("WEIGHT_SHIFT", WEIGHT_SHIFT),
        KernelConstant::Unsigned("ELIGIBILITY_BITS", ELIGIBILITY_BITS),
        KernelConstant::Unsigned("ACTIVITY_SHIFT", ACTIVITY_SHIFT),
        KernelConstant::Signed("ACTIVITY_LIMIT", ACTIVITY_LIMIT),
    ],
    workgroup: [LANES, 1, 1],
    workgroups: [1, 1, 1],
    bindings: &[
        BindingDeclaration {
            name: "synapses",
            access: StorageAccess::Read,
            words: None,
        },
        BindingDeclaration {
            name: "input",
            access: StorageAccess::Read,
            words: Some(INPUT_WORDS),
        },
        BindingDeclaration {
            name: "weights",
            access: StorageAccess::Read,
            words: Some(WEIGHT_WORDS),
        },
        BindingDeclaration {
            name: "membrane",
            access: StorageAccess::ReadWrite,
            words: Some(MEMBRANE_WORDS),
        },
        BindingDeclaration {
            name: "eligibility",
            access: StorageAccess::ReadWrite,
            words: Some(WEIGHT_WORDS),
        },
        BindingDeclaration {
            name: "readout",
            access: StorageAccess::Write,
            words: Some(READOUT_WORDS),
        },
    ],
    shared: &[
        SharedDeclaration {
            name: "fired",
            words: 2 * NEURONS,
        },
        SharedDeclaration {
            name: "counts",
            words: NEURONS,
        },
        SharedDeclaration {
            name: "population_counts",
            words: POPULATIONS,
        },
        SharedDeclaration {
            name: "drives",
            words: OUTPUTS,
        },
    ],
};

/// A uniform number below 2^32 for any word: a bijection that spreads every bit.
#[must_use]
pub fn scrambled(value: u32) -> u32 {
    let mut bits = value;
    bits ^= bits >> 16;
    bits = bits.wrapping_mul(0x7feb_352d);
    bits ^= bits >> 15;
    bits = bits.wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

/// The words a launch reads.
#[derive(Clone, Copy, Debug)]
pub struct AgentInputs<'a> {
    /// Row starts and packed synapses; every row ends within the words there are.
    pub synapses: &'a [u32],
    /// `INPUT_WORDS` words.
    pub input: &'a [u32],
    /// `WEIGHT_WORDS` words.
    pub weights: &'a [u32],
}

/// The words a launch writes.
#[derive(Debug)]
pub struct AgentOutputs<'a> {
    /// `MEMBRANE_WORDS` words, read and written.
    pub membrane: &'a mut [u32],
    /// `WEIGHT_WORDS` words, read and written.
    pub eligibility: &'a mut [u32],
    /// `READOUT_WORDS` words, written.
    pub readout: &'a mut [u32],
}

/// Runs the network for the interval that `inputs.input` names. The caller checks the lengths.
pub fn run(inputs: AgentInputs<'_>, outputs: &mut AgentOutputs<'_>) {
    let word = |offset: u32| inputs.input[offset as usize];
    let neurons = NEURONS as usize;
    let ticks = word(INPUT_TICKS).min(MAX_TICKS);
    let (rows, packed) = inputs.synapses.split_at(SYNAPSE_FIRST as usize);
    let (potentials, last_fired) = outputs.membrane.split_at_mut(neurons);
    let mut before: Vec<u32> = last_fired.to_vec();
    let mut after = vec![0; neurons];
    let mut counts = vec![0_u32; neurons];
    for tick in 0..ticks {
        let number = word(INPUT_FIRST_TICK).wrapping_add(tick);
        let noise_key = scrambled(word(INPUT_SEED) ^ number.wrapping_mul(0x9e37_79b9));
        for (index, neuron) in (0..NEURONS).zip(0..neurons) {
            let mut current = word(INPUT_CURRENTS + index / POPULATION_NEURONS).cast_signed();
            if index / POPULATION_NEURONS == word(INPUT_STIMULATED) {
                current = current.wrapping_add(word(INPUT_STIMULUS).cast_signed());
            }
            let noise = (scrambled(noise_key.wrapping_add(index)) & NOISE_MASK).cast_signed();
            current = current.wrapping_add(noise - (NOISE_MASK >> 1).cast_signed());
            let end = rows[neuron + 1].min(SYNAPSE_LIMIT) as usize;
            let start = (rows[neuron] as usize).min(end);
            for synapse in &packed[start..end] {
                if before[(synapse & SOURCE_MASK) as usize] != 0 {
                    current = current.wrapping_add(synapse.cast_signed() >> WEIGHT_SHIFT);
                }
            }
            let old = potentials[neuron].cast_signed();
            let potential = old
                .wrapping_sub(old >> LEAK_BITS)
                .wrapping_add(current)
                .clamp(-POTENTIAL_LIMIT, POTENTIAL_LIMIT);
            let spike = potential >= THRESHOLD;
            potentials[neuron] = if spike { RESET } else { potential }.cast_unsigned();
            after[neuron] = u32::from(spike);
            counts[neuron] += u32::from(spike);
        }
        std::mem::swap(&mut before, &mut after);
    }
    last_fired.copy_from_slice(&before);
    read_out(inputs, ticks, &counts, outputs);
}

/// The end of the launch: population counts, drives, eligibility, readout.
fn read_out(inputs: AgentInputs<'_>, ticks: u32, counts: &[u32], outputs: &mut AgentOutputs<'_>) {
    let sums: Vec<u32> = counts
        .chunks_exact(POPULATION_NEURONS as usize)
        .map(|population| population.iter().sum())
        .collect();
    let drives: Vec<i32> = inputs
        .weights
        .chunks_exact(POPULATIONS as usize)
        .map(|row| {
            row.iter().zip(&sums).fold(0_i32, |drive, (weight, sum)| {
                drive.wrapping_add(weight.cast_signed().wrapping_mul(sum.cast_signed()))
            })
        })
        .collect();
    if inputs.input[INPUT_LEARNING as usize] != 0 {
        for (row, drive) in outputs
            .eligibility
            .chunks_exact_mut(POPULATIONS as usize)
            .zip(&drives)
        {
            let activity = (drive >> ACTIVITY_SHIFT).clamp(0, ACTIVITY_LIMIT);
            for (trace, sum) in row.iter_mut().zip(&sums) {
                let old = trace.cast_signed();
                let decayed = old.wrapping_sub(old >> ELIGIBILITY_BITS);
                *trace = decayed
                    .wrapping_add(sum.cast_signed().wrapping_mul(activity))
                    .cast_unsigned();
            }
        }
    }
    let readout = &mut *outputs.readout;
    readout.fill(0);
    readout[..READOUT_DRIVES as usize].copy_from_slice(&sums);
    for (word, drive) in readout[READOUT_DRIVES as usize..].iter_mut().zip(&drives) {
        *word = drive.cast_unsigned();
    }
    readout[READOUT_TICKS as usize] = ticks;
    readout[READOUT_LAST_TICK as usize] =
        inputs.input[INPUT_FIRST_TICK as usize].wrapping_add(ticks);
}
