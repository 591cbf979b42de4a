//! [`fields_without_place`]: what version 1 can say and version 2 cannot.

use wellwritten_envelope::{EventWatermarks, Manifest, UnknownFields};

/// The path of every field of a version 1 manifest that version 2 has no place for: fields that this
/// program does not know, and a digest algorithm that version 1 need not name. The library refuses the first of them; a
/// person wants to know all.
pub fn fields_without_place(manifest: &Manifest) -> Vec<String> {
    let coordinator = &manifest.coordinator;
    let stated = manifest
        .digest_algorithm
        .map(|_| "digestAlgorithm".to_owned());
    let mut fields: Vec<String> = stated.into_iter().collect();
    fields.extend(names("", &manifest.unknown));
    for (index, port) in manifest.port_map.iter().enumerate() {
        fields.extend(names(&format!("portMap[{index}]."), &port.unknown));
    }
    fields.extend(names("compatibility.", &manifest.compatibility.unknown));
    fields.extend(names("environment.", &manifest.environment.unknown));
    for (index, agent) in manifest.agents.iter().enumerate() {
        fields.extend(names(&format!("agents[{index}]."), &agent.unknown));
    }
    fields.extend(names("coordinator.", &coordinator.unknown));
    for (index, executor) in coordinator.executor_state.iter().enumerate() {
        let path = format!("coordinator.executorState[{index}].");
        fields.extend(names(&path, &executor.unknown));
    }
    let (EventWatermarks::Issued { unknown, .. } | EventWatermarks::LastEvent { unknown, .. }) =
        &coordinator.event_watermarks;
    fields.extend(names("coordinator.eventWatermarks.", unknown));
    for (index, row) in manifest.payloads.iter().enumerate() {
        fields.extend(names(&format!("payloads[{index}]."), &row.unknown));
    }
    fields
}

fn names(path: &str, unknown: &UnknownFields) -> Vec<String> {
    let names = unknown.0.keys();
    names.map(|name| format!("{path}{name}")).collect()
}
