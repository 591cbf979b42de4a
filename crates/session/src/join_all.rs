//! [`join_all`]: waits for a handful of futures at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future somewhere else.
pub type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A future, or what it came to.
enum Slot<'a, T> {
    Waiting(BoxedFuture<'a, T>),
    Done(T),
}

/// What [`join_all`] gives.
#[must_use = "futures do nothing unless they are awaited"]
pub struct JoinAll<'a, T> {
    slots: Vec<Slot<'a, T>>,
}

/// Runs all of `futures` and gives their outcomes in the order of the futures.
///
/// Each wake-up polls every one that still waits, in order, which is right for a handful: a queue of those that
/// woke up would be many times the code.
pub fn join_all<'a, T>(futures: impl IntoIterator<Item = BoxedFuture<'a, T>>) -> JoinAll<'a, T> {
    JoinAll {
        slots: futures.into_iter().map(Slot::Waiting).collect(),
    }
}

impl<T> Unpin for JoinAll<'_, T> {}

impl<T> Future for JoinAll<'_, T> {
    type Output = Vec<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
        let mut waiting = false;
        for slot in &mut self.slots {
            if let Slot::Waiting(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(outcome) => *slot = Slot::Done(outcome),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return Poll::Pending;
        }
        let outcomes = std::mem::take(&mut self.slots).into_iter();
        Poll::Ready(
            outcomes
                .filter_map(|slot| match slot {
                    Slot::Done(outcome) => Some(outcome),
                    Slot::Waiting(_) => None,
                })
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    //! Oracle: the outcomes, written down beside futures that finish in another order.

    use std::cell::RefCell;

    use futures::channel::oneshot;
    use futures::executor::block_on;

    use super::{BoxedFuture, join_all};

    #[test]
    fn outcomes_come_in_the_order_of_the_futures_whatever_finishes_first() {
        let order = RefCell::new(Vec::new());
        let (send, receive) = oneshot::channel();
        let first: BoxedFuture<'_, u32> = Box::pin(async {
            let received = receive.await.unwrap();
            order.borrow_mut().push("first");
            received
        });
        let second: BoxedFuture<'_, u32> = Box::pin(async {
            order.borrow_mut().push("second");
            send.send(1).unwrap();
            2
        });
        assert_eq!(block_on(join_all([first, second])), [1, 2]);
        assert_eq!(*order.borrow(), ["second", "first"]);
    }

    #[test]
    fn none_at_all_is_done_at_once() {
        let none: Vec<u8> = block_on(join_all(Vec::new()));
        assert!(none.is_empty());
    }
}
