//! [`SaveLog`]: what became of each checkpoint of a run, told when it is known.

use std::cell::RefCell;

use serde::Serialize;
use wellwritten_session::{Id, SaveOutcome, U64};

use crate::console::Console;
use crate::readable_bytes::readable_bytes;

/// What became of the checkpoints of a run, for a program.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SavesReport {
    committed: U64,
    /// Those that are not in the store, or may not be.
    failed: U64,
    /// The last one that was committed; null where none was.
    newest: Option<SavedReport>,
    /// What was said of the last one that failed; null where none did.
    failure: Option<String>,
}

/// A checkpoint that is in the store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SavedReport {
    checkpoint_id: Id,
    epoch: Id,
    boundary: U64,
}

/// Says of each checkpoint what became of it, at once and on a line of its own, so that whoever reads standard output
/// knows what would survive if this process were killed now.
pub struct SaveLog {
    console: RefCell<Console>,
    report: RefCell<SavesReport>,
}

impl SaveLog {
    pub fn new(console: &Console) -> Self {
        Self {
            console: RefCell::new(console.clone()),
            report: RefCell::default(),
        }
    }

    /// What it came to so far.
    pub fn report(&self) -> SavesReport {
        self.report.borrow().clone()
    }

    /// What was said of the last checkpoint that failed, and how many did.
    pub fn failure(&self) -> Option<(u64, String)> {
        let report = self.report.borrow();
        let failure = report.failure.clone()?;
        Some((report.failed.get(), failure))
    }

    /// A checkpoint could not even be taken.
    pub fn refused(&self, boundary: u64, why: &str) {
        self.fail(format!("boundary {boundary} was not saved: {why}"));
    }

    /// The store's thread ended before its time.
    pub fn store_ended(&self, reason: &str) {
        self.console
            .borrow()
            .complain(&format!("the store is gone: {reason}"));
    }

    /// A save ended.
    pub fn ended(&self, outcome: &SaveOutcome) {
        match outcome {
            SaveOutcome::Committed {
                checkpoint_id,
                epoch,
                boundary,
                byte_length,
                uncertainty,
                ..
            } => {
                {
                    let mut report = self.report.borrow_mut();
                    report.committed.0 += 1;
                    report.newest = Some(SavedReport {
                        checkpoint_id: checkpoint_id.clone(),
                        epoch: epoch.clone(),
                        boundary: U64(*boundary),
                    });
                }
                let length = readable_bytes(byte_length.get());
                let mut console = self.console.borrow_mut();
                if let Some(cause) = uncertainty {
                    console.complain(&format!(
                        "checkpoint {checkpoint_id} is saved, but it is not certain that it survives a crash of the \
                         machine: {cause}"
                    ));
                }
                console.say(&format!(
                    "saved {checkpoint_id}: boundary {boundary} of epoch {epoch}, {length}"
                ));
            }
            SaveOutcome::Failed {
                checkpoint_id,
                boundary,
                message,
            } => self.fail(format!(
                "checkpoint {checkpoint_id} of boundary {boundary} was not saved: {message}"
            )),
            other => self.fail(format!(
                "it is unknown whether checkpoint {} is saved",
                other.checkpoint_id()
            )),
        }
    }

    fn fail(&self, message: String) {
        self.console.borrow().complain(&message);
        let mut report = self.report.borrow_mut();
        report.failed.0 += 1;
        report.failure = Some(message);
    }
}
