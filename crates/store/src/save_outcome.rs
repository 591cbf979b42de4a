//! [`SaveOutcome`]: what became of a checkpoint.

use serde::Serialize;
use wellwritten_envelope::{Id, U64};

/// What became of a checkpoint. Only `Committed` is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[non_exhaustive]
pub enum SaveOutcome {
    /// The store lists it.
    Committed {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The epoch it was taken in.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        epoch: Id,
        /// The boundary it holds.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// Length of the envelope, in bytes.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        byte_length: U64,
        /// Why it is not certain that the store's own list survives a crash of the machine; absent where it is.
        uncertainty: Option<String>,
        /// Older generations dropped for it.
        #[cfg_attr(feature = "typescript", tsify(type = "string[]"))]
        rotated_out: Vec<Id>,
    },
    /// It is not in the store. The session goes on; save again under another id.
    Failed {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary it held.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// What the store said.
        message: String,
    },
    /// Another replaceable capture took its place while it waited. It is not in the store; nothing of it was written.
    Superseded {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary it held.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// The checkpoint that took its place.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        by: Id,
    },
    /// Who asked waited no longer. The save goes on and may still commit: ask about the same id.
    DeadlineExpired {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary it holds.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
    },
    /// The store could not say. Ask it about the same id ([`StoreClient::resolve`](crate::StoreClient::resolve));
    /// do not save again.
    ReplyLost {
        /// The checkpoint.
        #[cfg_attr(feature = "typescript", tsify(type = "string"))]
        checkpoint_id: Id,
        /// The boundary it held.
        #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
        boundary: u64,
        /// What the store said.
        message: String,
    },
}

impl SaveOutcome {
    /// The checkpoint.
    #[must_use]
    pub const fn checkpoint_id(&self) -> &Id {
        match self {
            Self::Committed { checkpoint_id, .. }
            | Self::Failed { checkpoint_id, .. }
            | Self::Superseded { checkpoint_id, .. }
            | Self::DeadlineExpired { checkpoint_id, .. }
            | Self::ReplyLost { checkpoint_id, .. } => checkpoint_id,
        }
    }

    /// Whether the store lists it.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        matches!(self, Self::Committed { .. })
    }
}
