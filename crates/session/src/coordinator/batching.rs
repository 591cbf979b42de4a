//! One complete batch out of every agent's decision.

use std::collections::BTreeMap;

use wellwritten_envelope::{Id, U64};

use crate::coordinator::Fault;
use crate::coordinator::recording::Preparing;
use crate::{Advance, Coordinator, ErrorCode, Execution, ExecutorInput, PortControl, TaskEvent};

impl Coordinator {
    /// Phase B: one complete batch, in the order of the descriptor's ports, and what the executors tell about it, by
    /// agent.
    pub(super) fn batch(
        &self,
        boundary: u64,
        next: u64,
        preparing: &[Preparing],
    ) -> Result<(Advance, Vec<TaskEvent>), Fault> {
        let scope = self.scope(boundary);
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let observation = state.observation.as_ref().ok_or_else(Fault::let_go)?;
        let progress = state
            .progress
            .as_ref()
            .expect("a running session has progress");
        let mut by_port: BTreeMap<Id, PortControl> = BTreeMap::new();
        let mut told = Vec::new();
        for (slot, preparing) in state.agents.iter_mut().zip(preparing) {
            let agent_id = &slot.link.participant_id;
            let brain_time = slot
                .link
                .profile()
                .tick_duration
                .checked_mul_u64(slot.brain_ticks);
            let input = ExecutorInput {
                scope: &scope,
                agent_id,
                decision: &preparing.prepared.decision,
                inspection: &observation.inspection,
                progress,
                brain_time: brain_time
                    .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))?,
            };
            let refuse = |message: String| {
                let message = format!("its executor: {message}");
                Fault::broken(agent_id, ErrorCode::InvalidArgument, message)
            };
            let execution = slot.executor.apply(&input);
            let Execution { intent, events } =
                execution.map_err(|error| refuse(error.to_string()))?;
            if events.len() > Execution::MAX_EVENTS {
                return Err(refuse(format!(
                    "{} events of one decision, the limit is {}",
                    events.len(),
                    Execution::MAX_EVENTS
                )));
            }
            for event in events {
                told.push(TaskEvent {
                    id: state.executor_events.issue(next, &executor_rule(agent_id)),
                    kind_id: event.kind_id,
                    source_step: U64(next),
                    agent_id: Some(agent_id.clone()),
                    payload: event.payload,
                });
            }
            by_port.insert(slot.port_id.clone(), intent.on_port(slot.port_id.clone()));
        }
        let mut controls = Vec::with_capacity(by_port.len());
        for port in &state.environment.descriptor().ports {
            let control = by_port.remove(&port.port_id).ok_or_else(|| {
                Fault::inside(
                    ErrorCode::IdentityMismatch,
                    format!("nobody drives port {}", port.port_id),
                )
            })?;
            port.controls.check_control(&control).map_err(|error| {
                let driver = state
                    .agents
                    .iter()
                    .find(|slot| slot.port_id == port.port_id)
                    .map(|slot| slot.link.participant_id.clone());
                Fault {
                    participant: driver,
                    ..Fault::inside(
                        ErrorCode::InvalidArgument,
                        format!("port {}: {error}", port.port_id),
                    )
                }
            })?;
            controls.push(control);
        }
        let batch_id = Id::parse(&format!("batch-{}-{boundary}", scope.epoch))
            .map_err(|error| Fault::inside(ErrorCode::Internal, error.to_string()))?;
        Ok((Advance { batch_id, controls }, told))
    }
}

/// The rule under which an executor's events are named.
fn executor_rule(agent_id: &Id) -> Id {
    Id::parse(&format!("executor.{agent_id}"))
        .expect("agent ids were checked to leave room for a prefix")
}
