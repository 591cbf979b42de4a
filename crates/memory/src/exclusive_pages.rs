//! [`ExclusivePages`]: one allocation a page, freed pages kept by size class.

use crate::sorted_map::SortedMap;
use crate::storage::Storage;
use alloc::vec::Vec;

/// A free page is given back to the storage at the third periodic cleanup that finds it unused.
pub(crate) const CLEANUPS_BEFORE_RELEASE: u8 = 3;

#[derive(Debug)]
struct FreePage<Id> {
    id: Id,
    cleanups: u8,
}

#[derive(Debug)]
pub(crate) struct ExclusivePages<Id> {
    free: SortedMap<u64, Vec<FreePage<Id>>>,
    page_bytes: u64,
    pages: usize,
}

impl<Id: Copy + Eq> ExclusivePages<Id> {
    pub(crate) fn new() -> Self {
        Self {
            free: SortedMap::new(),
            page_bytes: 0,
            pages: 0,
        }
    }

    /// The largest class: its step is the last that 64 bits hold.
    pub(crate) const LARGEST_CLASS: u64 = 1 << 63;

    /// Steps of an eighth of a power of two: at most an eighth is wasted, and sizes that are close
    /// share pages.
    pub(crate) fn size_class(size_bytes: u64, alignment: u64) -> Option<u64> {
        let aligned = size_bytes.checked_next_multiple_of(alignment)?;
        let step = (aligned.checked_next_power_of_two()? >> 4).max(alignment);
        aligned.checked_next_multiple_of(step)
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// A free page of this class.
    pub(crate) fn take(&mut self, class: u64) -> Option<Id> {
        self.free.get_mut(&class)?.pop().map(|page| page.id)
    }

    /// A page of this class has come from the storage.
    pub(crate) fn grown(&mut self, class: u64) {
        self.page_bytes += class;
        self.pages += 1;
    }

    /// A page of this class went, without passing through here.
    pub(crate) fn shrunk(&mut self, class: u64) {
        self.page_bytes -= class;
        self.pages -= 1;
    }

    /// A free page is not to be used again. False where it is not among them.
    pub(crate) fn abandon_free(&mut self, id: Id) -> bool {
        let found = self.free.iter().find_map(|(class, free)| {
            let index = free.iter().position(|page| page.id == id)?;
            Some((*class, index))
        });
        let Some((class, index)) = found else {
            return false;
        };
        if let Some(free) = self.free.get_mut(&class) {
            free.swap_remove(index);
        }
        self.shrunk(class);
        true
    }

    /// The bytes of all free pages.
    pub(crate) fn free_bytes(&self) -> u64 {
        let bytes = |(class, free): (&u64, &Vec<FreePage<Id>>)| class * free.len() as u64;
        self.free.iter().map(bytes).sum()
    }

    /// The bytes of the largest free page.
    pub(crate) fn largest_free(&self) -> u64 {
        let mut used = self.free.iter().rev().filter(|(_, free)| !free.is_empty());
        used.next().map_or(0, |(class, _)| *class)
    }

    pub(crate) fn free(&mut self, class: u64, id: Id) {
        self.free
            .get_or_insert_default(class)
            .push(FreePage { id, cleanups: 0 });
    }

    pub(crate) fn cleanup<S: Storage<Id = Id>>(&mut self, storage: &mut S, explicit: bool) {
        let Self {
            free,
            page_bytes,
            pages,
        } = self;
        free.retain(|class, free| {
            free.retain_mut(|page| {
                page.cleanups += 1;
                let goes = explicit || page.cleanups >= CLEANUPS_BEFORE_RELEASE;
                if goes {
                    storage.dealloc(page.id);
                    *page_bytes -= class;
                    *pages -= 1;
                }
                !goes
            });
            !free.is_empty()
        });
    }
}
