//! [`Coordinator`]: the one who decides what happens next in a session.

mod admitting;
pub(crate) mod asking;
mod batching;
mod bootstrapping;
mod checkpointing;
mod connecting;
mod erased;
mod identity;
pub(crate) mod manifest;
mod own_payloads;
pub(crate) mod publishing;
mod record_rules;
mod recording;
mod replacing;
mod resetting;
mod resolving;
mod restoring;
mod running;
mod saving;
pub(crate) mod seeking;
mod staging;
mod stepping;
mod watching;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wellwritten_envelope::{Id, RationalNs, Scope, U64};

pub use checkpointing::CheckpointRequest;
pub use resetting::ResetRequest;
pub use running::RunOptions;

use crate::coordinator::saving::Saves;
use crate::publication::publisher::Publisher;
use crate::session_state::{Link, SessionState};
use crate::{
    CallBudgets, Clock, Composition, DispatchOrder, ErrorCode, FailureRecord, Host,
    MutationCertainty, Observer, ParticipantError, ParticipantFactory, ParticipantInfo, Phase,
    PhaseChange, PhaseEdge, PublishedEvent, Role, SessionError, SessionEvent, Status, TraceRecord,
    TraceSink,
};

/// A fault that ends the epoch: who is to blame, where one is, and what happened.
#[derive(Debug)]
pub(crate) struct Fault {
    pub participant: Option<Id>,
    pub error: ParticipantError,
}

impl Fault {
    /// A participant's own error.
    pub(crate) const fn of(participant: Id, error: ParticipantError) -> Self {
        Self {
            participant: Some(participant),
            error,
        }
    }

    /// A participant did something it must not.
    pub(crate) fn broken(participant: &Id, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(
            participant.clone(),
            ParticipantError::new(code, MutationCertainty::Applied, message),
        )
    }

    /// What the world showed is gone: the epoch was ended in the middle of something, and this never becomes the reason.
    pub(crate) fn let_go() -> Self {
        Self::inside(ErrorCode::Internal, "what the world showed was let go of")
    }

    /// Nobody outside the coordinator is to blame.
    pub(crate) fn inside(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            participant: None,
            error: ParticipantError::new(code, MutationCertainty::Applied, message),
        }
    }
}

/// One session: an environment, one to four agents, a task, and the order in which they act.
///
/// Every method takes `&self` and may be called at any time; what is not possible now is refused and changes nothing.
/// One operation runs at a time. Status, trace, pause and [`fail_epoch`](Self::fail_epoch) are possible during one,
/// and so is stepping while a checkpoint is being written.
pub struct Coordinator {
    pub(crate) session_id: Id,
    pub(crate) dispatch: Cell<DispatchOrder>,
    pub(crate) factory: Rc<dyn ParticipantFactory>,
    pub(crate) clock: Rc<dyn Clock>,
    pub(crate) budgets: CallBudgets,
    pub(crate) saves: Option<Saves>,
    pub(crate) listeners: Listeners,
    pub(crate) state: Rc<RefCell<SessionState>>,
    pub(crate) publisher: Rc<Publisher>,
    pub(crate) trace_sink: RefCell<Option<Rc<dyn TraceSink>>>,
    running: Cell<Option<&'static str>>,
    pub(crate) next_request: Cell<u64>,
}

/// Whoever hears what happens.
#[derive(Clone)]
pub(crate) struct Listeners {
    publisher: Rc<Publisher>,
    observer: Option<Observer>,
}

impl Listeners {
    /// Tells an event. Nothing of the session is borrowed meanwhile.
    pub(crate) fn emit(&self, event: SessionEvent) {
        if self.publisher.has_listeners() {
            let event = event.clone();
            self.publisher.tell(&PublishedEvent::Session { event });
        }
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}

/// The one operation that runs. Dropped before its end (its future was dropped), it ends the epoch where the session
/// would otherwise stay between two phases.
pub(crate) struct OperationGuard<'a> {
    coordinator: &'a Coordinator,
    operation: &'static str,
}

impl Drop for OperationGuard<'_> {
    fn drop(&mut self) {
        self.coordinator.running.set(None);
        let phase = self.coordinator.phase();
        let settled = matches!(phase, Phase::Starting | Phase::Failed)
            || phase.committed_boundary().is_some();
        if !settled {
            // Whoever was being set up or restored may be halfway.
            if matches!(phase, Phase::Restoring { .. } | Phase::Resetting { .. }) {
                self.coordinator.taint_all();
            }
            let message = format!("the {} was abandoned while it ran", self.operation);
            self.coordinator.fail(Fault {
                participant: None,
                error: ParticipantError::uncertain(ErrorCode::Internal, message),
            });
        }
        self.coordinator.settle_pause();
    }
}

