//! Opening a store: the lock, what a crash left, and what stays for good.

use wellwritten_envelope::{Id, U64, sort_few_by};

use super::Store;
use crate::file_name;
use crate::file_names::FileNames;
use crate::medium_error::MediumError;
use crate::open_report::{KeptFile, KeptReason, LeftoverFile, OpenReport};
use crate::store_config::StoreConfig;
use crate::store_error::StoreError;
use crate::store_manifest::UNLISTED_IDS;
use crate::store_medium::{FileEntry, StoreMedium};
use crate::store_reader::StoreReader;

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
}
