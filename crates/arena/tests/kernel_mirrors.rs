//! Oracles: slow models of the kernels, built another way. The field is computed cell by cell in 128-bit
//! integers over explicit offsets; the network scatters each spike over a dense matrix instead of
//! gathering; the view must move with the world when everything in it is moved around the torus.

use wellwritten_arena::draw::Draw;
use wellwritten_arena::geometry::{CELLS, HEIGHT, POSITION_BITS, WIDTH, cosine, sine};
use wellwritten_arena::kernels::agent::{self, AgentInputs, AgentOutputs};
use wellwritten_arena::kernels::{field, view};
use wellwritten_arena::wiring;

const SEEDS: [u32; 3] = [1, 2, 0xdead_beef];

fn index(x: i64, y: i64) -> usize {
    usize::try_from(
        y.rem_euclid(i64::from(HEIGHT)) * i64::from(WIDTH) + x.rem_euclid(i64::from(WIDTH)),
    )
    .unwrap()
}

fn field_model(source: &[u32], food: &[u32]) -> Vec<u32> {
    let mut taps = vec![(0, 0, 16_u128)];
    for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
        taps.push((x, y, 2));
    }
    for (x, y) in [(3, 4), (4, 3)] {
        taps.extend([(x, y, 1), (-x, y, 1), (x, -y, 1), (-x, -y, 1)]);
    }
    let wrapped = |value: u128| value & u128::from(u32::MAX);
    let mut next = vec![0; CELLS as usize];
    for y in 0..i64::from(HEIGHT) {
        for x in 0..i64::from(WIDTH) {
            let sum: u128 = taps
                .iter()
                .map(|(dx, dy, weight)| u128::from(source[index(x + dx, y + dy)]) * weight)
                .sum();
            let mixed = wrapped(sum) / 32;
            let mut value = mixed - mixed / 64 - mixed.min(1);
            for slot in food[..24].chunks(4) {
                let dx = (x - i64::from(slot[0]))
                    .rem_euclid(256)
                    .min((i64::from(slot[0]) - x).rem_euclid(256));
                let dy = (y - i64::from(slot[1]))
                    .rem_euclid(192)
                    .min((i64::from(slot[1]) - y).rem_euclid(192));
                if slot[3] == 0 && dx * dx + dy * dy <= 9 {
                    value += u128::from(slot[2]);
                }
            }
            next[index(x, y)] =
                u32::try_from(wrapped(value).min(u128::from(field::FIELD_MAX))).unwrap();
        }
    }
    next
}

fn fields(draw: &mut Draw) -> Vec<Vec<u32>> {
    let cells = CELLS as usize;
    let mut corner = vec![0; cells];
    corner[0] = field::FIELD_MAX;
    vec![
        vec![0; cells],
        vec![1; cells],
        vec![field::FIELD_MAX; cells],
        vec![u32::MAX; cells],
        corner,
        (0..cells).map(|_| draw.word()).collect(),
        (0..cells).map(|_| draw.below(field::FIELD_MAX)).collect(),
    ]
}

fn food(draw: &mut Draw) -> Vec<Vec<u32>> {
    let words = field::FOOD_BUFFER_WORDS as usize;
    let mut absent = vec![0; words];
    absent.chunks_mut(4).for_each(|slot| slot[3] = 1);
    let mut edges = vec![0; words];
    for (slot, (x, y)) in
        edges
            .chunks_mut(4)
            .zip([(0, 0), (255, 191), (0, 191), (255, 0), (128, 96), (129, 96)])
    {
        slot.copy_from_slice(&[x, y, u32::MAX / 2, 0]);
    }
    let mut random = vec![0; words];
    for slot in random.chunks_mut(4).take(6) {
        slot.copy_from_slice(&[
            draw.below(WIDTH),
            draw.below(HEIGHT),
            draw.below(1 << 22),
            draw.below(2),
        ]);
    }
    vec![absent, edges, random]
}