impl Coordinator {
    /// Builds every participant, asks each who it is, and stands at [`Phase::Starting`]: next is
    /// [`bootstrap`](Self::bootstrap), or [`restore`](Self::restore) over a store that holds a checkpoint.
    pub async fn new(composition: Composition, host: Host) -> Result<Self, SessionError> {
        composition.check()?;
        let Composition {
            session_id,
            episode_id,
            epoch,
            environment_id,
            agents,
            task,
            dispatch,
        } = composition;
        let state = SessionState::new(episode_id, epoch, environment_id, agents, task)?;
        let state = Rc::new(RefCell::new(state));
        let publisher = Rc::<Publisher>::default();
        let listeners = Listeners {
            publisher: publisher.clone(),
            observer: host.observer,
        };
        let saves = host.store.map(|store| {
            let (state, listeners) = (state.clone(), listeners.clone());
            let patience_ns = host.budgets.capture_ns;
            Saves::new(
                store,
                host.saves,
                state,
                listeners,
                host.clock.clone(),
                patience_ns,
            )
        });
        let coordinator = Self {
            session_id,
            dispatch: Cell::new(dispatch),
            factory: host.factory,
            clock: host.clock,
            budgets: host.budgets,
            saves: saves.transpose()?,
            listeners,
            state,
            publisher,
            trace_sink: RefCell::new(None),
            running: Cell::new(None),
            next_request: Cell::new(1),
        };
        coordinator.connect_all().await?;
        Ok(coordinator)
    }

