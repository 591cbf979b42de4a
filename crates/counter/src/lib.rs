//! A session small enough to be computed by hand: a world that counts, brains of one integer, a task that rewards them.
//!
//! It is what the session protocol is tested, measured and shown with. Whoever holds it against another coordinator,
//! another transport or participants written in another language gets the same trace, digest for digest, or has found a
//! difference. What goes wrong in it is data too: a [`FaultPlan`] says which participant fails where, at which boundary,
//! in which of its lives, and travels to a participant in another program with the [`CounterComposition`] it is part of.
//!
//! # Exactly what happens
//!
//! Integers only, so that a second writing of it in any language does the same. All of `u64` arithmetic wraps.
//!
//! - **The world** has a signed `counter`, at first 0. A batch moves it by one up for each port with `inc` down and by
//!   one down for each with `dec` down. A step is 50000000/3 ns. Its view `arena`, 32 x 24, has in every pixel the
//!   bytes `counter & 255, 0, 0, 255` of the counter at the boundary that produced it. Its stream `arena`, stereo, has
//!   for the step that ends with `counter`, at sample frame `n` of the episode and channel `c` of 0 and 1, the value
//!   `(((n + 37 * counter + 128 * c) & 255) - 128) / 128`. Its engine frame is `frame <boundary>`. Its inspection is
//!   `{counter, step}` under [`inspection_schema`].
//! - **An agent** has one `u64`, `lcg`, at first the absolute value of its seed, and
//!   `mix(x)`: `lcg = (lcg ^ x) * 6364136223846793005 + 1442695040888963407`. A tick is `mix(1)`; installing an input is
//!   `mix(red byte of the view's first pixel)`; a stimulus is `mix(bits of durationMs as a double)`; a reinforcement is
//!   `mix(bits of the sum of the rewards as a double)`, added up from 0 in order. Initializing installs the input and
//!   runs 10 ticks. Preparing applies the stimuli and runs the ticks of the interval, 1 ms each. Its decision is then,
//!   with `roll = lcg >> 33`: `inc` where `roll % 3 != 0`, `dec` where `roll % 5 == 0`, `bias` 0.25. Committing installs
//!   the input, applies the stimuli, reinforces, retains the context. Its rate, of the population and of the role
//!   `motor`, is `lcg >> 48` hertz. Of its reinforcements all count as changes; `signal` is the last.
//! - **The task** gives each agent one event `counter-delta` and one reward of that rule, worth what its port moved the
//!   counter by, and to those whose worth is not 0 a `spark` of 20 ms where the counter came to a multiple of 5. Every
//!   context is `{transitions}`, progress is `{counter, transitions}`.
//!
//! # What they say of themselves
//!
//! Part of a trace, so of whoever writes them again. Digests are BLAKE3 of the text in quotes.
//!
//! - The world: worker `world`; backend `"wellwritten-counter/world-v1"`, content `"wellwritten-counter/content-v1"`,
//!   parser `"wellwritten-counter/inspection-v1"`, patch the text `"wellwritten-counter/configuration-v1"` and
//!   `ports=<n>`, `viewDelaySteps=<n>`, `sampleRate=<n>`, each with a line feed at its end; state format `counter-1`;
//!   ports `p1` to `p4` as far as there are agents, each with [`controls`]; view and stream `arena`.
//! - An agent: profile `"wellwritten-counter/profile-v1"`, dataset `"wellwritten-counter/dataset-v1"`, model `lcg-1`,
//!   plasticity `xor-1`, one neuron, rate role `motor`, stimulus `spark`, seed as in [`AGENTS`]. Learning is enabled, and
//!   no stimulus remains.
//! - Schemas are [synthetic](wellwritten_session::SchemaRef::synthetic) ones of version 1: `counter.inspection`,
//!   `counter.context`, `counter.decision`, `counter.controls`, `counter.progress`, `counter.ledger`.
//!
//! # State
//!
//! The captured state of either is the canonical JSON of these fields, and no other spelling is taken:
//!
//! - world: `{counter, episode, frames: [{counter, step}], sound: {nextSample, remainder, sampleRate}, step, time}`, with
//!   the frames from the one that is shown to that of `step`;
//! - agent: `{clock: {remainder, tickDuration}, context, lcg, signal, ticks, updates}`, with as many updates as commits.
//!
//! `step`, `nextSample`, `lcg`, `ticks` and `updates` are decimal strings, times `{denominator, numerator}`. The state
//! digest in every answer is BLAKE3 of the same text. Staging holds all of it against everything else in it: the time
//! and the sound of a world follow from its boundary, its last frame from its counter.
//!
//! # Responsibilities
//!
//! The participants' and the task's own arithmetic, their faults, and the composition that holds them together. Their
//! progress counters rise by one with every tick, stimulation, reinforcement and installed input of an agent and every
//! step of the world: whoever reads them from outside sees whether something was done twice.
//!
//! # Invariants
//!
//! - Nothing depends on the wall clock, on chance, or on the order in which agents are asked.
//! - A fault happens once, in the life it is planned for, and a fault that could never happen is refused.
//! - A refusal changes nothing.
//!
//! # What it does not do
//!
//! It knows no transport but the one within a program ([`DirectCounters`]), no store, and no clock but one that it is
//! given for faults that take time.
//!
//! # Example
//!
//! ```
//! use wellwritten_counter::{CounterComposition, Fault, FaultKind, FaultPlan, FaultPoint, Faults};
//! use wellwritten_session::Id;
//!
//! let composition = CounterComposition {
//!     agents: 4,
//!     faults: FaultPlan::new(vec![
//!         Fault::new(Id::parse("fly-b")?, FaultPoint::Commit, FaultKind::BreakAfterInput).at_boundary(3),
//!     ]),
//!     ..CounterComposition::default()
//! };
//! let faults = Faults::new(&composition.faults, None)?;
//! let world = composition.participant(&Id::parse("world")?, Id::parse("incarnation-1")?, 1, faults)?;
//! assert_eq!(world.status().progress_counter.0, 0);
//!
//! // A brain has no sound to leave out.
//! let nonsense = Fault::new(Id::parse("fly-a")?, FaultPoint::Advance, FaultKind::Break);
//! assert!(FaultPlan::new(vec![nonsense]).check().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod agent_state;
mod composition;
mod counter_error;
mod direct_counters;
mod fault;
mod fault_plan;
mod faults;
mod names;
mod state_error;
mod task;
mod terminal;
mod world;
mod world_state;

pub use agent::{CounterAgent, WARMUP_TICKS};
pub use composition::CounterComposition;
pub use counter_error::CounterError;
pub use direct_counters::DirectCounters;
pub use fault::{Fault, FaultKind, FaultPoint, Lie};
pub use fault_plan::FaultPlan;
pub use faults::Faults;
pub use names::{
    AGENTS, ARENA, COUNTER_DELTA, FIELD, SPARK, TASK, UNDECLARED, WORLD, context_schema, controls,
    decision_schema, inspection_schema, ledger_schema, progress_schema,
};
pub use state_error::StateError;
pub use task::{CounterTask, SPARK_MS};
pub use terminal::Terminal;
pub use world::{CounterWorld, VIEW_HEIGHT, VIEW_WIDTH};
