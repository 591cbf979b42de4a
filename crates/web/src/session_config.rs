//! What `createSession` takes.

use serde::Deserialize;
use tsify::Tsify;
use wellwritten_arena::{ArenaConfig, DEFAULT_MASTER_SEED, EpisodeEnd};
use wellwritten_envelope::Id;
use wellwritten_session::PortBinding;

use crate::open_device::BackendChoice;

/// Which world to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum CompositionChoice {
    /// The foraging arena.
    #[default]
    Arena,
}

/// Where participants run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// In the session's own worker.
    #[default]
    InProcess,
}

/// Where checkpoints go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum StoreChoice {
    /// The origin private file system, in a folder of the session's own.
    #[default]
    Opfs,
    /// Memory: gone with the session.
    Memory,
}

/// What to do when the store already holds generations of this session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum ResumePolicy {
    /// Start a new run under an epoch never used before; the generations stay.
    #[default]
    Never,
    /// Go on from the newest generation.
    Latest,
    /// Wait in phase `starting` for `restore` or `begin`.
    Ask,
}

/// One agent of a session.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentConfig {
    /// Its name: `^[a-z0-9][a-z0-9._-]{0,54}$`.
    #[tsify(type = "string")]
    pub agent_id: Id,
    /// The port it drives; `p1`, `p2`, .. by position where none is named.
    #[serde(default)]
    #[tsify(optional, type = "string")]
    pub port_id: Option<Id>,
}

/// Configuration of `createSession`; every field has a default.
#[derive(Clone, Debug, Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionConfig {
    /// Default: `demo`. Also names the store's folder.
    #[tsify(optional, type = "string")]
    pub session_id: Option<Id>,
    /// Default: `arena`.
    #[tsify(optional)]
    pub composition: CompositionChoice,
    /// One to four; default `fly-a` and `fly-b`.
    #[tsify(optional)]
    pub agents: Option<Vec<AgentConfig>>,
    /// Every seed of the session is derived from it.
    #[tsify(optional, type = "bigint")]
    pub master_seed: Option<u64>,
    /// Default: `auto`.
    #[tsify(optional)]
    pub backend: BackendChoice,
    /// Default: `in-process`.
    #[tsify(optional)]
    pub mode: ExecutionMode,
    /// Default: `opfs`.
    #[tsify(optional)]
    pub store: StoreChoice,
    /// Generations the store keeps, at least 1; default 3.
    #[tsify(optional, type = "number")]
    pub keep_generations: Option<usize>,
    /// Default: `never`.
    #[tsify(optional)]
    pub resume: ResumePolicy,
}

impl SessionConfig {
    /// The session's name.
    pub fn session_id(&self) -> Id {
        self.session_id
            .clone()
            .unwrap_or_else(|| Id::parse("demo").expect("a legal id"))
    }

    /// The arena these choices describe.
    pub fn arena(&self) -> ArenaConfig {
        let mut config = ArenaConfig {
            master_seed: self.master_seed.unwrap_or(DEFAULT_MASTER_SEED),
            end: EpisodeEnd::Never,
            ..ArenaConfig::default()
        };
        if let Some(agents) = &self.agents {
            config.agents = (1..)
                .zip(agents)
                .map(|(number, agent): (u32, _)| PortBinding {
                    port_id: agent
                        .port_id
                        .clone()
                        .unwrap_or_else(|| Id::parse(&format!("p{number}")).expect("a legal id")),
                    agent_id: agent.agent_id.clone(),
                })
                .collect();
        }
        config
    }
}
