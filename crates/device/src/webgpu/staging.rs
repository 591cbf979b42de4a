//! The buffer through which bytes come back to the host.

use futures::channel::oneshot;
use wellwritten_memory::{Failure, FailureKind};

/// A mappable buffer for one read. Destroyed when dropped, whatever became of the read: that also
/// unmaps it, without the validation error that unmapping a buffer never mapped would be.
pub(super) struct Staging {
    buffer: wgpu::Buffer,
}

impl Staging {
    pub(super) fn new(device: &wgpu::Device, size_bytes: u64) -> Self {
        Self {
            buffer: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("read-back"),
                size: size_bytes,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
        }
    }

    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Begins to map it; says later whether that worked.
    pub(super) fn map(&self) -> oneshot::Receiver<Result<(), wgpu::BufferAsyncError>> {
        let (mapped, mapping) = oneshot::channel();
        self.buffer
            .map_async(wgpu::MapMode::Read, .., move |result| {
                // A read that was dropped no longer listens.
                let _ = mapped.send(result);
            });
        mapping
    }

    /// The bytes, once mapped.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        self.buffer
            .get_mapped_range(..)
            .map(|view| view.as_uint8array().to_vec())
            .map_err(|error| Failure {
                kind: FailureKind::Internal,
                message: error.to_string(),
            })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.buffer.destroy();
    }
}
