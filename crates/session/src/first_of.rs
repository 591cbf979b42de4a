//! Waiting for the first of a few things.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use crate::{BoxedFuture, Clock};

/// What [`first_of`] gives.
pub(crate) enum First<A, B> {
    /// One of the many, and it is no longer among them.
    Many(A),
    /// The other.
    One(B),
}

/// Waits for one of `many` or for `one`; the many go first, in order. What has not ended goes on when it is next waited for.
pub(crate) async fn first_of<A, B>(
    many: &mut Vec<BoxedFuture<'_, A>>,
    mut one: Pin<&mut impl Future<Output = B>>,
) -> First<A, B> {
    poll_fn(|context| {
        for index in 0..many.len() {
            if let Poll::Ready(outcome) = many[index].as_mut().poll(context) {
                drop(many.remove(index));
                return Poll::Ready(First::Many(outcome));
            }
        }
        one.as_mut().poll(context).map(First::One)
    })
    .await
}

/// Waits for `future` for at most `duration_ns` of `clock`; none where it took longer. No timer is made for a future that is
/// ready at once.
pub(crate) async fn within<T>(
    clock: &dyn Clock,
    duration_ns: u64,
    mut future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    let mut timer: Option<BoxedFuture<'_, ()>> = None;
    poll_fn(|context| {
        if let Poll::Ready(outcome) = Pin::new(&mut future).poll(context) {
            return Poll::Ready(Some(outcome));
        }
        let timer = timer.get_or_insert_with(|| Box::pin(clock.sleep_ns(duration_ns)));
        timer.as_mut().poll(context).map(|()| None)
    })
    .await
}
