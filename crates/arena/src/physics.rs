//! One step of the flies: walking, turning, bumping, eating. Integers only.
//!
//! Nothing depends on the order of the flies: bumping pushes from the places after walking, all at
//! once, and of two flies at one piece of food the nearer eats it (at an exact tie the one in the
//! lower slot; slots are sorted agent ids, which no dispatch order changes).

use crate::food::{Food, cell};
use crate::geometry::{
    HEIGHT, POSITION_BITS, SINE_BITS, TURN, WIDTH, cosine, sine, toroidal_difference, wrap,
};
use crate::kernels::view::{
    FLIES_BUFFER_WORDS, FLY_COSINE, FLY_EATEN, FLY_HEADING, FLY_PRESENT, FLY_SINE, FLY_SLOTS,
    FLY_SPEED, FLY_STATE, FLY_WORDS, FLY_X, FLY_Y,
};

/// One fly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fly {
    /// In 1/65,536 of a cell, below `WIDTH << 16`.
    pub x: u32,
    /// In 1/65,536 of a cell, below `HEIGHT << 16`.
    pub y: u32,
    /// In 1/65,536 of a turn, below `TURN`.
    pub heading: u32,
    /// In 1/65,536 of a cell a step.
    pub speed: u32,
    /// Food eaten.
    pub eaten: u32,
}

/// What a fly does in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Walks, or comes to a stop.
    pub walk: bool,
    /// Eats what is within reach.
    pub feed: bool,
    /// Turn in 1/256 of the sharpest, positive to its right; `-256..=256`.
    pub turn: i32,
}

/// Speed of a walking fly, in 1/65,536 of a cell a step: 36 cells a second.
pub const WALK_SPEED: u32 = 39_000;
/// Sharpest turn, in 1/65,536 of a turn a step, times 256 units of the axis: four degrees.
const TURN_UNIT: i32 = 3;
/// Food within this many cells is within reach.
pub const REACH: i32 = 7;
/// Flies closer than this push each other apart, in cells.
const BODY: i32 = 8;

/// The flies of the world, in slots sorted by agent id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flies {
    flies: Vec<Fly>,
}

impl Flies {
    /// Up to [`FLY_SLOTS`] flies at rest on a ring around the middle, looking along it.
    #[must_use]
    pub fn new(count: u32) -> Self {
        let count = count.min(FLY_SLOTS);
        let flies = (0..count)
            .map(|slot| {
                let angle = TURN / count.max(1) * slot + TURN / 16;
                let place = |middle: u32, sine: i32, size: u32| {
                    let offset = (sine * 40) << (POSITION_BITS - SINE_BITS);
                    wrap(
                        (middle << POSITION_BITS).cast_signed() + offset,
                        size << POSITION_BITS,
                    )
                };
                Fly {
                    x: place(WIDTH / 2, cosine(angle), WIDTH),
                    y: place(HEIGHT / 2, sine(angle), HEIGHT),
                    heading: (angle + TURN / 4) % TURN,
                    speed: 0,
                    eaten: 0,
                }
            })
            .collect();
        Self { flies }
    }

