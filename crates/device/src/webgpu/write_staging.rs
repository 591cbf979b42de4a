//! The buffer through which host bytes reach a submission that has begun.

use crate::batch::Work;

/// One buffer on the device, filled anew for every submission that needs it.
///
/// `writeBuffer` runs before the commands of the submission it precedes, so bytes that are due after a command go
/// here first and are copied from here in their turn. What one submission left is read by it alone: the queue
/// fills the buffer for the next only after that has run.
#[derive(Default)]
pub(super) struct WriteStaging {
    buffer: Option<wgpu::Buffer>,
    /// Taken by the submission under way.
    used: u64,
}

impl WriteStaging {
    const SMALLEST_BYTES: u64 = 64 << 10;

    /// Makes room for what `work` stages. Creating a buffer may fail late: open error scopes around it.
    pub(super) fn begin(&mut self, device: &wgpu::Device, work: &[Work]) {
        self.used = 0;
        let needed = Self::staged_bytes(work);
        let has_room = |buffer: &wgpu::Buffer| buffer.size() >= needed;
        if needed == 0 || self.buffer.as_ref().is_some_and(has_room) {
            return;
        }
        // The old one goes when the last submission that names it has run.
        self.buffer = Some(device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("write staging"),
            size: needed.next_power_of_two().max(Self::SMALLEST_BYTES),
            usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }));
    }

    /// Puts bytes in; where they are until the submission has run.
    pub(super) fn put(&mut self, queue: &wgpu::Queue, bytes: &[u8]) -> (&wgpu::Buffer, u64) {
        let buffer = self.buffer.as_ref().expect("begin made room");
        let offset = self.used;
        queue.write_buffer(buffer, offset, bytes);
        self.used += bytes.len() as u64;
        (buffer, offset)
    }

    /// Host bytes that follow a command.
    fn staged_bytes(work: &[Work]) -> u64 {
        let (mut staged, mut has_commands) = (0, false);
        for unit in work {
            unit.visit(&mut |unit| match unit {
                Work::Write { bytes, .. } if has_commands => staged += bytes.len() as u64,
                Work::Write { .. } => {}
                _ => has_commands = true,
            });
        }
        staged
    }
}

impl Drop for WriteStaging {
    fn drop(&mut self) {
        if let Some(buffer) = &self.buffer {
            buffer.destroy();
        }
    }
}
