//! `view`: the arena as RGBA8 pixels, and the layout of the flies it draws.
//!
//! Bindings: the field (`CELLS` words), the food, the flies, the view (`CELLS` words, red in the
//! low byte). A pixel is a cell. The odour glows from green to yellow on a logarithmic scale and is
//! exactly the green byte; the two low bits of the blue byte say what a pixel shows (odour, food or
//! a fly), invisible to a person and unmistakable to a fly, which must not smell its neighbour's
//! paint.

use super::field::{
    FOOD_BUFFER_WORDS, FOOD_SLOTS, FOOD_TAIL, FOOD_WAIT, FOOD_WORDS, FOOD_X, FOOD_Y,
};
use super::{BindingDeclaration, KernelConstant, KernelDeclaration, StorageAccess};
use crate::geometry::{CELLS, HEIGHT, SINE_BITS, WIDTH, toroidal_difference};

/// Flies the arena has room for.
pub const FLY_SLOTS: u32 = 4;
/// Words of one fly.
pub const FLY_WORDS: u32 = 8;
/// Offset of the x position, in 1/65,536 of a cell.
pub const FLY_X: u32 = 0;
/// Offset of the y position, in 1/65,536 of a cell.
pub const FLY_Y: u32 = 1;
/// Offset of the heading, in 1/65,536 of a turn.
pub const FLY_HEADING: u32 = 2;
/// Offset of the speed, in 1/65,536 of a cell a step.
pub const FLY_SPEED: u32 = 3;
/// Offset of the food eaten so far.
pub const FLY_EATEN: u32 = 4;
/// Offset of the heading's cosine, in 1/16,384, for the kernel.
pub const FLY_COSINE: u32 = 5;
/// Offset of the heading's sine, in 1/16,384, for the kernel.
pub const FLY_SINE: u32 = 6;
/// Offset of the state bits.
pub const FLY_STATE: u32 = 7;
/// State bit of a slot that holds a fly.
pub const FLY_PRESENT: u32 = 1;
/// Words of the flies buffer.
pub const FLIES_BUFFER_WORDS: u32 = FLY_SLOTS * FLY_WORDS;

/// The two low bits of the blue byte of a pixel that shows odour or nothing.
pub const MARK_ODOUR: u32 = 0;
/// The two low bits of the blue byte of a pixel that shows food.
pub const MARK_FOOD: u32 = 1;
/// The two low bits of the blue byte of a pixel that shows a fly.
pub const MARK_FLY: u32 = 2;

/// Odour below `1 << ODOUR_FLOOR_BITS` is not seen.
const ODOUR_FLOOR_BITS: u32 = 13;
const BACKGROUND_RED: u32 = 6;
const BACKGROUND_BLUE: u32 = 20;
const GRID: u32 = 32;
const GRID_BLUE: u32 = 12;
/// Odour level from which the glow turns yellow, and how much.
const GLOW_START: u32 = 112;
const GLOW_RED: u32 = 190;
/// Squared radius of a food dot, and the width of its soft edge, in squared sixteenths of a cell.
const FOOD_EDGE: i32 = 2_704;
const FOOD_SOFTNESS: i32 = 96;
const FOOD_RED: u32 = 255;
const FOOD_GREEN: u32 = 244;
const FOOD_BLUE: u32 = 236;
/// A fly's dart, in sixteenths of a cell: nose and tail from its position, the notch in the tail.
const DART_NOSE: i32 = 88;
const DART_TAIL: i32 = 64;
const DART_NOTCH: i32 = 36;
const DART_HEAD: i32 = 24;
/// No pixel further than this from a fly, in either direction, shows it.
const DART_REACH: i32 = 128;
/// Colours of the flies, red in the low byte: orange, cyan, magenta, violet.
pub const FLY_COLOURS: [u32; 4] = [0x0024_8aff, 0x00ff_d638, 0x00d0_5cff, 0x00ff_84a0];

