// A leaky integrate-and-fire network over a whole interval: one workgroup, which owns every neuron
// and meets at a barrier after each tick.
// Mirror: agent.rs. Constants come from there.

@group(0) @binding(0) var<storage, read> synapses: array<u32>;
@group(0) @binding(1) var<storage, read> input: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read_write> membrane: array<u32>;
@group(0) @binding(4) var<storage, read_write> eligibility: array<u32>;
@group(0) @binding(5) var<storage, read_write> readout: array<u32>;

// Who fired in the last tick and who fires in this one, by the parity of the tick.
var<workgroup> fired: array<u32, 2 * NEURONS>;
// Spikes of each neuron over the interval.
var<workgroup> counts: array<u32, NEURONS>;
// Spikes of each population, then the drive of each output.
var<workgroup> population_counts: array<i32, POPULATIONS>;
var<workgroup> drives: array<i32, OUTPUTS>;

// A uniform number below 2^32 for a neuron and a tick (the finalizer of lowbias32).
fn scrambled(value: u32) -> u32 {
    var bits = value;
    bits ^= bits >> 16u;
    bits *= 0x7feb352du;
    bits ^= bits >> 15u;
    bits *= 0x846ca68bu;
    bits ^= bits >> 16u;
    return bits;
}

@compute @workgroup_size(WORKGROUP_X, WORKGROUP_Y)
fn main(@builtin(local_invocation_index) lane: u32) {
    let ticks = min(input[INPUT_TICKS], MAX_TICKS);
    let first_tick = input[INPUT_FIRST_TICK];
    let seed = input[INPUT_SEED];

    for (var neuron = lane; neuron < NEURONS; neuron += LANES) {
        fired[neuron] = membrane[NEURONS + neuron];
        counts[neuron] = 0u;
    }
    workgroupBarrier();

    for (var tick = 0u; tick < ticks; tick++) {
        let before = (tick & 1u) * NEURONS;
        let after = NEURONS - before;
        let noise_key = scrambled(seed ^ ((first_tick + tick) * 0x9e3779b9u));
        for (var neuron = lane; neuron < NEURONS; neuron += LANES) {
            var current = bitcast<i32>(input[INPUT_CURRENTS + neuron / POPULATION_NEURONS]);
            if (neuron / POPULATION_NEURONS == input[INPUT_STIMULATED]) {
                current += bitcast<i32>(input[INPUT_STIMULUS]);
            }
            current += i32(scrambled(noise_key + neuron) & NOISE_MASK) - i32(NOISE_MASK >> 1u);
            let end = min(synapses[neuron + 1u], SYNAPSE_LIMIT);
            for (var synapse = synapses[neuron]; synapse < end; synapse++) {
                let packed = synapses[SYNAPSE_FIRST + synapse];
                if (fired[before + (packed & SOURCE_MASK)] != 0u) {
                    current += bitcast<i32>(packed) >> WEIGHT_SHIFT;
                }
            }
            var potential = bitcast<i32>(membrane[neuron]);
            potential = clamp(potential - (potential >> LEAK_BITS) + current, -POTENTIAL_LIMIT, POTENTIAL_LIMIT);
            var spike = 0u;
            if (potential >= THRESHOLD) {
                potential = RESET;
                spike = 1u;
            }
            membrane[neuron] = bitcast<u32>(potential);
            fired[after + neuron] = spike;
            counts[neuron] += spike;
        }
        workgroupBarrier();
    }

    let last = (ticks & 1u) * NEURONS;
    for (var neuron = lane; neuron < NEURONS; neuron += LANES) {
        membrane[NEURONS + neuron] = fired[last + neuron];
    }
    if (lane < POPULATIONS) {
        var sum = 0u;
        for (var member = 0u; member < POPULATION_NEURONS; member++) {
            sum += counts[lane * POPULATION_NEURONS + member];
        }
        population_counts[lane] = i32(sum);
        readout[READOUT_COUNTS + lane] = sum;
    }
    workgroupBarrier();

    if (lane < OUTPUTS) {
        var drive = 0;
        for (var population = 0u; population < POPULATIONS; population++) {
            drive += bitcast<i32>(weights[lane * POPULATIONS + population]) * population_counts[population];
        }
        drives[lane] = drive;
        readout[READOUT_DRIVES + lane] = bitcast<u32>(drive);
    }
    workgroupBarrier();

    if (lane < OUTPUTS * POPULATIONS && input[INPUT_LEARNING] != 0u) {
        let activity = clamp(drives[lane / POPULATIONS] >> ACTIVITY_SHIFT, 0, ACTIVITY_LIMIT);
        let trace = bitcast<i32>(eligibility[lane]);
        let decayed = trace - (trace >> ELIGIBILITY_BITS);
        eligibility[lane] = bitcast<u32>(decayed + population_counts[lane % POPULATIONS] * activity);
    }
    if (lane == 0u) {
        readout[READOUT_TICKS] = ticks;
        readout[READOUT_LAST_TICK] = first_tick + ticks;
    }
    if (lane < READOUT_WORDS - READOUT_SPARE) {
        readout[READOUT_SPARE + lane] = 0u;
    }
}
