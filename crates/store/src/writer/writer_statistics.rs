//! [`WriterStatistics`]: what a writer did and holds.

use serde::Serialize;

/// What a writer did since it was made, and what it holds now.
///
/// `queued` is the sum of `committed`, `failed`, `superseded`, `replyLost` and the saves that wait or are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct WriterStatistics {
    /// Saves that were taken on.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub queued: u64,
    /// Saves that the store acknowledged.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub committed: u64,
    /// Saves that are not in the store.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub failed: u64,
    /// Saves whose place another one took.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub superseded: u64,
    /// Captures that were refused, before they were taken or after.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub rejected: u64,
    /// Saves of which the store could not say what became of them.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub reply_lost: u64,
    /// The most saves that waited or were under way at once.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub peak_queue: u64,
    /// The most bytes of payloads that waited or were being saved at once.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub peak_bytes: u64,
    /// The bytes of payloads that wait or are being saved.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub held_bytes: u64,
    /// The slots that are taken: of captures being taken, of saves that wait, of the one under way.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub outstanding: u64,
}