    /// Where the session stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.state.borrow().machine.phase()
    }

    /// The session at a glance; at any time, also in the middle of a step.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.state.borrow();
        let info = |link: &Link, role: Role, port_id: Option<&Id>| ParticipantInfo {
            participant_id: link.participant_id.clone(),
            role,
            port_id: port_id.cloned(),
            incarnation_id: link.incarnation_id.clone(),
            tainted: state.tainted.contains(&link.participant_id),
        };
        let agents = state
            .agents
            .iter()
            .map(|slot| info(&slot.link, Role::Agent, Some(&slot.port_id)));
        Status {
            session_id: self.session_id.clone(),
            episode_id: state.episode_id.clone(),
            epoch: state.epoch.clone(),
            phase: state.machine.phase(),
            boundary: state.boundary,
            world_time: state.world_time(),
            fenced: state.machine.phase() == Phase::Failed,
            pause_requested: state.pause_requested,
            terminal: state.terminal.clone(),
            saving: self.saves.as_ref().is_some_and(Saves::is_saving),
            store_warning: state.store_warning.clone(),
            durable: state.durable.clone(),
            tainted: state.tainted.iter().cloned().collect(),
            failure: state.failure.clone(),
            participants: std::iter::once(info(&state.environment, Role::Environment, None))
                .chain(agents)
                .collect(),
            advances: state.advances,
            late_steps: state.late_steps,
            lag_ns: state.lag_ns,
            publication: self.publisher.counts(),
        }
    }

    /// Every legal edge of the phase diagram.
    #[must_use]
    pub fn phase_edges(&self) -> Vec<PhaseEdge> {
        PhaseEdge::all()
    }

    /// The last changes of phase, oldest first.
    #[must_use]
    pub fn phase_history(&self) -> Vec<PhaseChange> {
        self.state.borrow().machine.history().copied().collect()
    }

    /// The transitions that lead to the present, oldest first, and how many are no longer kept.
    #[must_use]
    pub fn trace(&self) -> (Vec<TraceRecord>, u64) {
        let state = self.state.borrow();
        (
            state.trace.records().cloned().collect(),
            state.trace.forgotten(),
        )
    }

    /// The epochs of the present timeline, oldest first.
    #[must_use]
    pub fn trace_epochs(&self) -> Vec<Id> {
        self.state.borrow().trace.epochs().cloned().collect()
    }

    /// Names of events under `to`, the task's and the executors', for [`rebase_trace`](crate::rebase_trace).
    #[must_use]
    pub fn rebase_ids(&self, to: &Id) -> BTreeMap<Id, Id> {
        let state = self.state.borrow();
        let mut ids = state.task.rebase_ids(to);
        ids.extend(state.executor_events.rebase_ids(to));
        ids
    }

    /// In which order agents are asked from the next step on.
    pub fn set_dispatch(&self, dispatch: DispatchOrder) {
        self.dispatch.set(dispatch);
    }

    /// Ends the epoch from outside: the device was lost, a participant's host went away. Refused where there is no
    /// epoch to end. A step in progress stops at its next phase.
    pub fn fail_epoch(
        &self,
        participant: Option<&Id>,
        error: ParticipantError,
    ) -> Result<(), SessionError> {
        let phase = self.phase();
        if matches!(phase, Phase::Starting | Phase::Failed) {
            return Err(SessionError::InvalidPhase {
                operation: "failing the epoch",
                phase,
            });
        }
        if let Some(participant) = participant {
            self.require_participant(participant)?;
        }
        self.fail(Fault {
            participant: participant.cloned(),
            error,
        });
        Ok(())
    }

    /// Cuts the route to a participant, as if it had died. The session finds out when it next asks.
    pub fn kill_participant(&self, participant: &Id) -> Result<(), SessionError> {
        let link = self.require_participant(participant)?;
        link.transport.close();
        Ok(())
    }

    pub(crate) fn require_participant(&self, participant: &Id) -> Result<Link, SessionError> {
        let links = self.state.borrow().links();
        let found = links
            .into_iter()
            .find(|link| link.participant_id == *participant);
        found.ok_or_else(|| SessionError::UnknownParticipant {
            participant: participant.clone(),
        })
    }

    /// Takes the one place for an operation, or says what holds it.
    pub(crate) fn begin(
        &self,
        operation: &'static str,
    ) -> Result<OperationGuard<'_>, SessionError> {
        if let Some(running) = self.running.get() {
            return Err(SessionError::Busy { operation, running });
        }
        self.running.set(Some(operation));
        Ok(OperationGuard {
            coordinator: self,
            operation,
        })
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.get().is_none()
    }

    /// What runs, if anything does.
    pub(crate) fn running(&self) -> Option<&'static str> {
        self.running.get()
    }

    pub(crate) fn refuse_phase(&self, operation: &'static str) -> SessionError {
        SessionError::InvalidPhase {
            operation,
            phase: self.phase(),
        }
    }

    pub(crate) fn emit(&self, event: SessionEvent) {
        self.listeners.emit(event);
    }

    /// Changes the phase. Where someone ended the epoch in the meantime, that is the fault.
    pub(crate) fn go(&self, to: Phase) -> Result<(), Fault> {
        self.go_and(to, |_| {})
    }

    /// Changes the phase, and with it what must never be seen to change before or after.
    pub(crate) fn go_and(
        &self,
        to: Phase,
        along: impl FnOnce(&mut SessionState),
    ) -> Result<(), Fault> {
        let mut state = self.state.borrow_mut();
        let changed = state.machine.go(to);
        if changed.is_ok() {
            along(&mut state);
        }
        drop(state);
        match changed {
            Ok(change) => {
                self.emit(SessionEvent::Phase { change });
                Ok(())
            }
            Err(illegal) => Err(Fault::inside(ErrorCode::Internal, illegal.to_string())),
        }
    }

    /// Ends the epoch, unless it has ended: phase `Failed`, what was seen is dropped, the first reason stays.
    pub(crate) fn fail(&self, fault: Fault) -> SessionError {
        let mut state = self.state.borrow_mut();
        if let (Phase::Failed, Some(record)) = (state.machine.phase(), &state.failure) {
            return SessionError::EpochFailed(Box::new(record.clone()));
        }
        let record = FailureRecord {
            epoch: state.epoch.clone(),
            phase: state.machine.phase(),
            participant: fault.participant,
            error: fault.error,
        };
        let change = state
            .machine
            .go(Phase::Failed)
            .expect("every phase but Failed leads to Failed");
        state.failure = Some(record.clone());
        state.observation = None;
        state.pause_requested = false;
        let aborted = state.admissions.take_all();
        drop(state);
        self.publisher.fence();
        self.emit(SessionEvent::Phase { change });
        self.emit(SessionEvent::Failure {
            record: record.clone(),
        });
        self.tell_aborted(aborted);
        SessionError::EpochFailed(Box::new(record))
    }

    pub(crate) fn scope(&self, step: u64) -> Scope {
        Scope {
            session_id: self.session_id.clone(),
            epoch: self.state.borrow().epoch.clone(),
            step: U64(step),
        }
    }

    /// Every participant, the environment first, then agents by name.
    pub(crate) fn links(&self) -> Vec<Link> {
        self.state.borrow().links()
    }

    pub(crate) fn taint(&self, participants: impl IntoIterator<Item = Id>) {
        self.state.borrow_mut().tainted.extend(participants);
    }

    /// Everyone must be replaced before a restore.
    pub(crate) fn taint_all(&self) {
        self.taint(self.links().into_iter().map(|link| link.participant_id));
    }

    pub(crate) fn episode_id(&self) -> Id {
        self.state.borrow().episode_id.clone()
    }

    /// Records an epoch's name as used by this coordinator.
    pub(crate) fn adopt_epoch(&self, epoch: &Id) {
        let mut state = self.state.borrow_mut();
        state.used_epochs.insert(epoch.clone());
        state.epoch = epoch.clone();
    }

    /// The epochs this coordinator has used.
    pub(crate) fn used_epochs(&self) -> BTreeSet<Id> {
        self.state.borrow().used_epochs.clone()
    }
}

impl SessionState {
    fn world_time(&self) -> RationalNs {
        self.committed_world_time
    }
}
