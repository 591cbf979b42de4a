//! A store that is open for writing: what can be changed in it.

mod opening;
mod writing;

use std::ops::Deref;

use wellwritten_envelope::{Digest, Id, decode, encode_parts};

use crate::commit::{Certainty, CommitError, Committed, Pruned};
use crate::envelope_words;
use crate::file_name;
use crate::file_names::FileNames;
use crate::generation_info::GenerationInfo;
use crate::save_request::SaveRequest;
use crate::store_config::StoreConfig;
use crate::store_error::ImportError;
use crate::store_manifest::{PINNED_GENERATIONS, StoreManifest};
use crate::store_medium::StoreMedium;
use crate::store_reader::{Resolution, StoreReader};

/// The owner of a store. Reading is [`StoreReader`]'s, to which this dereferences: a store *is* a view
/// that can also commit, and forwarding each method would be a second list of them to keep.
///
/// One method runs at a time (`&mut self`). A future that is dropped halfway leaves the store as a
/// failure would: the next call settles it.
#[derive(Debug)]
pub struct Store<M: StoreMedium> {
    reader: StoreReader<M>,
    config: StoreConfig,
    /// Whether the manifest in memory may differ from the one on the medium.
    stale: bool,
    /// Whether the manifest on the medium is known to survive a crash. While it is not, the one before
    /// it may come back, and nothing that it lists may be deleted.
    durable: bool,
    /// Files this store made and no longer needs, if they exist at all.
    leftovers: FileNames,
    _lock: M::Lock,
}

impl<M: StoreMedium> Deref for Store<M> {
    type Target = StoreReader<M>;

    fn deref(&self) -> &StoreReader<M> {
        &self.reader
    }
}

impl<M: StoreMedium> Store<M> {
    /// The choices the store was opened with.
    #[must_use]
    pub fn config(&self) -> StoreConfig {
        self.config
    }

    /// Saves a checkpoint: lays its envelope out around the payloads and commits it. When this returns `Ok`, the
    /// manifest lists the generation.
    ///
    /// No payload is copied, and each of its bytes is hashed twice, which is what the formats ask for: once for the
    /// envelope's own table and once for the store's record, which is of the whole file. What was written is read
    /// back and compared.
    ///
    /// Waits for about ten operations of the medium (twice that in a store without a manifest, which
    /// first gets an empty one, so that a generation without a manifest always means that a manifest
    /// vanished).
    pub async fn save(&mut self, request: &SaveRequest) -> Result<Committed, CommitError> {
        self.require_new(&request.manifest.checkpoint_id).await?;
        let views = request.views();
        let envelope =
            encode_parts(&request.manifest, &views).map_err(|error| CommitError::NotEncodable {
                reason: error.to_string(),
            })?;
        let parts = envelope.in_order();
        let file = file_name::generation(&request.manifest.checkpoint_id);
        let record = || {
            let digest = Digest::blake3_of_parts(&parts);
            envelope_words::record_of(&request.manifest, digest, envelope.byte_length())
        };
        self.commit_parts(file, &parts, record, Line::GoesOn).await
    }

    /// Commits an envelope from elsewhere, verified by every rule of its format first. It is a generation like any
    /// other, but no part of the timeline unless the store was empty: a restore takes it by name. It is pinned,
    /// because what goes on from nothing here would be the first to rotate out.
    pub async fn import(&mut self, bytes: &[u8]) -> Result<Committed, ImportError> {
        let manifest = decode(bytes)
            .map_err(|error| ImportError::Damaged {
                source: error.into(),
            })?
            .manifest;
        self.require_new(&manifest.checkpoint_id).await?;
        let found = &manifest.source_scope.session_id;
        if let Some(newest) = self.reader.generations().next()
            && self
                .reader
                .generations()
                .all(|one| one.session_id != *found)
        {
            return Err(ImportError::OtherSession {
                stored: newest.session_id.clone(),
                found: found.clone(),
            });
        }
        self.require_room_for_a_pin()?;
        let file = file_name::generation(&manifest.checkpoint_id);
        let record =
            || envelope_words::record_of(&manifest, Digest::blake3(bytes), bytes.len() as u64);
        Ok(self
            .commit_parts(file, &[bytes], record, Line::Foreign)
            .await?)
    }

    /// Settles, and refuses an id that is used.
    async fn require_new(&mut self, checkpoint_id: &Id) -> Result<(), CommitError> {
        self.settle().await?;
        match self.reader.resolution(checkpoint_id) {
            Resolution::NotCommitted => Ok(()),
            _ => Err(CommitError::CheckpointIdUsed {
                checkpoint_id: checkpoint_id.clone(),
            }),
        }
    }

    fn require_room_for_a_pin(&self) -> Result<(), CommitError> {
        if self.reader.manifest.pinned().len() < PINNED_GENERATIONS {
            return Ok(());
        }
        Err(CommitError::TooManyPinned {
            limit: PINNED_GENERATIONS,
        })
    }

