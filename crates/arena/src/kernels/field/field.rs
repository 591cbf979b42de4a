//! `field`: one step of the odour field, and the layout of the food it reads.
//!
//! Bindings: the field before (`CELLS` words, row by row), the food, the field after. A stencil of
//! the cell, its four neighbours and the eight cells at distance exactly five, `(3,4)` and its
//! turns: the far ring spreads odour over several cells a step, so that a plume settles in seconds
//! and dies away as soon after its food is eaten.

use super::{BindingDeclaration, KernelConstant, KernelDeclaration, StorageAccess};
use crate::geometry::{CELLS, HEIGHT, WIDTH};

/// Food sources in the arena.
pub const FOOD_SLOTS: u32 = 6;
/// Words of one food source.
pub const FOOD_WORDS: u32 = 4;
/// Offset of a source's column, in cells.
pub const FOOD_X: u32 = 0;
/// Offset of a source's row, in cells.
pub const FOOD_Y: u32 = 1;
/// Offset of what a source adds to each cell of its disc in one step.
pub const FOOD_STRENGTH: u32 = 2;
/// Offset of the steps until a source is there again; 0 while it is there.
pub const FOOD_WAIT: u32 = 3;
/// First word after the sources; the world keeps its generator and counters there.
pub const FOOD_TAIL: u32 = FOOD_SLOTS * FOOD_WORDS;
/// Words of the food buffer.
pub const FOOD_BUFFER_WORDS: u32 = FOOD_TAIL + 8;
/// Largest value of a cell.
pub const FIELD_MAX: u32 = (1 << 24) - 1;
/// Radius of the disc a source emits from, in cells.
pub const EMIT_RADIUS: u32 = 3;

const CENTRE_WEIGHT: u32 = 16;
const NEAR_WEIGHT: u32 = 2;
const RING_WEIGHT: u32 = 1;
/// The weights sum to `1 << WEIGHT_BITS`.
const WEIGHT_BITS: u32 = 5;
/// A cell loses 1/64 of its odour a step, and one unit so that it ends at zero.
const DECAY_BITS: u32 = 6;

/// The kernel as the device and the tests see it.
pub const DECLARATION: KernelDeclaration = KernelDeclaration {
    name: "field",
    body: include_str!("field.wgsl"),
    constants: &[
        KernelConstant::Unsigned("WIDTH", WIDTH),
        KernelConstant::Unsigned("HEIGHT", HEIGHT),
        KernelConstant::Unsigned("FOOD_SLOTS", FOOD_SLOTS),
        KernelConstant::Unsigned("FOOD_WORDS", FOOD_WORDS),
        KernelConstant::Unsigned("FOOD_X", FOOD_X),
        KernelConstant::Unsigned("FOOD_Y", FOOD_Y),
        KernelConstant::Unsigned("FOOD_STRENGTH", FOOD_STRENGTH),
        KernelConstant::Unsigned("FOOD_WAIT", FOOD_WAIT),
        KernelConstant::Unsigned("FIELD_MAX", FIELD_MAX),
        KernelConstant::Unsigned("EMIT_RADIUS", EMIT_RADIUS),
        KernelConstant::Unsigned("CENTRE_WEIGHT", CENTRE_WEIGHT),
        KernelConstant::Unsigned("NEAR_WEIGHT", NEAR_WEIGHT),
        KernelConstant::Unsigned("RING_WEIGHT", RING_WEIGHT),
        KernelConstant::Unsigned("WEIGHT_BITS", WEIGHT_BITS),
        KernelConstant::Unsigned("DECAY_BITS", DECAY_BITS),
    ],
    workgroup: [16, 16, 1],
    workgroups: [WIDTH / 16, HEIGHT / 16, 1],
    bindings: &[
        BindingDeclaration {
            name: "source",
            access: StorageAccess::Read,
            words: Some(CELLS),
        },
        BindingDeclaration {
            name: "food",
            access: StorageAccess::Read,
            words: Some(FOOD_BUFFER_WORDS),
        },
        BindingDeclaration {
            name: "next",
            access: StorageAccess::Write,
            words: Some(CELLS),
        },
    ],
    shared: &[],
};

/// Distance of `a` and `b` on a circle of `size`, wrapping like the WGSL where they are outside it.
fn apart(a: u32, b: u32, size: u32) -> u32 {
    let apart = a.abs_diff(b);
    apart.min(size.wrapping_sub(apart))
}

/// Computes the field after one step. `source` and `next` hold `CELLS` words, `food`
/// `FOOD_BUFFER_WORDS`; the caller checks that.
pub fn step(source: &[u32], food: &[u32], next: &mut [u32]) {
    let width = WIDTH as usize;
    let present: Vec<&[u32]> = food[..FOOD_TAIL as usize]
        .chunks_exact(FOOD_WORDS as usize)
        .filter(|source| source[FOOD_WAIT as usize] == 0)
        .collect();
    for (y, row) in (0..HEIGHT).zip(next.chunks_exact_mut(width)) {
        let line = |offset: u32| {
            let start = ((y + offset) % HEIGHT) as usize * width;
            &source[start..start + width]
        };
        let here = line(0);
        let (down, up) = (line(1), line(HEIGHT - 1));
        let threes = [line(3), line(HEIGHT - 3)];
        let fours = [line(4), line(HEIGHT - 4)];
        for (x, cell) in row.iter_mut().enumerate() {
            let right = |offset: usize| (x + offset) % width;
            let near = here[right(1)]
                .wrapping_add(here[right(width - 1)])
                .wrapping_add(down[x])
                .wrapping_add(up[x]);
            let mut ring = 0_u32;
            for line in threes {
                ring = ring
                    .wrapping_add(line[right(4)])
                    .wrapping_add(line[right(width - 4)]);
            }
            for line in fours {
                ring = ring
                    .wrapping_add(line[right(3)])
                    .wrapping_add(line[right(width - 3)]);
            }
            let mixed = here[x]
                .wrapping_mul(CENTRE_WEIGHT)
                .wrapping_add(near.wrapping_mul(NEAR_WEIGHT))
                .wrapping_add(ring.wrapping_mul(RING_WEIGHT))
                >> WEIGHT_BITS;
            *cell = mixed - (mixed >> DECAY_BITS) - mixed.min(1);
        }
        for source in &present {
            let rows = apart(y, source[FOOD_Y as usize], HEIGHT);
            if rows > EMIT_RADIUS {
                continue;
            }
            for (x, cell) in (0..WIDTH).zip(row.iter_mut()) {
                let columns = apart(x, source[FOOD_X as usize], WIDTH);
                if columns <= EMIT_RADIUS
                    && columns * columns + rows * rows <= EMIT_RADIUS * EMIT_RADIUS
                {
                    *cell = cell.wrapping_add(source[FOOD_STRENGTH as usize]);
                }
            }
        }
        for cell in row {
            *cell = (*cell).min(FIELD_MAX);
        }
    }
}
