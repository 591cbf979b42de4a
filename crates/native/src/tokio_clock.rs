//! [`TokioClock`]: wall time natively.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use wellwritten_session::Clock;

/// Wall time since the clock was made. Sleeping needs a tokio runtime with its time driver on, and is as exact as that
/// driver: to a millisecond, never too short.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// A clock that shows zero now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait(?Send)]
impl Clock for TokioClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        if duration_ns == 0 {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(Duration::from_nanos(duration_ns)).await;
        }
    }
}
