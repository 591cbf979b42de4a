//! [`VirtualTime`]: a clock that moves only when everybody waits, and what runs by it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use async_trait::async_trait;
use futures::executor::{LocalPool, LocalSpawner};
use futures::task::LocalSpawnExt;
use wellwritten_session::{BoxedFuture, Clock};

/// Longest time anything takes, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Everything waits and nothing will ever happen, or an hour of the clock has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("everything waits, {now_ns} ns from the beginning")]
pub struct Stalled {
    /// The time by then, in nanoseconds.
    pub now_ns: u64,
}

#[derive(Default)]
struct Hands {
    now_ns: Cell<u64>,
    next: Cell<u64>,
    sleepers: RefCell<BTreeMap<(u64, u64), Waker>>,
}

/// A clock whose time passes at once when everybody sleeps, and not otherwise: whatever is timed by it takes no time and
/// always happens in the same order.
#[derive(Clone)]
pub struct VirtualTime {
    hands: Rc<Hands>,
    spawner: LocalSpawner,
}

impl VirtualTime {
    /// Runs what `begin` makes out of the clock, and all that is spawned meanwhile.
    pub fn run<T: 'static, F: Future<Output = T> + 'static>(
        begin: impl FnOnce(Self) -> F,
    ) -> Result<T, Stalled> {
        let mut pool = LocalPool::new();
        let time = Self {
            hands: Rc::default(),
            spawner: pool.spawner(),
        };
        let hands = time.hands.clone();
        let ended: Rc<RefCell<Option<T>>> = Rc::default();
        let end = ended.clone();
        let beginning = begin(time.clone());
        time.spawn(Box::pin(async move {
            let value = beginning.await;
            end.replace(Some(value));
        }));
        loop {
            pool.run_until_stalled();
            if let Some(value) = ended.take() {
                return Ok(value);
            }
            let now_ns = hands.now_ns.get();
            let next = hands.sleepers.borrow_mut().pop_first();
            match next {
                Some(((due_ns, _), waker)) if due_ns < LONGEST_NS => {
                    hands.now_ns.set(now_ns.max(due_ns));
                    waker.wake();
                }
                _ => return Err(Stalled { now_ns }),
            }
        }
    }

    /// Runs something beside.
    pub fn spawn(&self, future: BoxedFuture<'static, ()>) {
        // A pool that is gone runs nothing, which is all that is asked of it then.
        let _ = self.spawner.spawn_local(future);
    }
}

#[async_trait(?Send)]
impl Clock for VirtualTime {
    fn now_ns(&self) -> u64 {
        self.hands.now_ns.get()
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        let due_ns = self.now_ns().saturating_add(duration_ns);
        let serial = self.hands.next.replace(self.hands.next.get() + 1);
        let sleeper = Sleeper {
            hands: self.hands.clone(),
            key: (due_ns, serial),
        };
        let mut has_yielded = false;
        poll_fn(|context| {
            if has_yielded && sleeper.hands.now_ns.get() >= due_ns {
                return Poll::Ready(());
            }
            has_yielded = true;
            let waker = context.waker().clone();
            sleeper
                .hands
                .sleepers
                .borrow_mut()
                .insert(sleeper.key, waker);
            Poll::Pending
        })
        .await;
    }
}

/// Takes a sleeper off the list, also when it was dropped asleep.
struct Sleeper {
    hands: Rc<Hands>,
    key: (u64, u64),
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.hands.sleepers.borrow_mut().remove(&self.key);
    }
}
