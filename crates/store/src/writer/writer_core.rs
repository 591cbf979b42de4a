//! [`WriterCore`]: what a writer, its slots and its tickets share.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::store_client::StoreClient;
use crate::writer::saving::saving;
use crate::writer::waiters::{Waiter, Waiters};
use crate::writer::writer_event::WriterEvent;
use crate::writer::writer_state::{Work, WriterState};

/// The state, and everything about it that calls out: the observer, the store, whoever waits. Nothing is borrowed
/// while it does, so that whoever is called may call back.
pub(super) struct WriterCore {
    pub(super) client: StoreClient,
    observer: Rc<dyn Fn(WriterEvent)>,
    pub(super) state: RefCell<WriterState>,
    telling: Cell<bool>,
    pub(super) waiters: Arc<Waiters>,
}

impl WriterCore {
    pub(super) fn new(
        client: StoreClient,
        state: WriterState,
        observer: Rc<dyn Fn(WriterEvent)>,
    ) -> Self {
        Self {
            client,
            observer,
            state: RefCell::new(state),
            telling: Cell::new(false),
            waiters: Arc::default(),
        }
    }

    /// Changes the state, lets go what that released and tells what it has to tell.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut WriterState) -> R) -> R {
        let result = change(&mut self.state.borrow_mut());
        self.tell();
        result
    }

    /// Waits for `done`, doing the writer's work meanwhile.
    pub(super) async fn wait<R>(&self, mut done: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        let waiter = Waiter::new(&self.waiters);
        poll_fn(|context| {
            waiter.register(context.waker());
            self.advance();
            done(context)
        })
        .await
    }

    /// Whether nothing is left to be done or told.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state.borrow();
        state.tellings.is_empty() && state.records().next().is_none()
    }

    /// Goes on with the save under way as far as that goes without waiting. Ends at most as many saves as there are
    /// now, so that an observer who hands in another one each time does not hold who waits.
    fn advance(&self) {
        self.tell();
        let saves = self.state.borrow().records().count();
        for _ in 0..saves {
            // The store must not hear of a save before the observer did.
            if self.telling.get() || self.poll_flight().is_pending() {
                return;
            }
        }
    }

    fn poll_flight(&self) -> Poll<()> {
        // Whoever has the work wakes us when there is something to see.
        let Some((number, work)) = self.state.borrow_mut().take_work() else {
            return Poll::Pending;
        };
        let mut save = match work {
            Work::Waiting(request) => saving(self.client.clone(), *request),
            Work::Saving(save) => save,
            Work::Taken => return Poll::Pending,
        };
        let waker = Waker::from(Arc::clone(&self.waiters));
        match save.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => {
                drop(save);
                self.change(|state| state.end_flight(number, outcome));
                Poll::Ready(())
            }
            Poll::Pending => {
                self.change(|state| state.put_back(number, Work::Saving(save)));
                Poll::Pending
            }
        }
    }

    /// Drops what was released and tells what happened, in that order. What happens meanwhile, because someone who is
    /// told calls back, is told after it by the same loop.
    fn tell(&self) {
        if self.telling.get() || self.state.borrow().has_nothing_to_tell() {
            return;
        }
        let _turn = Turn::begin(self);
        loop {
            let released = std::mem::take(&mut self.state.borrow_mut().released);
            drop(released);
            let Some(telling) = self.state.borrow_mut().tellings.pop_front() else {
                return;
            };
            if let WriterEvent::Ended(outcome) = &telling.event {
                *telling.record.outcome.borrow_mut() = Some(outcome.clone());
            }
            (self.observer)(telling.event);
        }
    }
}

/// The time in which one call tells. It ends however that call ends; whoever came in vain meanwhile looks again.
struct Turn<'core> {
    core: &'core WriterCore,
}

impl<'core> Turn<'core> {
    fn begin(core: &'core WriterCore) -> Self {
        core.telling.set(true);
        Self { core }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.core.telling.set(false);
        self.core.waiters.wake_all();
    }
}
