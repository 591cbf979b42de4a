//! Whole sessions of the arena on the CPU device.

mod foraging;
mod lockstep;
mod steps;
