//! [`PublicationGate`]: the host's say in whether a boundary is published.

use crate::CommittedSnapshot;

/// What a gate says of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    /// It may be published.
    Accept,
    /// There is no room for it now.
    Refuse,
    /// It cannot be passed on, for this reason.
    Fault(String),
}

/// The one outlet through which a host may carry every publication further: a bus, a recording. It is asked once for each
/// coherent snapshot, before anyone else has it, because a publication is all or nothing: its sequence number is the same
/// for everyone. An observer that only watches takes a [`Subscription`](crate::Subscription) instead, which cannot
/// refuse anything.
///
/// Called between two states of the session; it must not wait. It may ask the session, which stands at the committed
/// boundary of the snapshot.
pub trait PublicationGate {
    /// Whether `snapshot` may be published. An accepted one has been taken over where the host wants it.
    fn admit(&self, snapshot: &CommittedSnapshot) -> GateVerdict;
}
