//! `wellwritten trace compare`: every field in which two runs behaved otherwise.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use wellwritten_counter::COUNTER_DELTA;
use wellwritten_session::{
    FieldDifference, Id, MAX_REPORTED_DIFFERENCES, TraceDiff, TraceRecord, TraceVerdict, U64,
    compare_traces,
};

use super::compare_error::CompareError;
use super::epoch_names::carried;
use super::trace_input::TraceInput;
use crate::arguments::CompareArguments;
use crate::console::Console;
use crate::exit_status::ExitStatus;

/// Transitions in memory at once, of each trace.
const BATCH: usize = 512;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    command: &'static str,
    exit_code: u8,
    left: String,
    right: String,
    /// Null where they could not be compared.
    verdict: Option<TraceVerdict>,
    compared: Option<U64>,
    left_length: Option<U64>,
    right_length: Option<U64>,
    differences: Vec<Difference>,
    unlisted: Option<U64>,
    error: Option<ErrorReport>,
}

/// A [`FieldDifference`], its number as a decimal string.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    step: U64,
    field: String,
    left: String,
    right: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorReport {
    code: &'static str,
    message: String,
}

/// Runs one command to its end.
pub fn run(arguments: &CompareArguments, console: &mut Console) -> ExitStatus {
    let compared = compare(arguments);
    let status = match &compared {
        Ok(diff) if diff.verdict == TraceVerdict::Equal => ExitStatus::Sound,
        Ok(_) => ExitStatus::NotSound,
        Err(error) => error.exit_status(),
    };
    if let Ok(diff) = &compared {
        tell(diff, console);
    }
    let error = compared.as_ref().err();
    if let Some(error) = error {
        console.complain(&error.to_string());
    }
    let error = error.map(|error| ErrorReport {
        code: error.code(),
        message: error.to_string(),
    });
    let diff = compared.ok();
    let number = |of: fn(&TraceDiff) -> u64| diff.as_ref().map(|diff| U64(of(diff)));
    console.report(&Report {
        command: "trace compare",
        exit_code: status.number(),
        left: arguments.left.display().to_string(),
        right: arguments.right.display().to_string(),
        verdict: diff.as_ref().map(|diff| diff.verdict),
        compared: number(|diff| diff.compared),
        left_length: number(|diff| diff.left_length),
        right_length: number(|diff| diff.right_length),
        unlisted: number(|diff| diff.unlisted),
        differences: diff.map_or_else(Vec::new, |diff| {
            diff.differences.into_iter().map(Difference::from).collect()
        }),
        error,
    });
    status
}

impl From<FieldDifference> for Difference {
    fn from(difference: FieldDifference) -> Self {
        let FieldDifference {
            step,
            field,
            left,
            right,
            ..
        } = difference;
        Self {
            step,
            field,
            left,
            right,
        }
    }
}

/// Compares two traces of any length, a batch at a time.
fn compare(arguments: &CompareArguments) -> Result<TraceDiff, CompareError> {
    let is_standard = |path: &Path| path.as_os_str() == "-";
    if is_standard(&arguments.left) && is_standard(&arguments.right) {
        return Err(CompareError::SameInput);
    }
    // An epoch that is nowhere is a slip of the pen, which would otherwise pass for a comparison.
    let mut unused: BTreeSet<&Id> = arguments.rebase_from.iter().collect();
    let mut left = TraceInput::open(&arguments.left)?;
    let mut right = TraceInput::open(&arguments.right)?;
    let mut whole = compare_traces(&[], &[]);
    loop {
        let mut lefts = left.next_batch(BATCH)?;
        let mut rights = right.next_batch(BATCH)?;
        if lefts.is_empty() && rights.is_empty() {
            return match unused.pop_first() {
                Some(epoch) => Err(CompareError::UnusedEpoch {
                    epoch: epoch.clone(),
                }),
                None => Ok(whole),
            };
        }
        for record in lefts.iter().chain(&rights) {
            unused.remove(&record.behaviour.scope.epoch);
        }
        for (left, right) in lefts.iter_mut().zip(&mut rights) {
            bring_together(left, right, &arguments.rebase_from)?;
        }
        append(&mut whole, compare_traces(&lefts, &rights));
    }
}

/// Carries the one that ran under an epoch to be left to the epoch of the other.
fn bring_together(
    left: &mut TraceRecord,
    right: &mut TraceRecord,
    from: &[Id],
) -> Result<(), CompareError> {
    let (left_epoch, right_epoch) = (
        left.behaviour.scope.epoch.clone(),
        right.behaviour.scope.epoch.clone(),
    );
    if left_epoch == right_epoch {
        return Ok(());
    }
    let rules = [Id::parse(COUNTER_DELTA).expect("a legal id")];
    if from.contains(&left_epoch) {
        *left = carried(left, &right_epoch, &rules)?;
    } else if from.contains(&right_epoch) {
        *right = carried(right, &left_epoch, &rules)?;
    }
    Ok(())
}

/// Adds what the next batch of both traces came to.
fn append(whole: &mut TraceDiff, next: TraceDiff) {
    let before = whole.compared;
    whole.compared += next.compared;
    whole.left_length += next.left_length;
    whole.right_length += next.right_length;
    whole.unlisted += next.unlisted;
    for mut difference in next.differences {
        if whole.differences.len() == MAX_REPORTED_DIFFERENCES {
            whole.unlisted += 1;
        } else {
            difference.index += before;
            whole.differences.push(difference);
        }
    }
    let differs = whole.left_length != whole.right_length || !whole.differences.is_empty();
    whole.verdict = if differs {
        TraceVerdict::Different
    } else {
        TraceVerdict::Equal
    };
}

/// The answer for a person.
fn tell(diff: &TraceDiff, console: &mut Console) {
    for difference in &diff.differences {
        console.say(&format!(
            "step {}: {}: {} | {}",
            difference.step, difference.field, difference.left, difference.right
        ));
    }
    if diff.unlisted > 0 {
        console.say(&format!("and {} fields more", diff.unlisted));
    }
    let TraceDiff {
        compared,
        left_length,
        right_length,
        ..
    } = diff;
    if left_length != right_length {
        console.say(&format!(
            "one trace has {left_length} transitions, the other {right_length}"
        ));
    }
    console.say(&match diff.verdict {
        TraceVerdict::Equal => format!("equal: {compared} transitions"),
        TraceVerdict::Different => format!("different: {compared} transitions compared"),
        TraceVerdict::NothingCompared => "nothing to compare: both are empty".to_owned(),
    });
}
