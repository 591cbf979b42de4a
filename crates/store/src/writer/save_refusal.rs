//! [`SaveRefusal`]: why a capture is not taken on.

use wellwritten_envelope::Id;

/// A capture is not taken on. Nothing happened and nothing is held: the session is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SaveRefusal {
    /// As many captures are outstanding as may be, and none can be replaced. Retry when one of them ended.
    #[error("{capacity} captures are outstanding, and no more may be")]
    Full {
        /// How many may be.
        capacity: usize,
    },
    /// Its bytes do not fit beside those that wait or are being saved. Retry when a save ended; where nothing is held,
    /// it never fits.
    #[error(
        "a capture of {asked_bytes} bytes does not fit beside {held_bytes} bytes, at most {limit_bytes} may be held"
    )]
    OverBudget {
        /// How many bytes would be held without it.
        held_bytes: u64,
        /// How many it has, or is expected to have.
        asked_bytes: u64,
        /// How many may be held.
        limit_bytes: u64,
    },
    /// A save of that id waits or is under way. Ask for its ticket, or save under another id.
    #[error("checkpoint `{checkpoint_id}` is being saved")]
    AlreadyQueued {
        /// The id.
        checkpoint_id: Id,
    },
    /// The slot was reserved with another writer; the caller is at fault.
    #[error("the slot was reserved with another writer")]
    ForeignSlot,
    /// The writer takes on nothing more.
    #[error("the writer is closed")]
    Closed,
}
