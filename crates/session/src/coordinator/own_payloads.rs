//! The coordinator's own part of a checkpoint: ledger, inspection, executors, and its record.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wellwritten_envelope::{
    Digest, Envelope, EventWatermarks, Id, Manifest, RationalNs, Scope, U64, UnknownFields,
    canonical_json, from_json, parse_strict_json,
};

use crate::audio_rules;
use crate::coordinator::Fault;
use crate::session_error::PayloadFault;
use crate::session_state::SessionState;
use crate::state_payload::{PayloadHeader, PayloadKind, StatePayload};
use crate::stimulus_rules::check_stimuli;
use crate::{
    Admission, AudioPosition, AudioTimeline, Behaviour, Coordinator, EpisodeRequest, EventLedger,
    EventWatermark, Execution, Executor, RestoredTask, SessionError, Stimulus, Task, TickClock,
    TypedValue,
};

/// Payload of the task's ledger.
pub(crate) const TASK_LEDGER: &str = "task-ledger";
/// Payload of the inspection at the boundary.
pub(crate) const PRIOR_INSPECTION: &str = "prior-inspection";
/// Payload of the coordinator's record.
pub(crate) const RECORD: &str = "coordinator-admission";

/// What the coordinator keeps for one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AgentRow {
    agent_id: Id,
    port_id: Id,
    profile_digest: Digest,
    seed: i32,
    brain_ticks: U64,
    remainder: RationalNs,
    context: TypedValue,
}

/// What the coordinator keeps for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CoordinatorRecord {
    committed_step: U64,
    world_time: RationalNs,
    last_event_step: U64,
    events_issued: U64,
    progress: TypedValue,
    terminal: Option<EpisodeRequest>,
    audio_positions: Vec<AudioPosition>,
    executor_events_issued: U64,
    last_executor_event_step: U64,
    admissions: Vec<Admission>,
    agents: Vec<AgentRow>,
}

/// One agent's part of what a restore installs.
pub(crate) struct RestoredAgent {
    pub executor: Box<dyn Executor>,
    pub context: TypedValue,
    pub brain_ticks: u64,
    pub clock: TickClock,
}

/// Everything a restore installs, checked to the point where installing cannot fail.
pub(crate) struct RestoredCoordinator {
    pub task: Box<dyn Task>,
    pub inspection: TypedValue,
    pub progress: TypedValue,
    pub terminal: Option<EpisodeRequest>,
    pub last_event_step: u64,
    pub events_issued: u64,
    /// In the order of the descriptor's streams.
    pub timelines: Vec<AudioTimeline>,
    pub executor_events: EventLedger,
    /// Stimuli that wait, in the order of their acceptance.
    pub admissions: Vec<Admission>,
    /// By agent id.
    pub agents: Vec<RestoredAgent>,
}

pub(crate) fn executor_payload(agent_id: &Id) -> Id {
    name(&format!("executor-{agent_id}"))
}

pub(crate) fn agent_payload(agent_id: &Id) -> Id {
    name(&format!("agent-{agent_id}"))
}

pub(crate) fn name(text: &str) -> Id {
    Id::parse(text).expect("agent ids were checked to leave room for a prefix")
}

/// The frame of one of the coordinator's payloads. What it depends on is compared field by field by the manifest; the
/// digest here only ties it to this composition.
fn header(
    kind: PayloadKind,
    owner: &Id,
    checkpoint_id: &Id,
    scope: &Scope,
    composition_digest: Digest,
) -> PayloadHeader {
    PayloadHeader {
        kind,
        owner: owner.clone(),
        checkpoint_id: checkpoint_id.clone(),
        source_scope: scope.clone(),
        compatibility_digest: composition_digest,
        agent: None,
    }
}

