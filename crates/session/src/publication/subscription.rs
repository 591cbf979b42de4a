//! [`Subscription`]: one observer's view of what is published.

use std::future::poll_fn;
use std::ops::Deref;
use std::rc::{Rc, Weak};

use crate::publication::mailbox::Mailbox;
use crate::{CommittedSnapshot, EventBatch};

/// What to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscribeOptions {
    /// Committed snapshots, the latest only.
    pub snapshots: bool,
    /// What the task sees, event by event.
    pub task_events: bool,
    /// What happens to the session: changes of phase, boundaries, checkpoints, failures, restores.
    pub session_events: bool,
}

impl Default for SubscribeOptions {
    /// Snapshots and what the task sees.
    fn default() -> Self {
        Self {
            snapshots: true,
            task_events: true,
            session_events: false,
        }
    }
}

/// Why there is no subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// As many as there may be exist. Retry once one was dropped.
    #[error("there are {limit} subscriptions, which is as many as there may be")]
    TooMany {
        /// [`Subscription::MAX_SUBSCRIPTIONS`].
        limit: usize,
    },
}

/// One observer's view of what is published. It begins with the snapshot that stands when it is made.
///
/// Of snapshots it holds the latest: as long as the observer keeps [`MAX_IN_FLIGHT`](Self::MAX_IN_FLIGHT) of those it took,
/// one more waits, and is replaced by each that follows. Of events it holds the last [`MAX_EVENTS`](Self::MAX_EVENTS). An
/// observer that does not keep up loses its own data and is told how much; nobody else notices. Dropping it releases all
/// it holds.
pub struct Subscription {
    mailbox: Rc<Mailbox>,
}

impl Subscription {
    /// Most subscriptions of one session.
    pub const MAX_SUBSCRIPTIONS: usize = 128;
    /// Most snapshots one observer holds at a time.
    pub const MAX_IN_FLIGHT: usize = 2;
    /// Most events that wait for one observer.
    pub const MAX_EVENTS: usize = 64;

    pub(crate) const fn new(mailbox: Rc<Mailbox>) -> Self {
        Self { mailbox }
    }

    /// The latest snapshot that was not taken yet, where there is one and fewer than
    /// [`MAX_IN_FLIGHT`](Self::MAX_IN_FLIGHT) are held.
    #[must_use]
    pub fn try_snapshot(&self) -> Option<SnapshotDelivery> {
        take_snapshot(&self.mailbox)
    }

    /// Waits for what [`try_snapshot`](Self::try_snapshot) gives; `None` once the session is gone.
    pub async fn next_snapshot(&self) -> Option<SnapshotDelivery> {
        let mailbox = &self.mailbox;
        poll_fn(|context| mailbox.poll(context, |_| take_snapshot(mailbox))).await
    }

    /// Every event that waits, where any does.
    #[must_use]
    pub fn try_events(&self) -> Option<EventBatch> {
        self.mailbox.take_events()
    }

    /// Waits for what [`try_events`](Self::try_events) gives; `None` once the session is gone.
    pub async fn next_events(&self) -> Option<EventBatch> {
        poll_fn(|context| self.mailbox.poll(context, Mailbox::take_events)).await
    }
}

fn take_snapshot(mailbox: &Rc<Mailbox>) -> Option<SnapshotDelivery> {
    let (snapshot, missed_before) = mailbox.take_snapshot()?;
    Some(SnapshotDelivery {
        snapshot,
        missed_before,
        mailbox: Rc::downgrade(mailbox),
    })
}

/// A snapshot in the hands of an observer. It counts against the observer's own until it is dropped, and keeps the bytes
/// it refers to.
pub struct SnapshotDelivery {
    snapshot: Rc<CommittedSnapshot>,
    missed_before: u64,
    mailbox: Weak<Mailbox>,
}

impl SnapshotDelivery {
    /// Snapshots published since the one taken before, or since the subscription began, that this observer never saw.
    #[must_use]
    pub const fn missed_before(&self) -> u64 {
        self.missed_before
    }
}

impl Deref for SnapshotDelivery {
    type Target = CommittedSnapshot;

    fn deref(&self) -> &CommittedSnapshot {
        &self.snapshot
    }
}

impl Drop for SnapshotDelivery {
    fn drop(&mut self) {
        if let Some(mailbox) = self.mailbox.upgrade() {
            mailbox.give_back();
        }
    }
}
