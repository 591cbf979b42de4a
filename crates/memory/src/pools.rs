//! [`Pools`]: the pools of one pooled stream, tried in order.

use crate::configuration::{PoolConfiguration, PoolKind, WhenFull};
use crate::exclusive_pages::ExclusivePages;
use crate::memory_report::PoolReport;
use crate::storage::Storage;
use crate::stream_pool::StreamFactory;
use crate::sub_slices::SubSlices;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::convert::Infallible;
use core::marker::PhantomData;

/// Why a reservation failed. Nothing was reserved, and nothing changed but that a pool at its cap has given the pages
/// that it did not use back to the storage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// An allocation of no bytes.
    #[error("an allocation must hold at least one byte")]
    ZeroSize,
    /// No pool takes an allocation of this size. A smaller one may succeed.
    #[error("{requested_bytes} bytes are more than any pool takes (at most {largest_bytes})")]
    TooLarge {
        /// How many bytes were asked for.
        requested_bytes: u64,
        /// The largest allocation that some pool takes.
        largest_bytes: u64,
    },
    /// The pools are at their caps. Freeing, then trying again, may succeed.
    #[error(
        "{requested_bytes} bytes do not fit: the pool holds {page_bytes} of at most {cap_bytes} bytes"
    )]
    PoolFull {
        /// How many bytes were asked for.
        requested_bytes: u64,
        /// How many bytes of pages the last pool tried holds.
        page_bytes: u64,
        /// How many it may hold.
        cap_bytes: u64,
    },
    /// The storage could not give a page. Freeing, then trying again, may succeed.
    #[error("no page of {page_bytes} bytes for {requested_bytes} bytes: {reason}")]
    Storage {
        /// How many bytes were asked for.
        requested_bytes: u64,
        /// How large a page the storage was asked for.
        page_bytes: u64,
        /// What the storage said.
        reason: String,
    },
}

/// Where an allocation lies, and how to give it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement<Id> {
    pub(crate) id: Id,
    pub(crate) offset: u64,
    /// How many bytes it takes up, with rounding.
    pub(crate) taken_bytes: u64,
    pub(crate) recycled: bool,
    /// The pooled stream whose pools it comes from.
    pub(crate) stream: u32,
    pool: usize,
    page: u64,
}

#[derive(Debug)]
enum Layout<Id> {
    Exclusive(ExclusivePages<Id>),
    Sub(SubSlices<Id>),
}

#[derive(Debug)]
struct Pool<Id> {
    configuration: PoolConfiguration,
    layout: Layout<Id>,
}

#[derive(Debug)]
pub(crate) struct Pools<Id> {
    pools: Vec<Pool<Id>>,
}

impl<Id: Copy + Eq> Pools<Id> {
    pub(crate) fn new(configurations: Vec<PoolConfiguration>) -> Self {
        let pools = configurations
            .into_iter()
            .map(|configuration| Pool {
                layout: Layout::new(configuration.kind),
                configuration,
            })
            .collect();
        Self { pools }
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.pages_by(|pool| pool.layout.page_bytes())
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages_by(|pool| match &pool.layout {
            Layout::Exclusive(pages) => pages.pages() as u64,
            Layout::Sub(pages) => pages.pages() as u64,
        })
    }

