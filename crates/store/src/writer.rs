//! [`Writer`]: a bounded queue of captures on their way to a store.
//!
//! A *slot* is reserved before anyone is asked for their state, and a capture is handed in with it. One save is under
//! way at a time, the others wait in the order in which they were handed in. A *replaceable* capture that finds every
//! slot taken takes over a replaceable one that waits; what ends first, the waiting or the capturing, decides whether
//! that one is superseded or saved.
//!
//! # Whose responsibility
//!
//! The store encodes, hashes, writes and syncs, wherever its owner runs; the writer hands it the very payloads it was
//! given, and copies none. The caller captures, tells the time ([`SaveOutcome::DeadlineExpired`] is theirs) and moves
//! the durable mark.
//!
//! # Invariants
//!
//! - Slots taken, waiting saves and the one under way are never more than the capacity; the bytes of the last two
//!   never more than the budget.
//! - A refusal changes nothing and holds nothing.
//! - Every save that is taken on ends once: the payloads are released, then its outcome is seen and told, whatever the
//!   store, the observer or whoever waits does. Only what the store acknowledged is `Committed`; what may have happened
//!   is never `Failed`. Nothing is saved twice.
//! - Whoever waits does the work; who stops waiting stops nothing.

mod save_refusal;
mod save_slot;
mod save_ticket;
mod saving;
mod waiters;
mod writer_config;
mod writer_core;
mod writer_event;
mod writer_state;
mod writer_statistics;

use std::fmt;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use wellwritten_envelope::Id;

use crate::commit::CommitError;
use crate::save_outcome::SaveOutcome;
use crate::save_request::SaveRequest;
use crate::store_client::StoreClient;
use crate::store_reader::Resolution;

pub use save_refusal::SaveRefusal;
pub use save_slot::{SaveKind, SaveSlot};
pub use save_ticket::SaveTicket;
pub use writer_config::{WriterConfig, WriterConfigError};
pub use writer_event::WriterEvent;
pub use writer_statistics::WriterStatistics;

use writer_core::WriterCore;
use writer_state::WriterState;

/// A bounded queue of captures on their way to a store: slots are reserved before anyone is asked, what is handed in is
/// saved one after the other, and everything ends once.
///
/// Dropping it is closing it without waiting: what was taken on is still saved, for whoever drives it or holds a
/// ticket.
///
/// ```
/// # futures::executor::block_on(async {
/// use std::future::ready;
/// use std::rc::Rc;
///
/// use wellwritten_store::{
///     MemoryMedium, SaveKind, Store, StoreClient, StoreConfig, Writer, WriterConfig,
/// };
///
/// let (store, _) = Store::open(MemoryMedium::new(), StoreConfig::default()).await?;
/// let told = Rc::new(|event| println!("{event:?}"));
/// let writer = Writer::new(StoreClient::local(store), WriterConfig::default(), told)?;
/// # let capture = |name| wellwritten_store::testing::SampleGeneration::new(name, "e1", 10).to_save();
///
/// // A capture that may be left out once a newer one is there; one that may not.
/// let mut tickets = Vec::new();
/// for (name, kind) in [("quick", SaveKind::Replaceable), ("kept", SaveKind::Durable)] {
///     let slot = writer.reserve(kind, writer.estimate())?; // before anyone is asked for their state
///     tickets.push(writer.submit(slot, capture(name))?);
/// }
/// // There is no room for a third one, and nothing waits that it might replace.
/// assert!(writer.reserve(SaveKind::Replaceable, 0).is_err());
///
/// assert!(tickets[1].outcome().await.is_committed());
/// assert!(writer.statistics().outstanding == 0 && tickets[0].try_outcome().is_some());
/// assert!(writer.close(ready(())).await.is_empty()); // nothing was left
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Writer {
    core: Rc<WriterCore>,
}

