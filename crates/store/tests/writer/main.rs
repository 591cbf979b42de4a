//! The writer: what it takes on, in what order, and what becomes of it, whatever the store, the observer and whoever
//! waits do.

mod behaviour;
mod controlled_route;
mod stage;
mod taking_over;