    fn pages_by(&self, of: impl Fn(&Pool<Id>) -> u64) -> u64 {
        self.pools.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Finds room for `size_bytes`.
    pub(crate) fn place<S: Storage<Id = Id>>(
        &mut self,
        storage: &mut S,
        size_bytes: u64,
    ) -> Result<Placement<Id>, ReserveError> {
        if size_bytes == 0 {
            return Err(ReserveError::ZeroSize);
        }
        let alignment = storage.alignment().max(1);
        let mut refusal = ReserveError::TooLarge {
            requested_bytes: size_bytes,
            largest_bytes: self.largest_bytes(alignment),
        };
        for (index, pool) in self.pools.iter_mut().enumerate() {
            if size_bytes > pool.largest_bytes(alignment) {
                continue;
            }
            match pool.place(storage, index, size_bytes) {
                Ok(placement) => return Ok(placement),
                Err(full @ ReserveError::PoolFull { .. })
                    if pool.configuration.when_full == WhenFull::Spill =>
                {
                    refusal = full;
                }
                Err(other) => return Err(other),
            }
        }
        Err(refusal)
    }

    /// The largest allocation that some pool takes.
    fn largest_bytes(&self, alignment: u64) -> u64 {
        let largest = self.pools.iter().map(|pool| pool.largest_bytes(alignment));
        largest.max().unwrap_or(0)
    }

    /// Takes an allocation back.
    pub(crate) fn free(&mut self, placement: &Placement<Id>) {
        match &mut self.pools[placement.pool].layout {
            Layout::Exclusive(pages) => pages.free(placement.taken_bytes, placement.id),
            Layout::Sub(pages) => {
                pages.free(placement.page, placement.offset, placement.taken_bytes);
            }
        }
    }

    /// The page that an allocation lies on is not to be used again. The caller gives it back to the storage.
    pub(crate) fn abandon(&mut self, placement: &Placement<Id>) -> bool {
        match &mut self.pools[placement.pool].layout {
            Layout::Exclusive(pages) => {
                pages.shrunk(placement.taken_bytes);
                true
            }
            Layout::Sub(pages) => pages.abandon(placement.id),
        }
    }

    /// The same for a page without allocations. False where it is not a page of these pools.
    pub(crate) fn abandon_free(&mut self, page: Id) -> bool {
        self.pools.iter_mut().any(|pool| match &mut pool.layout {
            Layout::Exclusive(pages) => pages.abandon_free(page),
            Layout::Sub(pages) => pages.abandon(page),
        })
    }

    /// What each pool holds.
    pub(crate) fn report(&self, stream: u32) -> impl Iterator<Item = PoolReport> {
        self.pools.iter().map(move |pool| {
            let (pages, free_bytes, largest_free_bytes) = match &pool.layout {
                Layout::Exclusive(pages) => {
                    (pages.pages(), pages.free_bytes(), pages.largest_free())
                }
                Layout::Sub(pages) => (pages.pages(), pages.free_bytes(), pages.largest_free()),
            };
            PoolReport {
                stream,
                kind: pool.configuration.kind,
                largest_bytes: pool.configuration.largest_bytes,
                cap_bytes: pool.configuration.cap_bytes,
                page_bytes: pool.layout.page_bytes(),
                pages: pages as u64,
                free_bytes,
                largest_free_bytes,
            }
        })
    }

    /// Gives unused pages back: all of them, or those unused for some periodic cleanups.
    pub(crate) fn cleanup<S: Storage<Id = Id>>(&mut self, storage: &mut S, explicit: bool) {
        for pool in &mut self.pools {
            match &mut pool.layout {
                Layout::Exclusive(pages) => pages.cleanup(storage, explicit),
                Layout::Sub(pages) => pages.cleanup(storage, explicit),
            }
        }
    }

    /// Forgets every page: the storage behind them is gone.
    pub(crate) fn forget_pages(&mut self) {
        for pool in &mut self.pools {
            pool.layout = Layout::new(pool.configuration.kind);
        }
    }
}

/// Makes the pools of each pooled stream.
#[derive(Debug)]
pub(crate) struct StreamPools<Id> {
    configurations: Vec<PoolConfiguration>,
    id: PhantomData<Id>,
}

impl<Id> StreamPools<Id> {
    pub(crate) fn new(configurations: Vec<PoolConfiguration>) -> Self {
        Self {
            configurations,
            id: PhantomData,
        }
    }
}

impl<Id: Copy + Eq> StreamFactory for StreamPools<Id> {
    type Stream = Pools<Id>;
    type Error = Infallible;

    fn create(&mut self) -> Result<Pools<Id>, Infallible> {
        Ok(Pools::new(self.configurations.clone()))
    }
}

impl<Id: Copy + Eq> Layout<Id> {
    fn new(kind: PoolKind) -> Self {
        match kind {
            PoolKind::ExclusivePages => Self::Exclusive(ExclusivePages::new()),
            PoolKind::SubSlices { page_size_bytes } => Self::Sub(SubSlices::new(page_size_bytes)),
        }
    }

