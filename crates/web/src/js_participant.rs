//! Participants whose work is done in JavaScript, behind the same traits, and so the same runtime, as those in Rust.
//!
//! What the protocol wants to be told that a simulation need not know is kept here: boundaries and world time, the exact
//! tick clock, frames that wait for their delay, sample positions, the retained context, and all of it in the captured
//! state. JavaScript does the rest: it moves, it shows, it decides, it captures its own bytes.

mod declaration;
mod handlers;
mod js_agent;
mod js_environment;
mod kept_state;
mod typed_json;

#[cfg(feature = "session")]
pub use declaration::SchemaName;
pub use declaration::{AgentDeclaration, WorldDeclaration};
pub use js_agent::JsAgent;
pub use js_environment::JsEnvironment;
#[cfg(feature = "session")]
pub use typed_json::json_to_js;