impl Coordinator {
    /// The coordinator's payloads of a checkpoint at `scope`.
    pub(crate) fn own_payloads(
        &self,
        checkpoint_id: &Id,
        scope: &Scope,
        composition_digest: Digest,
    ) -> Result<Vec<(Id, Vec<u8>)>, SessionError> {
        let state = self.state.borrow();
        let seal = |payload: Id, kind, owner: &Id, body: &dyn erased::Json| {
            let header = header(kind, owner, checkpoint_id, scope, composition_digest);
            let bytes = body.canonical().and_then(|body| {
                StatePayload::encode(&header, &body).map_err(|error| error.to_string())
            });
            match bytes {
                Ok(bytes) => Ok((payload, bytes)),
                Err(reason) => Err(SessionError::Uncapturable { payload, reason }),
            }
        };
        let uncapturable = |payload: &Id, reason: String| SessionError::Uncapturable {
            payload: payload.clone(),
            reason,
        };
        let ledger_name = name(TASK_LEDGER);
        let ledger = state
            .task
            .capture()
            .map_err(|error| uncapturable(&ledger_name, error.to_string()))?;
        let Some(observation) = &state.observation else {
            drop(state);
            return Err(self.fail(Fault::let_go()));
        };
        let mut payloads = vec![
            seal(
                ledger_name,
                PayloadKind::TaskLedger,
                &self.session_id,
                &ledger,
            )?,
            seal(
                name(PRIOR_INSPECTION),
                PayloadKind::PriorInspection,
                &self.session_id,
                &observation.inspection,
            )?,
        ];
        for slot in &state.agents {
            let payload = executor_payload(&slot.link.participant_id);
            let executor = slot
                .executor
                .capture()
                .map_err(|error| uncapturable(&payload, error.to_string()))?;
            payloads.push(seal(
                payload,
                PayloadKind::Executor,
                &slot.link.participant_id,
                &executor,
            )?);
        }
        payloads.push(seal(
            name(RECORD),
            PayloadKind::Coordinator,
            &self.session_id,
            &record_of(&state),
        )?);
        Ok(payloads)
    }

    /// Reads and checks every payload of the coordinator, against each other and the manifest too, and builds what a
    /// restore installs. Nothing changes.
    pub(crate) fn restored_coordinator(
        &self,
        envelope: &Envelope<'_>,
        new_epoch: &Id,
    ) -> Result<RestoredCoordinator, SessionError> {
        let manifest = &envelope.manifest;
        let step = manifest.source_scope.step.0;
        let state = self.state.borrow();
        let inspection: TypedValue = read(
            envelope,
            &manifest.coordinator.prior_inspection,
            PayloadKind::PriorInspection,
            &self.session_id,
        )?;
        let inspection_schema = &state.environment.descriptor().inspection_schema;
        if inspection.schema() != inspection_schema {
            let (found, expected) = (
                inspection.schema().id.to_string(),
                inspection_schema.id.to_string(),
            );
            return Err(disagrees(
                &manifest.coordinator.prior_inspection,
                "schema",
                found,
                expected,
            ));
        }
        let ledger_name = &manifest.coordinator.task_ledger;
        let ledger: TypedValue = read(
            envelope,
            ledger_name,
            PayloadKind::TaskLedger,
            &self.session_id,
        )?;
        let task = state.task.restored(new_epoch, step, &ledger, &inspection);
        let task = task.map_err(|error| rejected(ledger_name, error.to_string()))?;
        let record_name = manifest
            .coordinator
            .admission_state
            .clone()
            .unwrap_or_else(|| name(RECORD));
        let record: CoordinatorRecord = read(
            envelope,
            &record_name,
            PayloadKind::Coordinator,
            &self.session_id,
        )?;
        check_record(&record_name, &record, manifest, &state, &task)?;
        let mut agents = Vec::with_capacity(record.agents.len());
        for ((slot, row), entry) in state
            .agents
            .iter()
            .zip(record.agents)
            .zip(&manifest.coordinator.executor_state)
        {
            let captured: TypedValue = read(
                envelope,
                &entry.payload,
                PayloadKind::Executor,
                &slot.link.participant_id,
            )?;
            let executor = slot.executor.restored(&captured);
            let clock = TickClock::with_remainder(slot.link.profile().tick_duration, row.remainder);
            agents.push(RestoredAgent {
                executor: executor.map_err(|error| rejected(&entry.payload, error.to_string()))?,
                context: row.context,
                brain_ticks: row.brain_ticks.0,
                clock: clock.map_err(|error| rejected(&record_name, error.to_string()))?,
            });
        }
        let positions = record.audio_positions.iter();
        let executor_events = EventWatermark {
            issued: record.executor_events_issued.0,
            last_source_step: record.last_executor_event_step.0,
        };
        Ok(RestoredCoordinator {
            task: task.task,
            inspection,
            progress: record.progress,
            terminal: record.terminal,
            last_event_step: record.last_event_step.0,
            events_issued: record.events_issued.0,
            timelines: positions
                .map(|position| AudioTimeline::restored(position.next_sample.0))
                .collect(),
            executor_events: state.executor_events.restored(
                new_epoch.clone(),
                step,
                executor_events,
            ),
            admissions: record.admissions,
            agents,
        })
    }
}

