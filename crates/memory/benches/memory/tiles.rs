//! [`Tiles`]: one allocation whose every second tile is stale, so that it carries many ranges.

use crate::cycles::Books;
use crate::rounds::Spent;
use wellwritten_memory::{BufferBinding, Handle, MemoryConfiguration};

/// Bytes of one tile.
pub const TILE_BYTES: u64 = 4;
/// How many tiles one round of claims or releases touches.
pub const TOUCHED: usize = 64;

/// Which tiles are touched, at random places: the same for everyone who is compared.
pub fn places(ranges: u64, count: usize) -> Vec<u64> {
    // Knuth's multiplier; the seed is fixed so that two runs touch the same places.
    let mut state = 0x5eed_u64;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % ranges
        })
        .collect()
}

/// How many allocations of that many ranges are touched in turn, so that claiming some tiles of each
/// leaves the number of ranges about what it was.
pub fn allocations_of(ranges: u64) -> usize {
    if ranges < 1000 { TOUCHED } else { 1 }
}

/// Allocations with `ranges` stale ranges each, trusted gaps between.
pub struct Tiles {
    /// The books they are in.
    pub books: Books,
    /// Trusted tiles, at random places.
    pub trusted: Vec<BufferBinding>,
    /// Stale tiles, at random places.
    pub stale: Vec<BufferBinding>,
    _handles: Vec<Handle>,
}

impl Tiles {
    /// Makes them: one failed launch over everything, then a host write into every second tile.
    pub fn new(ranges: u64) -> Self {
        let mut books = Books::new(MemoryConfiguration::ExclusivePages);
        let count = allocations_of(ranges);
        let (handles, bindings) = books.buffers(count, 2 * ranges * TILE_BYTES);
        let tile = |binding: &BufferBinding, at: u64| {
            binding
                .slice(at * TILE_BYTES, (at + 1) * TILE_BYTES)
                .expect("the tile lies in its allocation")
        };
        for binding in &bindings {
            books.fail(std::slice::from_ref(binding));
            for at in 0..ranges {
                books.succeed(&[tile(binding, 2 * at + 1)]);
            }
        }
        let pick = |odd: u64| -> Vec<BufferBinding> {
            let places = places(ranges, 16 * TOUCHED);
            let in_turn = bindings.iter().cycle();
            let tiles = places.iter().zip(in_turn);
            tiles
                .map(|(at, binding)| tile(binding, 2 * at + odd))
                .collect()
        };
        Self {
            trusted: pick(1),
            stale: pick(0),
            books,
            _handles: handles,
        }
    }

    /// Claims some trusted tiles and releases them again, `cycles` times each. What the claims took and
    /// what the releases.
    pub fn claim_and_release(&mut self, cycles: u64) -> (Spent, Spent) {
        let tiles = &self.trusted[..TOUCHED];
        in_phases(
            cycles,
            &mut self.books,
            tiles,
            |books, tile| books.fail(std::slice::from_ref(tile)),
            |books, tile| books.succeed(std::slice::from_ref(tile)),
        )
    }
}

/// Does `first` to every tile and then `second` to every tile, until each was done `cycles` times, and
/// measures the two phases apart.
pub fn in_phases<S, T>(
    cycles: u64,
    subject: &mut S,
    tiles: &[T],
    mut first: impl FnMut(&mut S, &T),
    mut second: impl FnMut(&mut S, &T),
) -> (Spent, Spent) {
    let mut taken = (Spent::default(), Spent::default());
    let mut left = cycles;
    while left > 0 {
        let some = usize::try_from(left).map_or(tiles.len(), |left| left.min(tiles.len()));
        let some = &tiles[..some];
        taken.0 += Spent::on(|| some.iter().for_each(|tile| first(subject, tile)));
        taken.1 += Spent::on(|| some.iter().for_each(|tile| second(subject, tile)));
        left -= some.len() as u64;
    }
    taken
}
