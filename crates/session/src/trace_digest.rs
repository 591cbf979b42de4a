//! [`BehaviourChain`]: one digest for the behaviour of a whole run, kept up step by step.

use serde::Serialize;
use wellwritten_envelope::Digest;

use crate::trace_canonical::canonical_behaviour;
use crate::{Behaviour, TraceRecord};

/// What the chain begins with, so that it is the digest of nothing else.
const START: &[u8] = b"wellwritten/behaviour-trace-v1\n";

/// The digest of the behaviours from a boundary on, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct BehaviourDigest {
    /// The boundary the first of them began at.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub from: u64,
    /// How many they are.
    #[cfg_attr(feature = "typescript", tsify(type = "bigint"))]
    pub length: u64,
    /// Their digest; two runs that share `from` and `length` did the same if and only if they share it.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub digest: Digest,
}

/// A chain of BLAKE3 over the canonical JSON of behaviours, each link made of the one before and the next behaviour with
/// agents, views and streams by name ([`Behaviour::normal`]). The operational half of a record leaves no mark.
///
/// Equal chains are equal traces, as [`compare_traces`](crate::compare_traces) sees them, but for a collision of BLAKE3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BehaviourChain {
    digest: Digest,
    length: u64,
}

impl Default for BehaviourChain {
    fn default() -> Self {
        Self::new()
    }
}

impl BehaviourChain {
    /// The chain of no behaviour.
    #[must_use]
    pub fn new() -> Self {
        Self {
            digest: Digest::blake3(START),
            length: 0,
        }
    }

    /// The chain with one more behaviour.
    #[must_use]
    pub fn with(self, behaviour: &Behaviour) -> Self {
        let canonical = if is_normal(behaviour) {
            canonical_behaviour(behaviour)
        } else {
            canonical_behaviour(&behaviour.normal())
        };
        let mut link = self.digest.as_bytes().to_vec();
        link.extend_from_slice(canonical.as_bytes());
        Self {
            digest: Digest::blake3(&link),
            length: self.length + 1,
        }
    }

    /// Behaviours in it.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.length
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(self) -> Digest {
        self.digest
    }
}

/// The digest of the behaviours of `records`, in order.
#[must_use]
pub fn behaviour_digest(records: &[TraceRecord]) -> Digest {
    let chain = records.iter().fold(BehaviourChain::new(), |chain, record| {
        chain.with(&record.behaviour)
    });
    chain.digest()
}

/// Whether agents, views and streams are by name already, as this software records them.
fn is_normal(behaviour: &Behaviour) -> bool {
    behaviour
        .agents
        .is_sorted_by(|left, right| left.agent_id <= right.agent_id)
        && behaviour
            .observation_boundaries
            .is_sorted_by(|left, right| left.view_id <= right.view_id)
        && behaviour
            .audio
            .is_sorted_by(|left, right| left.stream_id <= right.stream_id)
}