fn record_of(state: &SessionState) -> CoordinatorRecord {
    let rows = state.agents.iter().map(|slot| AgentRow {
        agent_id: slot.link.participant_id.clone(),
        port_id: slot.port_id.clone(),
        profile_digest: slot.link.profile().profile_digest,
        seed: slot.link.profile().seed,
        brain_ticks: U64(slot.brain_ticks),
        remainder: slot
            .clock
            .as_ref()
            .expect("a running agent has a clock")
            .remainder(),
        context: slot.context.clone().expect("a running agent has a context"),
    });
    let executor_events = state.executor_events.watermark();
    CoordinatorRecord {
        committed_step: U64(state.boundary),
        world_time: state.committed_world_time,
        last_event_step: U64(state.last_event_step),
        events_issued: U64(state.events_issued),
        progress: state
            .progress
            .clone()
            .expect("a running session has progress"),
        terminal: state.terminal.clone(),
        audio_positions: audio_rules::positions(state.environment.descriptor(), &state.timelines),
        executor_events_issued: U64(executor_events.issued),
        last_executor_event_step: U64(executor_events.last_source_step),
        admissions: state.admissions.waiting().to_vec(),
        agents: rows.collect(),
    }
}

/// The record must say what the manifest and the task's ledger say; the manifest was compared with this session already.
fn check_record(
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

fn read<T: DeserializeOwned>(
    envelope: &Envelope<'_>,
    payload: &Id,
    kind: PayloadKind,
    owner: &Id,
) -> Result<T, SessionError> {
    let manifest = &envelope.manifest;
    let fault = |source| SessionError::CoordinatorPayload {
        payload: payload.clone(),
        source,
    };
    let unreadable = |reason| fault(PayloadFault::Unreadable { reason });
    let bytes = envelope
        .payload(payload)
        .ok_or_else(|| unreadable("the envelope does not hold it".to_owned()))?;
    let expected = header(
        kind,
        owner,
        &manifest.checkpoint_id,
        &manifest.source_scope,
        manifest.composition_digest,
    );
    let framed =
        StatePayload::decode_expected(bytes, &expected).map_err(|error| fault(error.into()))?;
    if framed.header.agent.is_some() {
        let (found, expected) = ("given".to_owned(), "absent".to_owned());
        return Err(disagrees(payload, "agent", found, expected));
    }
    let value = parse_strict_json(framed.body).map_err(|error| unreadable(error.to_string()))?;
    from_json(value).map_err(|error| unreadable(error.to_string()))
}

fn rejected(payload: &Id, reason: String) -> SessionError {
    SessionError::CoordinatorPayload {
        payload: payload.clone(),
        source: PayloadFault::Rejected { reason },
    }
}

fn disagrees(payload: &Id, field: &str, found: String, expected: String) -> SessionError {
    SessionError::CoordinatorPayload {
        payload: payload.clone(),
        source: PayloadFault::Disagrees {
            field: field.to_owned(),
            found,
            expected,
        },
    }
}

mod erased {
    //! Canonical JSON of anything, behind one pointer.

    use serde::Serialize;

    use super::canonical_json;

    pub(super) trait Json {
        fn canonical(&self) -> Result<Vec<u8>, String>;

        /// To compare and to show.
        fn text(&self) -> String {
            let bytes = self.canonical().unwrap_or_else(String::into_bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }

    impl<T: Serialize> Json for T {
        fn canonical(&self) -> Result<Vec<u8>, String> {
            canonical_json(self).map_err(|error| error.to_string())
        }
    }
}
