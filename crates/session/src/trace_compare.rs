//! [`compare_traces`]: whether two runs did the same, and where they did not.

use serde::Serialize;
use serde_json::Value;
use wellwritten_envelope::{U64, canonical_text, sort_few_by, to_json};

use crate::{Behaviour, TraceRecord};

/// Differing fields reported at most; the rest are counted.
pub const MAX_REPORTED_DIFFERENCES: usize = 64;

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum TraceVerdict {
    /// Every transition of both was compared and none differs.
    Equal,
    /// At least one field differs, or one trace is longer.
    Different,
    /// There was no transition to compare: this says nothing about the runs.
    NothingCompared,
}

/// One field of one transition that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct FieldDifference {
    /// Which transition of the traces, from 0.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub index: u64,
    /// The boundary the left one began at.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub step: U64,
    /// The field, such as `agents[fly-a].brainTicks`.
    pub field: String,
    /// Its value on the left, as JSON.
    pub left: String,
    /// Its value on the right, as JSON.
    pub right: String,
}

/// Where two traces differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct TraceDiff {
    /// What was found.
    pub verdict: TraceVerdict,
    /// Transitions compared.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub compared: u64,
    /// Transitions of the left trace.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub left_length: u64,
    /// Transitions of the right trace.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub right_length: u64,
    /// Differing fields, transition by transition; at most [`MAX_REPORTED_DIFFERENCES`].
    pub differences: Vec<FieldDifference>,
    /// Differing fields that are not listed.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub unlisted: u64,
}

/// Compares the behaviour of two runs, transition by transition. The order of agents and views within a record is
/// no difference; everything else is.
#[must_use]
pub fn compare_traces(left: &[TraceRecord], right: &[TraceRecord]) -> TraceDiff {
    let mut diff = TraceDiff {
        verdict: TraceVerdict::NothingCompared,
        compared: left.len().min(right.len()) as u64,
        left_length: left.len() as u64,
        right_length: right.len() as u64,
        differences: Vec::new(),
        unlisted: 0,
    };
    for (index, (left, right)) in (0..).zip(left.iter().zip(right)) {
        let step = left.behaviour.scope.step;
        let mut note = |field: &str, left: &Value, right: &Value| {
            if diff.differences.len() == MAX_REPORTED_DIFFERENCES {
                diff.unlisted += 1;
            } else {
                diff.differences.push(FieldDifference {
                    index,
                    step,
                    field: field.to_owned(),
                    left: canonical_text(left),
                    right: canonical_text(right),
                });
            }
        };
        differing(
            "",
            &normal(&left.behaviour),
            &normal(&right.behaviour),
            &mut note,
        );
    }
    diff.verdict = if left.len() != right.len() || !diff.differences.is_empty() {
        TraceVerdict::Different
    } else if left.is_empty() {
        TraceVerdict::NothingCompared
    } else {
        TraceVerdict::Equal
    };
    diff
}

/// The behaviour as JSON, agents and views by name.
fn normal(behaviour: &Behaviour) -> Value {
    let mut behaviour = behaviour.clone();
    sort_few_by(&mut behaviour.agents, |left, right| {
        left.agent_id.cmp(&right.agent_id)
    });
    sort_few_by(&mut behaviour.observation_boundaries, |left, right| {
        left.view_id.cmp(&right.view_id)
    });
    to_json(&behaviour).expect("a behaviour is strings and lists of them")
}

fn differing(path: &str, left: &Value, right: &Value, note: &mut dyn FnMut(&str, &Value, &Value)) {
    match (left, right) {
        (Value::Object(left_fields), Value::Object(right_fields)) => {
            let keys = left_fields.keys().chain(
                right_fields
                    .keys()
                    .filter(|key| !left_fields.contains_key(*key)),
            );
            for key in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let left = left_fields.get(key).unwrap_or(&Value::Null);
                differing(
                    &path,
                    left,
                    right_fields.get(key).unwrap_or(&Value::Null),
                    note,
                );
            }
        }
        (Value::Array(left_items), Value::Array(right_items))
            if left_items.len() == right_items.len() =>
        {
            for (index, (left, right)) in left_items.iter().zip(right_items).enumerate() {
                let name = ["agentId", "viewId"]
                    .iter()
                    .find_map(|key| left.get(key)?.as_str());
                let label = name.map_or_else(|| index.to_string(), str::to_owned);
                differing(&format!("{path}[{label}]"), left, right, note);
            }
        }
        _ if left != right => note(path, left, right),
        _ => {}
    }
}
