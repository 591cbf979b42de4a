//! [`WriterEvent`]: what a writer tells.

use wellwritten_envelope::Id;

use crate::save_outcome::SaveOutcome;

/// What a writer tells its observer, in the order in which it happened. For every save that is taken on: `Queued`
/// before the store hears of it, then `Ended` once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriterEvent {
    /// A save was taken on.
    Queued {
        /// The checkpoint.
        checkpoint_id: Id,
        /// The boundary it holds.
        boundary: u64,
        /// The length of its payloads.
        byte_length: u64,
    },
    /// It ended, and its payloads are released.
    Ended(SaveOutcome),
}
