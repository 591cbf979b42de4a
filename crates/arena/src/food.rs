//! The food: where it is, when it comes back, and the plume it starts with.

use crate::draw::Draw;
use crate::geometry::{CELLS, HEIGHT, POSITION_BITS, WIDTH, toroidal_difference};
use crate::kernels::field::{
    EMIT_RADIUS, FIELD_MAX, FOOD_BUFFER_WORDS, FOOD_SLOTS, FOOD_STRENGTH, FOOD_TAIL, FOOD_WAIT,
    FOOD_WORDS, FOOD_X, FOOD_Y,
};

/// What a source adds to each cell of its disc in one step.
pub const STRENGTH: u32 = 800_000;
/// Steps until an eaten source is there again, elsewhere.
pub const RETURN_STEPS: u32 = 45;
/// A source never appears closer to a fly than this, in cells.
const CLEAR_OF_FLIES: i32 = 44;
/// Sources keep this distance from each other where a place can be found, in cells.
const CLEAR_OF_FOOD: i32 = 52;
/// Places tried before the last one is taken as it is.
const TRIES: u32 = 24;

/// Words after the sources: seed, draws, food eaten.
const TAIL_SEED: usize = FOOD_TAIL as usize;
const TAIL_DRAWS: usize = TAIL_SEED + 1;
const TAIL_EATEN: usize = TAIL_SEED + 2;

/// The words of the food buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Food {
    words: Vec<u32>,
}

impl Food {
    /// Fresh food for a world drawn from `seed`, clear of `flies` (positions in cells).
    #[must_use]
    pub fn new(seed: u32, flies: &[(u32, u32)]) -> Self {
        let mut food = Self {
            words: vec![0; FOOD_BUFFER_WORDS as usize],
        };
        food.words[TAIL_SEED] = seed;
        for slot in 0..FOOD_SLOTS as usize {
            food.source_mut(slot)[FOOD_WAIT as usize] = 1;
        }
        for slot in 0..FOOD_SLOTS as usize {
            food.place(slot, flies);
        }
        food
    }

    /// Food as read from its buffer; `None` where the words cannot be food.
    #[must_use]
    pub fn from_words(words: Vec<u32>) -> Option<Self> {
        let is_possible = words.len() == FOOD_BUFFER_WORDS as usize
            && words[..FOOD_TAIL as usize]
                .chunks_exact(FOOD_WORDS as usize)
                .all(|source| {
                    source[FOOD_X as usize] < WIDTH
                        && source[FOOD_Y as usize] < HEIGHT
                        && source[FOOD_STRENGTH as usize] == STRENGTH
                        && source[FOOD_WAIT as usize] <= RETURN_STEPS
                })
            && words[TAIL_EATEN + 1..].iter().all(|spare| *spare == 0);
        is_possible.then_some(Self { words })
    }

    /// The words of the food buffer.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Sources that are there now.
    #[must_use]
    pub fn present(&self) -> u32 {
        self.places().map(|_| 1).sum()
    }

    /// Food eaten since the world began.
    #[must_use]
    pub fn eaten(&self) -> u32 {
        self.words[TAIL_EATEN]
    }

    /// Slot, column and row of each source that is there.
    pub fn places(&self) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        self.words[..FOOD_TAIL as usize]
            .chunks_exact(FOOD_WORDS as usize)
            .enumerate()
            .filter(|(_, source)| source[FOOD_WAIT as usize] == 0)
            .map(|(slot, source)| (slot, source[FOOD_X as usize], source[FOOD_Y as usize]))
    }

    /// Takes the source in `slot` away; it is back elsewhere after [`RETURN_STEPS`].
    pub fn eat(&mut self, slot: usize) {
        self.source_mut(slot)[FOOD_WAIT as usize] = RETURN_STEPS;
        self.words[TAIL_EATEN] = self.words[TAIL_EATEN].wrapping_add(1);
    }

    /// Lets one step pass for the sources that are away, before this step's eating.
    pub fn wait(&mut self, flies: &[(u32, u32)]) {
        for slot in 0..FOOD_SLOTS as usize {
            match self.source_mut(slot)[FOOD_WAIT as usize] {
                0 => {}
                1 => self.place(slot, flies),
                steps => self.source_mut(slot)[FOOD_WAIT as usize] = steps - 1,
            }
        }
    }

    /// A field as the present sources would have left it after a while, for a world to begin with:
    /// halved every seven cells.
    #[must_use]
    pub fn plume(&self) -> Vec<u32> {
        const PEAK: u32 = FIELD_MAX / 4;
        const HALVING_SIXTEENTHS: u32 = 112;
        let mut field = vec![0_u32; CELLS as usize];
        for (_, food_x, food_y) in self.places() {
            for (y, row) in (0..HEIGHT).zip(field.chunks_exact_mut(WIDTH as usize)) {
                let down = toroidal_difference(food_y, y, HEIGHT);
                for (x, cell) in (0..WIDTH).zip(row) {
                    let across = toroidal_difference(food_x, x, WIDTH);
                    let square = (across * across + down * down).cast_unsigned();
                    let distance = (square * 256).isqrt().saturating_sub(EMIT_RADIUS * 16);
                    let whole = PEAK >> (distance / HALVING_SIXTEENTHS).min(31);
                    let part = (whole / 2 / HALVING_SIXTEENTHS) * (distance % HALVING_SIXTEENTHS);
                    *cell = (*cell + (whole - part)).min(FIELD_MAX);
                }
            }
        }
        field
    }

    fn source_mut(&mut self, slot: usize) -> &mut [u32] {
        let at = slot * FOOD_WORDS as usize;
        &mut self.words[at..at + FOOD_WORDS as usize]
    }

    /// Puts the source in `slot` somewhere new.
    fn place(&mut self, slot: usize, flies: &[(u32, u32)]) {
        let mut draw = Draw {
            seed: self.words[TAIL_SEED],
            count: self.words[TAIL_DRAWS],
        };
        let mut place = (0, 0);
        for _ in 0..TRIES {
            place = (draw.below(WIDTH), draw.below(HEIGHT));
            let clear_of_flies = flies.iter().all(|fly| clear(*fly, place, CLEAR_OF_FLIES));
            let clear_of_food = self
                .places()
                .all(|(_, x, y)| clear((x, y), place, CLEAR_OF_FOOD));
            if clear_of_flies && clear_of_food {
                break;
            }
        }
        self.words[TAIL_DRAWS] = draw.count;
        let source = self.source_mut(slot);
        source[FOOD_X as usize] = place.0;
        source[FOOD_Y as usize] = place.1;
        source[FOOD_STRENGTH as usize] = STRENGTH;
        source[FOOD_WAIT as usize] = 0;
    }
}

fn clear(a: (u32, u32), b: (u32, u32), cells: i32) -> bool {
    let across = toroidal_difference(a.0, b.0, WIDTH);
    let down = toroidal_difference(a.1, b.1, HEIGHT);
    across * across + down * down >= cells * cells
}

/// A position in whole cells.
#[must_use]
pub fn cell(x: u32, y: u32) -> (u32, u32) {
    ((x >> POSITION_BITS) % WIDTH, (y >> POSITION_BITS) % HEIGHT)
}
