//! What a session is composed of, as it was chosen: the arena, the counting world, or modules of JavaScript.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use async_trait::async_trait;
use wellwritten_arena::{Arena, DEFAULT_MASTER_SEED, FaultBoard, WORLD_ID};
use wellwritten_counter::{AGENTS, CounterComposition, CounterTask, Faults};
use wellwritten_device::GuardedDevice;
use wellwritten_envelope::{Id, derive_seed};
use wellwritten_session::{
    AgentBinding, Composition, Direct, ErrorCode, Executor, IdentityExecutor, ParticipantError,
    ParticipantFactory, Task, Transport,
};

use crate::arena_participants::ArenaParticipants;
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::js_task::JsTask;
use crate::launcher::{Launched, Launcher};
use crate::open_device::{GuardedDeviceOptions, open_device};
use crate::participant_start::{ParticipantStart, StartRole};
use crate::session_config::{
    CompositionChoice, ExecutionMode, OwnComposition, OwnTask, SessionConfig,
};

/// Everything that depends on which composition was chosen.
pub struct Composed {
    pub composition: Composition,
    pub factory: Rc<dyn ParticipantFactory>,
    /// Holds the arena's buffers; none of any other composition.
    pub device: GuardedDevice,
    pub faults: FaultBoard,
    pub master_seed: u64,
    /// Participants in programs of their own, which end with the session.
    pub launched: LaunchedList,
}

/// Routes to participants in programs of their own.
pub type LaunchedList = Rc<RefCell<Vec<Weak<Launched>>>>;

/// Composes a session as chosen.
pub async fn compose(config: &SessionConfig, launcher: Rc<Launcher>) -> WebResult<Composed> {
    match &config.composition {
        CompositionChoice::Arena => compose_arena(config).await,
        CompositionChoice::Counter => compose_counter(config, launcher),
        CompositionChoice::Own(own) => compose_own(config, own, launcher).await,
    }
}

async fn compose_arena(config: &SessionConfig) -> WebResult<Composed> {
    if config.mode != ExecutionMode::InProcess {
        return Err(WebError::new(
            WellwrittenErrorCode::Unsupported,
            "the arena runs in mode \"in-process\" only: its world and its agents compute on one GPU device, \
             which programs of their own cannot share",
        ));
    }
    let device = open_device(GuardedDeviceOptions {
        backend: config.backend,
        ..GuardedDeviceOptions::default()
    })
    .await?;
    let faults = FaultBoard::new();
    let arena_config = config.arena();
    let master_seed = arena_config.master_seed;
    let arena = Arena::new(arena_config, device.clone(), faults.clone())
        .map_err(|error| invalid(error.to_string()))?;
    let session_id = config.session_id();
    let agents = arena.bindings().iter().map(|binding| AgentBinding {
        agent_id: binding.agent_id.clone(),
        port_id: binding.port_id.clone(),
        executor: Box::new(arena.executor()) as Box<dyn Executor>,
    });
    Ok(Composed {
        composition: Composition {
            session_id: session_id.clone(),
            episode_id: first_episode(),
            epoch: None,
            environment_id: world_id(),
            agents: agents.collect(),
            task: Box::new(arena.task()),
            dispatch: config.dispatch,
        },
        factory: Rc::new(ArenaParticipants::new(session_id, arena)),
        device,
        faults,
        master_seed,
        launched: LaunchedList::default(),
    })
}

fn compose_counter(config: &SessionConfig, launcher: Rc<Launcher>) -> WebResult<Composed> {
    if config.master_seed.is_some() {
        return Err(invalid(
            "the counting world's seeds are fixed; it takes no `masterSeed`",
        ));
    }
    let agents = config.agents.as_ref().map_or(2, Vec::len);
    let counter = CounterComposition {
        session_id: config.session_id(),
        agents,
        ..CounterComposition::default()
    };
    counter
        .check()
        .map_err(|error| invalid(error.to_string()))?;
    let known = |text: &str| Id::parse(text).expect("a legal id");
    let members: Vec<Member> = AGENTS[..agents]
        .iter()
        .map(|(agent_id, port_id, seed)| Member {
            agent_id: known(agent_id),
            port_id: known(port_id),
            seed: *seed,
            module: None,
        })
        .collect();
    for (agent, member) in config.agents.iter().flatten().zip(&members) {
        let other_port = agent
            .port_id
            .as_ref()
            .is_some_and(|port| *port != member.port_id);
        if agent.agent_id != member.agent_id || other_port {
            return Err(invalid(format!(
                "the counting world's agents are fly-a on p1, fly-b on p2, fly-c on p3 and fly-d on p4, in this order; \
                 {} is not {}",
                agent.agent_id, member.agent_id
            )));
        }
    }
    let task = Box::new(CounterTask::new(&counter, Faults::none()));
    let parts = Parts {
        master_seed: DEFAULT_MASTER_SEED,
        task,
        world: None,
        members,
        counter: Some(counter),
    };
    Ok(parts.composed(config, launcher))
}

