//! Captures on their way to the store: slots, outcomes, and the durable mark.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use wellwritten_envelope::Id;
use wellwritten_store::{
    Resolution, StoreClient, StoreGone, Writer, WriterConfig, WriterEvent, WriterStatistics,
};

use crate::coordinator::Listeners;
use crate::first_of::within;
use crate::session_state::SessionState;
use crate::{Clock, Coordinator, DurableMark, SaveOutcome, SaveTicket, SessionError, SessionEvent};

/// The store as a session uses it.
pub(crate) struct Saves {
    pub client: StoreClient,
    pub writer: Rc<Writer>,
    clock: Rc<dyn Clock>,
    /// How long an answer may take, and how long what is on its way may.
    patience_ns: u64,
}

impl Saves {
    /// A writer that tells `listeners` of its saves and moves the durable mark in `state`.
    pub(crate) fn new(
        client: StoreClient,
        config: WriterConfig,
        state: Rc<RefCell<SessionState>>,
        listeners: Listeners,
        clock: Rc<dyn Clock>,
        patience_ns: u64,
    ) -> Result<Self, SessionError> {
        let told = Rc::new(move |event| told(&state, &listeners, event));
        let writer = Writer::new(client.clone(), config, told)?;
        Ok(Self {
            client,
            writer,
            clock,
            patience_ns,
        })
    }

    /// Waits for an answer of the store, a bounded time: one that stalls holds nobody for ever, and is taken for gone. A
    /// store in this program answers nobody while a save stands still, so that goes on meanwhile.
    pub(crate) async fn ask<T, E: From<StoreGone>>(
        &self,
        question: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let answer = Box::pin(self.writer.driving(question));
        let answer = within(&*self.clock, self.patience_ns, answer).await;
        answer.unwrap_or_else(|| {
            let reason = format!(
                "it has not answered for {} ms",
                self.patience_ns / 1_000_000
            );
            Err(StoreGone { reason }.into())
        })
    }

    /// Whether a checkpoint is being taken or written.
    pub(crate) fn is_saving(&self) -> bool {
        self.writer.statistics().outstanding > 0
    }
}

/// What a writer tells, as the session's own words.
fn told(state: &RefCell<SessionState>, listeners: &Listeners, event: WriterEvent) {
    match event {
        WriterEvent::Queued {
            checkpoint_id,
            boundary,
            byte_length,
        } => {
            state.borrow_mut().outstanding.push(checkpoint_id.clone());
            listeners.emit(SessionEvent::Captured {
                checkpoint_id: checkpoint_id.clone(),
                boundary,
            });
            listeners.emit(SessionEvent::Queued {
                checkpoint_id,
                boundary,
                byte_length,
            });
        }
        WriterEvent::Ended(outcome) => {
            {
                let mut state = state.borrow_mut();
                let ended = outcome.checkpoint_id();
                state.outstanding.retain(|name| name != ended);
                if let Some(name) = named_for_good(&outcome) {
                    state.known_checkpoints.insert(name);
                }
            }
            listeners.emit(SessionEvent::Generation {
                outcome: outcome.clone(),
            });
            if let SaveOutcome::Committed {
                checkpoint_id,
                epoch,
                boundary,
                ..
            } = outcome
            {
                let mark = DurableMark {
                    checkpoint_id,
                    epoch,
                    boundary,
                };
                move_durable_mark(state, listeners, mark);
            }
        }
    }
}

/// The name of a checkpoint that is in the store, or may be.
fn named_for_good(outcome: &SaveOutcome) -> Option<Id> {
    let is_out = matches!(
        outcome,
        SaveOutcome::Failed { .. } | SaveOutcome::Superseded { .. }
    );
    (!is_out).then(|| outcome.checkpoint_id().clone())
}

/// The mark only moves forward, and only on the running timeline: a save of an epoch that was left since counts for
/// nothing there, and neither does one that ends after a later one.
fn move_durable_mark(state: &RefCell<SessionState>, listeners: &Listeners, mark: DurableMark) {
    let mut state = state.borrow_mut();
    if mark.epoch == state.epoch {
        // A commit writes its epoch down.
        state.store_warning = None;
    }
    let moves = mark.epoch == state.epoch
        && state
            .durable
            .as_ref()
            .is_none_or(|old| mark.boundary > old.boundary || old.epoch != mark.epoch);
    if !moves {
        return;
    }
    state.durable = Some(mark.clone());
    drop(state);
    listeners.emit(SessionEvent::Durable { mark });
}

impl Coordinator {
    pub(crate) fn saves(&self) -> Result<&Saves, SessionError> {
        self.saves.as_ref().ok_or(SessionError::NoStore)
    }

