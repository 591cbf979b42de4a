//! The built-in world and its flies: integer kernels in WGSL with CPU mirrors, state in guarded buffers.
//!
//! **Mental model.** A toroidal arena of 256 x 192 cells holds food that smells. The [`kernels::field`]
//! kernel spreads the odour, [`kernels::view`] renders what everyone sees, and each fly's network is one
//! launch of [`kernels::agent`] a step. Flies and food move on the host ([`physics`]), in integers. Every
//! byte of state is in a buffer of a [`GuardedDevice`](wellwritten_device::GuardedDevice) and is read
//! through the guard; the participants ([`ArenaWorld`], [`FlyAgent`]) hold only counters beside it.
//!
//! **Who is responsible.** The session's runtime checks scopes, phases and duplicates; the device checks
//! bytes. This crate checks what only it can know: controls against the ports, view bytes against the
//! view's size, payloads against every possible state. An [`Arena`] makes the participants of a session,
//! as often as they need replacing; a [`FaultBoard`] breaks launches on purpose.
//!
//! **Invariants.**
//! 1. The same configuration gives the same bytes on every backend: 32-bit integers that wrap, no atomics,
//!    no order. A checkpoint taken on one backend restores on the other.
//! 2. A fly knows the view and its own place and heading, nothing else of the world.
//! 3. At boundary `k` the view was rendered from the field of `k - 1`: a broken field launch spoils no
//!    observation, and its inputs are kept so that it can be launched again.
//! 4. A payload is taken wholly or not at all, and only by the participant it was taken from.
//!
//! **What it does not do.** It keeps no clock, schedules nothing and stores nothing; it makes no sound yet.
//!
//! ```
//! use wellwritten_arena::{Arena, ArenaConfig, FaultBoard};
//! use wellwritten_device::GuardedDevice;
//! use wellwritten_session::{Environment, EnvironmentInitialize, Id};
//!
//! # futures::executor::block_on(async {
//! let arena = Arena::new(ArenaConfig::default(), GuardedDevice::cpu(), FaultBoard::new())?;
//! let mut world = arena.world();
//! let observation = world
//!     .initialize(&EnvironmentInitialize {
//!         episode_id: Id::parse("ep1")?,
//!         port_bindings: arena.bindings().to_vec(),
//!     })
//!     .await?;
//! assert_eq!(observation.sensory_views[0].pixels.byte_length(), 4 * 256 * 192);
//! world.verify().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod arena;
mod arena_world;
pub mod draw;
mod fault_board;
mod fly_agent;
mod fly_state;
pub mod food;
mod foraging;
pub mod geometry;
mod guarded_words;
pub mod kernels;
mod launcher;
pub mod motor;
pub mod payload;
pub mod physics;
pub mod plasticity;
pub mod population;
mod schemas;
pub mod senses;
pub mod wiring;
mod world_state;

pub use arena::{Arena, ArenaConfig, ArenaError, DEFAULT_MASTER_SEED, MAX_AGENT_ID_BYTES};
pub use arena_world::{ArenaWorld, WORLD_ID, step_duration};
pub use fault_board::{
    FaultBoard, FaultDescription, FaultName, FaultParameter, FaultSpec, KernelName, fault_catalogue,
};
pub use fly_agent::{AROUSAL, FlyAgent, tick_duration};
pub use foraging::{AROUSAL_MS, EpisodeEnd, FlyProgress, Foraging, ForagingProgress, MILESTONE};
pub use guarded_words::{bytes_from_words, words_from_bytes};
pub use launcher::{broken_wgsl, declaration};
pub use schemas::{
    FEED, InspectedFly, InspectedFood, Inspection, Proprioception, TURN, VIEW, WALK,
    context_schema, controller_schema, decision_schema, event_schema, inspection_schema,
    ledger_schema, progress_schema,
};
pub use world_state::{FIELD_LABELS, FLIES_LABEL, FOOD_LABEL, VIEW_LABEL};
