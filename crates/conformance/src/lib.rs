//! What a session must show from outside, as scenarios that run over any transport and in any mode.
//!
//! A [`Scenario`] plays a counter session on a [`Stage`] and says what it expected and what it found. A stage starts
//! participants: in the same program, in a thread, in another process, in a worker or a frame of a browser, reached by a
//! call, a socket or a port. What is seen is what anyone outside could see: what the session says of itself, its trace, and
//! what goes over the routes, on each of which sits a [`Tap`]. A tap hears everything and, where a scenario plans it, loses,
//! repeats, alters, holds back or forges what goes by ([`Tamper`]). The store is a simulated medium behind a route of its own, on
//! which saves are held up, lost or end the store, and which a second coordinator can come up over. What of recovery is held where
//! is in [`RECOVERY`].
//!
//! # Responsibilities
//!
//! The scenarios, the tap, the digests of what runs of the session do ([`DIGESTS`]), and two stages that need nothing:
//! [`ProgramStage`] over calls and over encoded frames, by a clock that takes no time ([`VirtualTime`]). Stages of other
//! transports and modes are their hosts'.
//!
//! # Invariants
//!
//! - A scenario never panics: whatever it finds is in its [`Verdict`].
//! - A scenario needs nothing of another and leaves nothing behind but what its stage keeps.
//! - Nothing is read out of a participant but through its route.
//! - What takes time is decided by budgets and delays that are far apart, so that a slow machine changes nothing.
//!
//! # What it does not do
//!
//! It measures nothing, and it says nothing of a participant's own arithmetic beyond the digests.
//!
//! # Example
//!
//! ```
//! use wellwritten_conformance::{ProgramStage, Reach, SCENARIOS, VirtualTime};
//!
//! let scenario = SCENARIOS[0];
//! let verdict = VirtualTime::run(|time| (scenario.run)(ProgramStage::new(Reach::Frames, time)))?;
//! assert_eq!(verdict, Ok(()));
//! # Ok::<(), wellwritten_conformance::Stalled>(())
//! ```

mod desk;
mod forgery;
mod play;
mod program_stage;
mod recovery;
mod scenario;
mod scenario_failure;
mod scenarios;
mod stage;
mod store_tap;
mod tamper;
mod tap;
mod trace_digests;
mod virtual_time;

pub use program_stage::{ProgramStage, Reach};
pub use recovery::{Demand, RECOVERY};
pub use scenario::Scenario;
pub use scenario_failure::{ScenarioFailure, Verdict};
pub use scenarios::SCENARIOS;
pub use stage::{Launched, Stage};
pub use tamper::Tamper;
pub use tap::{Entry, Said, Tap};
pub use trace_digests::{DIGESTS, SHORT_STEPS, STEPS};
pub use virtual_time::{Stalled, VirtualTime};
