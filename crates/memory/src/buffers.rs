//! [`Buffers`]: every buffer of one manager, and in which order they changed.

use crate::handle::Owner;
use crate::identity::{BufferId, FailureId};
use crate::slots::Slots;
use crate::sort_by_key::sort_by_key;
use crate::taint::Taint;
use alloc::collections::VecDeque;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;

/// How many freed buffers are remembered for incremental snapshots.
const GONE_REMEMBERED: usize = 1024;

/// What stands behind a buffer's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A slice of a page.
    Placed,
    /// Nothing: the reservation failed.
    Unallocated(FailureId),
    /// Nothing any more: its device is lost.
    Lost,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) key: BufferKey,
    pub(crate) label: Rc<str>,
    pub(crate) size_bytes: u64,
    pub(crate) taint: Taint,
    pub(crate) standing: Standing,
    revision: u64,
    owner: Weak<Owner>,
    /// Its neighbours in the order of changes.
    changed_before: Option<u32>,
    changed_after: Option<u32>,
}

impl Buffer {
    /// Whether some handle still owns it.
    pub(crate) fn is_live(&self) -> bool {
        self.owner.strong_count() > 0
    }

    /// The manager's revision at its last change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }
}

/// Where a buffer lies in the table, and which one is meant: a slot has other tenants later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BufferKey {
    pub(crate) id: BufferId,
    pub(crate) slot: u32,
}

impl BufferKey {
    /// The key of no buffer.
    pub(crate) const NOWHERE: Self = Self {
        id: BufferId::LAST,
        slot: u32::MAX,
    };
}

/// The table of buffers. Every change moves a revision, and the buffers are linked in the order of their last
/// change, so that whoever knows a revision finds what changed since without looking at the rest.
#[derive(Debug)]
pub(crate) struct Buffers {
    slots: Slots<Buffer>,
    next_id: BufferId,
    revision: u64,
    newest: Option<u32>,
    /// Freed buffers, and the revision each went at, oldest first.
    gone: VecDeque<(u64, BufferId)>,
    /// The revision of the youngest freed buffer that is forgotten.
    forgotten: u64,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
            next_id: BufferId::FIRST,
            revision: 0,
            newest: None,
            gone: VecDeque::new(),
            forgotten: 0,
        }
    }

    /// The key that the next buffer gets.
    pub(crate) fn mint(&mut self) -> BufferKey {
        BufferKey {
            id: BufferId::mint(&mut self.next_id),
            slot: self.slots.next(),
        }
    }

    /// Enters the buffer of the key that [`Buffers::mint`] just gave.
    pub(crate) fn insert(
        &mut self,
        key: BufferKey,
        label: Rc<str>,
        size_bytes: u64,
        standing: Standing,
        owner: Weak<Owner>,
    ) {
        let slot = self.slots.insert(Buffer {
            key,
            label,
            size_bytes,
            taint: Taint::default(),
            standing,
            revision: 0,
            owner,
            changed_before: None,
            changed_after: None,
        });
        debug_assert_eq!(slot, key.slot);
        self.revision += 1;
        self.link(slot);
    }

    pub(crate) fn remove(&mut self, key: BufferKey) -> Option<Buffer> {
        self.get(key)?;
        self.unlink(key.slot);
        self.revision += 1;
        if self.gone.len() == GONE_REMEMBERED
            && let Some((revision, _)) = self.gone.pop_front()
        {
            self.forgotten = revision;
        }
        self.gone.push_back((self.revision, key.id));
        self.slots.remove(key.slot)
    }

    #[inline]
    pub(crate) fn get(&self, key: BufferKey) -> Option<&Buffer> {
        self.slots.get(key.slot).filter(|buffer| buffer.key == key)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: BufferKey) -> Option<&mut Buffer> {
        self.slots
            .get_mut(key.slot)
            .filter(|buffer| buffer.key == key)
    }

    /// The key of the buffer in a slot.
    pub(crate) fn key(&self, slot: u32) -> Option<BufferKey> {
        Some(self.slots.get(slot)?.key)
    }

    /// The key of a buffer that is known by its id only, at the cost of a look at every buffer.
    pub(crate) fn find(&self, id: BufferId) -> Option<BufferKey> {
        let mut keys = self.slots.iter().map(|(_, buffer)| buffer.key);
        keys.find(|key| key.id == id)
    }

    /// The buffers that a handle still owns, by id.
    pub(crate) fn live(&self) -> Vec<&Buffer> {
        let buffers = self.slots.iter().map(|(_, buffer)| buffer);
        let mut live: Vec<&Buffer> = buffers.filter(|buffer| buffer.is_live()).collect();
        sort_by_key(&mut live, |buffer| buffer.key.id);
        live
    }

    /// The key of every buffer, by slot.
    pub(crate) fn keys(&self) -> Vec<BufferKey> {
        self.slots.iter().map(|(_, buffer)| buffer.key).collect()
    }

    /// How often anything changed so far.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Moves the revision: something changed that is no buffer.
    pub(crate) fn advance(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    /// Notes that a buffer changed.
    pub(crate) fn touch(&mut self, slot: u32) {
        self.revision += 1;
        if self.newest == Some(slot) {
            if let Some(buffer) = self.slots.get_mut(slot) {
                buffer.revision = self.revision;
            }
            return;
        }
        self.unlink(slot);
        self.link(slot);
    }

    /// Makes the buffer the one that changed last.
    fn link(&mut self, slot: u32) {
        let newest = self.newest.replace(slot);
        if let Some(buffer) = newest.and_then(|newest| self.slots.get_mut(newest)) {
            buffer.changed_after = Some(slot);
        }
        if let Some(buffer) = self.slots.get_mut(slot) {
            buffer.revision = self.revision;
            buffer.changed_before = newest;
            buffer.changed_after = None;
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Some(buffer) = self.slots.get(slot) else {
            return;
        };
        let (before, after) = (buffer.changed_before, buffer.changed_after);
        if let Some(before) = before.and_then(|before| self.slots.get_mut(before)) {
            before.changed_after = after;
        }
        match after.and_then(|after| self.slots.get_mut(after)) {
            Some(after) => after.changed_before = before,
            None => self.newest = before,
        }
    }

    /// Whether what happened after `revision` is still known: whole, but for the state of what is there.
    pub(crate) fn remembers(&self, revision: u64) -> bool {
        self.forgotten <= revision && revision <= self.revision
    }

    /// The live buffers that changed after `revision`, by id.
    pub(crate) fn changed_since(&self, revision: u64) -> Vec<&Buffer> {
        let buffer = |slot: Option<u32>| self.slots.get(slot?);
        let latest_first =
            core::iter::successors(buffer(self.newest), |after| buffer(after.changed_before));
        let mut changed: Vec<&Buffer> = latest_first
            .take_while(|buffer| buffer.revision > revision)
            .filter(|buffer| buffer.is_live())
            .collect();
        sort_by_key(&mut changed, |buffer| buffer.key.id);
        changed
    }

    /// The buffers that were freed after `revision`, oldest first.
    pub(crate) fn gone_since(&self, revision: u64) -> impl Iterator<Item = BufferId> {
        let from = self.gone.partition_point(|(at, _)| *at <= revision);
        self.gone.range(from..).map(|(_, id)| *id)
    }
}
