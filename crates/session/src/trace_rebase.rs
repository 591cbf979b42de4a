//! [`rebase_trace`]: a trace as it would read had all of it run under one epoch.

use std::collections::BTreeMap;

use wellwritten_envelope::{Id, U64};

use crate::TraceRecord;

/// Why a trace cannot be carried to another epoch. Nothing is ever passed through unchanged in silence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebaseError {
    /// A record of an epoch that was not named.
    #[error(
        "the transition at step {step} ran under {epoch}, which is not one of those to carry over"
    )]
    UnexpectedEpoch {
        /// The step.
        step: U64,
        /// Its epoch.
        epoch: Id,
    },
    /// A batch that is not named after its epoch.
    #[error("the batch {batch_id} of step {step} is not named after its epoch {epoch}")]
    BatchId {
        /// The step.
        step: U64,
        /// The batch.
        batch_id: Id,
        /// Its epoch.
        epoch: Id,
    },
    /// An event whose other name is not known.
    #[error("the event {event_id} of step {step} has no known name under {to}")]
    UnmappedEvent {
        /// The step.
        step: U64,
        /// The event.
        event_id: Id,
        /// The epoch to carry it to.
        to: Id,
    },
    /// The maps do not lead from every epoch to one end: an epoch is left twice, or never reaches the last.
    #[error("the maps do not lead from {epoch} to {to}, each by one step")]
    NoWay {
        /// The epoch that is left.
        epoch: Id,
        /// The epoch to carry it to.
        to: Id,
    },
    /// The batch's name under the other epoch is no id.
    #[error("the batch of step {step} has no legal name under {to}")]
    BatchName {
        /// The step.
        step: U64,
        /// The epoch to carry it to.
        to: Id,
    },
}

/// Rewrites epoch, batch name and event names of every record that ran under one of `from`, to what they are under
/// `to`; records already under `to` stay. `ids` maps event names
/// ([`Coordinator::rebase_ids`](crate::Coordinator::rebase_ids)). Nothing else is touched.
pub fn rebase_trace(
    records: &[TraceRecord],
    from: &[Id],
    to: &Id,
    ids: &BTreeMap<Id, Id>,
) -> Result<Vec<TraceRecord>, RebaseError> {
    records
        .iter()
        .map(|record| rebase_record(record, from, to, ids))
        .collect()
}

/// The names of one epoch's events, and what the same events are called under another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochNames {
    /// The epoch that is left.
    pub from: Id,
    /// The epoch that is entered.
    pub to: Id,
    /// Every name issued under `from`, and its name under `to`.
    pub ids: BTreeMap<Id, Id>,
}

/// Carries a trace over any number of epochs to `to`, one map after the other: a record of `e1` goes by `e1 -> e2` and
/// then by `e2 -> e3`, as a run with two recoveries hands them on. A record of an epoch that no map leaves, and that is
/// not `to`, is an error, and so is a name that any map on the way does not know.
pub fn rebase_through(
    records: &[TraceRecord],
    names: &[EpochNames],
    to: &Id,
) -> Result<Vec<TraceRecord>, RebaseError> {
    check_ways(names, to)?;
    records
        .iter()
        .map(|record| {
            let mut record = record.clone();
            while record.behaviour.scope.epoch != *to {
                let epoch = &record.behaviour.scope.epoch;
                let next = names.iter().find(|names| names.from == *epoch);
                let next = next.ok_or_else(|| RebaseError::UnexpectedEpoch {
                    step: record.behaviour.scope.step,
                    epoch: epoch.clone(),
                })?;
                let from = std::slice::from_ref(&next.from);
                record = rebase_record(&record, from, &next.to, &next.ids)?;
            }
            Ok(record)
        })
        .collect()
}

/// From every epoch that is left there is one way, and it ends at `to`.
fn check_ways(names: &[EpochNames], to: &Id) -> Result<(), RebaseError> {
    for (index, start) in names.iter().enumerate() {
        let no_way = || RebaseError::NoWay {
            epoch: start.from.clone(),
            to: to.clone(),
        };
        let is_left_twice = names[..index]
            .iter()
            .any(|earlier| earlier.from == start.from);
        if is_left_twice || start.from == *to {
            return Err(no_way());
        }
        // A way longer than there are maps goes in a circle.
        let mut at = &start.to;
        for _ in names {
            if let Some(next) = names.iter().find(|names| names.from == *at) {
                at = &next.to;
            }
        }
        if at != to {
            return Err(no_way());
        }
    }
    Ok(())
}

fn rebase_record(
    record: &TraceRecord,
    from: &[Id],
    to: &Id,
    ids: &BTreeMap<Id, Id>,
) -> Result<TraceRecord, RebaseError> {
    let mut rebased = record.clone();
    let behaviour = &mut rebased.behaviour;
    let step = behaviour.scope.step;
    let epoch = behaviour.scope.epoch.clone();
    if epoch == *to {
        return Ok(rebased);
    }
    if !from.contains(&epoch) {
        return Err(RebaseError::UnexpectedEpoch { step, epoch });
    }
    let Some(rest) = behaviour
        .batch_id
        .as_str()
        .strip_prefix(&format!("batch-{epoch}-"))
    else {
        let batch_id = behaviour.batch_id.clone();
        return Err(RebaseError::BatchId {
            step,
            batch_id,
            epoch,
        });
    };
    behaviour.batch_id =
        Id::parse(&format!("batch-{to}-{rest}")).map_err(|_| RebaseError::BatchName {
            step,
            to: to.clone(),
        })?;
    for event_id in behaviour
        .outcome_ids
        .iter_mut()
        .chain(&mut behaviour.event_ids)
    {
        *event_id = ids
            .get(event_id)
            .cloned()
            .ok_or_else(|| RebaseError::UnmappedEvent {
                step,
                event_id: event_id.clone(),
                to: to.clone(),
            })?;
    }
    behaviour.scope.epoch = to.clone();
    Ok(rebased)
}
