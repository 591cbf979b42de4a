//! Oracle: the WGSL itself, run by the interpreter. A mirror must compute the same words from the same
//! words, whatever its outputs held; and the WGSL must have one result: no race, no index outside a
//! buffer, and every word written of a binding that declares to overwrite its words.

use wellwritten_arena::draw::Draw;
use wellwritten_arena::geometry::{CELLS, HEIGHT, WIDTH, cosine, sine};
use wellwritten_arena::kernels::agent::{self, AgentInputs, AgentOutputs};
use wellwritten_arena::kernels::{ALL, KernelDeclaration, StorageAccess, field, view};
use wellwritten_arena::wiring;

use crate::comparison::parse;
use crate::interpreter::{Fault, launch};

type Buffers = Vec<Vec<u32>>;

/// How a text and a mirror differ on the same words.
#[derive(Debug, PartialEq, Eq)]
enum Difference {
    Fault(Fault),
    /// A word that the text leaves as it was, of a binding that declares to overwrite them.
    Unwritten {
        binding: &'static str,
        word: usize,
    },
    /// The first word that is not the mirror's.
    Word {
        binding: &'static str,
        word: usize,
        text: u32,
        mirror: u32,
    },
}

fn run_mirror(kernel: &KernelDeclaration, buffers: &mut Buffers) {
    match (kernel.name, &mut buffers[..]) {
        ("field", [source, food, next]) => field::step(source, food, next),
        ("view", [field, food, flies, view]) => view::render(field, food, flies, view),
        ("agent", [synapses, input, weights, membrane, eligibility, readout]) => agent::run(
            AgentInputs {
                synapses,
                input,
                weights,
            },
            &mut AgentOutputs {
                membrane,
                eligibility,
                readout,
            },
        ),
        _ => panic!("no mirror of {}", kernel.name),
    }
}

/// Runs `text` and the mirror of `kernel` on the same `buffers`.
fn difference(kernel: &KernelDeclaration, text: &str, buffers: &Buffers) -> Option<Difference> {
    let (module, info) = parse(text).expect("a valid text");
    let found = match launch(&module, &info, kernel.workgroups, buffers) {
        Ok(found) => found,
        Err(fault) => return Some(Difference::Fault(fault)),
    };
    let mut expected = buffers.clone();
    for (words, binding) in expected.iter_mut().zip(kernel.bindings) {
        if binding.access == StorageAccess::Write {
            // What an overwritten binding held is not the same for both: neither may depend on it.
            for word in words.iter_mut() {
                *word = !*word;
            }
        }
    }
    run_mirror(kernel, &mut expected);
    assert_eq!(found.len(), expected.len());
    for ((memory, expected), declared) in found.iter().zip(&expected).zip(kernel.bindings) {
        let binding = declared.name;
        if declared.access == StorageAccess::Write
            && let Some(word) = memory.unwritten()
        {
            return Some(Difference::Unwritten { binding, word });
        }
        let mut words = memory.words().iter().zip(expected).enumerate();
        if let Some((word, (text, mirror))) = words.find(|(_, (text, mirror))| text != mirror) {
            return Some(Difference::Word {
                binding,
                word,
                text: *text,
                mirror: *mirror,
            });
        }
    }
    None
}

fn drawn(draw: &mut Draw, words: u32, below: u32) -> Vec<u32> {
    (0..words).map(|_| draw.below(below)).collect()
}

fn food(draw: &mut Draw) -> Vec<u32> {
    let mut food = vec![0; field::FOOD_BUFFER_WORDS as usize];
    for slot in food.chunks_exact_mut(field::FOOD_WORDS as usize) {
        slot[field::FOOD_X as usize] = draw.below(WIDTH);
        slot[field::FOOD_Y as usize] = draw.below(HEIGHT);
        slot[field::FOOD_STRENGTH as usize] = draw.below(1 << 22);
        slot[field::FOOD_WAIT as usize] = u32::from(draw.below(4) == 0);
    }
    // One source on the seam.
    food[field::FOOD_X as usize] = 0;
    food[field::FOOD_WAIT as usize] = 0;
    food
}

fn flies(draw: &mut Draw) -> Vec<u32> {
    let mut flies = vec![0; view::FLIES_BUFFER_WORDS as usize];
    for fly in flies.chunks_exact_mut(view::FLY_WORDS as usize) {
        let heading = draw.below(1 << 16);
        fly[view::FLY_X as usize] = draw.below(WIDTH << 16);
        fly[view::FLY_Y as usize] = draw.below(HEIGHT << 16);
        fly[view::FLY_COSINE as usize] = cosine(heading).cast_unsigned();
        fly[view::FLY_SINE as usize] = sine(heading).cast_unsigned();
        fly[view::FLY_STATE as usize] = view::FLY_PRESENT;
    }
    // One fly around the corner of the torus.
    flies[view::FLY_X as usize] = 0;
    flies[view::FLY_Y as usize] = 0;
    flies
}