#[test]
fn the_field_is_the_model_everywhere() {
    let mut compared = 0;
    for seed in SEEDS.into_iter().take(1) {
        let mut draw = Draw::new(seed);
        for source in fields(&mut draw) {
            for food in food(&mut draw) {
                let mut next = vec![0xdead; source.len()];
                field::step(&source, &food, &mut next);
                assert!(
                    next == field_model(&source, &food),
                    "seed {seed}, source {:?}..",
                    &source[..3]
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 21);
}

/// Canary: the comparison notices one unit in one cell.
#[test]
fn the_field_comparison_notices() {
    let source = vec![1000; CELLS as usize];
    let food = food(&mut Draw::new(1)).remove(0);
    let mut wrong = field_model(&source, &food);
    wrong[CELLS as usize - 1] += 1;
    let mut next = vec![0; source.len()];
    field::step(&source, &food, &mut next);
    assert_ne!(next, wrong);
}

struct Network {
    synapses: Vec<u32>,
    input: Vec<u32>,
    weights: Vec<u32>,
    membrane: Vec<u32>,
    eligibility: Vec<u32>,
    readout: Vec<u32>,
}

impl Network {
    fn drawn(seed: u32, ticks: u32) -> Self {
        let mut draw = Draw::new(seed);
        let mut words =
            |count: u32, below: u32| (0..count).map(|_| draw.below(below)).collect::<Vec<u32>>();
        let mut input = words(agent::INPUT_WORDS, 700);
        input[agent::INPUT_TICKS as usize] = ticks;
        input[agent::INPUT_FIRST_TICK as usize] = u32::MAX - 3;
        input[agent::INPUT_STIMULATED as usize] = 6;
        Self {
            synapses: wiring::synapses(seed),
            input,
            weights: wiring::readout_weights()
                .iter()
                .map(|weight| weight.cast_unsigned())
                .collect(),
            membrane: [words(agent::NEURONS, 4_000), words(agent::NEURONS, 2)].concat(),
            eligibility: words(agent::WEIGHT_WORDS, 1 << 20),
            readout: vec![0xffff_ffff; agent::READOUT_WORDS as usize],
        }
    }

    fn run(&mut self) {
        let inputs = AgentInputs {
            synapses: &self.synapses,
            input: &self.input,
            weights: &self.weights,
        };
        let mut outputs = AgentOutputs {
            membrane: &mut self.membrane,
            eligibility: &mut self.eligibility,
            readout: &mut self.readout,
        };
        agent::run(inputs, &mut outputs);
    }

    /// The same interval by scattering over a dense matrix in 64-bit integers; only for networks whose
    /// sums stay small, as those of drawn flies do.
    fn run_model(&mut self) {
        let neurons = 1024;
        let mut matrix = vec![0_i64; neurons * neurons];
        for target in 0..neurons {
            for at in self.synapses[target]..self.synapses[target + 1] {
                let packed = self.synapses[neurons + 1 + at as usize];
                matrix[(packed & 0xffff) as usize * neurons + target] +=
                    i64::from(packed.cast_signed() >> 16);
            }
        }
        let mut fired: Vec<bool> = self.membrane[neurons..]
            .iter()
            .map(|word| *word != 0)
            .collect();
        let mut spikes = vec![0_i64; 16];
        let ticks = self.input[0].min(256);
        for tick in 0..ticks {
            let number = self.input[1].wrapping_add(tick);
            let key = agent::scrambled(self.input[2] ^ number.wrapping_mul(0x9e37_79b9));
            let mut currents: Vec<i64> = (0..neurons)
                .map(|neuron| {
                    let population = neuron / 64;
                    let offset = u32::try_from(neuron).unwrap();
                    let noise = i64::from(agent::scrambled(key.wrapping_add(offset)) % 512) - 255;
                    let stimulus = if population == 6 {
                        i64::from(self.input[5].cast_signed())
                    } else {
                        0
                    };
                    i64::from(self.input[8 + population].cast_signed()) + stimulus + noise
                })
                .collect();
            for source in (0..neurons).filter(|source| fired[*source]) {
                for (current, weight) in currents.iter_mut().zip(&matrix[source * neurons..]) {
                    *current += weight;
                }
            }
            for neuron in 0..neurons {
                let old = i64::from(self.membrane[neuron].cast_signed());
                let potential =
                    (old - old.div_euclid(16) + currents[neuron]).clamp(-65_536, 65_536);
                fired[neuron] = potential >= 4_096;
                let kept = if fired[neuron] { -1_024 } else { potential };
                self.membrane[neuron] = i32::try_from(kept).unwrap().cast_unsigned();
                spikes[neuron / 64] += i64::from(fired[neuron]);
            }
        }
        for (word, fired) in self.membrane[neurons..].iter_mut().zip(&fired) {
            *word = u32::from(*fired);
        }
        self.readout.fill(0);
        for (output, motor) in (12..16).enumerate() {
            let drive: i64 = (0..16)
                .map(|population| {
                    i64::from(self.weights[output * 16 + population].cast_signed())
                        * spikes[population]
                })
                .sum();
            self.readout[16 + output] = i32::try_from(drive).unwrap().cast_unsigned();
            assert_eq!(
                drive,
                256 * spikes[motor],
                "a newborn's output listens to its own motor"
            );
            let activity = (drive / 256).clamp(0, 255);
            let row = self.eligibility[output * 16..].iter_mut();
            for (word, spikes) in row.zip(&spikes) {
                let trace = i64::from(word.cast_signed());
                let next = trace - trace.div_euclid(16) + spikes * activity;
                if self.input[3] != 0 {
                    *word = i32::try_from(next).unwrap().cast_unsigned();
                }
            }
        }
        for (word, sum) in self.readout.iter_mut().zip(&spikes) {
            *word = u32::try_from(*sum).unwrap();
        }
        self.readout[20] = ticks;
        self.readout[21] = self.input[1].wrapping_add(ticks);
    }
}

#[test]
fn the_network_is_the_model_over_any_interval() {
    let mut spikes = 0;
    for seed in SEEDS {
        for ticks in [0, 1, 2, 16, 17, 256, 257] {
            for learning in [0, 1] {
                let mut network = Network::drawn(seed, ticks);
                let mut model = Network::drawn(seed, ticks);
                network.input[agent::INPUT_LEARNING as usize] = learning;
                model.input[agent::INPUT_LEARNING as usize] = learning;
                network.run();
                model.run_model();
                let context = format!("seed {seed}, {ticks} ticks, learning {learning}");
                assert!(network.membrane == model.membrane, "membrane: {context}");
                assert_eq!(network.readout, model.readout, "readout: {context}");
                assert_eq!(
                    network.eligibility, model.eligibility,
                    "eligibility: {context}"
                );
                spikes += network.readout[..16].iter().sum::<u32>();
            }
        }
    }
    assert!(spikes > 10_000, "only {spikes} spikes were compared");
}

/// Two short launches are one long one, except for the eligibility, which counts launches.
#[test]
fn an_interval_can_be_cut_anywhere() {
    let mut whole = Network::drawn(3, 33);
    let mut parts = Network::drawn(3, 16);
    whole.run();
    parts.run();
    parts.input[agent::INPUT_TICKS as usize] = 17;
    parts.input[agent::INPUT_FIRST_TICK as usize] =
        parts.readout[agent::READOUT_LAST_TICK as usize];
    parts.run();
    assert!(whole.membrane == parts.membrane);
    assert_eq!(whole.readout[21], parts.readout[21]);
}

/// Nothing panics on words no fly ever holds, and the kernel stays within its buffers.
#[test]
fn the_largest_words_wrap() {
    for word in [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff] {
        let mut network = Network::drawn(1, 17);
        network.membrane.fill(word);
        network.weights.fill(word);
        network.eligibility.fill(word);
        network.input[agent::INPUT_CURRENTS as usize..].fill(word);
        network.run();
        assert_eq!(network.readout[20], 17);
    }
}

fn world(seed: u32) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut draw = Draw::new(seed);
    let cells = (0..CELLS).map(|_| draw.below(field::FIELD_MAX)).collect();
    let food = food(&mut draw).remove(2);
    let mut flies = vec![0; view::FLIES_BUFFER_WORDS as usize];
    for (slot, fly) in flies.chunks_mut(view::FLY_WORDS as usize).enumerate() {
        let heading = draw.below(65_536);
        // The first fly sits on the corner, where all four edges meet.
        let (x, y) = if slot == 0 {
            (0, 0)
        } else {
            (draw.below(WIDTH << 16), draw.below(HEIGHT << 16))
        };
        fly.copy_from_slice(&[
            x,
            y,
            heading,
            0,
            0,
            cosine(heading).cast_unsigned(),
            sine(heading).cast_unsigned(),
            1,
        ]);
    }
    (cells, food, flies)
}

fn moved(words: &[u32], by: (u32, u32)) -> Vec<u32> {
    let mut moved = vec![0; words.len()];
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let to = index(i64::from(x + by.0), i64::from(y + by.1));
            moved[to] = words[(y * WIDTH + x) as usize];
        }
    }
    moved
}