    /// Waits for the outcome of a save; where a deadline is given, for so long at most. A save whose deadline expired
    /// goes on and may still commit: its ticket stays good, and [`resolve_save`](Self::resolve_save) tells.
    pub async fn outcome(&self, ticket: &SaveTicket, deadline_ns: Option<u64>) -> SaveOutcome {
        let ended = Box::pin(ticket.outcome());
        let Some(deadline_ns) = deadline_ns else {
            return ended.await;
        };
        let in_time = within(&*self.clock, deadline_ns, ended).await;
        in_time.unwrap_or_else(|| SaveOutcome::DeadlineExpired {
            checkpoint_id: ticket.checkpoint_id().clone(),
            boundary: ticket.boundary(),
        })
    }

    /// What became of a save whose outcome was `ReplyLost` or `DeadlineExpired`, as the store has it. Never saves again;
    /// where it finds the checkpoint of the running epoch, the durable mark moves.
    pub async fn resolve_save(&self, checkpoint_id: &Id) -> Result<Resolution, SessionError> {
        let saves = self.saves()?;
        let resolution = saves.writer.resolve(checkpoint_id).await?;
        if let Resolution::Committed(generation) = &resolution {
            let mark = DurableMark {
                checkpoint_id: checkpoint_id.clone(),
                epoch: generation.epoch.clone(),
                boundary: generation.boundary.0,
            };
            move_durable_mark(&self.state, &self.listeners, mark);
        }
        Ok(resolution)
    }

    /// What was saved by this coordinator, and what is held for it.
    pub fn save_statistics(&self) -> Result<WriterStatistics, SessionError> {
        Ok(self.saves()?.writer.statistics())
    }

    /// Takes no checkpoint from now on and waits for those that were taken, for `within_ns` at most. Returns what became
    /// of each; what had not ended by then is told as what it is.
    pub async fn close_saves(&self, within_ns: u64) -> Result<Vec<SaveOutcome>, SessionError> {
        let over = self.clock.sleep_ns(within_ns);
        Ok(self.saves()?.writer.close(over).await)
    }

    /// Waits until nothing that was captured is on its way any more, as long as a save may take. What is saved after a
    /// restore would seem to go on from there.
    pub(crate) async fn saves_ended(&self) -> Result<(), SessionError> {
        let Some(saves) = &self.saves else {
            return Ok(());
        };
        loop {
            let next = self.state.borrow().outstanding.first().cloned();
            let Some(ticket) = next.and_then(|name| saves.writer.ticket(&name)) else {
                return Ok(());
            };
            let ended = Box::pin(ticket.outcome());
            if within(&*self.clock, saves.patience_ns, ended)
                .await
                .is_none()
            {
                return Err(SessionError::SaveOutstanding {
                    checkpoint_id: ticket.checkpoint_id().clone(),
                    waited_ms: saves.patience_ns / 1_000_000,
                });
            }
        }
    }

    /// Reads which names of checkpoints are taken.
    pub(crate) async fn learn_checkpoints(&self) -> Result<(), SessionError> {
        if let Some(saves) = &self.saves {
            let list = saves.ask(saves.client.generations()).await?;
            let mut state = self.state.borrow_mut();
            let listed = list.generations.into_iter();
            for name in listed.map(|it| it.info.checkpoint_id).chain(list.unlisted) {
                state.known_checkpoints.insert(name);
            }
        }
        Ok(())
    }

    /// An id that names no checkpoint yet: the one asked for, or one made of epoch and boundary. Nobody is asked: the
    /// store, which would refuse a name that was used long ago, may be busy with a save.
    pub(crate) fn fresh_checkpoint_id(
        &self,
        saves: &Saves,
        asked: Option<Id>,
        boundary: u64,
    ) -> Result<Id, SessionError> {
        let state = self.state.borrow();
        let is_known =
            |id: &Id| state.known_checkpoints.contains(id) || saves.writer.ticket(id).is_some();
        if let Some(checkpoint_id) = asked {
            return if is_known(&checkpoint_id) {
                Err(SessionError::CheckpointIdUsed { checkpoint_id })
            } else {
                Ok(checkpoint_id)
            };
        }
        let stem = format!("ckpt-{}-{boundary}", state.epoch);
        let mut candidate = super::own_payloads::name(&stem);
        let mut repetition = 1_u64;
        while is_known(&candidate) {
            repetition += 1;
            candidate = super::own_payloads::name(&format!("{stem}-{repetition}"));
        }
        Ok(candidate)
    }
}