impl Writer {
    /// A writer to the store of `client`. `observer` is told of everything as it happens; it may call the writer, and
    /// must not wait for it.
    pub fn new(
        client: StoreClient,
        config: WriterConfig,
        observer: Rc<dyn Fn(WriterEvent)>,
    ) -> Result<Rc<Self>, WriterConfigError> {
        config.check()?;
        let core = WriterCore::new(client, WriterState::new(config), observer);
        Ok(Rc::new(Self {
            core: Rc::new(core),
        }))
    }

    /// Takes a slot for a capture of about `estimated_bytes`. To be done before anyone is asked for their state.
    pub fn reserve(&self, kind: SaveKind, estimated_bytes: u64) -> Result<SaveSlot, SaveRefusal> {
        let number = self
            .core
            .change(|state| state.reserve(kind, estimated_bytes))?;
        Ok(SaveSlot::new(Rc::clone(&self.core), number))
    }

    /// Hands in a capture. Where it is refused the slot is free again and the payloads are released.
    pub fn submit(&self, slot: SaveSlot, request: SaveRequest) -> Result<SaveTicket, SaveRefusal> {
        let number = slot.into_number(&self.core);
        let record = self.core.change(|state| state.submit(number, request))?;
        Ok(SaveTicket::new(Rc::clone(&self.core), record))
    }

    /// The ticket of a save that waits or is under way. Of one that ended, only the store knows.
    #[must_use]
    pub fn ticket(&self, checkpoint_id: &Id) -> Option<SaveTicket> {
        let state = self.core.state.borrow();
        let record = state.outstanding(checkpoint_id)?;
        Some(SaveTicket::new(Rc::clone(&self.core), Rc::clone(record)))
    }

    /// What became of a save, as the store has it. Never saves; where the save has not ended, waits until it has,
    /// because until then the answer is not the last word.
    pub async fn resolve(&self, checkpoint_id: &Id) -> Result<Resolution, CommitError> {
        let ticket = self.ticket(checkpoint_id);
        if let Some(ticket) = ticket {
            ticket.outcome().await;
        }
        self.driving(self.core.client.resolve(checkpoint_id)).await
    }

    /// What was done, and what is held.
    #[must_use]
    pub fn statistics(&self) -> WriterStatistics {
        self.core.state.borrow().statistics()
    }

    /// How many bytes the next capture is expected to have: as many as the last one that was handed in, and 0 before.
    /// Never more than may be held at all, so that a session whose captures were once too large can try again.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        self.core.state.borrow().estimate()
    }

    /// Saves what is handed in, until the writer is closed or dropped and nothing is left. For the host to run beside
    /// everything else; without it, saves go on only while somebody waits for one.
    pub fn drive(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let core = Rc::clone(&self.core);
        async move {
            core.wait(|_| {
                if core.state.borrow().closed && core.is_idle() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    }

    /// Waits for something else, doing the writer's work meanwhile: a store in the same program answers nobody while a
    /// save that is under way stands still.
    pub async fn driving<F: Future>(&self, other: F) -> F::Output {
        let mut other = pin!(other);
        self.core.wait(|context| other.as_mut().poll(context)).await
    }

    /// Takes on nothing more, and waits until everything ended or `within` is over. What is left then ends as well:
    /// what the store never heard of as `Failed`, the rest as `ReplyLost`. Returns the outcome of every save that had
    /// not ended before, in the order in which they were handed in.
    pub async fn close(&self, within: impl Future<Output = ()>) -> Vec<SaveOutcome> {
        let tickets: Vec<SaveTicket> = {
            let mut state = self.core.state.borrow_mut();
            state.closed = true;
            let records = state.records().map(Rc::clone);
            records
                .map(|record| SaveTicket::new(Rc::clone(&self.core), record))
                .collect()
        };
        let mut within = pin!(within);
        self.core
            .wait(|context| {
                if self.core.is_idle() {
                    Poll::Ready(())
                } else {
                    within.as_mut().poll(context)
                }
            })
            .await;
        self.core.change(WriterState::give_up);
        self.core.waiters.wake_all();
        let mut outcomes = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            outcomes.push(ticket.outcome().await);
        }
        outcomes
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.core.state.borrow_mut().closed = true;
        self.core.waiters.wake_all();
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
