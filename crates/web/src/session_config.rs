//! What `createSession` takes.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tsify::Tsify;
use wellwritten_arena::{ArenaConfig, DEFAULT_MASTER_SEED, EpisodeEnd};
use wellwritten_envelope::{Id, from_json};
use wellwritten_session::{CallBudgets, DispatchOrder, PortBinding, WriterConfig};

use crate::open_device::BackendChoice;
use crate::store_start::{StoreChoice, default_session_id};

/// Which world to run: one that is built in, or one of your own.
#[derive(Clone, Debug, Default)]
pub enum CompositionChoice {
    /// The foraging arena.
    #[default]
    Arena,
    /// The small counting world that every mode and transport is held against.
    Counter,
    /// Modules of JavaScript.
    Own(OwnComposition),
}

impl<'de> Deserialize<'de> for CompositionChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) if name == "arena" => Ok(Self::Arena),
            Value::String(name) if name == "counter" => Ok(Self::Counter),
            Value::String(name) => Err(D::Error::custom(format!(
                "there is no composition {name:?}, only \"arena\", \"counter\" and those of your own"
            ))),
            own => from_json(own).map(Self::Own).map_err(D::Error::custom),
        }
    }
}

/// A composition of your own.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnComposition {
    /// The world.
    pub environment: OwnModule,
    /// One to four.
    pub agents: Vec<OwnAgent>,
    /// The rules of the game, judged in the session's own worker; `"counter"` is the counting world's.
    #[tsify(type = "OwnModule | \"counter\"")]
    pub task: OwnTask,
}

/// A module that defines a participant or a task.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnModule {
    /// Its address.
    #[tsify(type = "string | URL")]
    pub module: String,
}

/// One agent of a composition of your own.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnAgent {
    /// Its name: `^[a-z0-9][a-z0-9._-]{0,54}$`.
    #[tsify(type = "string")]
    pub agent_id: Id,
    /// The port it drives.
    #[tsify(type = "string")]
    pub port_id: Id,
    /// What its randomness is drawn from; derived from the session's master seed where absent.
    #[serde(default)]
    #[tsify(optional, type = "number")]
    pub seed: Option<i32>,
    /// Address of the module that defines it.
    #[tsify(type = "string | URL")]
    pub module: String,
}

/// Who judges.
#[derive(Clone, Debug)]
pub enum OwnTask {
    /// The counting world's rules.
    Counter,
    /// A module's.
    Module(OwnModule),
}

impl<'de> Deserialize<'de> for OwnTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) if name == "counter" => Ok(Self::Counter),
            own => from_json(own).map(Self::Module).map_err(D::Error::custom),
        }
    }
}

/// Where participants run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// In the session's own worker.
    #[default]
    InProcess,
    /// Each in a module worker of its own, started by the session's.
    Worker,
    /// Each in a frame of the page without an origin.
    Isolated,
}

/// How long a call to a participant of the arena may stand still, in nanoseconds.
const ARENA_RESOLVE_NS: u64 = 60_000_000_000;

/// How long a close waits for saves unless told otherwise, in milliseconds.
const CLOSING_MS: u32 = 10_000;

/// How long a participant may take, in milliseconds; see the protocol. A call that gets on is never given up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CallBudgetsMs {
    /// Without an answer for so long, a call is uncertain; default 2,000.
    #[tsify(optional, type = "number")]
    pub probe: Option<u32>,
    /// An uncertain call is resolved, or standing still, for so long at most; default 8,000, and 60,000 for the arena:
    /// nothing is lost within one program, and a GPU may take its time over its first shaders.
    #[tsify(optional, type = "number")]
    pub resolve: Option<u32>,
    /// To start a program, to say who it is, to initialize; default 30,000.
    #[tsify(optional, type = "number")]
    pub boot: Option<u32>,
    /// To capture, stage and activate a state; default 30,000.
    #[tsify(optional, type = "number")]
    pub capture: Option<u32>,
    /// How long `close` waits for saves that are under way, at most; default 10,000.
    #[tsify(optional, type = "number")]
    pub close: Option<u32>,
}

impl From<CallBudgetsMs> for CallBudgets {
    fn from(chosen: CallBudgetsMs) -> Self {
        let usual = Self::default();
        let or = |milliseconds: Option<u32>, usual: u64| {
            milliseconds.map_or(usual, |milliseconds| u64::from(milliseconds) * 1_000_000)
        };
        Self {
            probe_ns: or(chosen.probe, usual.probe_ns),
            resolve_ns: or(chosen.resolve, usual.resolve_ns),
            boot_ns: or(chosen.boot, usual.boot_ns),
            capture_ns: or(chosen.capture, usual.capture_ns),
            max_attempts: usual.max_attempts,
        }
    }
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
    #[tsify(optional, type = "\"arena\" | \"counter\" | OwnComposition")]
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
    /// Default: `in-process`, the only one for the arena, whose participants share one device.
    #[tsify(optional)]
    pub mode: ExecutionMode,
    /// In which order agents are asked; default `concurrent`. Behaviour is the same in each.
    #[tsify(optional)]
    pub dispatch: DispatchOrder,
    /// How long participants may take.
    #[tsify(optional)]
    pub budgets: CallBudgetsMs,
    /// Default: `opfs`.
    #[tsify(optional)]
    pub store: StoreChoice,
    /// Generations that stay after a save, those that are pinned not counted; at least 1; default 3.
    #[tsify(optional, type = "number")]
    pub keep_generations: Option<usize>,
    /// Checkpoints that may be on their way to the store at once, the one being taken included; at least 1; default 2.
    #[tsify(optional, type = "number")]
    pub queue_capacity: Option<usize>,
    /// Bytes of state that may be on their way to the store at once; default 64 MiB.
    #[tsify(optional, type = "number")]
    pub queued_bytes_max: Option<u64>,
    /// Default: `never`.
    #[tsify(optional)]
    pub resume: ResumePolicy,
}

impl SessionConfig {
    /// The session's name.
    pub fn session_id(&self) -> Id {
        self.session_id.clone().unwrap_or_else(default_session_id)
    }

    /// How long participants may take.
    pub fn budgets(&self) -> CallBudgets {
        let mut budgets = CallBudgets::from(self.budgets);
        if matches!(self.composition, CompositionChoice::Arena) && self.budgets.resolve.is_none() {
            budgets.resolve_ns = ARENA_RESOLVE_NS;
        }
        budgets
    }

    /// How much may be on its way to the store.
    pub fn saves(&self) -> WriterConfig {
        let usual = WriterConfig::default();
        WriterConfig {
            queue_capacity: self.queue_capacity.unwrap_or(usual.queue_capacity),
            queued_bytes_max: self.queued_bytes_max.unwrap_or(usual.queued_bytes_max),
        }
    }

    /// How long a close waits for saves, in nanoseconds.
    pub fn closing_ns(&self) -> u64 {
        let milliseconds = self.budgets.close.unwrap_or(CLOSING_MS);
        u64::from(milliseconds) * 1_000_000
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