fn network(draw: &mut Draw, seed: u32, ticks: u32, learning: u32) -> Buffers {
    let mut input = drawn(draw, agent::INPUT_WORDS, 700);
    input[agent::INPUT_TICKS as usize] = ticks;
    // The ticks' numbers wrap in the middle.
    input[agent::INPUT_FIRST_TICK as usize] = u32::MAX - 3;
    input[agent::INPUT_LEARNING as usize] = learning;
    input[agent::INPUT_STIMULATED as usize] = 6;
    let weights = (0..agent::WEIGHT_WORDS)
        .map(|_| draw.below(512).wrapping_sub(256))
        .collect();
    let mut membrane = drawn(draw, agent::NEURONS, 4_096);
    membrane.extend(drawn(&mut Draw::new(seed), agent::NEURONS, 2));
    vec![
        wiring::synapses(seed),
        input,
        weights,
        membrane,
        drawn(&mut Draw::new(seed ^ 1), agent::WEIGHT_WORDS, 1 << 12),
        vec![0xdead; agent::READOUT_WORDS as usize],
    ]
}

/// Inputs of a kernel: what a session gives it, nothing, and words that no session ever holds.
fn inputs(kernel: &KernelDeclaration, seed: u32) -> Vec<Buffers> {
    let mut draw = Draw::new(seed);
    let cells = |draw: &mut Draw, below| drawn(draw, CELLS, below);
    match kernel.name {
        "field" => vec![
            vec![
                cells(&mut draw, field::FIELD_MAX),
                food(&mut draw),
                vec![0xdead; CELLS as usize],
            ],
            vec![
                cells(&mut draw, u32::MAX),
                drawn(&mut draw, field::FOOD_BUFFER_WORDS, u32::MAX),
                vec![0; CELLS as usize],
            ],
        ],
        "view" => vec![vec![
            cells(&mut draw, field::FIELD_MAX),
            food(&mut draw),
            flies(&mut draw),
            vec![0xdead; CELLS as usize],
        ]],
        "agent" => {
            let mut all: Vec<_> = [(0, 1), (1, 0), (17, 1)]
                .into_iter()
                .map(|(ticks, learning)| network(&mut draw, seed, ticks, learning))
                .collect();
            let mut wild = network(&mut draw, seed, 5, 1);
            for buffer in [2, 3, 4] {
                wild[buffer].fill_with(|| draw.word());
            }
            wild[1][agent::INPUT_CURRENTS as usize..].fill(0x8000_0000);
            all.push(wild);
            all
        }
        other => panic!("no inputs for {other}"),
    }
}

#[test]
fn every_mirror_computes_what_its_text_computes() {
    let seed = 0xdead_beef;
    let mut compared = 0;
    for kernel in ALL {
        for (index, buffers) in inputs(kernel, seed).iter().enumerate() {
            assert_eq!(
                difference(kernel, &kernel.wgsl(), buffers),
                None,
                "{}, inputs {index} of seed {seed}",
                kernel.name
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 7);
}

/// The first difference of a mutated text.
fn noticed(kernel: &KernelDeclaration, from: &str, to: &str) -> Difference {
    let text = kernel.wgsl();
    assert!(text.contains(from), "{} has no {from:?}", kernel.name);
    let text = text.replace(from, to);
    inputs(kernel, 1)
        .iter()
        .find_map(|buffers| difference(kernel, &text, buffers))
        .unwrap_or_else(|| panic!("{from:?} -> {to:?} went unnoticed"))
}

/// Canaries: one wrong number, an unwritten word, a race, a barrier too few, one that not everybody
/// comes to, and an index outside a buffer are each noticed.
#[test]
fn the_interpreter_notices() {
    let (field, agent, view) = (&field::DECLARATION, &agent::DECLARATION, &view::DECLARATION);
    for (kernel, from, to, binding) in [
        (field, "min(mixed, 1u)", "min(mixed, 2u)", "next"),
        (view, "(level >> 3u)", "(level >> 2u)", "view"),
        (agent, "0x846ca68bu", "0x846ca68du", "membrane"),
    ] {
        match noticed(kernel, from, to) {
            Difference::Word { binding: found, .. } => assert_eq!(found, binding),
            other => panic!("{from:?} -> {to:?}: {other:?}"),
        }
    }
    assert_eq!(
        noticed(field, "cell.y >= HEIGHT", "cell.y >= HEIGHT - 1u"),
        Difference::Unwritten {
            binding: "next",
            word: (CELLS - WIDTH) as usize
        }
    );
    let race = |variable: &str, index| {
        Difference::Fault(Fault::Race {
            variable: variable.to_owned(),
            index,
        })
    };
    assert_eq!(
        noticed(field, "next[here + cell.x]", "next[here]"),
        race("next", 0)
    );
    let barrier = "        workgroupBarrier();\n    }\n\n    let last";
    assert!(matches!(
        noticed(agent, barrier, "    }\n\n    let last"),
        Difference::Fault(Fault::Race { variable, .. }) if variable == "counts"
    ));
    assert!(matches!(
        noticed(agent, "fired[after + neuron]", "fired[before + neuron]"),
        Difference::Fault(Fault::Race { variable, .. }) if variable == "fired"
    ));
    assert!(matches!(
        noticed(agent, "drives[lane] = drive;", "drives[lane] = drive; workgroupBarrier();"),
        Difference::Fault(Fault::Divergence { missing }) if missing == 256 - 4
    ));
    assert_eq!(
        noticed(view, "view[index]", "view[index + 1u]"),
        Difference::Fault(Fault::OutOfBounds {
            variable: "view".to_owned(),
            index: CELLS,
            words: CELLS as usize
        })
    );
}
