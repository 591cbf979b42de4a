//! The order in which a change is written, and what it leaves when something fails.

use wellwritten_envelope::Digest;

use super::Store;
use crate::commit::{Certainty, CommitError, CommitStep};
use crate::file_name;
use crate::medium_error::MediumError;
use crate::store_error::StoreError;
use crate::store_manifest::StoreManifest;
use crate::store_medium::StoreMedium;

/// How many files that could not be removed may wait for the next try before commits are refused, on
/// top of the generations that are kept: two temporaries, a generation of a failed commit, and one to
/// spare for a fault that heals. It bounds how far a store grows on a medium that writes but does not
/// remove.
const LEFTOVERS_WAITING: usize = 4;

impl<M: StoreMedium> Store<M> {
    /// Leaves memory, durability and leftovers as after a commit that went well, or refuses.
    pub(super) async fn settle(&mut self) -> Result<(), CommitError> {
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
        let limit = self
            .config
            .keep_generations
            .saturating_add(LEFTOVERS_WAITING);
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
    ///
    /// `meanwhile` is done while the medium may still be writing, and what it gives is returned.
    pub(super) async fn write_generation<T>(
        &mut self,
        file: &str,
        parts: &[&[u8]],
        meanwhile: impl FnOnce() -> T,
    ) -> Result<T, CommitError> {
        let steps = WriteSteps {
            write: CommitStep::WriteGeneration,
            read_back: CommitStep::ReadBackGeneration,
            sync: CommitStep::SyncGeneration,
        };
        self.leftovers.insert(file.to_owned());
        let written = self
            .write_generation_files(file, parts, &steps, meanwhile)
            .await;
        if written.is_err() {
            let _ = self.remove_leftovers().await;
        }
        written
    }

    async fn write_generation_files<T>(
        &mut self,
        file: &str,
        parts: &[&[u8]],
        steps: &WriteSteps,
        meanwhile: impl FnOnce() -> T,
    ) -> Result<T, CommitError> {
        let temporary = file_name::GENERATION_TEMPORARY;
        let done = self
            .write_verified(temporary, parts, steps, meanwhile)
            .await?;
        let medium = &self.reader.medium;
        medium
            .rename_over(temporary, file)
            .await
            .map_err(at(CommitStep::NameGeneration))?;
        self.leftovers.remove(temporary);
        medium
            .sync_dir()
            .await
            .map_err(at(CommitStep::SyncGenerationName))?;
        Ok(done)
    }

    /// Step 5 of the commit order: makes `next` the store manifest. The rename is the commit point.
    pub(super) async fn publish(&mut self, next: StoreManifest) -> Result<Certainty, CommitError> {
        let steps = WriteSteps {
            write: CommitStep::WriteManifest,
            read_back: CommitStep::ReadBackManifest,
            sync: CommitStep::SyncManifest,
        };
        let temporary = file_name::MANIFEST_TEMPORARY;
        let bytes = next.encode();
        let parts: [&[u8]; 1] = [&bytes];
        let written = self.write_verified(temporary, &parts, &steps, || ()).await;
        if let Err(error) = written {
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

    /// Writes `parts` to a fresh `temporary`, reads it back and syncs it; does something else just before the sync.
    async fn write_verified<T>(
        &mut self,
        temporary: &str,
        parts: &[&[u8]],
        steps: &WriteSteps,
        meanwhile: impl FnOnce() -> T,
    ) -> Result<T, CommitError> {
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
        let found = medium.read_back(temporary, parts).await;
        if let Some(found) = found.map_err(at(steps.read_back))? {
            return Err(CommitError::ReadBack {
                step: steps.read_back,
                written_bytes: parts.iter().map(|part| part.len() as u64).sum(),
                written: Digest::blake3_of_parts(parts),
                found_bytes: found.byte_length,
                found: found.digest,
            });
        }
        let done = meanwhile();
        medium.sync(temporary).await.map_err(at(steps.sync))?;
        Ok(done)
    }

    /// Removes what may be removed now; the last failure, if any. What fails waits for the next call.
    pub(super) async fn remove_leftovers(&mut self) -> Result<(), MediumError> {
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

    pub(super) async fn remove_leftover(&mut self, file: &str) -> Result<(), MediumError> {
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
    read_back: CommitStep,
    sync: CommitStep,
}

fn at(step: CommitStep) -> impl FnOnce(MediumError) -> CommitError {
    move |source| CommitError::Medium { step, source }
}