    /// The flies in the words of their buffer; `None` where the words cannot be flies.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Option<Self> {
        if words.len() != FLIES_BUFFER_WORDS as usize {
            return None;
        }
        let flies: Vec<Fly> = words
            .chunks_exact(FLY_WORDS as usize)
            .take_while(|words| words[FLY_STATE as usize] & FLY_PRESENT != 0)
            .map(|words| Fly {
                x: words[FLY_X as usize],
                y: words[FLY_Y as usize],
                heading: words[FLY_HEADING as usize],
                speed: words[FLY_SPEED as usize],
                eaten: words[FLY_EATEN as usize],
            })
            .collect();
        let flies = Self { flies };
        // Whatever the words hold beyond five numbers a fly is derived from them, so a buffer is
        // sound exactly if writing it again gives the same words.
        (flies.words() == words && flies.flies.iter().all(Fly::is_in_range)).then_some(flies)
    }

    /// The words of the flies buffer.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let mut words = vec![0; FLIES_BUFFER_WORDS as usize];
        for (words, fly) in words.chunks_exact_mut(FLY_WORDS as usize).zip(&self.flies) {
            words[FLY_X as usize] = fly.x;
            words[FLY_Y as usize] = fly.y;
            words[FLY_HEADING as usize] = fly.heading;
            words[FLY_SPEED as usize] = fly.speed;
            words[FLY_EATEN as usize] = fly.eaten;
            words[FLY_COSINE as usize] = cosine(fly.heading).cast_unsigned();
            words[FLY_SINE as usize] = sine(fly.heading).cast_unsigned();
            words[FLY_STATE as usize] = FLY_PRESENT;
        }
        words
    }

    /// The flies, by slot.
    #[must_use]
    pub fn as_slice(&self) -> &[Fly] {
        &self.flies
    }

    /// The cell each fly is in.
    #[must_use]
    pub fn cells(&self) -> Vec<(u32, u32)> {
        self.flies.iter().map(|fly| cell(fly.x, fly.y)).collect()
    }

    /// Moves every fly by one step and lets it eat. `actions` holds one action a fly, by slot.
    pub fn step(&mut self, actions: &[Action], food: &mut Food) {
        for (fly, action) in self.flies.iter_mut().zip(actions) {
            fly.walk(*action);
        }
        self.bump();
        food.wait(&self.cells());
        self.eat(actions, food);
    }

    fn bump(&mut self) {
        let places = self.flies.clone();
        for fly in &mut self.flies {
            let (mut across, mut down) = (0, 0);
            for other in &places {
                let x = toroidal_difference(other.x, fly.x, WIDTH << POSITION_BITS);
                let y = toroidal_difference(other.y, fly.y, HEIGHT << POSITION_BITS);
                let (x_cells, y_cells) = (x >> POSITION_BITS, y >> POSITION_BITS);
                if x_cells * x_cells + y_cells * y_cells < BODY * BODY {
                    across += x / 8;
                    down += y / 8;
                }
            }
            fly.x = wrap(fly.x.cast_signed() + across, WIDTH << POSITION_BITS);
            fly.y = wrap(fly.y.cast_signed() + down, HEIGHT << POSITION_BITS);
        }
    }

    fn eat(&mut self, actions: &[Action], food: &mut Food) {
        let mut hungry: Vec<bool> = actions.iter().map(|action| action.feed).collect();
        let places: Vec<_> = food.places().collect();
        for (slot, x, y) in places {
            let nearest = self
                .flies
                .iter()
                .enumerate()
                .filter(|(index, _)| hungry.get(*index) == Some(&true))
                .map(|(index, fly)| (fly.distance_squared(x, y), index))
                .filter(|(square, _)| *square <= (REACH * 16) * (REACH * 16))
                .min();
            if let Some((_, index)) = nearest {
                hungry[index] = false;
                self.flies[index].eaten = self.flies[index].eaten.saturating_add(1);
                food.eat(slot);
            }
        }
    }
}

impl Fly {
    fn walk(&mut self, action: Action) {
        self.heading = wrap(self.heading.cast_signed() + action.turn * TURN_UNIT, TURN);
        let wanted = if action.walk { WALK_SPEED } else { 0 };
        let change = (wanted.cast_signed() - self.speed.cast_signed()) >> 3;
        self.speed = (self.speed.cast_signed() + change).max(0).cast_unsigned();
        let speed = self.speed.cast_signed();
        // 1/4 of the sine's precision keeps the product in 32 bits.
        let step = |sine: i32| (speed * (sine >> 2)) >> (SINE_BITS - 2);
        self.x = wrap(
            self.x.cast_signed() + step(cosine(self.heading)),
            WIDTH << POSITION_BITS,
        );
        self.y = wrap(
            self.y.cast_signed() + step(sine(self.heading)),
            HEIGHT << POSITION_BITS,
        );
    }

    /// Squared distance to the middle of a cell, in 1/256 of a square cell.
    fn distance_squared(&self, x: u32, y: u32) -> i32 {
        let across = toroidal_difference(self.x >> 12, x * 16 + 8, WIDTH * 16);
        let down = toroidal_difference(self.y >> 12, y * 16 + 8, HEIGHT * 16);
        across * across + down * down
    }

