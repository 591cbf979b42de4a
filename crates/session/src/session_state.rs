//! [`SessionState`]: everything a coordinator knows.

use std::collections::BTreeSet;
use std::rc::Rc;

use wellwritten_envelope::{Digest, Id, RationalNs, sort_few_by};

use crate::admission_queue::AdmissionQueue;
use crate::known_names::KnownNames;
use crate::step_recording::StepRecording;
use crate::{
    AgentBinding, AgentProfile, AgentTelemetry, AudioTimeline, CallResolution, Description,
    DurableMark, EnvironmentDescriptor, EpisodeRequest, EventLedger, Executor, FailureRecord,
    PhaseMachine, PortBinding, Reply, Request, SessionError, Task, TickClock, Trace, Transport,
    TransportError, TypedValue, WorldObservation,
};

/// The route to one incarnation of one participant.
#[derive(Clone)]
pub(crate) struct Link {
    pub participant_id: Id,
    pub incarnation_id: Id,
    pub transport: Rc<dyn Transport>,
    /// What it said it is; absent until it was asked.
    pub description: Option<Rc<Description>>,
    pub compatibility_digest: Digest,
}

/// One agent as the coordinator knows it.
pub(crate) struct AgentSlot {
    pub link: Link,
    pub port_id: Id,
    pub executor: Box<dyn Executor>,
    /// The executor's state before it decided anything.
    pub pristine_executor: TypedValue,
    /// The context the agent retains.
    pub context: Option<TypedValue>,
    pub brain_ticks: u64,
    /// The coordinator's own count of the agent's ticks.
    pub clock: Option<TickClock>,
    pub telemetry: Option<AgentTelemetry>,
}

/// Everything a coordinator knows.
pub(crate) struct SessionState {
    pub machine: PhaseMachine,
    /// The epoch asked for at the start.
    pub first_epoch: Option<Id>,
    pub epoch: Id,
    pub used_epochs: BTreeSet<Id>,
    pub episode_id: Id,
    pub used_episodes: BTreeSet<Id>,
    pub boundary: u64,
    pub committed_world_time: RationalNs,
    pub environment: Link,
    /// By agent id.
    pub agents: Vec<AgentSlot>,
    pub task: Box<dyn Task>,
    pub progress: Option<TypedValue>,
    /// What the world shows at the committed boundary.
    pub observation: Option<WorldObservation>,
    /// Where every declared stream of sound is at the committed boundary, in declared order.
    pub timelines: Vec<AudioTimeline>,
    /// Of the task.
    pub events_issued: u64,
    pub last_event_step: u64,
    /// Of the executors.
    pub executor_events: EventLedger,
    pub admissions: AdmissionQueue,
    /// Admissions accepted by this coordinator, over every epoch.
    pub admitted: u64,
    pub pause_requested: bool,
    pub terminal: Option<EpisodeRequest>,
    pub failure: Option<FailureRecord>,
    pub tainted: BTreeSet<Id>,
    pub durable: Option<DurableMark>,
    /// Checkpoints whose names are taken.
    pub known_checkpoints: KnownNames,
    pub store_warning: Option<String>,
    /// Checkpoints on their way to the store, in order.
    pub outstanding: Vec<Id>,
    pub recording: StepRecording,
    pub trace: Trace,
    pub advances: u64,
    pub late_steps: u64,
    pub lag_ns: u64,
    pub incarnations: u64,
    /// Calls that were answered late or not at all, since the last transition.
    pub resolutions: Vec<CallResolution>,
}

/// The route of a participant that was not built yet.
struct NotBuilt;

#[async_trait::async_trait(?Send)]
impl Transport for NotBuilt {
    async fn call(&self, _request: &Request) -> Result<Reply, TransportError> {
        Err(TransportError::RouteGone { reason: None })
    }

    fn close(&self) {}
}

