//! [`SaveTicket`]: a save that was taken on.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::task::Poll;

use wellwritten_envelope::Id;

use crate::save_outcome::SaveOutcome;
use crate::writer::writer_core::WriterCore;

/// What is known of a save, shared by the writer and the tickets.
pub(super) struct SaveRecord {
    pub(super) checkpoint_id: Id,
    pub(super) boundary: u64,
    /// Set once, when it is told.
    pub(super) outcome: RefCell<Option<SaveOutcome>>,
}

/// A save that was taken on. Clones are of the same save; dropping them changes nothing about it.
#[derive(Clone)]
pub struct SaveTicket {
    core: Rc<WriterCore>,
    record: Rc<SaveRecord>,
}

impl SaveTicket {
    pub(super) const fn new(core: Rc<WriterCore>, record: Rc<SaveRecord>) -> Self {
        Self { core, record }
    }

    /// The checkpoint.
    #[must_use]
    pub fn checkpoint_id(&self) -> &Id {
        &self.record.checkpoint_id
    }

    /// The boundary it holds.
    #[must_use]
    pub fn boundary(&self) -> u64 {
        self.record.boundary
    }

    /// Waits until the save ended. Whoever waits also does the writer's work, so that no one else needs to; a wait
    /// that is dropped cancels nothing.
    pub async fn outcome(&self) -> SaveOutcome {
        self.core
            .wait(|_| match self.try_outcome() {
                Some(outcome) => Poll::Ready(outcome),
                None => Poll::Pending,
            })
            .await
    }

    /// What became of the save, once it ended.
    #[must_use]
    pub fn try_outcome(&self) -> Option<SaveOutcome> {
        self.record.outcome.borrow().clone()
    }
}

impl fmt::Debug for SaveTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SaveTicket")
            .field("checkpoint_id", self.checkpoint_id())
            .field("boundary", &self.boundary())
            .field("outcome", &self.try_outcome())
            .finish_non_exhaustive()
    }
}
