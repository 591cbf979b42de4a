//! A store that is open for writing: leftovers, commits, rotation.

use std::ops::Deref;

use wellwritten_envelope::{Digest, Id, U64, decode, encode_parts, sort_few_by};

use crate::commit::{Certainty, CommitError, CommitStep, Committed, GenerationBytes, Pruned};
use crate::envelope_words;
use crate::file_name;
use crate::file_names::FileNames;
use crate::generation_info::GenerationInfo;
use crate::medium_error::MediumError;
use crate::open_report::{KeptFile, KeptReason, LeftoverFile, OpenReport};
use crate::save_request::SaveRequest;
use crate::store_config::StoreConfig;
use crate::store_error::{ImportError, StoreError};
use crate::store_manifest::{PINNED_GENERATIONS, StoreManifest, UNLISTED_IDS};
use crate::store_medium::{FileEntry, StoreMedium};
use crate::store_reader::{Resolution, StoreReader};

/// How many files that could not be removed may wait for the next try before commits are refused, on
/// top of the generations that are kept: two temporaries, a generation of a failed commit, and one to
/// spare for a fault that heals. It bounds how far a store grows on a medium that writes but does not
/// remove.
const LEFTOVERS_WAITING: usize = 4;

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
    /// Locks the store on `medium`, reads its manifest and removes what unfinished commits and
    /// rotations left. Files that are neither a generation nor a temporary are someone else's and stay.
    /// Generations that are found without a manifest stay too, at this opening and at every later one.
    pub async fn open(medium: M, config: StoreConfig) -> Result<(Self, OpenReport), StoreError> {
        if config.keep_generations == 0 {
            return Err(StoreError::KeepGenerations {
                keep_generations: config.keep_generations,
            });
        }
        let lock = medium.lock().await?;
        let mut store = Self {
            reader: StoreReader::open(medium).await?,
            config,
            stale: false,
            durable: false,
            leftovers: FileNames::default(),
            _lock: lock,
        };
        // A process may have died between a rename and its sync, and then the manifest just read is not
        // yet the one a crash would leave. Nothing may be deleted by it before it is.
        let synced = store.reader.medium.sync_dir().await;
        store.durable = synced.is_ok();
        let files = store.reader.medium.list().await?;
        if !store.reader.manifest_found {
            store.keep_aside(&files)?;
        }
        let mut report = OpenReport {
            manifest_found: store.reader.manifest_found,
            missing: store.missing(&files),
            ..OpenReport::default()
        };
        for entry in files {
            store.clean(entry, synced.as_ref().err(), &mut report).await;
        }
        Ok((store, report))
    }

    /// Generations and no manifest: all that is left of a store whose manifest vanished. The next
    /// manifest names them, so that no later opening takes them for leftovers.
    fn keep_aside(&mut self, files: &[FileEntry]) -> Result<(), StoreError> {
        let unlisted = &mut self.reader.manifest.unlisted;
        unlisted.extend(
            files
                .iter()
                .filter_map(|entry| file_name::checkpoint_id_of(&entry.name)),
        );
        sort_few_by(unlisted, Ord::cmp);
        let count = unlisted.len();
        if count > UNLISTED_IDS {
            return Err(StoreError::TooManyUnlisted {
                count,
                limit: UNLISTED_IDS,
            });
        }
        Ok(())
    }

    fn missing(&self, files: &[FileEntry]) -> Vec<Id> {
        self.reader
            .generations()
            .filter(|generation| files.iter().all(|entry| entry.name != generation.file))
            .map(|generation| generation.checkpoint_id.clone())
            .collect()
    }

    async fn clean(
        &mut self,
        entry: FileEntry,
        not_synced: Option<&MediumError>,
        report: &mut OpenReport,
    ) {
        let temporary = file_name::is_temporary(&entry.name);
        let manifest = &self.reader.manifest;
        let checkpoint_id = file_name::checkpoint_id_of(&entry.name);
        let orphan = checkpoint_id.is_some() && !manifest.lists_file(&entry.name);
        if !temporary && !orphan {
            return;
        }
        let kept = if checkpoint_id.is_some_and(|id| manifest.unlisted.contains(&id)) {
            Some((
                KeptReason::NoManifest,
                "it was there when the store had no manifest".to_owned(),
            ))
        } else if let Some(error) = not_synced.filter(|_| orphan) {
            self.leftovers.insert(entry.name.clone());
            Some((KeptReason::ManifestNotDurable, error.to_string()))
        } else {
            self.leftovers.insert(entry.name.clone());
            let removal = self.remove_leftover(&entry.name).await;
            removal
                .err()
                .map(|error| (KeptReason::RemovalFailed, error.to_string()))
        };
        let file = entry.name;
        match kept {
            Some((reason, message)) => report.kept.push(KeptFile {
                file,
                reason,
                message,
            }),
            None => report.removed.push(LeftoverFile {
                file,
                byte_length: U64(entry.byte_length),
            }),
        }
    }

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
        let digest = Digest::blake3_of_parts(&parts);
        let record = envelope_words::record_of(&request.manifest, digest, envelope.byte_length());
        self.commit_parts(record, &parts, Line::GoesOn).await
    }

    /// Commits an envelope that is encoded already, as [`save`](Self::save) does one that is not.
    pub async fn commit(
        &mut self,
        generation: GenerationBytes<'_>,
    ) -> Result<Committed, CommitError> {
        self.require_new(&generation.checkpoint_id).await?;
        let record = info_of(&generation);
        envelope_words::require_stated(&record, generation.bytes)?;
        self.commit_parts(record, &[generation.bytes], Line::GoesOn)
            .await
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
        let record =
            envelope_words::record_of(&manifest, Digest::blake3(bytes), bytes.len() as u64);
        Ok(self.commit_parts(record, &[bytes], Line::Foreign).await?)
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

    async fn commit_parts(
        &mut self,
        record: GenerationInfo,
        parts: &[&[u8]],
        line: Line,
    ) -> Result<Committed, CommitError> {
        if !self.reader.manifest_found {
            self.publish(self.reader.manifest.clone()).await?;
            self.settle().await?;
        }
        self.write_generation(&record.file, parts).await?;
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

    /// Leaves memory, durability and leftovers as after a commit that went well, or refuses.
    async fn settle(&mut self) -> Result<(), CommitError> {
        if self.stale {
            let refreshed = self.reader.refresh().await;
            refreshed.map_err(StoreError::settling)?;
            self.stale = false;
        }
        if !self.durable {
            self.reader
                .medium
                .sync_dir()
                .await
                .map_err(at(CommitStep::Settle))?;
            self.durable = true;
        }
        let removal = self.remove_leftovers().await;
        let limit = self.config.keep_generations + LEFTOVERS_WAITING;
        match removal {
            Err(source) if self.leftovers.len() > limit => Err(CommitError::LeftoversRemain {
                count: self.leftovers.len(),
                limit,
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Steps 1 to 4 of the commit order. The files are leftovers until the manifest lists them.
    async fn write_generation(&mut self, file: &str, parts: &[&[u8]]) -> Result<(), CommitError> {
        let steps = WriteSteps {
            write: CommitStep::WriteGeneration,
            sync: CommitStep::SyncGeneration,
            read_back: CommitStep::ReadBackGeneration,
        };
        self.leftovers.insert(file.to_owned());
        let written = self.write_generation_files(file, parts, &steps).await;
        if written.is_err() {
            let _ = self.remove_leftovers().await;
        }
        written
    }

    async fn write_generation_files(
        &mut self,
        file: &str,
        parts: &[&[u8]],
        steps: &WriteSteps,
    ) -> Result<(), CommitError> {
        let temporary = file_name::GENERATION_TEMPORARY;
        self.write_verified(temporary, parts, steps).await?;
        let medium = &self.reader.medium;
        medium
            .rename_over(temporary, file)
            .await
            .map_err(at(CommitStep::NameGeneration))?;
        self.leftovers.remove(temporary);
        medium
            .sync_dir()
            .await
            .map_err(at(CommitStep::SyncGenerationName))
    }

    /// Step 5 of the commit order: makes `next` the store manifest. The rename is the commit point.
    async fn publish(&mut self, next: StoreManifest) -> Result<Certainty, CommitError> {
        let steps = WriteSteps {
            write: CommitStep::WriteManifest,
            sync: CommitStep::SyncManifest,
            read_back: CommitStep::ReadBackManifest,
        };
        let temporary = file_name::MANIFEST_TEMPORARY;
        let bytes = next.encode();
        if let Err(error) = self.write_verified(temporary, &[&bytes], &steps).await {
            let _ = self.remove_leftovers().await;
            return Err(error);
        }
        self.stale = true;
        self.durable = false;
        if let Err(cause) = self
            .reader
            .medium
            .rename_over(temporary, file_name::MANIFEST)
            .await
        {
            return self.look_after_rename(&next, cause).await;
        }
        self.leftovers.remove(temporary);
        self.reader.manifest = next;
        self.reader.manifest_found = true;
        self.stale = false;
        Ok(match self.reader.medium.sync_dir().await {
            Ok(()) => {
                self.durable = true;
                Certainty::Durable
            }
            Err(cause) => Certainty::NameUncertain { cause },
        })
    }

    /// A rename that reported failure may have happened: the manifest that is there now decides.
    async fn look_after_rename(
        &mut self,
        next: &StoreManifest,
        cause: MediumError,
    ) -> Result<Certainty, CommitError> {
        match self.reader.refresh().await {
            Ok(()) => self.stale = false,
            Err(StoreError::Medium { source }) => {
                return Err(CommitError::OutcomeUnknown { source });
            }
            Err(_) => return Err(CommitError::OutcomeUnknown { source: cause }),
        }
        if self.reader.manifest == *next && self.reader.manifest_found {
            return Ok(Certainty::NameUncertain { cause });
        }
        Err(CommitError::Medium {
            step: CommitStep::NameManifest,
            source: cause,
        })
    }

    /// Writes `parts` to a fresh `temporary`, syncs it and reads it back.
    async fn write_verified(
        &mut self,
        temporary: &str,
        parts: &[&[u8]],
        steps: &WriteSteps,
    ) -> Result<(), CommitError> {
        if self.leftovers.contains(temporary) {
            self.remove_leftover(temporary)
                .await
                .map_err(at(steps.write))?;
        }
        self.leftovers.insert(temporary.to_owned());
        let medium = &self.reader.medium;
        medium
            .write_new(temporary, parts)
            .await
            .map_err(at(steps.write))?;
        medium.sync(temporary).await.map_err(at(steps.sync))?;
        let found = medium.read(temporary).await.map_err(at(steps.read_back))?;
        if is_concatenation(&found, parts) {
            return Ok(());
        }
        Err(CommitError::ReadBack {
            step: steps.read_back,
            written_bytes: parts.iter().map(|part| part.len() as u64).sum(),
            written: Digest::blake3_of_parts(parts),
            found_bytes: found.len() as u64,
            found: Digest::blake3(&found),
        })
    }

    /// Removes what may be removed now; the last failure, if any. What fails waits for the next call.
    async fn remove_leftovers(&mut self) -> Result<(), MediumError> {
        let manifest = &self.reader.manifest;
        self.leftovers.retain(|file| !manifest.lists_file(file));
        if self.stale || !self.durable {
            return Ok(());
        }
        let mut outcome = Ok(());
        for file in self.leftovers.clone() {
            outcome = self.remove_leftover(&file).await.and(outcome);
        }
        outcome
    }

    async fn remove_leftover(&mut self, file: &str) -> Result<(), MediumError> {
        match self.reader.medium.remove(file).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => {
                self.leftovers.remove(file);
                Ok(())
            }
        }
    }
}

/// Whether `bytes` are `parts`, one after the other.
fn is_concatenation(mut bytes: &[u8], parts: &[&[u8]]) -> bool {
    for part in parts {
        match bytes.strip_prefix(*part) {
            Some(rest) => bytes = rest,
            None => return false,
        }
    }
    bytes.is_empty()
}

/// What a generation goes on from.
#[derive(Clone, Copy)]
enum Line {
    /// The newest of the timeline.
    GoesOn,
    /// Nothing in this store.
    Foreign,
}

/// The steps of the commit order at which one file is written.
struct WriteSteps {
    write: CommitStep,
    sync: CommitStep,
    read_back: CommitStep,
}

fn at(step: CommitStep) -> impl FnOnce(MediumError) -> CommitError {
    move |source| CommitError::Medium { step, source }
}

fn info_of(generation: &GenerationBytes<'_>) -> GenerationInfo {
    GenerationInfo {
        checkpoint_id: generation.checkpoint_id.clone(),
        file: file_name::generation(&generation.checkpoint_id),
        session_id: generation.session_id.clone(),
        epoch: generation.epoch.clone(),
        episode_id: generation.episode_id.clone(),
        boundary: U64(generation.boundary),
        compatibility_digest: generation.compatibility_digest,
        envelope_digest: Digest::blake3(generation.bytes),
        byte_length: U64(generation.bytes.len() as u64),
    }
}
