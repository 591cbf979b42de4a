//! [`Subject`] and [`interleave`]: several things measured in turns, so that whatever slows the machine
//! down for a while slows all of them.

use crate::counting_allocator::allocations;
use std::hint::black_box;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// How long one batch of cycles takes at least.
const BATCH: Duration = Duration::from_micros(500);
/// No batch is longer than this many cycles.
const LONGEST_BATCH: u64 = 1 << 20;

/// What a stretch of work took.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    time: Duration,
    allocations: u64,
}

impl Spent {
    /// What `work` takes.
    pub fn on(work: impl FnOnce()) -> Self {
        let before = allocations();
        let start = Instant::now();
        work();
        let time = start.elapsed();
        Self {
            time,
            allocations: allocations() - before,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.allocations += other.allocations;
    }
}

/// Something that can be done again and again.
pub struct Subject<'a> {
    /// Does that many cycles and tells what they took, preparations left out.
    batch: Box<dyn FnMut(u64) -> Spent + 'a>,
}

impl<'a> Subject<'a> {
    /// One call of `cycle` is one cycle.
    pub fn each<R>(mut cycle: impl FnMut() -> R + 'a) -> Self {
        Self::batched(move |cycles| {
            Spent::on(|| {
                for _ in 0..cycles {
                    black_box(cycle());
                }
            })
        })
    }

    /// `batch` does as many cycles as it is told, and tells what they took.
    pub fn batched(batch: impl FnMut(u64) -> Spent + 'a) -> Self {
        Self {
            batch: Box::new(batch),
        }
    }
}

/// What one subject took.
pub struct Timing {
    /// Nanoseconds per cycle, one for each round.
    nanoseconds: Vec<f64>,
    /// Allocations in [`Timing::counted_cycles`] cycles after the rounds, warm.
    pub allocations: u64,
    /// How many cycles the allocations were counted over.
    pub counted_cycles: u64,
}

impl Timing {
    /// The fastest round, in nanoseconds per cycle.
    pub fn min(&self) -> f64 {
        self.nanoseconds
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min)
    }

    /// The round in the middle, in nanoseconds per cycle.
    pub fn median(&self) -> f64 {
        middle(self.nanoseconds.clone())
    }

    /// How many times as long as `other` this took: the middle of the ratios of each round.
    pub fn ratio_to(&self, other: &Self) -> f64 {
        let pairs = self.nanoseconds.iter().zip(&other.nanoseconds);
        middle(pairs.map(|(ours, theirs)| ours / theirs).collect())
    }

    /// Allocations per cycle.
    pub fn allocations_per_cycle(&self) -> f64 {
        per_cycle(self.allocations, self.counted_cycles)
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds and counts of a batch are far below 2^52"
)]
fn per_cycle(total: u64, cycles: u64) -> f64 {
    total as f64 / cycles as f64
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Measures the subjects in turns: one batch of each in every round, every second round backwards.
pub fn interleave<const N: usize>(mut subjects: [Subject<'_>; N], rounds: u32) -> [Timing; N] {
    // Calibration is the warm-up too.
    let cycles: [u64; N] = std::array::from_fn(|at| {
        let mut cycles = 1;
        while cycles < LONGEST_BATCH && (subjects[at].batch)(cycles).time < BATCH {
            cycles *= 2;
        }
        cycles
    });
    let mut samples: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..rounds {
        for turn in 0..N {
            let at = if round % 2 == 0 { turn } else { N - 1 - turn };
            let spent = (subjects[at].batch)(cycles[at]);
            samples[at].push(per_cycle(nanoseconds(spent.time), cycles[at]));
        }
    }
    std::array::from_fn(|at| {
        let counted_cycles = cycles[at].min(1000);
        let spent = (subjects[at].batch)(counted_cycles);
        Timing {
            nanoseconds: core::mem::take(&mut samples[at]),
            allocations: spent.allocations,
            counted_cycles,
        }
    })
}
