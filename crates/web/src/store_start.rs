//! [`StoreStart`]: which store a store's worker is to open, and how.

use serde::{Deserialize, Serialize};
use tsify::Tsify;
use wellwritten_envelope::Id;

/// Generations a store keeps unless told otherwise.
#[cfg(feature = "store")]
pub const KEEP_GENERATIONS: usize = 3;

/// Where checkpoints go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum StoreChoice {
    /// The origin private file system, in a folder of the session's own.
    #[default]
    Opfs,
    /// Memory: gone with the session.
    Memory,
}

/// Whether a store is opened to write to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum StoreAccess {
    /// By its one owner at a time.
    #[default]
    ReadWrite,
    /// To look, whoever owns it; what would change it is refused.
    ReadOnly,
}

/// Which store to open; every field has a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StoreStart {
    /// The session that it is the store of; default `demo`.
    #[tsify(optional, type = "string")]
    pub session_id: Option<Id>,
    /// Default: `opfs`.
    #[tsify(optional)]
    pub store: StoreChoice,
    /// Default: `read-write`.
    #[tsify(optional)]
    pub access: StoreAccess,
    /// Generations that stay after a save, those that are pinned not counted; at least 1; default 3.
    #[tsify(optional, type = "number")]
    pub keep_generations: Option<usize>,
}

/// The session's name where none is given.
pub fn default_session_id() -> Id {
    Id::parse("demo").expect("a legal id")
}
