//! What a fly perceives: input currents from the pixels of the view.
//!
//! A fly gets its own place and heading (proprioception) and the view, nothing else. It smells at
//! two antennae ahead of its body, as the mean green of the pixels there that show odour; sees food
//! and other flies in a patch either side of its heading; and tastes food at its mouth. Antennal
//! currents carry the *contrast* between the sides, as insects code it: with the view's
//! logarithmic scale that makes a plume's edge as readable as its middle.

use crate::geometry::{HEIGHT, SINE_BITS, WIDTH, cosine, sine, wrap};
use crate::kernels::agent::POPULATIONS;
use crate::kernels::view::{MARK_FLY, MARK_FOOD, MARK_ODOUR};
use crate::population::Population;

/// A fly's own place and heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pose {
    /// In 1/65,536 of a cell, below `WIDTH << 16`.
    pub x: u32,
    /// In 1/65,536 of a cell, below `HEIGHT << 16`.
    pub y: u32,
    /// In 1/65,536 of a turn.
    pub heading: u32,
}

/// What a fly perceives at one boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percept {
    /// Odour level at the left and right antenna, 0 to 255.
    pub odour: [i32; 2],
    /// Samples of the left and right eye that show food.
    pub food: [i32; 2],
    /// Samples of the left and right eye that show a fly.
    pub flies: [i32; 2],
    /// Samples at the mouth that show food.
    pub mouth: i32,
}

const ANTENNA_AHEAD: i32 = 7;
const ANTENNA_ASIDE: i32 = 6;
/// An eye looks this far ahead, in cells, beginning past the body.
const EYE_FROM: i32 = 8;
const EYE_TO: i32 = 36;
const EYE_STEP: usize = 2;

/// Reads the percept of a fly at `pose` from the RGBA bytes of the view. The caller has checked
/// that there are `4 * WIDTH * HEIGHT` of them.
#[must_use]
pub fn perceive(view: &[u8], pose: Pose) -> Percept {
    let eye = Eye {
        view,
        x: pose.x,
        y: pose.y,
        cosine: cosine(pose.heading),
        sine: sine(pose.heading),
    };
    let mut percept = Percept::default();
    for (side, sign) in [(0, -1), (1, 1)] {
        percept.odour[side] = eye.odour(ANTENNA_AHEAD, sign * ANTENNA_ASIDE);
        for ahead in (EYE_FROM..=EYE_TO).step_by(EYE_STEP) {
            for aside in (1..=ahead * 3 / 4).step_by(EYE_STEP) {
                match eye.mark(ahead, sign * aside) {
                    MARK_FOOD => percept.food[side] += 1,
                    MARK_FLY => percept.flies[side] += 1,
                    _ => {}
                }
            }
        }
    }
    for ahead in 4..=8 {
        for aside in [-4, -2, 0, 2, 4] {
            percept.mouth += i32::from(eye.mark(ahead, aside) == MARK_FOOD);
        }
    }
    percept
}

impl Percept {
    /// The same percept with both sides alike.
    #[must_use]
    pub fn balanced(&self) -> Self {
        let alike = |sides: [i32; 2]| [i32::midpoint(sides[0], sides[1]); 2];
        Self {
            odour: alike(self.odour),
            food: alike(self.food),
            flies: alike(self.flies),
            mouth: self.mouth,
        }
    }

    /// The input current of each population.
    #[must_use]
    pub fn currents(&self) -> [i32; POPULATIONS as usize] {
        let mut currents = [0; POPULATIONS as usize];
        let mut set = |population: Population, current: i32| {
            currents[population.index() as usize] = current.clamp(-1_024, 1_024);
        };
        let [left, right] = self.odour;
        let base = 240 + (left + right) / 4;
        let contrast = ((left - right) * 6).clamp(-200, 200);
        set(Population::OdourLeft, base + contrast);
        set(Population::OdourRight, base - contrast);
        set(Population::FoodLeft, (self.food[0] * 90).min(700));
        set(Population::FoodRight, (self.food[1] * 90).min(700));
        set(Population::FlyLeft, (self.flies[0] * 50).min(500));
        set(Population::FlyRight, (self.flies[1] * 50).min(500));
        set(Population::Urge, 380);
        set(Population::Taste, (self.mouth * 120).min(800));
        currents
    }
}

/// The view from a place, in a fly's own directions: ahead, and aside to its right.
struct Eye<'a> {
    view: &'a [u8],
    x: u32,
    y: u32,
    cosine: i32,
    sine: i32,
}

