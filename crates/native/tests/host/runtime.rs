//! The runtime a host runs on.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// Longer than anything here takes, so that what hangs fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a test on one thread, as a host runs a session.
pub fn host<T>(test: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bounded = async {
        tokio::time::timeout(PATIENCE, test)
            .await
            .expect("it hangs")
    };
    LocalSet::new().block_on(&runtime, bounded)
}

/// Gives everything else many turns.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
}
