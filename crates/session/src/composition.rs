//! [`Composition`]: who takes part in a session, and under which rules.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use wellwritten_envelope::Id;
use wellwritten_store::{StoreClient, WriterConfig};

use crate::{CallBudgets, Clock, Executor, Observer, ParticipantFactory, SessionError, Task};

/// One agent, its port and how its decisions become controls.
pub struct AgentBinding {
    /// The agent.
    pub agent_id: Id,
    /// The port it drives.
    pub port_id: Id,
    /// Its executor.
    pub executor: Box<dyn Executor>,
}

/// In which order agents are asked. Behaviour is the same in every one; that is what the orders are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub enum DispatchOrder {
    /// All at once.
    #[default]
    Concurrent,
    /// One after the other, by name.
    Sequential,
    /// One after the other, by name from the last.
    Reversed,
}

/// Who takes part, and under which rules.
pub struct Composition {
    /// The session.
    pub session_id: Id,
    /// The episode.
    pub episode_id: Id,
    /// The first epoch; the first unused of `e1`, `e2`, .. where none is named.
    pub epoch: Option<Id>,
    /// The world's worker id.
    pub environment_id: Id,
    /// Agents, 1 to 4.
    pub agents: Vec<AgentBinding>,
    /// The rules of the game.
    pub task: Box<dyn Task>,
    /// In which order agents are asked.
    pub dispatch: DispatchOrder,
}

/// What a session needs of its host.
pub struct Host {
    /// Where participants come from.
    pub factory: Rc<dyn ParticipantFactory>,
    /// Wall time.
    pub clock: Rc<dyn Clock>,
    /// How long an answer may take.
    pub budgets: CallBudgets,
    /// Where checkpoints go.
    pub store: Option<StoreClient>,
    /// How many of them may be on their way there.
    pub saves: WriterConfig,
    /// Who watches.
    pub observer: Option<Observer>,
}

impl Composition {
    /// Most agents of one session.
    pub const MAX_AGENTS: usize = 4;
    /// Longest agent id, so that `executor-<id>` is still a legal payload name.
    pub const MAX_AGENT_ID: usize = Id::MAX_BYTES - "executor-".len();
    /// Longest epoch name, so that `batch-<epoch>-<step>` and `ckpt-<epoch>-<step>-<repetition>` are legal ids at
    /// every step.
    pub const MAX_EPOCH: usize = 24;
    /// Most digits of the number an epoch name may end in: far from where numbers run out for the epochs after it.
    pub const MAX_EPOCH_DIGITS: usize = 18;

    /// Checks counts, lengths and that no agent and no port is named twice.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        let refuse = |reason: String| Err(SessionError::Composition { reason });
        if self.agents.is_empty() || self.agents.len() > Self::MAX_AGENTS {
            return refuse(format!(
                "{} agents, a session has 1 to {}",
                self.agents.len(),
                Self::MAX_AGENTS
            ));
        }
        for (index, binding) in self.agents.iter().enumerate() {
            let (agent, port) = (&binding.agent_id, &binding.port_id);
            if agent.as_str().len() > Self::MAX_AGENT_ID {
                return refuse(format!(
                    "agent id {agent} is longer than {}",
                    Self::MAX_AGENT_ID
                ));
            }
            if *agent == self.environment_id
                || self.agents[..index]
                    .iter()
                    .any(|earlier| earlier.agent_id == *agent)
            {
                return refuse(format!("{agent} is named twice"));
            }
            if self.agents[..index]
                .iter()
                .any(|earlier| earlier.port_id == *port)
            {
                return refuse(format!("port {port} is named twice"));
            }
        }
        Ok(())
    }
}
