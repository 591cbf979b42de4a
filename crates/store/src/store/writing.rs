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
    pub(super) async fn write_generation(
        &mut self,
        file: &str,
        parts: &[&[u8]],
    ) -> Result<(), CommitError> {
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
    pub(super) async fn publish(&mut self, next: StoreManifest) -> Result<Certainty, CommitError> {
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

/// The steps of the commit order at which one file is written.
struct WriteSteps {
    write: CommitStep,
    sync: CommitStep,
    read_back: CommitStep,
}

fn at(step: CommitStep) -> impl FnOnce(MediumError) -> CommitError {
    move |source| CommitError::Medium { step, source }
}
