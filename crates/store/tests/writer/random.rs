//! Random numbers that a seed repeats.

/// `SplitMix64`: a published generator of a few lines, so that a seed means the same everywhere.
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("less than a usize")
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// The one of `WELLWRITTEN_SEED`, else `count`, or with `WELLWRITTEN_LONG` many more.
pub fn seeds(count: u64) -> Vec<u64> {
    let given = std::env::var("WELLWRITTEN_SEED").ok();
    if let Some(seed) = given.and_then(|seed| seed.parse().ok()) {
        return vec![seed];
    }
    let many = std::env::var_os("WELLWRITTEN_LONG").is_some();
    (0..if many { count * 100 } else { count }).collect()
}
