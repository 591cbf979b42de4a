//! The wasm-bindgen surface of Wellwritten.
//!
//! **Mental model.** One crate, four wasm modules, so that nobody downloads what they do not call: feature
//! `page` is guarded devices (`WasmDevice`) and envelopes, for a page, a worker or Node; feature `session` is
//! one `WasmSession`, for the session's own worker; feature `participant` is one participant of it, for a worker or an
//! isolated frame; feature `store` owns the files of its checkpoints, for a worker that may wait for a disk. Tests build
//! all at once. The TypeScript package wraps all of it; what is here parses, calls, converts, and nothing else.
//!
//! **Who is responsible.** Arguments are validated here as far as their shape goes; everything they mean
//! is validated by the crate that owns it. Errors become JavaScript `Error`s in one place, with `code`,
//! `message` and `context`. Everything is single-threaded; no `RefCell` is borrowed across an `await`.
//!
//! **Invariants.** Bytes that cross are copies: wasm memory may grow at any time, and a view of it would
//! then be detached. Types in TypeScript come from the Rust types. 64-bit numbers cross as `bigint`.
//!
//! **What it does not do.** No state of its own beyond who listens and what runs; no DOM.
#![cfg(target_arch = "wasm32")]
#![expect(
    clippy::must_use_candidate,
    reason = "exports are called from JavaScript, which ignores must_use"
)]
#![cfg_attr(
    any(feature = "page", feature = "session"),
    expect(
        clippy::needless_pass_by_value,
        reason = "wasm-bindgen passes strings and values owned"
    )
)]

#[cfg(feature = "page")]
pub mod device;
#[cfg(feature = "page")]
pub mod envelope;
pub mod error;
pub mod open_device;
#[cfg(feature = "store")]
pub mod opfs;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "store")]
pub mod store_program;
#[cfg(any(feature = "session", feature = "store"))]
pub mod store_start;
#[cfg(feature = "store")]
pub mod wasm_store;
#[cfg(any(feature = "session", feature = "participant"))]
pub mod web_clock;

#[cfg(feature = "session")]
mod arena_participants;
#[cfg(feature = "conformance")]
pub mod conformance;
mod convert;
#[cfg(feature = "session")]
mod fault;
#[cfg(any(feature = "session", feature = "participant"))]
mod js_participant;
#[cfg(feature = "session")]
mod js_task;
#[cfg(feature = "session")]
pub mod launcher;
#[cfg(any(feature = "session", feature = "participant"))]
mod message_port_channel;
#[cfg(feature = "participant")]
pub mod participant_program;
#[cfg(any(feature = "session", feature = "participant"))]
mod participant_start;
#[cfg(feature = "session")]
mod session_composition;
#[cfg(feature = "session")]
mod session_config;
#[cfg(feature = "session")]
mod session_event;
#[cfg(feature = "session")]
mod session_host;
#[cfg(feature = "session")]
mod session_published;
#[cfg(feature = "session")]
mod session_saves;
#[cfg(feature = "session")]
mod session_seek;
#[cfg(feature = "session")]
mod session_status;
#[cfg(any(feature = "session", feature = "store"))]
mod store_calls;
#[cfg(feature = "session")]
pub mod store_link;
#[cfg(feature = "store")]
mod store_medium;
#[cfg(any(feature = "session", feature = "store"))]
mod store_message;

#[cfg(any(feature = "page", feature = "participant", feature = "store"))]
mod panic_listener;

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs once when the module is loaded: a panic then says where it was, before the trap ends it.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
    #[cfg(any(feature = "page", feature = "participant", feature = "store"))]
    panic_listener::listen();
}
