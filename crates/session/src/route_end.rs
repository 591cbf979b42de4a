//! [`RouteEnd`]: whether a route is gone, why, and who wants to know.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// The end of a route: set once, awaited by any number.
#[derive(Debug, Default)]
pub struct RouteEnd(RefCell<State>);

/// That a route has ended, and why where that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteEnded {
    /// How a process ended, what a worker said last.
    pub reason: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    ended: Option<RouteEnded>,
    waiting: Vec<Waker>,
}

impl RouteEnd {
    /// The route is there.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The route is gone, for `reason` where one is known. The first reason stays.
    pub fn set(&self, reason: Option<String>) {
        let mut state = self.0.borrow_mut();
        state.ended.get_or_insert(RouteEnded { reason });
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The end, where it has come.
    #[must_use]
    pub fn get(&self) -> Option<RouteEnded> {
        self.0.borrow().ended.clone()
    }

    /// Waits for the end.
    pub async fn wait(&self) -> RouteEnded {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if let Some(ended) = &state.ended {
                return Poll::Ready(ended.clone());
            }
            state
                .waiting
                .retain(|waker| !waker.will_wake(context.waker()));
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
