//! Which generations stay: what is added, pinned, rotated out and pruned.

use wellwritten_envelope::Id;

use super::{RETIRED_IDS, StoreManifest};
use crate::generation_info::GenerationInfo;

impl StoreManifest {
    /// Makes the generation, which is listed, the one that what is committed next goes on from.
    pub(crate) fn resume(&mut self, checkpoint_id: &Id) {
        self.high_water = Some(checkpoint_id.clone());
        self.resumed_from = Some(checkpoint_id.clone());
    }

    /// Adds `generation` as the newest, going on from the one before, drops down to `keep_generations` that
    /// are not pinned, and returns the dropped: abandoned ones before those of the timeline, each oldest first.
    pub(crate) fn add(
        &mut self,
        generation: GenerationInfo,
        keep_generations: usize,
    ) -> Vec<GenerationInfo> {
        self.epochs.record(&generation.epoch);
        let checkpoint_id = generation.checkpoint_id.clone();
        let before = self.high_water.replace(checkpoint_id.clone());
        self.continues.push(before.unwrap_or(checkpoint_id));
        self.generations.push(generation);
        self.rotate(keep_generations, true)
    }

    /// Adds `generation`, which comes from elsewhere: it goes on from nothing here, so it is no part of the
    /// timeline unless there is none, and is pinned, because an abandoned one would be the first to be dropped.
    pub(crate) fn add_foreign(&mut self, generation: GenerationInfo) {
        self.epochs.record(&generation.epoch);
        let checkpoint_id = generation.checkpoint_id.clone();
        self.continues.push(checkpoint_id.clone());
        self.generations.push(generation);
        self.set_pinned(&checkpoint_id, true);
        if self.high_water.is_none() {
            self.high_water = Some(checkpoint_id);
        }
    }

    /// The generations that no rotation drops.
    #[must_use]
    pub fn pinned(&self) -> &[Id] {
        &self.pinned
    }

    /// Whether the generation is one that no rotation drops.
    #[must_use]
    pub fn is_pinned(&self, checkpoint_id: &Id) -> bool {
        self.pinned.binary_search(checkpoint_id).is_ok()
    }

    /// Pins or unpins a generation, which is listed.
    pub(crate) fn set_pinned(&mut self, checkpoint_id: &Id, pinned: bool) {
        match (self.pinned.binary_search(checkpoint_id), pinned) {
            (Err(at), true) => self.pinned.insert(at, checkpoint_id.clone()),
            (Ok(at), false) => drop(self.pinned.remove(at)),
            _ => {}
        }
    }

    /// Drops down to `keep_generations` that are not pinned, as [`add`](Self::add) does, but never the newest of
    /// the timeline nor the one last resumed from.
    pub(crate) fn prune(&mut self, keep_generations: usize) -> Vec<GenerationInfo> {
        self.rotate(keep_generations, false)
    }

    fn rotate(&mut self, keep_generations: usize, resumed_too: bool) -> Vec<GenerationInfo> {
        let mut dropped = Vec::new();
        while self.generations.len() - self.pinned.len() > keep_generations
            && let Some(at) = self.least_worth(resumed_too)
        {
            dropped.push(self.drop_at(at));
        }
        let forgotten = self.retired.len().saturating_sub(RETIRED_IDS);
        self.retired.drain(..forgotten);
        dropped
    }

    /// Of those that are not pinned the oldest abandoned one, else the oldest but the newest of the timeline and
    /// the one last resumed from; that one only if nothing else is left, and if it may be.
    fn least_worth(&self, resumed_too: bool) -> Option<usize> {
        let timeline = self.timeline();
        let is_resumed = |generation: &GenerationInfo| {
            Some(&generation.checkpoint_id) == self.resumed_from.as_ref()
        };
        let oldest = |fits: &dyn Fn(&GenerationInfo) -> bool| {
            self.generations.iter().position(|generation| {
                let id = &generation.checkpoint_id;
                !self.is_pinned(id) && Some(id) != self.high_water.as_ref() && fits(generation)
            })
        };
        oldest(&|generation| !timeline.contains(&generation))
            .or_else(|| oldest(&|generation| !is_resumed(generation)))
            .or_else(|| oldest(&is_resumed).filter(|_| resumed_too))
    }

    /// Drops one. What went on from it goes on from what it did.
    fn drop_at(&mut self, at: usize) -> GenerationInfo {
        let dropped = self.generations.remove(at);
        let before = self.continues.remove(at);
        let id = &dropped.checkpoint_id;
        for (generation, continues) in self.generations.iter().zip(&mut self.continues) {
            if continues == id {
                let first = before == *id;
                *continues = if first {
                    &generation.checkpoint_id
                } else {
                    &before
                }
                .clone();
            }
        }
        if self.resumed_from.as_ref() == Some(id) {
            self.resumed_from = None;
        }
        self.retired.push(id.clone());
        dropped
    }
}
