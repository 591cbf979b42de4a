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