/// The kernel as the device and the tests see it.
pub const DECLARATION: KernelDeclaration = KernelDeclaration {
    name: "view",
    body: include_str!("view.wgsl"),
    constants: &[
        KernelConstant::Unsigned("WIDTH", WIDTH),
        KernelConstant::Unsigned("HEIGHT", HEIGHT),
        KernelConstant::Unsigned("FOOD_SLOTS", FOOD_SLOTS),
        KernelConstant::Unsigned("FOOD_WORDS", FOOD_WORDS),
        KernelConstant::Unsigned("FOOD_X", FOOD_X),
        KernelConstant::Unsigned("FOOD_Y", FOOD_Y),
        KernelConstant::Unsigned("FOOD_WAIT", FOOD_WAIT),
        KernelConstant::Unsigned("FLY_SLOTS", FLY_SLOTS),
        KernelConstant::Unsigned("FLY_WORDS", FLY_WORDS),
        KernelConstant::Unsigned("FLY_X", FLY_X),
        KernelConstant::Unsigned("FLY_Y", FLY_Y),
        KernelConstant::Unsigned("FLY_COSINE", FLY_COSINE),
        KernelConstant::Unsigned("FLY_SINE", FLY_SINE),
        KernelConstant::Unsigned("FLY_STATE", FLY_STATE),
        KernelConstant::Unsigned("FLY_PRESENT", FLY_PRESENT),
        KernelConstant::Unsigned("MARK_ODOUR", MARK_ODOUR),
        KernelConstant::Unsigned("MARK_FOOD", MARK_FOOD),
        KernelConstant::Unsigned("MARK_FLY", MARK_FLY),
        KernelConstant::Unsigned("ODOUR_FLOOR_BITS", ODOUR_FLOOR_BITS),
        KernelConstant::Unsigned("BACKGROUND_RED", BACKGROUND_RED),
        KernelConstant::Unsigned("BACKGROUND_BLUE", BACKGROUND_BLUE),
        KernelConstant::Unsigned("GRID", GRID),
        KernelConstant::Unsigned("GRID_BLUE", GRID_BLUE),
        KernelConstant::Unsigned("GLOW_START", GLOW_START),
        KernelConstant::Unsigned("GLOW_RED", GLOW_RED),
        KernelConstant::Signed("FOOD_EDGE", FOOD_EDGE),
        KernelConstant::Signed("FOOD_SOFTNESS", FOOD_SOFTNESS),
        KernelConstant::Unsigned("FOOD_RED", FOOD_RED),
        KernelConstant::Unsigned("FOOD_GREEN", FOOD_GREEN),
        KernelConstant::Unsigned("FOOD_BLUE", FOOD_BLUE),
        KernelConstant::Signed("DART_NOSE", DART_NOSE),
        KernelConstant::Signed("DART_TAIL", DART_TAIL),
        KernelConstant::Signed("DART_NOTCH", DART_NOTCH),
        KernelConstant::Signed("DART_HEAD", DART_HEAD),
        KernelConstant::Signed("DART_REACH", DART_REACH),
        KernelConstant::Unsigned("SINE_BITS", SINE_BITS),
        KernelConstant::Unsigned("COLOUR_A", FLY_COLOURS[0]),
        KernelConstant::Unsigned("COLOUR_B", FLY_COLOURS[1]),
        KernelConstant::Unsigned("COLOUR_C", FLY_COLOURS[2]),
        KernelConstant::Unsigned("COLOUR_D", FLY_COLOURS[3]),
    ],
    workgroup: [16, 16, 1],
    workgroups: [WIDTH / 16, HEIGHT / 16, 1],
    bindings: &[
        BindingDeclaration {
            name: "field",
            access: StorageAccess::Read,
            words: Some(CELLS),
        },
        BindingDeclaration {
            name: "food",
            access: StorageAccess::Read,
            words: Some(FOOD_BUFFER_WORDS),
        },
        BindingDeclaration {
            name: "flies",
            access: StorageAccess::Read,
            words: Some(FLIES_BUFFER_WORDS),
        },
        BindingDeclaration {
            name: "view",
            access: StorageAccess::Write,
            words: Some(CELLS),
        },
    ],
    shared: &[],
};

/// How strong `odour` shows, 0 to 255: 24 levels an octave above the floor.
#[must_use]
pub fn odour_level(odour: u32) -> u32 {
    if odour < 1 << ODOUR_FLOOR_BITS {
        return 0;
    }
    let octave = odour.ilog2();
    let sixteenth = (odour >> (octave - 4)) & 15;
    ((((octave - ODOUR_FLOOR_BITS) * 16 + sixteenth) * 3) >> 1).min(255)
}

/// The colour of one pixel while things are painted over each other.
#[derive(Clone, Copy)]
struct Paint {
    red: u32,
    green: u32,
    blue: u32,
    mark: u32,
}

impl Paint {
    fn over(&mut self, colour: [u32; 3], sixteenths: u32, mark: u32) {
        self.red = mixed(self.red, colour[0], sixteenths);
        self.green = mixed(self.green, colour[1], sixteenths);
        self.blue = mixed(self.blue, colour[2], sixteenths);
        self.mark = mark;
    }
}

fn mixed(under: u32, over: u32, sixteenths: u32) -> u32 {
    (under * (16 - sixteenths) + over * sixteenths) >> 4
}

fn dart_margin(along: i32, across: i32) -> i32 {
    let side = (((DART_NOSE - along) * 3) >> 3) - across;
    let notch = (DART_NOTCH - across).max(0);
    let tail = along + DART_TAIL - notch;
    side.min(tail)
}

