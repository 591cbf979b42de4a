//! What the coordinator's record must be, held against the manifest, the task's ledger and the session, before anyone stages.

use wellwritten_envelope::{EventWatermarks, Id, Manifest, RationalNs, U64, UnknownFields};

use crate::coordinator::erased;
use crate::coordinator::own_payloads::{CoordinatorRecord, disagrees, rejected};
use crate::session_state::SessionState;
use crate::stimulus_rules::check_stimuli;
use crate::{
    Admission, Behaviour, EventWatermark, Execution, RestoredTask, SessionError, Stimulus,
};

/// The record must say what the manifest and the task's ledger say; the manifest was compared with this session already.
pub(crate) fn check_record(
    payload: &Id,
    record: &CoordinatorRecord,
    manifest: &Manifest,
    state: &SessionState,
    task: &RestoredTask,
) -> Result<(), SessionError> {
    let check = |field: &str, found: &dyn erased::Json, expected: &dyn erased::Json| {
        let (found, expected) = (found.text(), expected.text());
        if found == expected {
            Ok(())
        } else {
            Err(disagrees(payload, field, found, expected))
        }
    };
    check(
        "committedStep",
        &record.committed_step,
        &manifest.source_scope.step,
    )?;
    check("worldTime", &record.world_time, &manifest.world_time)?;
    let watermarks = |issued, last_source_step| EventWatermarks::Issued {
        last_source_step,
        issued,
        unknown: UnknownFields::none(),
    };
    let recorded = watermarks(record.events_issued, record.last_event_step);
    let EventWatermark {
        issued,
        last_source_step,
    } = task.events;
    check(
        "eventWatermarks",
        &recorded,
        &watermarks(U64(issued), U64(last_source_step)),
    )?;
    check(
        "eventWatermarks",
        &recorded,
        &manifest.coordinator.event_watermarks,
    )?;
    check("progress", &record.progress, &task.progress)?;
    check("terminal", &record.terminal, &task.episode_request)?;
    let streams = |ids: &mut dyn Iterator<Item = &Id>| -> Vec<Id> { ids.cloned().collect() };
    let declared = &state.environment.descriptor().audio;
    check(
        "audioPositions",
        &streams(
            &mut record
                .audio_positions
                .iter()
                .map(|position| &position.stream_id),
        ),
        &streams(&mut declared.iter().map(|stream| &stream.stream_id)),
    )?;
    check_admissions(&record.admissions, state).map_err(|reason| rejected(payload, reason))?;
    check(
        "agents",
        &record.agents.len().to_string(),
        &manifest.agents.len().to_string(),
    )?;
    for ((row, entry), slot) in record
        .agents
        .iter()
        .zip(&manifest.agents)
        .zip(&state.agents)
    {
        let pairs: [(&str, &dyn erased::Json, &dyn erased::Json); 7] = [
            ("agentId", &row.agent_id, &entry.agent_id),
            ("portId", &row.port_id, &slot.port_id),
            ("profileDigest", &row.profile_digest, &entry.profile_digest),
            ("seed", &row.seed, &entry.seed),
            ("brainTicks", &row.brain_ticks, &entry.brain_ticks),
            ("remainder", &row.remainder, &entry.remainder),
            ("context", &row.context, &task.contexts.get(&entry.agent_id)),
        ];
        for (name, found, expected) in pairs {
            check(
                &format!("agents[{}].{name}", entry.agent_id),
                found,
                expected,
            )?;
        }
        // The ledger gave that context, but under this agent's schema only.
        check(
            &format!("agents[{}].context.schema", entry.agent_id),
            &row.context.schema(),
            &slot.link.profile().context_schema,
        )?;
    }
    check_counts(payload, record, state)?;
    check_times(payload, record, state)
}

/// As many events as there can be by that boundary, the last no later; so that the counts go on from there for good.
fn check_counts(
    payload: &Id,
    record: &CoordinatorRecord,
    state: &SessionState,
) -> Result<(), SessionError> {
    let step = record.committed_step;
    let boundaries = step.0.saturating_add(1);
    let of_executors = (Execution::MAX_EVENTS * state.agents.len()) as u64;
    let counts = [
        (
            "the task",
            record.events_issued,
            record.last_event_step,
            boundaries.saturating_mul(Behaviour::MAX_EVENTS as u64),
        ),
        (
            "executors",
            record.executor_events_issued,
            record.last_executor_event_step,
            step.0.saturating_mul(of_executors),
        ),
    ];
    for (whose, issued, last, most) in counts {
        let is_none = issued.0 == 0 && last.0 == 0;
        // Only the task tells anything at boundary 0.
        let may_be = issued.0 > 0 && issued.0 <= most && last <= step;
        let is_early = last.0 == 0 && whose == "executors";
        if !(is_none || (may_be && !is_early)) {
            let reason = format!(
                "{issued} events of {whose}, the last at boundary {last}, cannot be by boundary {step}"
            );
            return Err(rejected(payload, reason));
        }
    }
    Ok(())
}

/// The world's time and what every agent's clock has left over are what so many steps come to.
fn check_times(
    payload: &Id,
    record: &CoordinatorRecord,
    state: &SessionState,
) -> Result<(), SessionError> {
    let elapsed = state
        .environment
        .descriptor()
        .step_duration
        .checked_mul_u64(record.committed_step.0)
        .map_err(|error| rejected(payload, format!("its time is out of bounds: {error}")))?;
    let steps = record.committed_step;
    let time = |found: &RationalNs, expected: &RationalNs, field: String| {
        if found == expected {
            return Ok(());
        }
        let (found, expected) = (erased::Json::text(found), erased::Json::text(expected));
        Err(rejected(
            payload,
            format!("its {field} is {found}, {steps} steps come to {expected}"),
        ))
    };
    time(&record.world_time, &elapsed, "worldTime".to_owned())?;
    for (row, slot) in record.agents.iter().zip(&state.agents) {
        let profile = slot.link.profile();
        let (ticks, remainder) = elapsed
            .div_floor(profile.tick_duration)
            .map_err(|error| rejected(payload, format!("its time is out of bounds: {error}")))?;
        let agent = &profile.agent_id;
        time(
            &row.remainder,
            &remainder,
            format!("agents[{agent}].remainder"),
        )?;
        if row.brain_ticks.0 < ticks {
            let found = row.brain_ticks;
            let reason = format!("{agent} has {found} ticks, {steps} steps come to {ticks}");
            return Err(rejected(payload, reason));
        }
    }
    Ok(())
}

/// What waits must be what could have been accepted.
fn check_admissions(admissions: &[Admission], state: &SessionState) -> Result<(), String> {
    for slot in &state.agents {
        let agent = &slot.link.participant_id;
        let stimuli: Vec<Stimulus> = admissions
            .iter()
            .filter(|one| one.agent_id == *agent)
            .map(Admission::stimulus)
            .collect();
        check_stimuli(&stimuli, &slot.link.profile().graph)
            .map_err(|error| format!("what waits for {agent}: {error}"))?;
    }
    let stray = admissions.iter().enumerate().find(|(index, one)| {
        let known = state
            .agents
            .iter()
            .any(|slot| slot.link.participant_id == one.agent_id);
        let earlier = &admissions[..*index];
        !known || earlier.iter().any(|it| it.admission_id == one.admission_id)
    });
    match stray {
        Some((_, one)) => Err(format!(
            "{} waits twice, or for nobody there is: {}",
            one.admission_id, one.agent_id
        )),
        None => Ok(()),
    }
}
