//! [`StreamPool`]: logical streams, folded onto a bounded set of pooled ones.

use crate::identity::StreamId;
use alloc::vec::Vec;
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
    streams: Vec<Option<F::Stream>>,
}

impl<F: StreamFactory> StreamPool<F> {
    /// A pool without streams yet.
    pub fn new(factory: F, max: NonZeroU32) -> Self {
        let streams = (0..max.get()).map(|_| None).collect();
        Self { factory, streams }
    }

    /// Which pooled stream serves a logical one.
    #[must_use]
    pub fn slot(&self, id: StreamId) -> usize {
        let folded = id.0 % self.streams.len() as u64;
        usize::try_from(folded).expect("below the number of streams, which is a usize")
    }

    /// The pooled stream that serves `id`, made if this is its first use.
    pub fn get(&mut self, id: StreamId) -> Result<&mut F::Stream, F::Error> {
        let slot = self.slot(id);
        let stream = &mut self.streams[slot];
        match stream {
            Some(stream) => Ok(stream),
            None => Ok(stream.insert(self.factory.create()?)),
        }
    }

    /// The pooled stream that serves `id`, if it has been used.
    #[must_use]
    pub fn try_get(&self, id: StreamId) -> Option<&F::Stream> {
        self.streams[self.slot(id)].as_ref()
    }

    /// The pooled stream that serves `id`, if it has been used.
    pub fn try_get_mut(&mut self, id: StreamId) -> Option<&mut F::Stream> {
        let slot = self.slot(id);
        self.streams[slot].as_mut()
    }

    /// The pooled streams that have been used, each with its slot.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &F::Stream)> {
        self.streams
            .iter()
            .enumerate()
            .filter_map(|(slot, stream)| Some((slot, stream.as_ref()?)))
    }

    /// The pooled streams that have been used, each with its slot.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut F::Stream)> {
        self.streams
            .iter_mut()
            .enumerate()
            .filter_map(|(slot, stream)| Some((slot, stream.as_mut()?)))
    }
}