    fn page_bytes(&self) -> u64 {
        match self {
            Self::Exclusive(pages) => pages.page_bytes(),
            Self::Sub(pages) => pages.page_bytes(),
        }
    }
}

impl<Id: Copy + Eq> Pool<Id> {
    /// The largest allocation that it takes.
    fn largest_bytes(&self, alignment: u64) -> u64 {
        let layout = match &self.layout {
            Layout::Exclusive(_) => ExclusivePages::<Id>::LARGEST_CLASS,
            Layout::Sub(_) => u64::MAX - (alignment - 1),
        };
        layout.min(self.configuration.largest_bytes)
    }

    fn place<S: Storage<Id = Id>>(
        &mut self,
        storage: &mut S,
        pool: usize,
        size_bytes: u64,
    ) -> Result<Placement<Id>, ReserveError> {
        let alignment = storage.alignment().max(1);
        let too_large = ReserveError::TooLarge {
            requested_bytes: size_bytes,
            largest_bytes: self.largest_bytes(alignment),
        };
        match &self.layout {
            Layout::Exclusive(_) => {
                let class =
                    ExclusivePages::<Id>::size_class(size_bytes, alignment).ok_or(too_large)?;
                self.place_exclusive(storage, pool, size_bytes, class)
            }
            Layout::Sub(pages) => {
                let len = size_bytes
                    .checked_next_multiple_of(alignment)
                    .ok_or(too_large.clone())?;
                let page_bytes = pages.page_size_for(len, alignment).ok_or(too_large)?;
                self.place_sub(storage, pool, size_bytes, (len, page_bytes))
            }
        }
    }

    fn place_exclusive<S: Storage<Id = Id>>(
        &mut self,
        storage: &mut S,
        pool: usize,
        size_bytes: u64,
        class: u64,
    ) -> Result<Placement<Id>, ReserveError> {
        if let Layout::Exclusive(pages) = &mut self.layout
            && let Some(id) = pages.take(class)
        {
            return Ok(Placement {
                id,
                offset: 0,
                taken_bytes: class,
                recycled: true,
                stream: 0,
                pool,
                page: 0,
            });
        }
        let id = self.grow(storage, size_bytes, class)?;
        if let Layout::Exclusive(pages) = &mut self.layout {
            pages.grown(class);
        }
        Ok(Placement {
            id,
            offset: 0,
            taken_bytes: class,
            recycled: false,
            stream: 0,
            pool,
            page: 0,
        })
    }

    fn place_sub<S: Storage<Id = Id>>(
        &mut self,
        storage: &mut S,
        pool: usize,
        size_bytes: u64,
        (len, page_bytes): (u64, u64),
    ) -> Result<Placement<Id>, ReserveError> {
        let taken = self.take_sub(len);
        let slice = if let Some(slice) = taken {
            slice
        } else {
            let id = self.grow(storage, size_bytes, page_bytes)?;
            if let Layout::Sub(pages) = &mut self.layout {
                pages.grown(id, page_bytes);
            }
            self.take_sub(len)
                .expect("a new page holds what it was made for")
        };
        Ok(Placement {
            id: slice.id,
            offset: slice.offset,
            taken_bytes: len,
            recycled: slice.recycled,
            stream: 0,
            pool,
            page: slice.page,
        })
    }

    fn take_sub(&mut self, len: u64) -> Option<crate::sub_slices::TakenSlice<Id>> {
        match &mut self.layout {
            Layout::Sub(pages) => pages.take(len),
            Layout::Exclusive(_) => None,
        }
    }

    /// A new page from the storage, within the cap. At the cap, unused pages are given back first.
    fn grow<S: Storage<Id = Id>>(
        &mut self,
        storage: &mut S,
        requested_bytes: u64,
        page_bytes: u64,
    ) -> Result<Id, ReserveError> {
        let cap_bytes = self.configuration.cap_bytes;
        let fits = |held: u64| {
            held.checked_add(page_bytes)
                .is_some_and(|total| total <= cap_bytes)
        };
        if !fits(self.layout.page_bytes()) {
            match &mut self.layout {
                Layout::Exclusive(pages) => pages.cleanup(storage, true),
                Layout::Sub(pages) => pages.cleanup(storage, true),
            }
        }
        let held = self.layout.page_bytes();
        if !fits(held) {
            return Err(ReserveError::PoolFull {
                requested_bytes,
                page_bytes: held,
                cap_bytes,
            });
        }
        storage
            .alloc(page_bytes)
            .map_err(|error| ReserveError::Storage {
                requested_bytes,
                page_bytes,
                reason: error.to_string(),
            })
    }
}
