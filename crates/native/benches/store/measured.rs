//! Figures of rounds that were measured in turns.

/// Seconds of the rounds of something and of its floor, in turns.
#[derive(Default)]
pub struct Measured {
    pub seconds: Vec<f64>,
    pub floor: Vec<f64>,
}

impl Measured {
    /// How many times the floor it took: the median of the rounds, each against its neighbour.
    pub fn of_floor(&self) -> f64 {
        let ratios: Vec<f64> = self
            .seconds
            .iter()
            .zip(&self.floor)
            .map(|(seconds, floor)| seconds / floor)
            .collect();
        median(&ratios)
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

pub const fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
