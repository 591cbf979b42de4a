//! Whole sessions of the arena on the CPU device.

mod coherence;
mod foraging;
mod lockstep;
mod steps;
