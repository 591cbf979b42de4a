//! The store on a simulated disk: what each operation does, and what it says when something is wrong.

mod behaviour;
mod damage;
mod imports;
mod looking_on;
mod passes;
mod pins;
mod requests;
mod restore_selection;
mod sample_store;
mod traps;
