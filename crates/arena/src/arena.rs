//! [`Arena`]: makes the participants of one session, again and again.

use std::rc::Rc;

use thiserror::Error;
use wellwritten_device::GuardedDevice;
use wellwritten_envelope::{Id, SeedError, derive_seed, sort_few_by};
use wellwritten_session::{IdentityExecutor, PortBinding};

use crate::arena_world::{ArenaWorld, WORLD_ID};
use crate::fault_board::FaultBoard;
use crate::fly_agent::FlyAgent;
use crate::foraging::{EpisodeEnd, Foraging};
use crate::kernels::view::FLY_SLOTS;
use crate::launcher::Launcher;
use crate::schemas::known_id;

/// The master seed of a session that names none: one with a lively first ten seconds.
pub const DEFAULT_MASTER_SEED: u64 = 18;
/// Longest agent id: the names of its payloads are longer by up to nine characters.
pub const MAX_AGENT_ID_BYTES: usize = 55;

/// What a session of the arena consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaConfig {
    /// One fly for each binding, 1 to 4, unique both ways; in any order.
    pub agents: Vec<PortBinding>,
    /// Every seed of the session is derived from this one.
    pub master_seed: u64,
    /// When the episode ends.
    pub end: EpisodeEnd,
}

impl Default for ArenaConfig {
    /// Two flies, `fly-a` and `fly-b`, for ever.
    fn default() -> Self {
        let binding = |port: &str, agent: &str| PortBinding {
            port_id: known_id(port),
            agent_id: known_id(agent),
        };
        Self {
            agents: vec![binding("p1", "fly-a"), binding("p2", "fly-b")],
            master_seed: DEFAULT_MASTER_SEED,
            end: EpisodeEnd::Never,
        }
    }
}

/// Why a configuration is no arena. Nothing was made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// No fly, or more than there is room for.
    #[error("an arena has 1 to {limit} flies, {found} were asked for")]
    Agents {
        /// Flies asked for.
        found: usize,
        /// Room in the arena.
        limit: u32,
    },
    /// An agent or a port is named twice.
    #[error("{name} is named twice")]
    Repeated {
        /// The name.
        name: Id,
    },
    /// An agent has the world's id, or one too long for the names made from it.
    #[error("{name} cannot be an agent: it is the world's id or has more than {limit} bytes")]
    AgentId {
        /// The id.
        name: Id,
        /// Longest agent id, in bytes.
        limit: usize,
    },
    /// A seed could not be derived.
    #[error(transparent)]
    Seed(#[from] SeedError),
}

/// The composition of one session over one device: a factory of its participants.
///
/// Making a participant twice gives equal ones: that is how a killed one is replaced.
pub struct Arena {
    launcher: Rc<Launcher>,
    bindings: Vec<PortBinding>,
    seeds: Vec<i32>,
    world_seed: u32,
    end: EpisodeEnd,
}

impl Arena {
    /// Checks the configuration and makes the kernels on `device`. Does not submit.
    pub fn new(
        config: ArenaConfig,
        device: GuardedDevice,
        faults: FaultBoard,
    ) -> Result<Self, ArenaError> {
        let mut bindings = config.agents;
        if bindings.is_empty() || bindings.len() > FLY_SLOTS as usize {
            return Err(ArenaError::Agents {
                found: bindings.len(),
                limit: FLY_SLOTS,
            });
        }
        sort_few_by(&mut bindings, |a, b| a.agent_id.cmp(&b.agent_id));
        for (index, binding) in bindings.iter().enumerate() {
            let agent_id = &binding.agent_id;
            if agent_id.as_str() == WORLD_ID || agent_id.as_str().len() > MAX_AGENT_ID_BYTES {
                return Err(ArenaError::AgentId {
                    name: agent_id.clone(),
                    limit: MAX_AGENT_ID_BYTES,
                });
            }
            for other in &bindings[..index] {
                if other.agent_id == *agent_id {
                    return Err(ArenaError::Repeated {
                        name: agent_id.clone(),
                    });
                }
                if other.port_id == binding.port_id {
                    return Err(ArenaError::Repeated {
                        name: binding.port_id.clone(),
                    });
                }
            }
        }
        let seed = |id: &Id| derive_seed(config.master_seed, id);
        let seeds = bindings
            .iter()
            .map(|binding| seed(&binding.agent_id))
            .collect::<Result<_, _>>()?;
        let world_seed = seed(&known_id(WORLD_ID))?.cast_unsigned();
        Ok(Self {
            launcher: Rc::new(Launcher::new(device, faults)),
            bindings,
            seeds,
            world_seed,
            end: config.end,
        })
    }

    /// Which agent drives which port, sorted by agent id; also the order of the world's ports.
    #[must_use]
    pub fn bindings(&self) -> &[PortBinding] {
        &self.bindings
    }

    /// The device every participant computes on.
    #[must_use]
    pub fn device(&self) -> &GuardedDevice {
        self.launcher.device()
    }

    /// A world, not yet initialized.
    #[must_use]
    pub fn world(&self) -> ArenaWorld {
        ArenaWorld::new(
            Rc::clone(&self.launcher),
            self.bindings.clone(),
            self.world_seed,
        )
    }

    /// The fly of an agent, not yet initialized; `None` for an agent that is not composed.
    #[must_use]
    pub fn fly(&self, agent_id: &Id) -> Option<FlyAgent> {
        let index = self
            .bindings
            .iter()
            .position(|binding| binding.agent_id == *agent_id)?;
        Some(FlyAgent::new(
            Rc::clone(&self.launcher),
            agent_id.clone(),
            self.seeds[index],
        ))
    }

    /// The executor of any fly: a decision already is an intent.
    #[must_use]
    pub fn executor(&self) -> IdentityExecutor {
        IdentityExecutor
    }

    /// The task, not yet started.
    #[must_use]
    pub fn task(&self) -> Foraging {
        Foraging::new(self.end)
    }
}
