//! Carrying one record to another epoch, without the session that made it.

use std::collections::BTreeMap;

use wellwritten_session::{EventIdentity, Id, TraceRecord, rebase_trace};

use super::compare_error::CompareError;

/// The record as it would read had it run under `to`. An event's name follows from epoch, step, rule and place, so that it
/// can be found again where its rule is one of `rules`, and carried over; any other is an error.
pub fn carried(record: &TraceRecord, to: &Id, rules: &[Id]) -> Result<TraceRecord, CompareError> {
    let behaviour = &record.behaviour;
    let epoch = &behaviour.scope.epoch;
    let source_step = behaviour.acknowledged_boundary.0;
    let names = behaviour.event_ids.iter().chain(&behaviour.outcome_ids);
    let candidates = u32::try_from(behaviour.event_ids.len() + behaviour.outcome_ids.len());
    let candidates = candidates.expect("a record holds few events");
    let mut ids = BTreeMap::new();
    for rule in rules {
        for ordinal in 0..candidates {
            let event = EventIdentity {
                source_step,
                rule: rule.clone(),
                ordinal,
            };
            ids.insert(event.id(epoch), event.id(to));
        }
    }
    for event in names {
        if !ids.contains_key(event) {
            return Err(CompareError::UnknownEvent {
                step: behaviour.scope.step.0,
                event: event.clone(),
                epoch: epoch.clone(),
                to: to.clone(),
            });
        }
    }
    let from = std::slice::from_ref(epoch);
    let mut carried = rebase_trace(std::slice::from_ref(record), from, to, &ids)?;
    Ok(carried.remove(0))
}
