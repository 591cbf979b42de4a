//! What a manifest must say beyond its types: rule 7 of a reader, and what a writer refuses to write.

use std::fmt;

use serde_json::Value;

use crate::manifest::UnknownFields;
use crate::{
    EnvelopeError, EnvelopeVersion, EventWatermarks, Id, JsonShapeError, Manifest, PayloadRow,
    sort_few_by,
};

/// Reads the typed manifest out of its JSON; an error names the field.
pub(crate) fn read_manifest(value: Value) -> Result<Manifest, EnvelopeError> {
    Ok(Manifest::from_json(value)?)
}

/// A manifest of the wrong shape breaks the rule that a reader names.
impl From<JsonShapeError> for EnvelopeError {
    fn from(error: JsonShapeError) -> Self {
        Self::ManifestField {
            field: match error.path() {
                "" => "(top level)".to_owned(),
                path => path.to_owned(),
            },
            problem: error.message().to_owned(),
        }
    }
}

/// What the version allows: its own number, its digest function, its fields.
pub(crate) fn check_version(
    manifest: &Manifest,
    version: EnvelopeVersion,
) -> Result<(), EnvelopeError> {
    if manifest.envelope_version != version {
        return Err(EnvelopeError::ManifestVersion {
            header: version,
            manifest: manifest.envelope_version,
        });
    }
    let (expected, found) = (version.digest_algorithm(), manifest.digest_algorithm);
    // Version 1 has no such field; a file that states the obvious is still the same file.
    let absent_is_fine = version == EnvelopeVersion::One;
    if found.map_or(!absent_is_fine, |found| found != expected) {
        return Err(EnvelopeError::Algorithm {
            version,
            expected,
            found,
        });
    }
    if version == EnvelopeVersion::Two
        && let Some(field) = unknown_fields(manifest).into_iter().next()
    {
        return Err(EnvelopeError::UnknownField { field });
    }
    Ok(())
}

/// Paths of all fields this crate does not know.
pub(crate) fn unknown_fields(manifest: &Manifest) -> Vec<String> {
    let coordinator = &manifest.coordinator;
    let watermarks = match &coordinator.event_watermarks {
        EventWatermarks::Issued { unknown, .. } | EventWatermarks::LastEvent { unknown, .. } => {
            unknown
        }
    };
    let mut paths = Vec::new();
    let mut add = |parent: FieldPath, unknown: &UnknownFields| {
        paths.extend(unknown.0.keys().map(|key| format!("{parent}{key}")));
    };
    add(FieldPath::of(""), &manifest.unknown);
    add(
        FieldPath::of("compatibility."),
        &manifest.compatibility.unknown,
    );
    add(FieldPath::of("environment."), &manifest.environment.unknown);
    add(FieldPath::of("coordinator."), &coordinator.unknown);
    add(FieldPath::of("coordinator.eventWatermarks."), watermarks);
    for (index, row) in manifest.port_map.iter().enumerate() {
        add(FieldPath::within("portMap", index, "."), &row.unknown);
    }
    for (index, row) in manifest.agents.iter().enumerate() {
        add(FieldPath::within("agents", index, "."), &row.unknown);
    }
    for (index, row) in coordinator.executor_state.iter().enumerate() {
        let parent = FieldPath::within("coordinator.executorState", index, ".");
        add(parent, &row.unknown);
    }
    for (index, row) in manifest.payloads.iter().enumerate() {
        add(FieldPath::within("payloads", index, "."), &row.unknown);
    }
    paths
}

/// The manifest's payload list equals the table, row for row.
pub(crate) fn check_rows(manifest: &Manifest, table: &[PayloadRow]) -> Result<(), EnvelopeError> {
    if manifest.payloads.len() != table.len() {
        return Err(EnvelopeError::RowCount {
            manifest: manifest.payloads.len(),
            table: table.len(),
        });
    }
    for (index, (row, entry)) in manifest.payloads.iter().zip(table).enumerate() {
        let differs = |field, manifest: String, table: String| EnvelopeError::RowValue {
            index,
            field,
            manifest,
            table,
        };
        if row.name != entry.name {
            return Err(differs(
                "name",
                row.name.to_string(),
                entry.name.to_string(),
            ));
        }
        if row.byte_length != entry.byte_length {
            let (left, right) = (row.byte_length.to_string(), entry.byte_length.to_string());
            return Err(differs("byteLength", left, right));
        }
        if row.digest != entry.digest {
            let (left, right) = (row.digest.to_string(), entry.digest.to_string());
            return Err(differs("digest", left, right));
        }
    }
    Ok(())
}

/// Every payload the manifest names is in the table, and every payload in the table is named once.
pub(crate) fn check_references<'a>(
    manifest: &Manifest,
    table: impl Iterator<Item = &'a Id>,
) -> Result<(), EnvelopeError> {
    let mut referred_by: Vec<(&Id, Option<FieldPath>)> = table.map(|name| (name, None)).collect();
    sort_few_by(&mut referred_by, |(left, _), (right, _)| left.cmp(right));
    for (field, name) in references(manifest) {
        let found = referred_by.binary_search_by(|(other, _)| (*other).cmp(name));
        match found.ok().map(|at| &mut referred_by[at].1) {
            None => {
                return Err(EnvelopeError::ReferenceMissing {
                    field: field.to_string(),
                    name: name.clone(),
                });
            }
            Some(Some(first)) => {
                return Err(EnvelopeError::ReferenceRepeated {
                    first: first.to_string(),
                    second: field.to_string(),
                    name: name.clone(),
                });
            }
            Some(unclaimed) => *unclaimed = Some(field),
        }
    }
    match referred_by.iter().find(|(_, field)| field.is_none()) {
        Some((name, _)) => Err(EnvelopeError::Unreferenced {
            name: (*name).clone(),
        }),
        None => Ok(()),
    }
}

/// The path of a field, spelled out only where an error names it: a sound manifest costs no text.
#[derive(Clone, Copy)]
struct FieldPath {
    /// A name, or the name of the list the field is in.
    name: &'static str,
    /// The index in that list, and what follows it.
    within: Option<(usize, &'static str)>,
}

impl FieldPath {
    fn of(name: &'static str) -> Self {
        Self { name, within: None }
    }

    fn within(list: &'static str, index: usize, rest: &'static str) -> Self {
        Self {
            name: list,
            within: Some((index, rest)),
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)?;
        match self.within {
            Some((index, rest)) => write!(formatter, "[{index}]{rest}"),
            None => Ok(()),
        }
    }
}

/// Every field that names a payload, with its path.
fn references(manifest: &Manifest) -> Vec<(FieldPath, &Id)> {
    let coordinator = &manifest.coordinator;
    let mut references = vec![
        (
            FieldPath::of("environment.payload"),
            &manifest.environment.payload,
        ),
        (
            FieldPath::of("coordinator.taskLedger"),
            &coordinator.task_ledger,
        ),
        (
            FieldPath::of("coordinator.priorInspection"),
            &coordinator.prior_inspection,
        ),
    ];
    if let Some(name) = &coordinator.admission_state {
        references.push((FieldPath::of("coordinator.admissionState"), name));
    }
    for (index, executor) in coordinator.executor_state.iter().enumerate() {
        let field = FieldPath::within("coordinator.executorState", index, ".payload");
        references.push((field, &executor.payload));
    }
    for (index, agent) in manifest.agents.iter().enumerate() {
        let field = FieldPath::within("agents", index, ".payload");
        references.push((field, &agent.payload));
    }
    for (index, name) in manifest.helper_state.iter().enumerate() {
        references.push((FieldPath::within("helperState", index, ""), name));
    }
    references
}
