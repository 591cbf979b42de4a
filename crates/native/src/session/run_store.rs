//! [`RunStore`]: the store of a run, and when it saves.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use wellwritten_native::{OpenStoreError, StoreThread, StoreThreadEnd};
use wellwritten_session::{
    CheckpointRequest, Coordinator, Observer, SaveKind, SaveTicket, SessionError, SessionEvent,
};
use wellwritten_store::{SaveRefusal, StoreClient, StoreConfig, StoreGone};

use super::run_report::Came;
use super::save_log::SaveLog;
use crate::arguments::RunArguments;
use crate::console::Console;
use crate::run_error::RunError;
use crate::store::tell_opening;

/// How long the saves that were begun may take when the run is over: far longer than a disk takes that works.
const CLOSING_NS: u64 = 60_000_000_000;

/// How long the store's thread may take to let go of the store when nothing is to be saved any more.
const LETTING_GO: Duration = Duration::from_secs(5);

/// Where a run saves its checkpoints, and how often.
pub struct RunStore {
    folder: PathBuf,
    is_empty: bool,
    client: StoreClient,
    end: StoreThreadEnd,
    every: Option<NonZeroU64>,
    log: Rc<SaveLog>,
    /// The boundary of the newest checkpoint that was taken or gone on from.
    saved: Cell<Option<u64>>,
    /// Those that were taken and may not have ended.
    outstanding: RefCell<Vec<SaveTicket>>,
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
        let opened = StoreThread::open(folder, config).await;
        let StoreThread {
            client,
            report,
            end,
        } = opened.map_err(failed)?;
        tell_opening(&report, &mut console.clone());
        came.opened = Some(report);
        let list = match client.generations().await {
            Ok(list) => list,
            Err(error) => return Err(failed(OpenStoreError::Looking(error))),
        };
        let (count, unlisted) = (list.generations.len(), list.unlisted.len());
        if count == 0 && unlisted > 0 {
            return Err(RunError::StoreWithoutList {
                folder: folder.clone(),
                count: unlisted,
            });
        }
        if count > 0 && arguments.resume.is_none() {
            return Err(RunError::StoreNotEmpty {
                folder: folder.clone(),
                count,
            });
        }
        Ok(Some(Self {
            folder: folder.clone(),
            is_empty: count == 0,
            client,
            end,
            every: arguments.checkpoint_every,
            log: Rc::new(SaveLog::new(console)),
            saved: Cell::new(None),
            outstanding: RefCell::default(),
        }))
    }

    /// What a session needs of it.
    pub fn client(&self) -> StoreClient {
        self.client.clone()
    }

    /// Tells what becomes of each checkpoint, when it is known.
    pub fn observer(&self) -> Observer {
        let log = self.log.clone();
        Rc::new(move |event| {
            if let SessionEvent::Generation { outcome } = event {
                log.ended(&outcome);
            }
        })
    }

    /// Why the session does not go on from it.
    pub fn not_resumed(&self, source: SessionError) -> RunError {
        RunError::NotResumed {
            folder: self.folder.clone(),
            source: Box::new(source),
        }
    }

    /// Whether it held no checkpoint when it was opened.
    pub const fn is_empty(&self) -> bool {
        self.is_empty
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

    /// Takes a checkpoint of the boundary the session stands at, and waits only where too many are on their way already.
    /// What cannot be taken is said, and stops nothing.
    pub async fn save(&self, session: &Coordinator) -> Result<(), SessionError> {
        let boundary = session.status().boundary;
        loop {
            let request = CheckpointRequest {
                checkpoint_id: None,
                kind: SaveKind::Durable,
            };
            match session.capture(request).await {
                Ok(ticket) => {
                    self.outstanding.borrow_mut().push(ticket);
                    break;
                }
                Err(SessionError::SaveRefused {
                    refusal: SaveRefusal::Full { .. } | SaveRefusal::OverBudget { .. },
                }) if self.oldest_ended().await => {}
                Err(error @ SessionError::EpochFailed(_)) => return Err(error),
                Err(error) => {
                    self.log.refused(boundary, &error.to_string());
                    break;
                }
            }
        }
        self.saved.set(Some(boundary));
        Ok(())
    }

    /// Waits until one that is on its way has ended; false where none is.
    async fn oldest_ended(&self) -> bool {
        self.outstanding
            .borrow_mut()
            .retain(|ticket| ticket.try_outcome().is_none());
        let oldest = self.outstanding.borrow().first().cloned();
        match oldest {
            Some(ticket) => {
                ticket.outcome().await;
                true
            }
            None => false,
        }
    }

    /// Saves where the run stops, unless that is saved.
    pub async fn save_last(&self, session: &Coordinator) -> Result<(), SessionError> {
        match session.phase().committed_boundary() {
            Some(boundary) if self.saved.get() != Some(boundary) => self.save(session).await,
            _ => Ok(()),
        }
    }

    /// Waits for what was taken.
    pub async fn finish(&self, session: &Coordinator) {
        // What does not end in time is told like the rest, as what it is.
        let _ = session.close_saves(CLOSING_NS).await;
    }

    /// Lets go of the store.
    pub async fn close(self, came: &mut Came) -> Result<(), RunError> {
        let Self {
            client,
            end,
            log,
            outstanding,
            ..
        } = self;
        // A ticket is a way to the store as well.
        drop((client, outstanding));
        // A disk that never answers keeps its thread, and this process ends all the same.
        let ended = tokio::time::timeout(LETTING_GO, end.wait()).await;
        came.saves = Some(log.report());
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(StoreGone { reason })) => log.store_ended(&reason),
            Err(_) => log.store_ended("its disk does not answer"),
        }
        match log.failure() {
            Some((count, message)) => Err(RunError::NotSaved { count, message }),
            None => Ok(()),
        }
    }
}
