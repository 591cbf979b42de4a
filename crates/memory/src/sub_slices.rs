//! [`SubSlices`]: many allocations share a page; freed neighbours coalesce.

use crate::exclusive_pages::CLEANUPS_BEFORE_RELEASE;
use crate::sorted_map::{SortedMap, SortedSet};
use crate::storage::Storage;

#[derive(Clone, Copy, Debug)]
struct FreeBlock {
    len: u64,
    /// Whether some of its bytes were handed out before.
    used_before: bool,
}

#[derive(Debug)]
struct Page<Id> {
    id: Id,
    size_bytes: u64,
    free: SortedMap<u64, FreeBlock>,
    cleanups: u8,
}

/// A slice that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakenSlice<Id> {
    pub(crate) id: Id,
    pub(crate) page: u64,
    pub(crate) offset: u64,
    pub(crate) recycled: bool,
}

#[derive(Debug)]
pub(crate) struct SubSlices<Id> {
    page_size_bytes: u64,
    pages: SortedMap<u64, Page<Id>>,
    next_page: u64,
    /// Every free block as (length, page, offset): the smallest that fits is one look-up away.
    by_length: SortedSet<(u64, u64, u64)>,
    page_bytes: u64,
}

impl<Id: Copy + Eq> SubSlices<Id> {
    pub(crate) fn new(page_size_bytes: u64) -> Self {
        Self {
            page_size_bytes,
            pages: SortedMap::new(),
            next_page: 0,
            by_length: SortedSet::new(),
            page_bytes: 0,
        }
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// How large a page must be to hold `size_bytes` aligned bytes.
    pub(crate) fn page_size_for(&self, size_bytes: u64, alignment: u64) -> Option<u64> {
        self.page_size_bytes
            .max(size_bytes)
            .checked_next_multiple_of(alignment)
    }

    /// The smallest free block that holds `len` bytes, cut to it.
    pub(crate) fn take(&mut self, len: u64) -> Option<TakenSlice<Id>> {
        let &(block_len, number, offset) = self.by_length.range((len, 0, 0)..).next()?;
        self.by_length.remove(&(block_len, number, offset));
        let page = self.pages.get_mut(&number)?;
        let block = page.free.remove(&offset)?;
        page.cleanups = 0;
        if block_len > len {
            let rest = FreeBlock {
                len: block_len - len,
                used_before: block.used_before,
            };
            page.free.insert(offset + len, rest);
            self.by_length.insert((rest.len, number, offset + len));
        }
        Some(TakenSlice {
            id: page.id,
            page: number,
            offset,
            recycled: block.used_before,
        })
    }

    /// A page has come from the storage.
    pub(crate) fn grown(&mut self, id: Id, size_bytes: u64) {
        let number = self.next_page;
        self.next_page += 1;
        let mut free = SortedMap::new();
        free.insert(
            0,
            FreeBlock {
                len: size_bytes,
                used_before: false,
            },
        );
        self.pages.insert(
            number,
            Page {
                id,
                size_bytes,
                free,
                cleanups: 0,
            },
        );
        self.by_length.insert((size_bytes, number, 0));
        self.page_bytes += size_bytes;
    }

    /// Takes a slice back and joins it with its free neighbours.
    pub(crate) fn free(&mut self, number: u64, mut offset: u64, mut len: u64) {
        let Some(page) = self.pages.get_mut(&number) else {
            return;
        };
        let neighbour = page.free.range(..offset).next_back();
        if let Some((before, block)) = neighbour.map(|(before, block)| (*before, *block))
            && before + block.len == offset
        {
            page.free.remove(&before);
            self.by_length.remove(&(block.len, number, before));
            offset = before;
            len += block.len;
        }
        if let Some(&block) = page.free.get(&(offset + len)) {
            page.free.remove(&(offset + len));
            self.by_length.remove(&(block.len, number, offset + len));
            len += block.len;
        }
        page.free.insert(
            offset,
            FreeBlock {
                len,
                used_before: true,
            },
        );
        self.by_length.insert((len, number, offset));
    }

    /// A page is no longer to be used, and its slices are not coming back. False where it is not there.
    pub(crate) fn abandon(&mut self, id: Id) -> bool {
        let found = self.pages.iter().find(|(_, page)| page.id == id);
        let Some(number) = found.map(|(number, _)| *number) else {
            return false;
        };
        let Some(page) = self.pages.remove(&number) else {
            return false;
        };
        self.page_bytes -= page.size_bytes;
        for (offset, block) in page.free {
            self.by_length.remove(&(block.len, number, offset));
        }
        true
    }

    /// The bytes that no slice takes up.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.by_length.iter().map(|(len, _, _)| len).sum()
    }

    /// The largest slice that fits.
    pub(crate) fn largest_free(&self) -> u64 {
        self.by_length.last().map_or(0, |(len, _, _)| *len)
    }

    pub(crate) fn cleanup<S: Storage<Id = Id>>(&mut self, storage: &mut S, explicit: bool) {
        let Self {
            pages,
            by_length,
            page_bytes,
            ..
        } = self;
        pages.retain(|number, page| {
            let unused = page
                .free
                .get(&0)
                .is_some_and(|block| block.len == page.size_bytes);
            if !unused {
                page.cleanups = 0;
                return true;
            }
            page.cleanups += 1;
            if !explicit && page.cleanups < CLEANUPS_BEFORE_RELEASE {
                return true;
            }
            storage.dealloc(page.id);
            by_length.remove(&(page.size_bytes, *number, 0));
            *page_bytes -= page.size_bytes;
            false
        });
    }
}
