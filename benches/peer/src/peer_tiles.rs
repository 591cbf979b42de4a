//! [`PeerTiles`]: the peer's counterpart of [`Tiles`](crate::tiles::Tiles), the same tiles at the same
//! places.

use crate::device::Device;
use crate::rounds::Spent;
use crate::tiles::{TILE_BYTES, TOUCHED, allocations_of, in_phases, places};
use cubecl_server::memory_management::MemoryConfiguration;
use cubecl_server::server::{BufferBinding, Handle};

/// Allocations with as many stale ranges each as asked for, trusted gaps between.
pub struct PeerTiles {
    /// The device they are on.
    pub device: Device,
    /// Trusted tiles.
    pub trusted: Vec<BufferBinding>,
    /// Stale tiles.
    pub stale: Vec<BufferBinding>,
    _handles: Vec<Handle>,
}

impl PeerTiles {
    /// Makes them: one failed launch over everything, then a host write into every second tile.
    pub fn new(ranges: u64) -> Self {
        let mut device = Device::new(MemoryConfiguration::ExclusivePages);
        let count = allocations_of(ranges);
        let (handles, bindings) = device.buffers(count, 2 * ranges * TILE_BYTES);
        let tile = |binding: &BufferBinding, at: u64| {
            let mut tile = binding.clone();
            tile.offset_start = Some(at * TILE_BYTES);
            tile.offset_end = Some(binding.size - (at + 1) * TILE_BYTES);
            tile
        };
        for binding in &bindings {
            device.fail(std::slice::from_ref(binding));
            for at in 0..ranges {
                device.succeed(&[tile(binding, 2 * at + 1)]);
            }
        }
        let pick = |odd: u64| -> Vec<BufferBinding> {
            let places = places(ranges, 16 * TOUCHED);
            let tiles = places.iter().zip(bindings.iter().cycle());
            tiles
                .map(|(at, binding)| tile(binding, 2 * at + odd))
                .collect()
        };
        Self {
            trusted: pick(1),
            stale: pick(0),
            device,
            _handles: handles,
        }
    }

    /// Claims some trusted tiles and releases them again, `cycles` times each. What the claims took and
    /// what the releases.
    pub fn claim_and_release(&mut self, cycles: u64) -> (Spent, Spent) {
        in_phases(
            cycles,
            &mut self.device,
            &self.trusted[..TOUCHED],
            |device, tile| device.fail(std::slice::from_ref(tile)),
            |device, tile| device.succeed(std::slice::from_ref(tile)),
        )
    }
}
