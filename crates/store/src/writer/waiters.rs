//! [`Waiters`]: everyone who waits for something of a writer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Everyone who waits for something of a writer. They are all woken whenever anything happens: any of them can do the
/// writer's work, and one that has been dropped is no loss.
#[derive(Default)]
pub(super) struct Waiters {
    registered: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    pub(super) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.lock().wakers);
        for waker in wakers.into_values() {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}

/// One who waits; forgotten when dropped.
pub(super) struct Waiter {
    waiters: Arc<Waiters>,
    key: u64,
}

impl Waiter {
    pub(super) fn new(waiters: &Arc<Waiters>) -> Self {
        let mut registered = waiters.lock();
        let key = registered.next;
        registered.next += 1;
        drop(registered);
        Self {
            waiters: Arc::clone(waiters),
            key,
        }
    }

    /// To be woken the next time anything happens.
    pub(super) fn register(&self, waker: &Waker) {
        let replaced = self.waiters.lock().wakers.insert(self.key, waker.clone());
        // Out of the lock: a waker may be the last that holds a task.
        drop(replaced);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let forgotten = self.waiters.lock().wakers.remove(&self.key);
        drop(forgotten);
    }
}
