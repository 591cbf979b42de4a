//! A clock that never moves.

use async_trait::async_trait;
use wellwritten_session::Clock;

pub struct StillClock;

#[async_trait(?Send)]
impl Clock for StillClock {
    fn now_ns(&self) -> u64 {
        0
    }

    /// Nothing here takes time: whoever sleeps is never woken.
    async fn sleep_ns(&self, _duration_ns: u64) {
        std::future::pending::<()>().await;
    }
}