    fn is_in_range(&self) -> bool {
        self.x < WIDTH << POSITION_BITS
            && self.y < HEIGHT << POSITION_BITS
            && self.heading < TURN
            && self.speed <= WALK_SPEED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::kernels::field::{FOOD_WAIT, FOOD_WORDS, FOOD_X, FOOD_Y};

    fn crowd(draw: &mut Draw) -> Flies {
        // Close enough that most of them bump.
        let flies = (0..4)
            .map(|_| Fly {
                x: (WIDTH << POSITION_BITS) - 1 - draw.below(6 << POSITION_BITS),
                y: draw.below(6 << POSITION_BITS),
                heading: draw.below(TURN),
                speed: draw.below(WALK_SPEED),
                eaten: draw.below(100),
            })
            .collect();
        Flies { flies }
    }

    fn food_at(x: u32, y: u32) -> Food {
        let mut words = Food::new(1, &[]).words().to_vec();
        for slot in words.chunks_mut(FOOD_WORDS as usize).take(6) {
            slot[FOOD_WAIT as usize] = 9;
        }
        words[FOOD_WAIT as usize] = 0;
        words[FOOD_X as usize] = x;
        words[FOOD_Y as usize] = y;
        Food::from_words(words).unwrap()
    }

    /// Oracle: the same crowd in the opposite order, stepped and turned round again.
    #[test]
    fn the_order_of_flies_does_not_matter() {
        let mut bumped = 0;
        for seed in 0..200 {
            let mut draw = Draw::new(seed);
            let mut forward = crowd(&mut draw);
            let mut backward = forward.clone();
            backward.flies.reverse();
            let mut actions: Vec<Action> = (0..4)
                .map(|_| Action {
                    walk: draw.below(2) == 1,
                    feed: true,
                    turn: draw.below(513).cast_signed() - 256,
                })
                .collect();
            let mut alone = forward.clone();
            for (fly, action) in alone.flies.iter_mut().zip(&actions) {
                fly.walk(*action);
            }
            let (mut food, mut same_food) = (food_at(0, 3), food_at(0, 3));
            forward.step(&actions, &mut food);
            actions.reverse();
            backward.step(&actions, &mut same_food);
            backward.flies.reverse();
            assert_eq!(forward, backward, "seed {seed}");
            assert_eq!(food, same_food, "seed {seed}");
            assert!(
                Flies::from_words(&forward.words()) == Some(forward.clone()),
                "seed {seed}"
            );
            bumped += u32::from(
                forward
                    .flies
                    .iter()
                    .zip(&alone.flies)
                    .any(|(a, b)| (a.x, a.y) != (b.x, b.y)),
            );
        }
        assert!(bumped > 150, "only {bumped} crowds bumped");
    }

    #[test]
    fn the_nearer_hungry_fly_eats_once_across_the_edge() {
        let fly = |x: u32, y: u32| Fly {
            x: x << POSITION_BITS,
            y: y << POSITION_BITS,
            heading: 0,
            speed: 0,
            eaten: 0,
        };
        let mut flies = Flies {
            flies: vec![fly(250, 100), fly(2, 100)],
        };
        let mut food = food_at(255, 100);
        let feeding = Action {
            feed: true,
            ..Action::default()
        };
        flies.step(&[feeding, Action::default()], &mut food);
        assert_eq!(
            (flies.flies[0].eaten, flies.flies[1].eaten, food.present()),
            (1, 0, 0)
        );
        let mut food = food_at(255, 100);
        flies.step(&[feeding, feeding], &mut food);
        assert_eq!(
            (flies.flies[0].eaten, flies.flies[1].eaten, food.eaten()),
            (1, 1, 1)
        );
        let mut away = food_at(128, 20);
        flies.step(&[feeding, feeding], &mut away);
        assert_eq!(
            (away.present(), away.eaten()),
            (1, 0),
            "canary: what is out of reach stays"
        );
    }

    #[test]
    fn words_that_are_no_flies_are_refused() {
        let words = Flies::new(2).words();
        assert!(Flies::from_words(&words).is_some());
        for (at, word) in [
            (0, WIDTH << 16),
            (1, HEIGHT << 16),
            (2, TURN),
            (3, WALK_SPEED + 1),
            (5, 1),
            (16, 1),
        ] {
            let mut wrong = words.clone();
            wrong[at] = word;
            assert_eq!(Flies::from_words(&wrong), None, "word {at}");
        }
        assert_eq!(Flies::from_words(&words[1..]), None);
    }
}
