//! The native host of sessions: Unix sockets, threads, processes, wall time, and the launcher that brings participants to life
//! and to their end.
//!
//! # Mental model
//!
//! A session's coordinator runs on one thread, in a `LocalSet` of a current-thread tokio runtime. Its participants run there
//! too, on threads of their own, or in processes of their own, as a [`Recipe`] says for each. A [`Launcher`] starts them, and
//! is the session's source of participants; whatever is not on the coordinator's thread, or pretends not to be, is reached over
//! a [`UnixChannel`]. A program that is a participant calls [`serve_environment`] or [`serve_agent`].
//!
//! # Whose responsibility
//!
//! What a message means, what is retried and what ends an epoch is `wellwritten-session`'s. This crate moves frames, keeps
//! books of threads and processes, and says by name how a participant ended: its panic's message, its exit status, the last of
//! what it wrote.
//!
//! # Invariants
//!
//! - A participant is started only within the [`ThreadBudget`], and one life of it runs at a time.
//! - Only the process that was started is served at its socket: the system vouches for its id.
//! - The end of a participant that nobody wanted ends the epoch under its name, also while the session is idle.
//! - Nothing is left behind: a dropped launcher kills its processes and waits until the system has forgotten them; only a
//!   thread that never waits cannot be ended, and is reported as [`ReapOutcome::Abandoned`].
//! - A peer that does not read makes its sender wait; no queue here grows.
//!
//! # What it does not do
//!
//! It confines nobody: a process is another process of the same user, not a sandbox. A participant that computes for longer than
//! the health deadline without ever waiting cannot say how it is, and counts as failed: it should wait now and then
//! (`tokio::task::yield_now`).
//!
//! # Example
//!
//! ```
//! use wellwritten_native::{LaunchError, ThreadBudget};
//! use wellwritten_session::Id;
//!
//! // Four threads, one of them the coordinator's.
//! let mut budget = ThreadBudget::new(4, 1)?;
//! let (world, agent) = (Id::parse("world")?, Id::parse("fly-a")?);
//! budget.allocate(&world, 2)?;
//! let refused = budget.allocate(&agent, 2).unwrap_err();
//! assert_eq!(refused.to_string(), "fly-a asks for 2 threads, and 1 are free; it must have at least 1");
//! assert!(matches!(budget.allocate(&world, 1), Err(LaunchError::AllocatedTwice { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file_medium;
mod in_process_life;
mod incarnation;
mod invitation;
mod launch_error;
mod launcher;
mod life;
mod obituary;
mod output_tail;
mod process_life;
mod reaped;
mod recipe;
mod serving;
mod store_thread;
mod thread_budget;
mod thread_life;
mod tokio_clock;
mod unix_channel;

pub use file_medium::{FileLock, FileMedium, FolderError};
pub use incarnation::Incarnation;
pub use launch_error::LaunchError;
pub use launcher::{LaunchDeadlines, Launcher};
pub use reaped::{ReapOutcome, Reaped};
pub use recipe::{Made, Participant, Place, Program, Recipe};
pub use serving::{ServeError, serve_agent, serve_either, serve_environment};
pub use store_thread::{OpenStoreError, StoreThread, StoreThreadEnd};
pub use thread_budget::ThreadBudget;
pub use tokio_clock::TokioClock;
pub use unix_channel::UnixChannel;
