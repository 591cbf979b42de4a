//! [`summary`]: a manifest in a few lines.

use wellwritten_envelope::{EventWatermarks, Id, Manifest};

use crate::readable_bytes::readable_bytes;

/// Which checkpoint it is, and who takes part in it with which payloads; a line each.
pub fn summary(manifest: &Manifest) -> Vec<String> {
    let scope = &manifest.source_scope;
    let compatibility = &manifest.compatibility;
    let mut lines = vec![
        fact("checkpoint", &manifest.checkpoint_id),
        fact("session", &scope.session_id),
        fact("epoch", &scope.epoch),
        fact("step", &scope.step),
        fact(
            "world time",
            &format!("{} in episode {}", manifest.world_time, manifest.episode_id),
        ),
        fact("scheduler", &manifest.scheduler_id),
        fact("state format", &compatibility.state_format_id),
        fact("events", &events(&manifest.coordinator.event_watermarks)),
        "participants".to_owned(),
    ];
    lines.extend(participants(manifest));
    lines
}

fn fact(name: &str, value: &dyn std::fmt::Display) -> String {
    format!("  {name:<14}{value}")
}

fn events(watermarks: &EventWatermarks) -> String {
    match watermarks {
        EventWatermarks::Issued {
            last_source_step,
            issued,
            ..
        } => format!("{issued} issued, the last from step {last_source_step}"),
        EventWatermarks::LastEvent {
            last_event_id,
            last_ordinal,
            ..
        } => format!("last is {last_event_id}, ordinal {last_ordinal}"),
    }
}

/// Each participant and its payloads, with their lengths.
fn participants(manifest: &Manifest) -> Vec<String> {
    let with_length = |name: &Id| {
        let row = manifest.payloads.iter().find(|row| row.name == *name);
        match row {
            Some(row) => format!("{name}, {}", readable_bytes(row.byte_length.get())),
            None => format!("{name}, which is not in the table"),
        }
    };
    let line = |role: &str, who: &str, payload: &Id| {
        format!("  {role:<14}{who:<24} {}", with_length(payload))
    };
    let environment = &manifest.environment;
    let mut lines = vec![line(
        "environment",
        environment.worker_id.as_str(),
        &environment.payload,
    )];
    for agent in &manifest.agents {
        lines.push(line("agent", agent.agent_id.as_str(), &agent.payload));
    }
    let coordinator = &manifest.coordinator;
    for executor in &coordinator.executor_state {
        lines.push(line(
            "executor",
            &format!("of {}", executor.agent_id),
            &executor.payload,
        ));
    }
    lines.push(line("coordinator", "task ledger", &coordinator.task_ledger));
    lines.push(line(
        "coordinator",
        "prior inspection",
        &coordinator.prior_inspection,
    ));
    match &coordinator.admission_state {
        Some(payload) => lines.push(line("coordinator", "admission state", payload)),
        None => lines.push(format!(
            "  {:<14}{:<24} none",
            "coordinator", "admission state"
        )),
    }
    for payload in &manifest.helper_state {
        lines.push(line("helper", "", payload));
    }
    lines
}
