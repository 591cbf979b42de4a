//! [`StreamPool`]: logical streams, folded onto a bounded set of pooled ones.

use crate::identity::StreamId;
use crate::sorted_map::SortedMap;
use core::num::NonZeroU32;

/// Makes the pooled streams of a [`StreamPool`], each when it is first used.
pub trait StreamFactory {
    /// What stands behind a pooled stream.
    type Stream;
    /// Why one could not be made.
    type Error;

    /// A new pooled stream.
    fn create(&mut self) -> Result<Self::Stream, Self::Error>;
}

/// At most `max` pooled streams. The logical stream `id` is served by the pooled stream `id % max`.
///
/// Callers make up as many logical streams as they like (one a thread, one a session); a device has few.
#[derive(Debug)]
pub struct StreamPool<F: StreamFactory> {
    factory: F,
    max: NonZeroU32,
    /// By pooled stream.
    streams: SortedMap<u32, F::Stream>,
}

impl<F: StreamFactory> StreamPool<F> {
    /// A pool without streams yet.
    pub fn new(factory: F, max: NonZeroU32) -> Self {
        Self {
            factory,
            max,
            streams: SortedMap::new(),
        }
    }

    /// Which pooled stream serves a logical one, from 0.
    #[must_use]
    pub fn slot(&self, id: StreamId) -> u32 {
        let folded = id.0 % u64::from(self.max.get());
        u32::try_from(folded).expect("below a number of 32 bits")
    }

    /// The pooled stream that serves `id`, made if this is its first use.
    pub fn get(&mut self, id: StreamId) -> Result<&mut F::Stream, F::Error> {
        let slot = self.slot(id);
        if !self.streams.contains_key(&slot) {
            let made = self.factory.create()?;
            self.streams.insert(slot, made);
        }
        Ok(self.streams.get_mut(&slot).expect("it is there now"))
    }

    /// The pooled stream that serves `id`, if it has been used.
    #[must_use]
    pub fn try_get(&self, id: StreamId) -> Option<&F::Stream> {
        self.streams.get(&self.slot(id))
    }

    /// The pooled stream that serves `id`, if it has been used.
    pub fn try_get_mut(&mut self, id: StreamId) -> Option<&mut F::Stream> {
        let slot = self.slot(id);
        self.streams.get_mut(&slot)
    }

    /// The pooled streams that have been used, each with its slot, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &F::Stream)> {
        self.streams.iter().map(|(slot, stream)| (*slot, stream))
    }

    /// The pooled streams that have been used, each with its slot, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut F::Stream)> {
        self.streams
            .iter_mut()
            .map(|(slot, stream)| (*slot, stream))
    }
}
