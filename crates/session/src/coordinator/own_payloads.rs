//! The coordinator's own part of a checkpoint: ledger, inspection, executors, and its record.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wellwritten_envelope::{
    Digest, Envelope, Id, RationalNs, Scope, U64, from_json, parse_strict_json,
};

use crate::audio_rules;
use crate::coordinator::record_rules::check_record;
use crate::coordinator::{Fault, erased};
use crate::session_error::PayloadFault;
use crate::session_state::SessionState;
use crate::state_payload::{PayloadHeader, PayloadKind, StatePayload};
use crate::{
    Admission, AudioPosition, AudioTimeline, Coordinator, EpisodeRequest, EventLedger,
    EventWatermark, Executor, SessionError, Task, TickClock, TypedValue,
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
pub(crate) struct AgentRow {
    pub agent_id: Id,
    pub port_id: Id,
    pub profile_digest: Digest,
    pub seed: i32,
    pub brain_ticks: U64,
    pub remainder: RationalNs,
    pub context: TypedValue,
}

/// What the coordinator keeps for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CoordinatorRecord {
    pub committed_step: U64,
    pub world_time: RationalNs,
    pub last_event_step: U64,
    pub events_issued: U64,
    pub progress: TypedValue,
    pub terminal: Option<EpisodeRequest>,
    pub audio_positions: Vec<AudioPosition>,
    pub executor_events_issued: U64,
    pub last_executor_event_step: U64,
    pub admissions: Vec<Admission>,
    pub agents: Vec<AgentRow>,
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

pub(crate) fn rejected(payload: &Id, reason: String) -> SessionError {
    SessionError::CoordinatorPayload {
        payload: payload.clone(),
        source: PayloadFault::Rejected { reason },
    }
}

pub(crate) fn disagrees(
    payload: &Id,
    field: &str,
    found: String,
    expected: String,
) -> SessionError {
    SessionError::CoordinatorPayload {
        payload: payload.clone(),
        source: PayloadFault::Disagrees {
            field: field.to_owned(),
            found,
            expected,
        },
    }
}
