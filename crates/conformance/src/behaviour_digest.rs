//! [`behaviour_digest`]: what a run did, in one digest.

use wellwritten_session::{Digest, TraceRecord, digest_json};

use crate::ScenarioFailure;

/// BLAKE3 of the canonical JSON of the behaviour half of every record, in order.
pub fn behaviour_digest(records: &[TraceRecord]) -> Result<Digest, ScenarioFailure> {
    let mut records: Vec<TraceRecord> = records.to_vec();
    for record in &mut records {
        let behaviour = &mut record.behaviour;
        behaviour
            .agents
            .sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
        behaviour
            .observation_boundaries
            .sort_by(|one, other| one.view_id.cmp(&other.view_id));
    }
    let behaviours: Vec<_> = records.iter().map(|record| &record.behaviour).collect();
    digest_json(&behaviours)
        .map_err(|error| ScenarioFailure::new("a trace that can be digested", error.to_string()))
}