impl Link {
    fn not_built(participant_id: Id) -> Self {
        Self {
            incarnation_id: participant_id.clone(),
            participant_id,
            transport: Rc::new(NotBuilt),
            description: None,
            compatibility_digest: Digest::from_bytes([0; Digest::BYTES]),
        }
    }

    /// The same participant, out of reach: nobody answers, and no life is the one meant.
    pub(crate) fn cut_off(&self) -> Self {
        Self {
            incarnation_id: self.participant_id.clone(),
            transport: Rc::new(NotBuilt),
            ..self.clone()
        }
    }

    /// The world's descriptor.
    pub(crate) fn descriptor(&self) -> &EnvironmentDescriptor {
        match self.description.as_deref() {
            Some(Description::Environment(descriptor)) => descriptor,
            _ => unreachable!("the environment answered as one when it was connected"),
        }
    }

    /// An agent's profile.
    pub(crate) fn profile(&self) -> &AgentProfile {
        match self.description.as_deref() {
            Some(Description::Agent(profile)) => profile,
            _ => unreachable!("an agent answered as one when it was connected"),
        }
    }
}

impl AgentSlot {
    fn new(binding: AgentBinding) -> Result<Self, SessionError> {
        let pristine_executor = binding.executor.capture();
        Ok(Self {
            pristine_executor: pristine_executor.map_err(|error| SessionError::Executor {
                agent: binding.agent_id.clone(),
                reason: error.to_string(),
            })?,
            link: Link::not_built(binding.agent_id),
            port_id: binding.port_id,
            executor: binding.executor,
            context: None,
            brain_ticks: 0,
            clock: None,
            telemetry: None,
        })
    }
}

impl SessionState {
    pub(crate) fn new(
        episode_id: Id,
        first_epoch: Option<Id>,
        environment_id: Id,
        mut agents: Vec<AgentBinding>,
        task: Box<dyn Task>,
    ) -> Result<Self, SessionError> {
        sort_few_by(&mut agents, |left, right| {
            left.agent_id.cmp(&right.agent_id)
        });
        let epoch = first_epoch
            .clone()
            .unwrap_or_else(|| Id::parse("e0").expect("a legal id"));
        let agents = agents
            .into_iter()
            .map(AgentSlot::new)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            machine: PhaseMachine::starting(),
            first_epoch,
            executor_events: EventLedger::new(epoch.clone()),
            admissions: AdmissionQueue::default(),
            admitted: 0,
            epoch,
            used_epochs: BTreeSet::new(),
            used_episodes: BTreeSet::from([episode_id.clone()]),
            episode_id,
            boundary: 0,
            committed_world_time: RationalNs::ZERO,
            environment: Link::not_built(environment_id),
            agents,
            task,
            progress: None,
            observation: None,
            timelines: Vec::new(),
            events_issued: 0,
            last_event_step: 0,
            pause_requested: false,
            terminal: None,
            failure: None,
            tainted: BTreeSet::new(),
            durable: None,
            known_checkpoints: KnownNames::default(),
            store_warning: None,
            outstanding: Vec::new(),
            recording: StepRecording::default(),
            trace: Trace::default(),
            advances: 0,
            late_steps: 0,
            lag_ns: 0,
            incarnations: 0,
            resolutions: Vec::new(),
        })
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        std::iter::once(&self.environment)
            .chain(self.agents.iter().map(|slot| &slot.link))
            .cloned()
            .collect()
    }

    /// Who drives which port, in the order of the descriptor's ports.
    pub(crate) fn bindings(&self) -> Vec<PortBinding> {
        let ports = &self.environment.descriptor().ports;
        ports
            .iter()
            .filter_map(|port| {
                let slot = self
                    .agents
                    .iter()
                    .find(|slot| slot.port_id == port.port_id)?;
                Some(PortBinding {
                    port_id: port.port_id.clone(),
                    agent_id: slot.link.participant_id.clone(),
                })
            })
            .collect()
    }
}
