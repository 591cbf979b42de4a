//! Checkpoints of a session on their way to its store.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wasm_bindgen_futures::spawn_local;
use wellwritten_envelope::Id;
use wellwritten_session::{CheckpointRequest, Resolution, SaveKind, SaveOutcome, SaveTicket};
use wellwritten_store::GenerationInfo;

use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::session_host::{SessionHost, patiently};

/// Options of `checkpoint`.
#[derive(Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CheckpointOptions {
    /// Its name; one is made where absent. A name is used once.
    #[tsify(optional, type = "string")]
    checkpoint_id: Option<Id>,
    /// Whether a later one that is replaceable too may take its place while it waits for the store. Its outcome is
    /// `superseded` then.
    #[tsify(optional)]
    replaceable: bool,
    /// How long to wait for the outcome, in milliseconds; for ever where absent. After that it is `deadlineExpired`, and
    /// the save goes on: `resolveSave` tells what became of it.
    #[tsify(optional, type = "number")]
    deadline_ms: Option<u32>,
}

/// What became of a save, as the store has it.
#[derive(Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SaveResolution {
    /// It committed and is listed.
    Committed {
        /// Its record.
        generation: GenerationInfo,
    },
    /// It committed and has since been dropped for newer ones.
    RotatedOut,
    /// A file of that name was there when the store had no manifest, and is kept aside.
    Unlisted,
    /// It did not commit.
    NotCommitted,
}

impl From<Resolution> for SaveResolution {
    fn from(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Committed(generation) => Self::Committed {
                generation: *generation,
            },
            Resolution::RotatedOut => Self::RotatedOut,
            Resolution::Unlisted => Self::Unlisted,
            Resolution::NotCommitted => Self::NotCommitted,
        }
    }
}

/// The context of `SAVES_LOST`.
#[derive(Serialize, Tsify)]
struct LostSaves {
    /// What became of each.
    outcomes: Vec<SaveOutcome>,
}

impl SessionHost {
    /// Captures every participant and hands the checkpoint to the store. The session may step while this waits for the
    /// outcome.
    pub async fn checkpoint(self: &Rc<Self>, options: CheckpointOptions) -> WebResult<SaveOutcome> {
        let request = CheckpointRequest {
            checkpoint_id: options.checkpoint_id,
            kind: if options.replaceable {
                SaveKind::Replaceable
            } else {
                SaveKind::Durable
            },
        };
        let ticket = {
            let _turn = self.turn.lock().await;
            patiently(&self.clock, || self.coordinator.capture(request.clone())).await?
        };
        let deadline_ns = options.deadline_ms.map(|ms| u64::from(ms) * 1_000_000);
        let outcome = self.coordinator.outcome(&ticket, deadline_ns).await;
        if matches!(outcome, SaveOutcome::DeadlineExpired { .. }) {
            self.listen_for(ticket);
        }
        Ok(outcome)
    }

    /// Keeps what becomes of a save that nobody waits for any more, to be told at the end if it is lost.
    fn listen_for(self: &Rc<Self>, ticket: SaveTicket) {
        let host = Rc::downgrade(self);
        spawn_local(async move {
            let outcome = ticket.outcome().await;
            if let Some(host) = host.upgrade()
                && is_lost(&outcome)
            {
                host.unheard.borrow_mut().push(outcome);
            }
        });
    }

    /// Waits for saves that are under way, a bounded time; an error that names those that were lost.
    pub async fn close_saves(&self) -> WebResult<()> {
        let ended = self.coordinator.close_saves(self.closing_ns).await?;
        let mut outcomes = self.unheard.take();
        for outcome in ended.into_iter().filter(is_lost) {
            let mut known = outcomes.iter().map(SaveOutcome::checkpoint_id);
            if !known.any(|one| one == outcome.checkpoint_id()) {
                outcomes.push(outcome);
            }
        }
        if outcomes.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = outcomes
            .iter()
            .map(|outcome| outcome.checkpoint_id().as_str())
            .collect();
        let message = format!(
            "the session is closed, and {} did not come to be saved, as far as is known",
            names.join(", ")
        );
        Err(WebError::new(WellwrittenErrorCode::SavesLost, message)
            .with_context(&LostSaves { outcomes }))
    }
}

/// Whether a checkpoint that somebody wanted kept is not known to be. One whose place another took was not wanted.
fn is_lost(outcome: &SaveOutcome) -> bool {
    !matches!(
        outcome,
        SaveOutcome::Committed { .. } | SaveOutcome::Superseded { .. }
    )
}
