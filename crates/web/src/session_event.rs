//! What a session tells the page, unasked.

use js_sys::Function;
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;
use wellwritten_session::{
    DurableMark, FailureRecord, Phase, RestoreReport, SaveOutcome, SeekProgress, SessionEvent,
};

use crate::convert::to_js;

/// One thing that happened, told once. N steps give exactly N `boundary` events.
#[derive(Debug, Serialize, Tsify)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum WebSessionEvent {
    /// The session is open.
    Ready,
    /// The phase changed.
    Phase {
        /// From.
        from: Phase,
        /// To.
        to: Phase,
    },
    /// A transition was committed.
    Boundary {
        /// The epoch.
        epoch: String,
        /// The boundary just committed.
        #[tsify(type = "bigint")]
        boundary: u64,
    },
    /// Claims changed: ask for `taint` again.
    Taint {
        /// Moves whenever a claim or a buffer changes.
        #[tsify(type = "bigint")]
        revision: u64,
    },
    /// Every participant was captured; the checkpoint is not durable yet.
    Captured {
        /// The checkpoint.
        checkpoint_id: String,
        /// The boundary.
        #[tsify(type = "bigint")]
        boundary: u64,
    },
    /// A checkpoint waits for the store.
    Queued {
        /// The checkpoint.
        checkpoint_id: String,
        /// The boundary.
        #[tsify(type = "bigint")]
        boundary: u64,
        /// The length of its payloads, in bytes.
        #[tsify(type = "bigint")]
        byte_length: u64,
    },
    /// A save ended, one way or another.
    Generation {
        /// How.
        outcome: SaveOutcome,
    },
    /// The durable mark moved.
    Durable {
        /// Where to.
        mark: DurableMark,
    },
    /// A seek got further.
    Seeking {
        /// How far it is.
        #[serde(flatten)]
        progress: SeekProgress,
    },
    /// The epoch ended; the session is fenced until it is restored.
    Failure {
        /// Why.
        record: FailureRecord,
    },
    /// The whole group goes on under a new epoch.
    Restored {
        /// From what.
        report: RestoreReport,
    },
    /// The device was lost or recovered, or reported an error outside every submission.
    Device {
        /// What happened, as a sentence.
        message: String,
    },
    /// The session was closed.
    Stopped,
}

/// Where events go.
#[derive(Clone)]
pub struct EventSink(Function);

impl EventSink {
    /// Sends to a JavaScript function.
    pub fn new(listener: Function) -> Self {
        Self(listener)
    }

    /// Sends one event.
    pub fn send(&self, event: &WebSessionEvent) {
        // What a listener throws is its own affair; the session goes on.
        let _ = self.0.call1(&JsValue::UNDEFINED, &to_js(event));
    }

    /// Sends what the coordinator said.
    pub fn forward(&self, event: SessionEvent) {
        self.send(&match event {
            SessionEvent::Phase { change } => WebSessionEvent::Phase {
                from: change.from,
                to: change.to,
            },
            SessionEvent::Boundary {
                epoch, boundary, ..
            } => WebSessionEvent::Boundary {
                epoch: epoch.to_string(),
                boundary,
            },
            SessionEvent::Captured {
                checkpoint_id,
                boundary,
            } => WebSessionEvent::Captured {
                checkpoint_id: checkpoint_id.to_string(),
                boundary,
            },
            SessionEvent::Queued {
                checkpoint_id,
                boundary,
                byte_length,
            } => WebSessionEvent::Queued {
                checkpoint_id: checkpoint_id.to_string(),
                boundary,
                byte_length,
            },
            SessionEvent::Generation { outcome } => WebSessionEvent::Generation { outcome },
            SessionEvent::Durable { mark } => WebSessionEvent::Durable { mark },
            SessionEvent::Failure { record } => WebSessionEvent::Failure { record },
            SessionEvent::Restored { report } => WebSessionEvent::Restored { report },
            _ => return,
        });
    }
}
