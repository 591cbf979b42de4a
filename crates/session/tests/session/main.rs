//! Oracle: a counter world small enough to be computed by hand, run through the real coordinator, runtime, envelope
//! and store. What a session must show is asserted as values; faults are injected at named points of a participant.

mod agent;
mod checkpoints;
mod coherence;
mod letting_go;
mod publishing;
mod queries;
mod refusals;
mod restores;
mod rig;
mod runtime;
mod saves;
mod seeks;
mod seeks_at_random;
#[path = "../shared_store/mod.rs"]
mod shared_store;
mod snapshots;
mod stepping;
mod task;
mod traces;
mod traces_exported;
mod traps;
mod wire;
mod world;
