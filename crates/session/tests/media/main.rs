//! Oracle: a world that shows and sounds nothing but numbers that can be said in advance, run through the real coordinator,
//! runtime, envelope and store. Whatever it shows or sounds wrong must end the epoch before the task hears of it; stimuli
//! from outside are held against the list of those that were accepted; every refusal against the status before it.

mod admissions;
mod agent;
mod audio;
mod bench;
mod declarations;
mod executors;
mod forge;
mod phases;
mod replacing;
mod resets;
#[path = "../shared_store/mod.rs"]
mod shared_store;
mod task;
mod views;
mod world;
