//! What a manifest must say beyond its types: rule 7 of a reader, and what a writer refuses to write.

use serde_json::Value;

use crate::manifest::UnknownFields;
use crate::{
    EnvelopeError, EnvelopeVersion, EventWatermarks, Id, Manifest, PayloadRow, sort_few_by,
};

/// Reads the typed manifest out of its JSON; an error names the field.
pub(crate) fn read_manifest(value: Value) -> Result<Manifest, EnvelopeError> {
    Manifest::from_json(value).map_err(|error| EnvelopeError::ManifestField {
        field: match error.path() {
            "" => "(top level)".to_owned(),
            path => path.to_owned(),
        },
        problem: error.message().to_owned(),
    })
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
    let mut add = |prefix: &str, unknown: &UnknownFields| {
        paths.extend(unknown.0.keys().map(|key| format!("{prefix}{key}")));
    };
    add("", &manifest.unknown);
    add("compatibility.", &manifest.compatibility.unknown);
    add("environment.", &manifest.environment.unknown);
    add("coordinator.", &coordinator.unknown);
    add("coordinator.eventWatermarks.", watermarks);
    for (index, row) in manifest.port_map.iter().enumerate() {
        add(&format!("portMap[{index}]."), &row.unknown);
    }
    for (index, row) in manifest.agents.iter().enumerate() {
        add(&format!("agents[{index}]."), &row.unknown);
    }
    for (index, row) in coordinator.executor_state.iter().enumerate() {
        add(
            &format!("coordinator.executorState[{index}]."),
            &row.unknown,
        );
    }
    for (index, row) in manifest.payloads.iter().enumerate() {
        add(&format!("payloads[{index}]."), &row.unknown);
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
    let mut referred_by: Vec<(&Id, Option<String>)> = table.map(|name| (name, None)).collect();
    sort_few_by(&mut referred_by, |(left, _), (right, _)| left.cmp(right));
    for (field, name) in references(manifest) {
        let found = referred_by.binary_search_by(|(other, _)| (*other).cmp(name));
        match found.ok().map(|at| &mut referred_by[at].1) {
            None => {
                return Err(EnvelopeError::ReferenceMissing {
                    field,
                    name: name.clone(),
                });
            }
            Some(Some(first)) => {
                return Err(EnvelopeError::ReferenceRepeated {
                    first: first.clone(),
                    second: field,
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

/// Every field that names a payload, with its path.
fn references(manifest: &Manifest) -> Vec<(String, &Id)> {
    let coordinator = &manifest.coordinator;
    let mut references = vec![
        (
            "environment.payload".to_owned(),
            &manifest.environment.payload,
        ),
        (
            "coordinator.taskLedger".to_owned(),
            &coordinator.task_ledger,
        ),
        (
            "coordinator.priorInspection".to_owned(),
            &coordinator.prior_inspection,
        ),
    ];
    references.extend(
        coordinator
            .admission_state
            .iter()
            .map(|name| ("coordinator.admissionState".to_owned(), name)),
    );
    let executors = coordinator.executor_state.iter().enumerate();
    references.extend(executors.map(|(index, executor)| {
        let field = format!("coordinator.executorState[{index}].payload");
        (field, &executor.payload)
    }));
    let agents = manifest.agents.iter().enumerate();
    references
        .extend(agents.map(|(index, agent)| (format!("agents[{index}].payload"), &agent.payload)));
    let helpers = manifest.helper_state.iter().enumerate();
    references.extend(helpers.map(|(index, name)| (format!("helperState[{index}]"), name)));
    references
}
