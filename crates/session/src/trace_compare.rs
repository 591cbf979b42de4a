//! [`compare_traces`]: whether two runs did the same, and where they did not.

use serde::Serialize;
use serde_json::Value;
use wellwritten_envelope::{U64, canonical_text, to_json};

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

/// Compares the behaviour of two runs, transition by transition. The order of agents, views and streams within a
/// record is no difference; everything else is.
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

/// The behaviour as JSON, agents, views and streams by name.
fn normal(behaviour: &Behaviour) -> Value {
    to_json(&behaviour.normal()).expect("a behaviour is strings and lists of them")
}

/// Fields that name the elements of a list.
const NAMES: [&str; 3] = ["agentId", "viewId", "streamId"];

/// Tells every leaf that differs, by its path. What is absent on one side reads as `null` there.
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
        (Value::Array(left_items), Value::Array(right_items)) => {
            for (label, left, right) in paired(left_items, right_items) {
                differing(&format!("{path}[{label}]"), left, right, note);
            }
        }
        _ if left != right => note(path, left, right),
        _ => {}
    }
}

/// The elements of two lists side by side: by name where every element of both has one of its own, else by place.
fn paired<'a>(left: &'a [Value], right: &'a [Value]) -> Vec<(String, &'a Value, &'a Value)> {
    let absent = &Value::Null;
    if let (Some(left_names), Some(right_names)) = (own_names(left), own_names(right)) {
        let only_right = right_names
            .iter()
            .filter(|name| !left_names.contains(*name));
        let names = left_names.iter().chain(only_right);
        let find = |names: &[&str], items: &'a [Value], name: &str| {
            let position = names.iter().position(|other| *other == name);
            position.map_or(absent, |position| &items[position])
        };
        return names
            .map(|name| {
                (
                    (*name).to_owned(),
                    find(&left_names, left, name),
                    find(&right_names, right, name),
                )
            })
            .collect();
    }
    (0..left.len().max(right.len()))
        .map(|index| {
            (
                index.to_string(),
                left.get(index).unwrap_or(absent),
                right.get(index).unwrap_or(absent),
            )
        })
        .collect()
}

/// The name of every element, where each has one and no two share it.
fn own_names(items: &[Value]) -> Option<Vec<&str>> {
    let mut names: Vec<&str> = Vec::with_capacity(items.len());
    for item in items {
        let name = NAMES.iter().find_map(|key| item.get(key)?.as_str())?;
        if names.contains(&name) {
            return None;
        }
        names.push(name);
    }
    Some(names)
}