    /// Commits `parts` as `file`. The record of it, which needs a pass over every byte, is asked for while the medium
    /// may still be writing.
    async fn commit_parts(
        &mut self,
        file: String,
        parts: &[&[u8]],
        record: impl FnOnce() -> GenerationInfo,
        line: Line,
    ) -> Result<Committed, CommitError> {
        if !self.reader.manifest_found {
            self.publish(self.reader.manifest.clone()).await?;
            self.settle().await?;
        }
        let record = self.write_generation(&file, parts, record).await?;
        let mut next = self.reader.manifest.clone();
        let dropped = match line {
            Line::GoesOn => next.add(record.clone(), self.config.keep_generations),
            Line::Foreign => {
                next.add_foreign(record.clone());
                Vec::new()
            }
        };
        let (certainty, rotated_out) = self.publish_without(next, dropped).await?;
        Ok(Committed {
            generation: record,
            certainty,
            rotated_out,
        })
    }

    /// Publishes a manifest that dropped some, and removes their files.
    async fn publish_without(
        &mut self,
        next: StoreManifest,
        dropped: Vec<GenerationInfo>,
    ) -> Result<(Certainty, Vec<Id>), CommitError> {
        let certainty = self.publish(next).await?;
        for generation in &dropped {
            self.leftovers.insert(generation.file.clone());
        }
        // A file that stays is not a failure of this commit: it is tried again by the next one.
        let _ = self.remove_leftovers().await;
        let ids = dropped
            .into_iter()
            .map(|generation| generation.checkpoint_id);
        Ok((certainty, ids.collect()))
    }

    /// Pins a generation, so that no rotation and no pruning drops it, or lets it go again: then the next of those
    /// may. Where that is as asked already, nothing is written.
    pub async fn set_pinned(
        &mut self,
        checkpoint_id: &Id,
        pinned: bool,
    ) -> Result<Certainty, CommitError> {
        self.settle().await?;
        if self.reader.find(checkpoint_id).is_none() {
            return Err(CommitError::UnknownGeneration {
                checkpoint_id: checkpoint_id.clone(),
            });
        }
        if self.reader.manifest.is_pinned(checkpoint_id) == pinned {
            return Ok(Certainty::Durable);
        }
        if pinned {
            self.require_room_for_a_pin()?;
        }
        let mut next = self.reader.manifest.clone();
        next.set_pinned(checkpoint_id, pinned);
        self.publish(next).await
    }

    /// Drops generations until at most `keep_generations` are left that are not pinned: abandoned ones first, then
    /// the oldest. Never a pinned one, never the newest of the timeline, never the one last resumed from, so that
    /// more may be left. Where there is nothing to drop, nothing is written.
    pub async fn prune(&mut self, keep_generations: usize) -> Result<Pruned, CommitError> {
        if keep_generations == 0 {
            return Err(CommitError::KeepGenerations { keep_generations });
        }
        self.settle().await?;
        let mut next = self.reader.manifest.clone();
        let dropped = next.prune(keep_generations);
        if dropped.is_empty() {
            return Ok(Pruned {
                dropped: Vec::new(),
                certainty: Certainty::Durable,
            });
        }
        let (certainty, dropped) = self.publish_without(next, dropped).await?;
        Ok(Pruned { dropped, certainty })
    }

    /// Records that an epoch begins, so that its name is never used again even if nothing is committed
    /// in it. A restore calls this before it stages anyone.
    pub async fn claim_epoch(&mut self, epoch: &Id) -> Result<Certainty, CommitError> {
        self.settle().await?;
        if self.reader.epochs().is_used(epoch) {
            return Err(CommitError::EpochUsed {
                epoch: epoch.clone(),
            });
        }
        let mut next = self.reader.manifest.clone();
        next.epochs.record(epoch);
        self.publish(next).await
    }

    /// Records that the session resumed from `checkpoint_id`: from now on [`latest`](StoreReader::latest)
    /// is that generation, and what is committed next goes on from it. The generations that it does not
    /// itself go on from are an abandoned future for good: taken only by name, and rotated out first.
    /// Naming one of those here makes its past the timeline again. A restore calls this when everyone is
    /// active.
    pub async fn mark_resumed(&mut self, checkpoint_id: &Id) -> Result<Certainty, CommitError> {
        self.settle().await?;
        if self.reader.find(checkpoint_id).is_none() {
            return Err(CommitError::UnknownGeneration {
                checkpoint_id: checkpoint_id.clone(),
            });
        }
        let mut next = self.reader.manifest.clone();
        next.resume(checkpoint_id);
        self.publish(next).await
    }

    /// What became of a save under `checkpoint_id`, by the manifest on the medium.
    pub async fn resolve(&mut self, checkpoint_id: &Id) -> Result<Resolution, CommitError> {
        self.settle().await?;
        Ok(self.reader.resolution(checkpoint_id))
    }
}

/// What a generation goes on from.
#[derive(Clone, Copy)]
enum Line {
    /// The newest of the timeline.
    GoesOn,
    /// Nothing in this store.
    Foreign,
}
