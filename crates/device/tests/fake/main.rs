//! The device under WebGPU's rules, on the host: a fake whose answers the test holds in its hand, and the CPU
//! backend where a scenario means the same there.

#![cfg(not(target_arch = "wasm32"))]

mod allocation;
mod attribution;
mod await_points;
mod batching;
mod canaries;
mod control;
mod everywhere;
mod hard_cases;
mod late_failures;
mod loss;
mod offsets;
mod on_host;
mod oracle;
#[path = "../oracle/random.rs"]
mod random;
mod reads;
mod refusals;
mod rig;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod stale_values;
mod turns;
