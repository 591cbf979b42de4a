//! A fly's innate wiring, drawn from its seed.
//!
//! A table says which population excites or inhibits which, as a newborn fly knows it: towards the
//! stronger smell, towards seen food, away from a neighbour, stop and feed at food. Which neurons
//! meet, and how strongly within a fifth of the table's weight, is drawn; so is a web of weak
//! synapses through the populations in between, which makes every seed another character.

use crate::draw::Draw;
use crate::kernels::agent::{
    NEURONS, POPULATION_NEURONS, POPULATIONS, SYNAPSE_FIRST, WEIGHT_ONE, WEIGHT_WORDS,
};
use crate::population::{BETWEEN_POPULATIONS, MOTORS, Population};

/// Every neuron of `to` gets `count` synapses from `from`, of about `weight` each.
struct Pathway {
    from: Population,
    to: Population,
    count: u32,
    weight: i32,
}

const fn pathway(from: Population, to: Population, count: u32, weight: i32) -> Pathway {
    Pathway {
        from,
        to,
        count,
        weight,
    }
}

const PATHWAYS: [Pathway; 18] = [
    pathway(Population::OdourLeft, Population::TurnLeft, 8, 900),
    pathway(Population::OdourRight, Population::TurnRight, 8, 900),
    pathway(Population::OdourLeft, Population::TurnRight, 6, -800),
    pathway(Population::OdourRight, Population::TurnLeft, 6, -800),
    pathway(Population::FoodLeft, Population::TurnLeft, 8, 900),
    pathway(Population::FoodRight, Population::TurnRight, 8, 900),
    pathway(Population::FoodLeft, Population::TurnRight, 6, -800),
    pathway(Population::FoodRight, Population::TurnLeft, 6, -800),
    pathway(Population::FlyLeft, Population::TurnRight, 6, 700),
    pathway(Population::FlyRight, Population::TurnLeft, 6, 700),
    pathway(Population::TurnLeft, Population::TurnRight, 4, -500),
    pathway(Population::TurnRight, Population::TurnLeft, 4, -160),
    pathway(Population::Urge, Population::TurnLeft, 6, 800),
    pathway(Population::Urge, Population::TurnRight, 6, 800),
    pathway(Population::Urge, Population::Walk, 8, 1_300),
    pathway(Population::Taste, Population::Walk, 4, -600),
    pathway(Population::Taste, Population::Feed, 8, 1_000),
    pathway(Population::Urge, Population::Between, 6, 800),
];

/// Weak synapses of every neuron in between, from anywhere.
const WEB_SYNAPSES: u32 = 6;
/// Weak synapses of every motor neuron, from the populations in between.
const MOTOR_WEB_SYNAPSES: u32 = 3;
/// Largest weight of the weak synapses, either sign.
const WEB_WEIGHT: i32 = 400;

/// The synapses of the fly with `seed`, as the kernel reads them: `NEURONS + 1` row starts, then
/// the packed synapses.
#[must_use]
pub fn synapses(seed: u32) -> Vec<u32> {
    let mut draw = Draw::new(seed ^ 0x5359_4e41);
    let mut starts = Vec::with_capacity(SYNAPSE_FIRST as usize);
    let mut packed: Vec<u32> = Vec::new();
    let mut length = 0_u32;
    for neuron in 0..NEURONS {
        starts.push(length);
        let population = neuron / POPULATION_NEURONS;
        for pathway in PATHWAYS
            .iter()
            .filter(|pathway| pathway.to.index() == population)
        {
            for _ in 0..pathway.count {
                let source =
                    pathway.from.index() * POPULATION_NEURONS + draw.below(POPULATION_NEURONS);
                packed.push(synapse(source, around(&mut draw, pathway.weight)));
                length += 1;
            }
        }
        let between = Population::Between.index();
        if (between..between + BETWEEN_POPULATIONS).contains(&population) {
            for _ in 0..WEB_SYNAPSES {
                let source = draw.below(NEURONS);
                packed.push(synapse(source, either_sign(&mut draw)));
                length += 1;
            }
        } else if population >= between + BETWEEN_POPULATIONS {
            for _ in 0..MOTOR_WEB_SYNAPSES {
                let within = draw.below(BETWEEN_POPULATIONS * POPULATION_NEURONS);
                packed.push(synapse(
                    between * POPULATION_NEURONS + within,
                    either_sign(&mut draw),
                ));
                length += 1;
            }
        }
    }
    starts.push(length);
    starts.extend(packed);
    starts
}

/// The readout weights a fly is born with: each output listens to its own motor.
#[must_use]
pub fn readout_weights() -> Vec<i32> {
    let mut weights = vec![0; WEIGHT_WORDS as usize];
    for (row, motor) in weights.chunks_exact_mut(POPULATIONS as usize).zip(MOTORS) {
        row[motor.index() as usize] = WEIGHT_ONE;
    }
    weights
}

fn synapse(source: u32, weight: i32) -> u32 {
    (weight.cast_unsigned() << 16) | source
}

/// `weight`, up to a fifth more or less.
fn around(draw: &mut Draw, weight: i32) -> i32 {
    weight + weight * ((draw.word() >> 16).cast_signed() % 401 - 200) / 1000
}

fn either_sign(draw: &mut Draw) -> i32 {
    (draw.word() >> 16).cast_signed() % (2 * WEB_WEIGHT + 1) - WEB_WEIGHT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::agent::SYNAPSE_LIMIT;

    #[test]
    fn rows_are_sound_and_a_seed_decides_them() {
        for seed in [0, 1, 7, u32::MAX] {
            let words = synapses(seed);
            let (starts, packed) = words.split_at(SYNAPSE_FIRST as usize);
            assert!(starts.is_sorted());
            assert_eq!(starts[0], 0);
            assert_eq!(starts[NEURONS as usize] as usize, packed.len());
            assert!(packed.len() < SYNAPSE_LIMIT as usize);
            assert!(packed.iter().all(|synapse| synapse & 0xffff < NEURONS));
            assert_eq!(words, synapses(seed));
        }
        assert_ne!(synapses(1), synapses(2));
    }

    #[test]
    fn a_weight_survives_its_packing() {
        for weight in [0, 1, -1, 32_767, -32_768] {
            let packed = synapse(1_023, weight);
            assert_eq!(
                (packed & 0xffff, packed.cast_signed() >> 16),
                (1_023, weight)
            );
        }
    }
}