fn background(x: u32, y: u32, odour: u32) -> Paint {
    let level = odour_level(odour);
    let grid = if x.is_multiple_of(GRID) || y.is_multiple_of(GRID) {
        GRID_BLUE
    } else {
        0
    };
    Paint {
        red: BACKGROUND_RED + ((level.max(GLOW_START) - GLOW_START) * GLOW_RED) / 128,
        green: level,
        blue: BACKGROUND_BLUE + (level >> 3) + grid,
        mark: MARK_ODOUR,
    }
}

fn paint_food(paint: &mut Paint, food: &[u32], x: u32, y: u32) {
    let across = toroidal_difference(
        (food[FOOD_X as usize] % WIDTH) * 16 + 8,
        x * 16 + 8,
        WIDTH * 16,
    );
    let down = toroidal_difference(
        (food[FOOD_Y as usize] % HEIGHT) * 16 + 8,
        y * 16 + 8,
        HEIGHT * 16,
    );
    let square = across * across + down * down;
    if square < FOOD_EDGE {
        let cover = ((FOOD_EDGE - square) / FOOD_SOFTNESS + 1)
            .min(16)
            .cast_unsigned();
        paint.over([FOOD_RED, FOOD_GREEN, FOOD_BLUE], cover, MARK_FOOD);
    }
}

fn paint_fly(paint: &mut Paint, fly: &[u32], slot: usize, x: u32, y: u32) {
    let across = toroidal_difference(
        (fly[FLY_X as usize] >> 12) % (WIDTH * 16),
        x * 16 + 8,
        WIDTH * 16,
    );
    let down = toroidal_difference(
        (fly[FLY_Y as usize] >> 12) % (HEIGHT * 16),
        y * 16 + 8,
        HEIGHT * 16,
    );
    if across.abs() > DART_REACH || down.abs() > DART_REACH {
        return;
    }
    let cosine = fly[FLY_COSINE as usize].cast_signed();
    let sine = fly[FLY_SINE as usize].cast_signed();
    let along = across
        .wrapping_mul(cosine)
        .wrapping_add(down.wrapping_mul(sine))
        >> SINE_BITS;
    let beside = (down
        .wrapping_mul(cosine)
        .wrapping_sub(across.wrapping_mul(sine))
        >> SINE_BITS)
        .abs();
    let cover = (dart_margin(along, beside) + 8)
        .clamp(0, 16)
        .cast_unsigned();
    if cover > 0 {
        let colour = FLY_COLOURS[slot];
        let light = if along > DART_HEAD { 8 } else { 0 };
        let channel = |shift: u32| mixed((colour >> shift) & 255, 255, light);
        paint.over([channel(0), channel(8), channel(16)], cover, MARK_FLY);
    }
}

/// Computes the view. `field` and `view` hold `CELLS` words, `food` `FOOD_BUFFER_WORDS`, `flies`
/// `FLIES_BUFFER_WORDS`; the caller checks that.
pub fn render(field: &[u32], food: &[u32], flies: &[u32], view: &mut [u32]) {
    let sources: Vec<&[u32]> = food[..FOOD_TAIL as usize]
        .chunks_exact(FOOD_WORDS as usize)
        .filter(|source| source[FOOD_WAIT as usize] == 0)
        .collect();
    let darts: Vec<(usize, &[u32])> = flies
        .chunks_exact(FLY_WORDS as usize)
        .enumerate()
        .filter(|(_, fly)| fly[FLY_STATE as usize] & FLY_PRESENT != 0)
        .collect();
    let width = WIDTH as usize;
    let rows = field.chunks_exact(width).zip(view.chunks_exact_mut(width));
    for (y, (odours, pixels)) in (0..HEIGHT).zip(rows) {
        // What cannot reach this row is left out of it once, not once a pixel.
        let reaches = |row: u32, cells: u32| row.abs_diff(y).min(HEIGHT - row.abs_diff(y)) <= cells;
        let near_food: Vec<_> = sources
            .iter()
            .filter(|food| reaches(food[FOOD_Y as usize] % HEIGHT, 4))
            .collect();
        let near_flies: Vec<_> = darts
            .iter()
            .filter(|(_, fly)| reaches((fly[FLY_Y as usize] >> 16) % HEIGHT, 10))
            .collect();
        for (x, (odour, pixel)) in (0..WIDTH).zip(odours.iter().zip(pixels)) {
            let mut paint = background(x, y, *odour);
            for food in &near_food {
                paint_food(&mut paint, food, x, y);
            }
            for (slot, fly) in &near_flies {
                paint_fly(&mut paint, fly, *slot, x, y);
            }
            let blue = (paint.blue & 0xfc) | paint.mark;
            *pixel = paint.red | (paint.green << 8) | (blue << 16) | 0xff00_0000;
        }
    }
}