impl Eye<'_> {
    /// The pixel `ahead` and `aside` cells from the fly.
    fn pixel(&self, ahead: i32, aside: i32) -> [u8; 4] {
        let bits = SINE_BITS - 4;
        let across = (ahead * self.cosine - aside * self.sine) >> bits;
        let down = (ahead * self.sine + aside * self.cosine) >> bits;
        let x = wrap(((self.x >> 12).cast_signed() + across) >> 4, WIDTH);
        let y = wrap(((self.y >> 12).cast_signed() + down) >> 4, HEIGHT);
        let at = (y * WIDTH + x) as usize * 4;
        [
            self.view[at],
            self.view[at + 1],
            self.view[at + 2],
            self.view[at + 3],
        ]
    }

    fn mark(&self, ahead: i32, aside: i32) -> u32 {
        u32::from(self.pixel(ahead, aside)[2] & 3)
    }

    /// Mean green of the odour pixels around a place; food smells as strong as can be.
    fn odour(&self, ahead: i32, aside: i32) -> i32 {
        let mut sum = 0;
        let mut count = 0;
        for along in [-1, 0, 1] {
            for beside in [-1, 0, 1] {
                let [_, green, blue, _] = self.pixel(ahead + along, aside + beside);
                match u32::from(blue & 3) {
                    MARK_ODOUR => sum += i32::from(green),
                    MARK_FOOD => sum += 255,
                    _ => continue,
                }
                count += 1;
            }
        }
        if count == 0 { 0 } else { sum / count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{CELLS, TURN};
    use crate::guarded_words::bytes_from_words;
    use crate::kernels::view;
    use crate::physics::Flies;

    const SOMEWHERE: Pose = Pose {
        x: 3 << 16,
        y: 190 << 16,
        heading: 0,
    };

    /// A view of nothing but one mark, at `(x, y)` around the torus.
    fn marked(x: i32, y: i32, mark: u32) -> Vec<u8> {
        let mut words = vec![0xff00_0000; CELLS as usize];
        words[(wrap(y, HEIGHT) * WIDTH + wrap(x, WIDTH)) as usize] = 0xff00_0000 | (mark << 16);
        bytes_from_words(&words)
    }

    /// Its own body, at any heading and any corner, must be neither seen nor smelled.
    #[test]
    fn a_fly_does_not_perceive_itself() {
        for heading in (0..TURN).step_by(1_117) {
            let mut words = Flies::new(1).words();
            words[0] = SOMEWHERE.x;
            words[1] = SOMEWHERE.y;
            words[2] = heading;
            words[5] = cosine(heading).cast_unsigned();
            words[6] = sine(heading).cast_unsigned();
            let mut absent = vec![0; crate::kernels::field::FOOD_BUFFER_WORDS as usize];
            absent.chunks_mut(4).for_each(|slot| slot[3] = 1);
            let mut pixels = vec![0; CELLS as usize];
            view::render(&vec![0; CELLS as usize], &absent, &words, &mut pixels);
            assert!(
                pixels.iter().any(|pixel| (pixel >> 16) & 3 == MARK_FLY),
                "canary: it is drawn"
            );
            let percept = perceive(
                &bytes_from_words(&pixels),
                Pose {
                    heading,
                    ..SOMEWHERE
                },
            );
            assert_eq!(percept, Percept::default(), "heading {heading}");
        }
    }

    #[test]
    fn left_is_left_at_every_quarter() {
        // Ten ahead and five to the left, for headings east, south, west, north (y grows downwards).
        for (quarter, (x, y)) in (0..4).zip([(10, -5), (5, 10), (-10, 5), (-5, -10)]) {
            let pose = Pose {
                heading: quarter * (TURN / 4),
                ..SOMEWHERE
            };
            let food = perceive(&marked(3 + x, 190 + y, MARK_FOOD), pose);
            assert_eq!(
                (food.food, food.flies),
                ([1, 0], [0, 0]),
                "quarter {quarter}"
            );
            let other = perceive(&marked(3 + x, 190 + y, MARK_FLY), pose);
            assert_eq!(
                (other.food, other.flies),
                ([0, 0], [1, 0]),
                "quarter {quarter}"
            );
        }
    }

    #[test]
    fn the_stronger_side_gets_the_stronger_current() {
        let percept = Percept {
            odour: [120, 80],
            ..Percept::default()
        };
        let currents = percept.currents();
        assert!(currents[0] > currents[1]);
        let alike = percept.balanced().currents();
        assert_eq!(alike[0], alike[1]);
        let most = Percept {
            odour: [255, 0],
            food: [999; 2],
            flies: [999; 2],
            mouth: 99,
        };
        assert!(most.currents().iter().all(|current| current.abs() <= 1_024));
    }
}
