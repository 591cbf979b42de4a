//! The buffers through which bytes come back to the host: a pool of them, each leased by one read.

use std::cell::RefCell;
use std::rc::Rc;

use futures::channel::oneshot;
use wellwritten_memory::{Failure, FailureKind};

use crate::backend::{Copied, CopyForm};

/// Mappable buffers that wait for the next read of their size, the longest unused first.
#[derive(Clone, Default)]
pub(super) struct ReadStaging {
    idle: Rc<RefCell<Vec<wgpu::Buffer>>>,
}

impl ReadStaging {
    /// What the pool keeps at most; more than that is destroyed, oldest first.
    const MAX_IDLE_BYTES: u64 = 64 << 20;
    const MAX_IDLE_BUFFERS: usize = 16;

    /// Buffers come in powers of two, so that reads of about one size share them.
    const SMALLEST_BYTES: u64 = 4 << 10;

    /// A buffer for one read of `size_bytes` that an earlier read has used, so that it is known to be sound.
    pub(super) fn proven(&self, size_bytes: u64, granted: u64) -> Option<Lease> {
        let wanted = Self::class(size_bytes, granted);
        let mut idle = self.idle.borrow_mut();
        let at = idle.iter().rposition(|buffer| buffer.size() == wanted)?;
        Some(self.lease_of(idle.remove(at), size_bytes))
    }

    /// A buffer for one read of `size_bytes`. Creating it may fail late: open error scopes around it.
    pub(super) fn lease(&self, device: &wgpu::Device, size_bytes: u64, granted: u64) -> Lease {
        self.proven(size_bytes, granted).unwrap_or_else(|| {
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("read-back"),
                size: Self::class(size_bytes, granted),
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.lease_of(buffer, size_bytes)
        })
    }

    fn class(size_bytes: u64, granted: u64) -> u64 {
        let class = size_bytes.next_power_of_two().max(Self::SMALLEST_BYTES);
        class.min(granted)
    }

    fn lease_of(&self, buffer: wgpu::Buffer, size_bytes: u64) -> Lease {
        Lease {
            pool: Rc::clone(&self.idle),
            buffer: Some(buffer),
            size_bytes,
        }
    }

    fn give_back(idle: &mut Vec<wgpu::Buffer>, buffer: wgpu::Buffer) {
        idle.push(buffer);
        let mut bytes: u64 = idle.iter().map(wgpu::Buffer::size).sum();
        while bytes > Self::MAX_IDLE_BYTES || idle.len() > Self::MAX_IDLE_BUFFERS {
            let oldest = idle.remove(0);
            bytes -= oldest.size();
            oldest.destroy();
        }
    }
}

/// A mapping under way.
pub(super) type Mapping = oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>;

/// A mappable buffer for one read. It goes back to the pool once its bytes are out; dropped before that it is
/// destroyed, which also unmaps it, without the validation error that unmapping a buffer never mapped would be.
pub(super) struct Lease {
    pool: Rc<RefCell<Vec<wgpu::Buffer>>>,
    buffer: Option<wgpu::Buffer>,
    size_bytes: u64,
}

impl Lease {
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        self.buffer.as_ref().expect("it is there until the end")
    }

    /// Begins to map it; says later whether that worked.
    pub(super) fn map(&self) -> Mapping {
        let (mapped, mapping) = oneshot::channel();
        let range = ..self.size_bytes;
        self.buffer()
            .map_async(wgpu::MapMode::Read, range, move |result| {
                // A read that was dropped no longer listens.
                let _ = mapped.send(result);
            });
        mapping
    }

    /// The bytes, once mapped.
    pub(super) fn into_copy(mut self, form: CopyForm) -> Result<Copied, Failure> {
        let view = self
            .buffer()
            .get_mapped_range(..self.size_bytes)
            .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        let mapped = view.as_uint8array();
        let copied = match form {
            CopyForm::Bytes => Copied::Bytes(mapped.to_vec()),
            CopyForm::Array => Copied::Array(mapped.slice(0, mapped.length())),
        };
        drop(view);
        if let Some(buffer) = self.buffer.take() {
            buffer.unmap();
            ReadStaging::give_back(&mut self.pool.borrow_mut(), buffer);
        }
        Ok(copied)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(buffer) = &self.buffer {
            buffer.destroy();
        }
    }
}
