//! A counted random source: the n-th number of a seed, with no state but the count.

use crate::kernels::agent::scrambled;

/// Numbers drawn from a seed. The state is two words, so that it fits in a guarded buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The seed.
    pub seed: u32,
    /// Numbers drawn so far.
    pub count: u32,
}

impl Draw {
    /// A source that has drawn nothing yet.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self { seed, count: 0 }
    }

    /// The next number below 2^32.
    pub fn word(&mut self) -> u32 {
        self.count = self.count.wrapping_add(1);
        scrambled(self.seed ^ scrambled(self.count.wrapping_mul(0x9e37_79b9)))
    }

    /// A number in `0..bound`; `bound` is not 0. Slightly uneven for bounds that do not divide 2^32,
    /// which nothing here minds.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.word() % bound
    }
}
