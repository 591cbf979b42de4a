//! [`PublishedEvent`]: what the event feed carries.

use serde::Serialize;
use wellwritten_envelope::Scope;

use crate::{SessionEvent, TaskEvent};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "topic",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum PublishedEvent {
    /// The task saw it in the transition that ended at a committed boundary.
    Task {
        /// Session, epoch and that boundary.
        scope: Scope,
        /// What it saw.
        event: TaskEvent,
    },
    /// It happened to the session.
    Session {
        /// What.
        event: SessionEvent,
    },
}

/// Events in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventBatch {
    /// Events that were lost before the first of these, because nobody had taken them in time.
    pub dropped_before: u64,
    /// At most [`Subscription::MAX_EVENTS`](crate::Subscription::MAX_EVENTS).
    pub events: Vec<PublishedEvent>,
}
