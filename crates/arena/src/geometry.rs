//! The torus: its size, fixed-point units and integer trigonometry.
//!
//! Positions are in 1/65,536 of a cell, headings in 1/65,536 of a turn (0 points to +x, a quarter
//! turn to +y, which is down on the screen), sines in 1/16,384. Everything is a table or integer
//! arithmetic, because a floating-point sine is not the same bytes on every platform.

/// Width of the arena in cells; a power of two.
pub const WIDTH: u32 = 256;
/// Height of the arena in cells.
pub const HEIGHT: u32 = 192;
/// Cells of the arena, and pixels of its view.
pub const CELLS: u32 = WIDTH * HEIGHT;
/// Fractional bits of a position.
pub const POSITION_BITS: u32 = 16;
/// Fractional bits of a sine.
pub const SINE_BITS: u32 = 14;
/// Heading units in one turn.
pub const TURN: u32 = 1 << 16;

/// A quarter of a sine wave in 64 steps, in 1/16,384; `round(16384 sin(i pi / 128))`.
const QUARTER_SINE: [i32; 65] = [
    0, 402, 804, 1_205, 1_606, 2_006, 2_404, 2_801, 3_196, 3_590, 3_981, 4_370, 4_756, 5_139,
    5_520, 5_897, 6_270, 6_639, 7_005, 7_366, 7_723, 8_076, 8_423, 8_765, 9_102, 9_434, 9_760,
    10_080, 10_394, 10_702, 11_003, 11_297, 11_585, 11_866, 12_140, 12_406, 12_665, 12_916, 13_160,
    13_395, 13_623, 13_842, 14_053, 14_256, 14_449, 14_635, 14_811, 14_978, 15_137, 15_286, 15_426,
    15_557, 15_679, 15_791, 15_893, 15_986, 16_069, 16_143, 16_207, 16_261, 16_305, 16_340, 16_364,
    16_379, 16_384,
];

/// The sine of `heading` (units of 1/65,536 turn, higher bits ignored), in 1/16,384.
#[must_use]
pub fn sine(heading: u32) -> i32 {
    let heading = heading % TURN;
    let within_quarter = heading % (TURN / 4);
    let quarter = heading / (TURN / 4);
    let rising = if quarter.is_multiple_of(2) {
        within_quarter
    } else {
        TURN / 4 - within_quarter
    };
    let index = (rising >> 8) as usize;
    let fraction = (rising & 255).cast_signed();
    let low = QUARTER_SINE[index];
    let high = QUARTER_SINE[(index + 1).min(64)];
    let value = low + (((high - low) * fraction) >> 8);
    if quarter < 2 { value } else { -value }
}

/// The cosine of `heading`, in 1/16,384.
#[must_use]
pub fn cosine(heading: u32) -> i32 {
    sine((heading % TURN) + TURN / 4)
}

/// Shortest signed way from `from` to `to` around a circle of `size`, all in one unit and below
/// 2^30; in `-size/2 ..= size/2`.
#[must_use]
pub fn toroidal_difference(from: u32, to: u32, size: u32) -> i32 {
    let size = size.cast_signed();
    let difference = to.cast_signed() - from.cast_signed();
    if difference > size / 2 {
        difference - size
    } else if difference < -(size / 2) {
        difference + size
    } else {
        difference
    }
}

/// `value` brought into `0..size`.
#[must_use]
pub fn wrap(value: i32, size: u32) -> u32 {
    value.rem_euclid(size.cast_signed()).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the floating-point sine of this machine, which may differ by the interpolation only.
    #[test]
    fn the_table_is_a_sine() {
        for heading in (0..TURN * 2).step_by(37) {
            let turns = f64::from(heading) / f64::from(TURN);
            let expected = (turns * std::f64::consts::TAU).sin() * 16_384.0;
            assert!(
                (f64::from(sine(heading)) - expected).abs() < 3.0,
                "heading {heading}"
            );
            let expected = (turns * std::f64::consts::TAU).cos() * 16_384.0;
            assert!(
                (f64::from(cosine(heading)) - expected).abs() < 3.0,
                "heading {heading}"
            );
        }
        assert_eq!(
            (sine(0), sine(TURN / 4), sine(TURN / 2), sine(TURN / 4 * 3)),
            (0, 16_384, 0, -16_384)
        );
    }

    #[test]
    fn the_short_way_round() {
        assert_eq!(toroidal_difference(250, 3, 256), 9);
        assert_eq!(toroidal_difference(3, 250, 256), -9);
        assert_eq!(toroidal_difference(0, 128, 256), 128);
        assert_eq!(toroidal_difference(191, 0, 192), 1);
        assert_eq!((wrap(-1, 192), wrap(192, 192), wrap(0, 192)), (191, 0, 0));
    }
}
