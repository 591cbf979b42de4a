//! What a session is composed of, as it was chosen: the arena, the counting world, or modules of JavaScript.

use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_arena::{Arena, DEFAULT_MASTER_SEED, FaultBoard, WORLD_ID};
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
}

/// Composes a session as chosen.
pub async fn compose(config: &SessionConfig, launcher: Rc<Launcher>) -> WebResult<Composed> {
    match &config.composition {
        CompositionChoice::Arena => compose_arena(config).await,
        CompositionChoice::Counter => Err(WebError::new(
            WellwrittenErrorCode::Unsupported,
            "the counting world is not built in",
        )),
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
    })
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
        OwnTask::Counter => {
            return Err(WebError::new(
                WellwrittenErrorCode::Unsupported,
                "the counting world is not built in",
            ));
        }
        OwnTask::Module(task) => {
            let handlers = launcher.task_handlers(&task.module).await;
            let handlers = handlers.map_err(|error| invalid(error.message))?;
            Box::new(JsTask::new(handlers)?)
        }
    };
    let world = Some(own.environment.module.clone());
    Ok(composed(config, master_seed, task, world, members, launcher))
}

/// A composition whose participants need no device.
fn composed(
    config: &SessionConfig,
    master_seed: u64,
    task: Box<dyn Task>,
    world: Option<String>,
    members: Vec<Member>,
    launcher: Rc<Launcher>,
) -> Composed {
    let session_id = config.session_id();
    let agents = members.iter().map(|member| AgentBinding {
        agent_id: member.agent_id.clone(),
        port_id: member.port_id.clone(),
        executor: Box::new(IdentityExecutor) as Box<dyn Executor>,
    });
    Composed {
        composition: Composition {
            session_id: session_id.clone(),
            episode_id: first_episode(),
            epoch: None,
            environment_id: world_id(),
            agents: agents.collect(),
            task,
            dispatch: config.dispatch,
        },
        factory: Rc::new(Roster {
            session_id,
            mode: config.mode,
            launcher,
            world,
            members,
        }),
        device: GuardedDevice::cpu_because(Some(
            "no participant of this session computes on a GPU".to_owned(),
        )),
        faults: FaultBoard::new(),
        master_seed,
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
}

impl Roster {
    fn start(&self, participant_id: Id, role: StartRole, incarnation_id: &Id) -> ParticipantStart {
        ParticipantStart {
            session_id: self.session_id.clone(),
            incarnation_id: incarnation_id.clone(),
            participant_id,
            role,
            port_id: None,
            seed: None,
            ports: self.members.iter().map(|member| member.port_id.clone()).collect(),
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
        Ok(Launched::start(launcher, start, module.cloned(), isolated).await?)
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
