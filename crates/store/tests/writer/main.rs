//! The writer: what it takes on, in what order, and what becomes of it, whatever the store, the observer and whoever
//! waits do.

mod behaviour;
mod calling_back;
mod controlled_route;
mod lying_stores;
mod model;
mod random;
mod random_sequences;
mod stage;
mod taking_over;
mod traps;
mod waiting;
