//! One message of every kind, for the tests of this crate and of those that carry messages.

mod contract_declaration;
mod sample_messages;

pub use crate::artifact::live_artifacts;
pub use contract_declaration::contract_declaration;
pub use sample_messages::{Filling, sample_answers, sample_calls, sample_reply, sample_request};
