//! What `session run` answers, for a program and for a person.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Serialize, Serializer};
use wellwritten_native::{ReapOutcome, Reaped};
use wellwritten_session::{Coordinator, Digest, Id, Phase, RestoreReport, U64};
use wellwritten_store::OpenReport;

use super::save_log::SavesReport;
use crate::console::Console;
use crate::exit_status::ExitStatus;
use crate::file_name::FileName;
use crate::run_error::{RunError, RunErrorReport};

/// The answer for a program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    command: &'static str,
    exit_code: u8,
    interrupted: bool,
    /// What opening the store found and removed; null where none was opened.
    opened: Option<OpenReport>,
    /// Null where it did not go on from a checkpoint.
    resumed: Option<Resumed>,
    /// Null where it did not start.
    session: Option<Reached>,
    /// Null without a store.
    saves: Option<SavesReport>,
    /// The file that was written.
    trace: Option<FileName>,
    participants: Vec<End>,
    error: Option<RunErrorReport>,
}

/// What a session went on from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    checkpoint_id: Id,
    boundary: U64,
    source_epoch: Id,
    to_epoch: Id,
    /// Newer checkpoints that were passed over.
    skipped: Vec<Skipped>,
    /// What the store could not write down about it.
    store_warning: Option<String>,
}

/// A checkpoint that was passed over.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Skipped {
    checkpoint_id: Id,
    reason: String,
}

/// Where a session stands at its end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reached {
    #[serde(serialize_with = "as_text")]
    phase: Phase,
    boundary: U64,
    epoch: Id,
    steps: U64,
    seconds: f64,
    steps_per_second: f64,
    behaviour: BehaviourReport,
}

/// The digest of what it did, numbers as decimal strings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BehaviourReport {
    from: U64,
    length: U64,
    digest: Digest,
}

/// How a participant ended.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    participant_id: Id,
    incarnation_id: Id,
    #[serde(serialize_with = "as_text")]
    outcome: ReapOutcome,
    ending: String,
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// What a run came to, whether or not it came to its end.
#[derive(Default)]
pub struct Came {
    pub opened: Option<OpenReport>,
    pub resumed: Option<Resumed>,
    pub reached: Option<Reached>,
    pub saves: Option<SavesReport>,
    pub ends: Vec<End>,
    pub interrupted: bool,
}

impl Reached {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate, for which a float is exact enough"
    )]
    pub fn of(session: &Coordinator, elapsed: Duration) -> Self {
        let status = session.status();
        let behaviour = session.behaviour_digest();
        let seconds = elapsed.as_secs_f64();
        Self {
            phase: status.phase,
            boundary: U64(status.boundary),
            epoch: status.epoch,
            steps: U64(status.advances),
            seconds,
            steps_per_second: status.advances as f64 / seconds.max(1e-9),
            behaviour: BehaviourReport {
                from: U64(behaviour.from),
                length: U64(behaviour.length),
                digest: behaviour.digest,
            },
        }
    }
}

impl From<&Reaped> for End {
    fn from(reaped: &Reaped) -> Self {
        Self {
            participant_id: reaped.participant_id.clone(),
            incarnation_id: reaped.incarnation_id.clone(),
            outcome: reaped.outcome,
            ending: reaped.ending.clone(),
        }
    }
}

impl From<RestoreReport> for Resumed {
    fn from(report: RestoreReport) -> Self {
        let skipped = report.skipped.into_iter().map(|skipped| Skipped {
            checkpoint_id: skipped.checkpoint_id,
            reason: skipped.reason,
        });
        Self {
            checkpoint_id: report.checkpoint_id,
            boundary: U64(report.boundary),
            source_epoch: report.source_epoch,
            to_epoch: report.to_epoch,
            skipped: skipped.collect(),
            store_warning: report.store_warning,
        }
    }
}

impl Resumed {
    /// Says it at once: a run may be long.
    pub fn tell(&self, console: &mut Console) {
        for Skipped {
            checkpoint_id,
            reason,
        } in &self.skipped
        {
            console.complain(&format!(
                "checkpoint {checkpoint_id} was passed over: {reason}"
            ));
        }
        if let Some(warning) = &self.store_warning {
            console.complain(warning);
        }
        console.say(&format!(
            "resumed {}: boundary {} of epoch {} goes on as epoch {}",
            self.checkpoint_id, self.boundary, self.source_epoch, self.to_epoch
        ));
    }
}

/// Answers, whatever came of it.
pub fn answer(
    came: Came,
    trace: Option<&Path>,
    error: Option<&RunError>,
    console: &mut Console,
) -> ExitStatus {
    let status = match error {
        Some(error) => error.exit_status(),
        None if came.interrupted => ExitStatus::Interrupted,
        None => ExitStatus::Sound,
    };
    tell(&came, console);
    let written = trace.filter(|_| error.is_none_or(RunError::leaves_trace));
    console.report(&Report {
        command: "session run",
        exit_code: status.number(),
        interrupted: came.interrupted,
        opened: came.opened,
        resumed: came.resumed,
        session: came.reached,
        saves: came.saves,
        trace: written.map(FileName::from),
        participants: came.ends,
        error: error.map(RunErrorReport::from),
    });
    if let Some(error) = error {
        console.complain(&error.to_string());
    }
    status
}

/// The answer for a person.
fn tell(came: &Came, console: &mut Console) {
    if let Some(reached) = &came.reached {
        console.say(&format!(
            "{} of epoch {}, boundary {}: {} steps in {:.3} s, {:.0} a second",
            reached.phase,
            reached.epoch,
            reached.boundary,
            reached.steps,
            reached.seconds,
            reached.steps_per_second,
        ));
        let BehaviourReport {
            from,
            length,
            digest,
        } = &reached.behaviour;
        console.say(&format!(
            "behaviour of {length} transitions from boundary {from}: {digest}"
        ));
    }
    if came.interrupted {
        console.say("interrupted");
    }
    for end in &came.ends {
        if end.outcome != ReapOutcome::Stopped {
            console.say(&format!(
                "{} {}: it {}",
                end.participant_id, end.outcome, end.ending
            ));
        }
    }
}