async fn compose_own(
    config: &SessionConfig,
    own: &OwnComposition,
    launcher: Rc<Launcher>,
) -> WebResult<Composed> {
    if config.agents.is_some() {
        return Err(invalid(
            "`agents` names the agents of a composition that is built in; one of your own lists its agents itself",
        ));
    }
    let master_seed = config.master_seed.unwrap_or(DEFAULT_MASTER_SEED);
    let mut members = Vec::with_capacity(own.agents.len());
    for agent in &own.agents {
        let seed = match agent.seed {
            Some(seed) => seed,
            None => derive_seed(master_seed, &agent.agent_id)
                .map_err(|error| invalid(error.to_string()))?,
        };
        members.push(Member {
            agent_id: agent.agent_id.clone(),
            port_id: agent.port_id.clone(),
            seed,
            module: Some(agent.module.clone()),
        });
    }
    let task: Box<dyn Task> = match &own.task {
        OwnTask::Counter => Box::new(CounterTask::new(
            &CounterComposition::default(),
            Faults::none(),
        )),
        OwnTask::Module(task) => {
            let handlers = launcher.task_handlers(&task.module).await;
            let handlers = handlers.map_err(|error| invalid(error.message))?;
            Box::new(JsTask::new(handlers)?)
        }
    };
    let parts = Parts {
        master_seed,
        task,
        world: Some(own.environment.module.clone()),
        members,
        counter: None,
    };
    Ok(parts.composed(config, launcher))
}

/// A composition whose participants need no device.
struct Parts {
    master_seed: u64,
    task: Box<dyn Task>,
    /// The module that defines the world; absent where it is built in.
    world: Option<String>,
    members: Vec<Member>,
    /// What participants that are built in are made from.
    counter: Option<CounterComposition>,
}

impl Parts {
    fn composed(self, config: &SessionConfig, launcher: Rc<Launcher>) -> Composed {
        let session_id = config.session_id();
        let agents = self.members.iter().map(|member| AgentBinding {
            agent_id: member.agent_id.clone(),
            port_id: member.port_id.clone(),
            executor: Box::new(IdentityExecutor) as Box<dyn Executor>,
        });
        let elsewhere = LaunchedList::default();
        Composed {
            launched: elsewhere.clone(),
            composition: Composition {
                session_id: session_id.clone(),
                episode_id: first_episode(),
                epoch: None,
                environment_id: world_id(),
                agents: agents.collect(),
                task: self.task,
                dispatch: config.dispatch,
            },
            factory: Rc::new(Roster {
                session_id,
                mode: config.mode,
                launcher,
                world: self.world,
                members: self.members,
                counter: self.counter,
                lives: RefCell::default(),
                launched: elsewhere,
            }),
            device: GuardedDevice::cpu_because(Some(
                "no participant of this session computes on a GPU".to_owned(),
            )),
            faults: FaultBoard::new(),
            master_seed: self.master_seed,
        }
    }
}

/// One agent, and where it comes from.
struct Member {
    agent_id: Id,
    port_id: Id,
    seed: i32,
    /// The module that defines it; absent where it is built in.
    module: Option<String>,
}

/// Makes participants that need no device: here, or in programs of their own.
struct Roster {
    session_id: Id,
    mode: ExecutionMode,
    launcher: Rc<Launcher>,
    /// The module that defines the world; absent where it is built in.
    world: Option<String>,
    members: Vec<Member>,
    /// What participants that are built in are made from.
    counter: Option<CounterComposition>,
    /// How often each was built.
    lives: RefCell<BTreeMap<Id, u32>>,
    launched: LaunchedList,
}

impl Roster {
    fn start(&self, participant_id: Id, role: StartRole, incarnation_id: &Id) -> ParticipantStart {
        let mut lives = self.lives.borrow_mut();
        let life = lives.entry(participant_id.clone()).or_default();
        *life += 1;
        ParticipantStart {
            session_id: self.session_id.clone(),
            incarnation_id: incarnation_id.clone(),
            participant_id,
            role,
            port_id: None,
            seed: None,
            ports: self
                .members
                .iter()
                .map(|member| member.port_id.clone())
                .collect(),
            life: *life,
            counter: self.counter.clone(),
        }
    }

    async fn make(
        &self,
        start: ParticipantStart,
        module: Option<&String>,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        if self.mode == ExecutionMode::InProcess {
            let definition = match module {
                Some(module) => Some(self.launcher.definition(&start, module).await?),
                None => None,
            };
            return Ok(Direct::new(start.build(definition)?));
        }
        let isolated = self.mode == ExecutionMode::Isolated;
        let launcher = self.launcher.clone();
        let route = Launched::start(launcher, start, module.cloned(), isolated).await?;
        let mut list = self.launched.borrow_mut();
        list.retain(|earlier| earlier.strong_count() > 0);
        list.push(Rc::downgrade(&route));
        Ok(route)
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for Roster {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let start = self.start(world_id(), StartRole::Environment, incarnation_id);
        self.make(start, self.world.as_ref()).await
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let member = self
            .members
            .iter()
            .find(|member| member.agent_id == *agent_id)
            .ok_or_else(|| {
                ParticipantError::refused(
                    ErrorCode::IdentityMismatch,
                    format!("this composition has no agent {agent_id}"),
                )
            })?;
        let start = ParticipantStart {
            port_id: Some(member.port_id.clone()),
            seed: Some(member.seed),
            ..self.start(agent_id.clone(), StartRole::Agent, incarnation_id)
        };
        self.make(start, member.module.as_ref()).await
    }
}

fn invalid(message: impl Into<String>) -> WebError {
    WebError::new(WellwrittenErrorCode::InvalidArgument, message)
}

fn first_episode() -> Id {
    Id::parse("ep1").expect("a legal id")
}

fn world_id() -> Id {
    Id::parse(WORLD_ID).expect("a legal id")
}
