//! [`RunStore`]: the store of a run, and when it saves.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::rc::Rc;

use wellwritten_native::{FileMedium, OpenStoreError};
use wellwritten_session::{Coordinator, SaveOutcome, SessionError, StoreClient};
use wellwritten_store::{Store, StoreConfig};

use super::run_report::Came;
use super::save_log::SaveLog;
use crate::arguments::RunArguments;
use crate::console::Console;
use crate::run_error::RunError;
use crate::store::tell_opening;

/// Where a run saves its checkpoints, and how often.
pub struct RunStore {
    folder: PathBuf,
    store: StoreClient,
    every: Option<NonZeroU64>,
    log: SaveLog,
    /// The boundary of the newest checkpoint.
    saved: Cell<Option<u64>>,
}

impl RunStore {
    /// Opens the store that was asked for, if one was.
    pub async fn open(
        arguments: &RunArguments,
        console: &Console,
        came: &mut Came,
    ) -> Result<Option<Self>, RunError> {
        let Some(folder) = &arguments.store else {
            return Ok(None);
        };
        let failed = |source| RunError::Store {
            folder: folder.clone(),
            source,
        };
        let config = StoreConfig {
            keep_generations: arguments
                .keep
                .map_or(StoreConfig::default().keep_generations, Into::into),
        };
        let medium = FileMedium::create(folder).map_err(|error| failed(error.into()))?;
        let (store, report) = Store::open(medium, config)
            .await
            .map_err(|error| failed(OpenStoreError::Store(error)))?;
        tell_opening(&report, &mut console.clone());
        came.opened = Some(report);
        let count = store.generations().count();
        if count > 0 && !arguments.resume {
            return Err(RunError::StoreNotEmpty {
                folder: folder.clone(),
                count,
            });
        }
        Ok(Some(Self {
            folder: folder.clone(),
            store: StoreClient::local(store),
            every: arguments.checkpoint_every,
            log: SaveLog::new(console),
            saved: Cell::new(None),
        }))
    }

    /// What a session needs of it.
    pub fn session_store(&self) -> StoreClient {
        self.store.clone()
    }

    /// Why the session does not go on from it.
    pub fn not_resumed(&self, source: SessionError) -> RunError {
        RunError::NotResumed {
            folder: self.folder.clone(),
            source: Box::new(source),
        }
    }

    /// The session stands at a boundary that is saved.
    pub fn resumed_at(&self, boundary: u64) {
        self.saved.set(Some(boundary));
    }

    /// The next boundary at which a checkpoint is due.
    pub fn next_checkpoint(&self, boundary: u64) -> Option<u64> {
        let every = self.every?.get();
        (boundary / every).checked_add(1)?.checked_mul(every)
    }

    /// Saves the boundary the session stands at. What cannot be saved is said, and stops nothing.
    pub async fn save(&self, session: &Rc<Coordinator>) -> Result<(), SessionError> {
        let boundary = session.status().boundary;
        match session.checkpoint(None).await {
            Ok(outcome) => {
                if let SaveOutcome::Committed { boundary, .. } = outcome {
                    self.saved.set(Some(boundary));
                }
                self.log.ended(&outcome);
            }
            Err(error @ SessionError::EpochFailed(_)) => return Err(error),
            Err(error) => self.log.refused(boundary, &error.to_string()),
        }
        Ok(())
    }

    /// Saves where the run stops, unless that is saved.
    pub async fn save_last(&self, session: &Rc<Coordinator>) -> Result<(), SessionError> {
        match session.phase().committed_boundary() {
            Some(boundary) if self.saved.get() != Some(boundary) => self.save(session).await,
            _ => Ok(()),
        }
    }

    /// Lets go of the store.
    pub fn close(self, came: &mut Came) -> Result<(), RunError> {
        came.saves = Some(self.log.report());
        match self.log.failure() {
            Some((count, message)) => Err(RunError::NotSaved { count, message }),
            None => Ok(()),
        }
    }
}
