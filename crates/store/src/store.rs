//! A store that is open for writing: leftovers, commits, rotation.

use std::ops::Deref;

use wellwritten_envelope::{Digest, Id, U64, sort_few_by};

use crate::commit::{Certainty, CommitError, CommitStep, Committed, GenerationBytes};
use crate::envelope_words;
use crate::file_name;
use crate::file_names::FileNames;
use crate::generation_info::GenerationInfo;
use crate::medium_error::MediumError;
use crate::open_report::{KeptFile, KeptReason, LeftoverFile, OpenReport};
use crate::store_config::StoreConfig;
use crate::store_error::StoreError;
use crate::store_manifest::{StoreManifest, UNLISTED_IDS};
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

    /// Commits a generation: writes, syncs, reads back and names its file, then the store manifest the
    /// same way. When this returns `Ok`, the manifest lists the generation.
    ///
    /// Waits for about ten operations of the medium (twice that in a store without a manifest, which
    /// first gets an empty one, so that a generation without a manifest always means that a manifest
    /// vanished).
    pub async fn commit(
        &mut self,
        generation: GenerationBytes<'_>,
    ) -> Result<Committed, CommitError> {
        self.settle().await?;
        if self.reader.resolution(&generation.checkpoint_id) != Resolution::NotCommitted {
            return Err(CommitError::CheckpointIdUsed {
                checkpoint_id: generation.checkpoint_id,
            });
        }
        envelope_words::require_stated(&generation)?;
        if !self.reader.manifest_found {
            self.publish(self.reader.manifest.clone()).await?;
            self.settle().await?;
        }
        let info = info_of(&generation);
        self.write_generation(&info.file, generation.bytes).await?;
        let mut next = self.reader.manifest.clone();
        let dropped = next.add(info.clone(), self.config.keep_generations);
        let certainty = self.publish(next).await?;
        for generation in &dropped {
            self.leftovers.insert(generation.file.clone());
        }
        // A file that stays is not a failure of this commit: it is tried again by the next one.
        let _ = self.remove_leftovers().await;
        Ok(Committed {
            generation: info,
            certainty,
            rotated_out: dropped
                .into_iter()
                .map(|generation| generation.checkpoint_id)
                .collect(),
        })
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
            self.reader.refresh().await.map_err(|error| match error {
                StoreError::ManifestUnreadable { fault } => {
                    CommitError::ManifestUnreadable { fault }
                }
                StoreError::ManifestVanished => CommitError::ManifestVanished,
                StoreError::Medium { source } => at(CommitStep::Settle)(source),
                StoreError::Lock { .. }
                | StoreError::KeepGenerations { .. }
                | StoreError::TooManyUnlisted { .. } => {
                    unreachable!("reading a manifest takes no lock, configuration or list of files")
                }
            })?;
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
    async fn write_generation(&mut self, file: &str, bytes: &[u8]) -> Result<(), CommitError> {
        let steps = WriteSteps {
            write: CommitStep::WriteGeneration,
            sync: CommitStep::SyncGeneration,
            read_back: CommitStep::ReadBackGeneration,
        };
        self.leftovers.insert(file.to_owned());
        let written = self.write_generation_files(file, bytes, &steps).await;
        if written.is_err() {
            let _ = self.remove_leftovers().await;
        }
        written
    }

    async fn write_generation_files(
        &mut self,
        file: &str,
        bytes: &[u8],
        steps: &WriteSteps,
    ) -> Result<(), CommitError> {
        let temporary = file_name::GENERATION_TEMPORARY;
        self.write_verified(temporary, bytes, steps).await?;
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
        if let Err(error) = self.write_verified(temporary, &next.encode(), &steps).await {
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

    /// Writes `bytes` to a fresh `temporary`, syncs it and reads it back.
    async fn write_verified(
        &mut self,
        temporary: &str,
        bytes: &[u8],
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
            .write_new(temporary, bytes)
            .await
            .map_err(at(steps.write))?;
        medium.sync(temporary).await.map_err(at(steps.sync))?;
        let found = medium.read(temporary).await.map_err(at(steps.read_back))?;
        if found == bytes {
            return Ok(());
        }
        Err(CommitError::ReadBack {
            step: steps.read_back,
            written_bytes: bytes.len() as u64,
            written: Digest::blake3(bytes),
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
