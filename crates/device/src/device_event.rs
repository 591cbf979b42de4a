//! What a device tells its observers.

/// Something that happened to a device outside a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// A submission settled, so claims may have changed. On the CPU verdicts come within the call
    /// that asked for the work, and this is not said.
    Settled,
    /// The device was lost.
    Lost {
        /// The generation lost, from 1.
        generation: u64,
        /// What the browser said.
        reason: String,
    },
    /// A new generation is ready; old buffers stay lost.
    Recovered {
        /// The new generation.
        generation: u64,
    },
    /// WebGPU reported an error outside every scope of this device. Whatever was in flight then could have been
    /// what failed, and is claimed under it.
    Uncaptured {
        /// What the browser said.
        message: String,
        /// How many submissions were in flight and failed for it.
        claimed: usize,
    },
}
