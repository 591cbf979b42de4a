//! [`Handle`], the owner of an allocation, and [`BufferBinding`], a view of one.

use crate::buffers::BufferKey;
use crate::byte_range::{ByteRange, RangeError};
use crate::identity::BufferId;
use crate::watch::WatchKey;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What a dropped owner leaves for its manager to clear away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    Buffer(BufferKey),
    Watch(WatchKey),
}

/// What a manager shares with its handles, which know their manager by its address: they keep it in place.
///
/// A drop only ever adds to a list behind a `Cell`: it can run at any moment, also while the manager is
/// borrowed, without reaching into it. The manager empties the list when it is next used.
pub(crate) struct DropList {
    /// No two managers share it, also not one after the other.
    number: usize,
    dropped: Cell<Vec<Dropped>>,
    is_waiting: Cell<bool>,
}

/// How many managers there were in this process.
static MANAGERS: AtomicUsize = AtomicUsize::new(0);

impl DropList {
    pub(crate) fn new() -> Self {
        Self {
            number: MANAGERS.fetch_add(1, Ordering::Relaxed),
            dropped: Cell::default(),
            is_waiting: Cell::default(),
        }
    }

    /// The number of the manager.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn push(&self, dropped: Dropped) {
        let mut list = self.dropped.take();
        list.push(dropped);
        self.dropped.set(list);
        self.is_waiting.set(true);
    }

    /// Whether anything was dropped since the list was last taken.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting.get()
    }

    pub(crate) fn take(&self) -> Vec<Dropped> {
        self.is_waiting.set(false);
        self.dropped.take()
    }

    /// Gives the emptied list back, so that its room is used again.
    pub(crate) fn reuse(&self, mut list: Vec<Dropped>) {
        list.clear();
        let meanwhile = self.dropped.replace(list);
        for dropped in meanwhile {
            self.push(dropped);
        }
    }
}

impl fmt::Debug for DropList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DropList").finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct Owner {
    manager: Rc<DropList>,
    key: BufferKey,
    label: Rc<str>,
    size_bytes: u64,
}

impl Owner {
    pub(crate) fn key(&self) -> BufferKey {
        self.key
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.manager.push(Dropped::Buffer(self.key));
    }
}

/// Owner of one allocation. Clones share it; when the last is dropped the bytes are free.
#[derive(Clone, Debug)]
pub struct Handle {
    owner: Rc<Owner>,
}

impl Handle {
    pub(crate) fn new(
        manager: &Rc<DropList>,
        key: BufferKey,
        label: Rc<str>,
        size_bytes: u64,
    ) -> Self {
        Self {
            owner: Rc::new(Owner {
                manager: Rc::clone(manager),
                key,
                label,
                size_bytes,
            }),
        }
    }

    pub(crate) fn owner(&self) -> &Rc<Owner> {
        &self.owner
    }

    /// The allocation's identity.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.owner.key.id
    }

    /// How many bytes were asked for.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.owner.size_bytes
    }

    /// The name it was reserved under.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.owner.label
    }

    /// A view of the whole allocation. It does not keep the allocation alive.
    #[must_use]
    pub fn binding(&self) -> BufferBinding {
        BufferBinding::new(&self.owner.manager, self.owner.key, self.owner.size_bytes)
    }

    /// A view of bytes `start..end` of the allocation.
    pub fn slice(&self, start: u64, end: u64) -> Result<BufferBinding, RangeError> {
        self.binding().slice(start, end)
    }
}

/// A view of a buffer: all of it but `offset_start` bytes in front and `offset_end` bytes behind.
///
/// It does not keep the buffer alive; using it after the last [`Handle`] went is
/// [`HandleError::Freed`].
#[derive(Clone, Debug)]
pub struct BufferBinding {
    manager: Rc<DropList>,
    key: BufferKey,
    size_bytes: u64,
    offset_start: u64,
    offset_end: u64,
}

impl BufferBinding {
    pub(crate) fn new(manager: &Rc<DropList>, key: BufferKey, size_bytes: u64) -> Self {
        Self {
            manager: Rc::clone(manager),
            key,
            size_bytes,
            offset_start: 0,
            offset_end: 0,
        }
    }

    pub(crate) fn belongs_to(&self, manager: &Rc<DropList>) -> bool {
        Rc::ptr_eq(&self.manager, manager)
    }

    pub(crate) fn key(&self) -> BufferKey {
        self.key
    }

    /// The buffer this is a view of.
    #[must_use]
    pub fn buffer(&self) -> BufferId {
        self.key.id
    }

    /// Bytes of the buffer in front of the view.
    #[must_use]
    pub fn offset_start(&self) -> u64 {
        self.offset_start
    }

    /// Bytes of the buffer behind the view.
    #[must_use]
    pub fn offset_end(&self) -> u64 {
        self.offset_end
    }

    /// The view in the coordinates of the buffer.
    #[must_use]
    pub fn range(&self) -> ByteRange {
        ByteRange {
            start: self.offset_start,
            end: self.size_bytes - self.offset_end,
        }
    }

    /// How many bytes the view holds.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.range().len()
    }

    /// Bytes `start..end` of this view, as a view of the same buffer.
    pub fn slice(&self, start: u64, end: u64) -> Result<Self, RangeError> {
        let ByteRange { start, end, .. } = ByteRange::new(start, end)?;
        let size_bytes = self.size_bytes();
        if end > size_bytes {
            return Err(RangeError::OutOfBounds {
                start,
                end,
                size_bytes,
            });
        }
        let mut slice = self.clone();
        slice.offset_start += start;
        slice.offset_end += size_bytes - end;
        Ok(slice)
    }

    /// The view of these bytes of the same buffer, in the buffer's coordinates, which it has to hold.
    pub(crate) fn over(&self, range: ByteRange) -> Self {
        let mut view = self.clone();
        view.offset_start = range.start;
        view.offset_end = self.size_bytes - range.end;
        view
    }

    /// This view without its first `front` and its last `behind` bytes.
    pub fn trimmed(&self, front: u64, behind: u64) -> Result<Self, RangeError> {
        let size_bytes = self.size_bytes();
        size_bytes
            .checked_sub(behind)
            .filter(|end| front <= *end)
            .ok_or(RangeError::Overtrimmed {
                front,
                behind,
                size_bytes,
            })
            .and_then(|end| self.slice(front, end))
    }
}

/// Why a binding cannot be used. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// It belongs to the memory of another device.
    #[error("{buffer} belongs to another device")]
    Foreign {
        /// The buffer, in the numbering of the other device.
        buffer: BufferId,
    },
    /// A read in flight belongs to the memory of another device.
    #[error("this read in flight belongs to another device")]
    ForeignWatch,
    /// Its buffer was freed: the last handle is gone.
    #[error("{buffer} was freed")]
    Freed {
        /// The buffer.
        buffer: BufferId,
    },
    /// Its buffer went with a device that was lost. Reserve again and restore its contents.
    #[error("\"{label}\" ({buffer}) was on a device that is lost")]
    Lost {
        /// The buffer.
        buffer: BufferId,
        /// Its label.
        label: String,
    },
    /// The reservation of its buffer failed: there are no bytes behind it.
    #[error("\"{label}\" ({buffer}) is unallocated: {reason}")]
    Unallocated {
        /// The buffer.
        buffer: BufferId,
        /// Its label.
        label: String,
        /// The failure of the reservation.
        reason: String,
    },
}
