//! [`Choices`]: where a run takes its decisions from. The same source gives the same run on every platform.

/// A source of decisions.
pub trait Choices {
    /// A number below `limit`; 0 where `limit` is 0.
    fn below(&mut self, limit: usize) -> usize;

    /// Whether there is nothing left to choose by: the run ends.
    fn is_spent(&self) -> bool;

    /// True once in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Endless choices of a seeded generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5bd1_e995_9d1b_54a3)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Choices for Seeded {
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % (limit.max(1) as u64)) as usize
    }

    fn is_spent(&self) -> bool {
        false
    }
}

/// Choices spelled out, one byte each: what a fuzzer feeds in. Every limit of a run is under 256.
#[derive(Clone, Debug)]
pub struct Spelled<'bytes>(&'bytes [u8]);

impl<'bytes> Spelled<'bytes> {
    pub fn new(bytes: &'bytes [u8]) -> Self {
        Self(bytes)
    }
}

impl Choices for Spelled<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(first) % limit.max(1)
    }

    fn is_spent(&self) -> bool {
        self.0.is_empty()
    }
}