#[test]
fn the_view_moves_with_the_world_around_the_torus() {
    let mut drawn = [0; 3];
    for seed in SEEDS {
        let (cells, food, flies) = world(seed);
        let mut pixels = vec![0; CELLS as usize];
        view::render(&cells, &food, &flies, &mut pixels);
        for pixel in &pixels {
            drawn[((pixel >> 16) & 3) as usize] += 1;
            assert_eq!(pixel >> 24, 255);
        }
        // The grid repeats every 32 cells, so it stays where it is.
        for by in [(32, 0), (0, 64), (224, 160)] {
            let mut food = food.clone();
            for slot in food.chunks_mut(4).take(6) {
                slot[0] = (slot[0] + by.0) % WIDTH;
                slot[1] = (slot[1] + by.1) % HEIGHT;
            }
            let mut flies = flies.clone();
            for fly in flies.chunks_mut(view::FLY_WORDS as usize) {
                fly[0] = (fly[0] + (by.0 << POSITION_BITS)) % (WIDTH << POSITION_BITS);
                fly[1] = (fly[1] + (by.1 << POSITION_BITS)) % (HEIGHT << POSITION_BITS);
            }
            let mut again = vec![0; CELLS as usize];
            view::render(&moved(&cells, by), &food, &flies, &mut again);
            assert!(again == moved(&pixels, by), "seed {seed}, moved by {by:?}");
            assert!(again != pixels, "canary: moving is seen");
        }
    }
    assert!(
        drawn.iter().all(|count| *count > 50),
        "{drawn:?} pixels of odour, food and flies"
    );
}

#[test]
fn the_odour_level_is_a_logarithm() {
    for odour in [0, 1, 8_191] {
        assert_eq!(view::odour_level(odour), 0);
    }
    let mut last = 0;
    for odour in (8_192..field::FIELD_MAX).step_by(997) {
        let level = view::odour_level(odour);
        assert!(level >= last);
        last = level;
        // Linear within an octave (at most 2.1 levels below), then cut to whole sixteenths and levels.
        let exact = (f64::from(odour).log2() - 13.0) * 24.0;
        assert!(
            (f64::from(level) - exact.min(255.0)).abs() < 4.1,
            "odour {odour}: {level}, exactly {exact}"
        );
    }
    assert_eq!(
        (
            view::odour_level(field::FIELD_MAX),
            view::odour_level(u32::MAX)
        ),
        (255, 255)
    );
}
