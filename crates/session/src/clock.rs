//! [`Clock`]: wall time enters a session here and nowhere else.

use async_trait::async_trait;

/// Wall time, for pacing and for the operational half of a trace; never for behaviour.
#[async_trait(?Send)]
pub trait Clock {
    /// Nanoseconds since some fixed moment; never goes back.
    fn now_ns(&self) -> u64;

    /// Returns after at least `duration_ns` nanoseconds, and at least once gives other work its turn.
    async fn sleep_ns(&self, duration_ns: u64);
}
