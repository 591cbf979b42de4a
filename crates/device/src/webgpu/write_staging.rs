//! The buffers through which host bytes reach a submission that has begun.

/// Buffers on the device, filled anew for every submission that needs them.
///
/// `writeBuffer` runs before the commands of the submission it precedes, so bytes that are due after a command go
/// here first and are copied from here in their turn. What one submission left is read by it alone: the queue
/// fills a buffer for the next only after that has run.
pub(super) struct WriteStaging {
    chunks: Vec<Chunk>,
    /// The largest buffer that the device grants.
    granted: u64,
    epoch: u64,
}

struct Chunk {
    buffer: wgpu::Buffer,
    /// Taken by the submission under way.
    used: u64,
}

impl WriteStaging {
    const SMALLEST_BYTES: u64 = 64 << 10;

    /// What is kept from one submission to the next at most.
    const MAX_KEPT_BYTES: u64 = 4 << 20;

    pub(super) fn new(granted: u64) -> Self {
        Self {
            chunks: Vec::new(),
            granted,
            epoch: 0,
        }
    }

    /// Takes everything back for the next submission. After one that failed, which ends an epoch, nothing is kept: it
    /// may have made a buffer there was no memory for.
    pub(super) fn begin(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.chunks.clear();
        }
        let mut kept = 0;
        self.chunks.retain_mut(|chunk| {
            chunk.used = 0;
            let size = chunk.buffer.size();
            let stays = kept + size <= Self::MAX_KEPT_BYTES;
            kept += if stays { size } else { 0 };
            stays
        });
    }

    /// Puts bytes in; where they are until the submission has run. Creating a buffer may fail late: open error
    /// scopes around it.
    pub(super) fn put(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        bytes: &[u8],
    ) -> (&wgpu::Buffer, u64) {
        let needed = bytes.len() as u64;
        let has_room = |chunk: &Chunk| chunk.buffer.size() - chunk.used >= needed;
        let at = self.chunks.iter().position(has_room);
        let at = at.unwrap_or_else(|| {
            self.chunks.push(self.chunk(device, needed));
            self.chunks.len() - 1
        });
        let chunk = &mut self.chunks[at];
        let offset = chunk.used;
        queue.write_buffer(&chunk.buffer, offset, bytes);
        chunk.used += needed;
        (&chunk.buffer, offset)
    }

    fn chunk(&self, device: &wgpu::Device, needed: u64) -> Chunk {
        let size = needed.next_power_of_two().max(Self::SMALLEST_BYTES);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("write staging"),
            size: size.min(self.granted),
            usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Chunk { buffer, used: 0 }
    }
}

impl Drop for Chunk {
    /// The browser waits for the submissions that name it.
    fn drop(&mut self) {
        self.buffer.destroy();
    }
}
