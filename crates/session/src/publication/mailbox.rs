//! [`Mailbox`]: what one subscription has not taken yet.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::{CommittedSnapshot, EventBatch, PublishedEvent, SubscribeOptions, Subscription};

/// Waiting tasks remembered; when one more comes, the oldest is woken, looks again and takes its place at the end.
const MAX_WAKERS: usize = 8;

/// Between the publisher, which puts in, and a subscription, which takes out. Bounded whatever either does.
#[derive(Default)]
pub(crate) struct Mailbox {
    contents: RefCell<Contents>,
}

#[derive(Default)]
struct Contents {
    options: SubscribeOptions,
    queued: Option<Rc<CommittedSnapshot>>,
    in_flight: usize,
    /// Snapshots that were replaced since the last one that was taken.
    missed: u64,
    events: VecDeque<PublishedEvent>,
    dropped: u64,
    has_ended: bool,
    wakers: Vec<Waker>,
}

impl Mailbox {
    pub(crate) fn new(options: SubscribeOptions) -> Self {
        Self {
            contents: RefCell::new(Contents {
                options,
                ..Contents::default()
            }),
        }
    }

    /// Puts a snapshot in; true where it took the place of one nobody had taken.
    pub(crate) fn put_snapshot(&self, snapshot: &Rc<CommittedSnapshot>) -> bool {
        let mut contents = self.contents.borrow_mut();
        if !contents.options.snapshots {
            return false;
        }
        let replaced = contents.queued.replace(snapshot.clone()).is_some();
        contents.missed += u64::from(replaced);
        let wakers = std::mem::take(&mut contents.wakers);
        drop(contents);
        wake(wakers);
        replaced
    }

    pub(crate) fn wants(&self, event: &PublishedEvent) -> bool {
        let options = self.contents.borrow().options;
        match event {
            PublishedEvent::Task { .. } => options.task_events,
            PublishedEvent::Session { .. } => options.session_events,
        }
    }

    /// Puts an event in; where there is no room, the oldest goes and is counted.
    pub(crate) fn put_event(&self, event: PublishedEvent) {
        let mut contents = self.contents.borrow_mut();
        if contents.events.len() == Subscription::MAX_EVENTS {
            contents.events.pop_front();
            contents.dropped += 1;
        }
        contents.events.push_back(event);
        let wakers = std::mem::take(&mut contents.wakers);
        drop(contents);
        wake(wakers);
    }

    /// Takes the snapshot, and how many were missed before it, where there is one and a credit for it.
    pub(crate) fn take_snapshot(&self) -> Option<(Rc<CommittedSnapshot>, u64)> {
        let mut contents = self.contents.borrow_mut();
        if contents.in_flight == Subscription::MAX_IN_FLIGHT {
            return None;
        }
        let snapshot = contents.queued.take()?;
        contents.in_flight += 1;
        Some((snapshot, std::mem::take(&mut contents.missed)))
    }

    /// A snapshot that was taken is no longer held.
    pub(crate) fn give_back(&self) {
        let mut contents = self.contents.borrow_mut();
        contents.in_flight -= 1;
        let wakers = std::mem::take(&mut contents.wakers);
        drop(contents);
        wake(wakers);
    }

    /// Takes every event there is, and says how many were lost before them.
    pub(crate) fn take_events(&self) -> Option<EventBatch> {
        let mut contents = self.contents.borrow_mut();
        if contents.events.is_empty() {
            return None;
        }
        Some(EventBatch {
            dropped_before: std::mem::take(&mut contents.dropped),
            events: contents.events.drain(..).collect(),
        })
    }

    /// The publisher is gone: what is in here can be taken, nothing follows.
    pub(crate) fn end(&self) {
        let mut contents = self.contents.borrow_mut();
        contents.has_ended = true;
        let wakers = std::mem::take(&mut contents.wakers);
        drop(contents);
        wake(wakers);
    }

    /// What `take` gives; nothing once it gives nothing and nothing can follow.
    pub(crate) fn poll<T>(
        &self,
        context: &Context<'_>,
        take: impl FnOnce(&Self) -> Option<T>,
    ) -> Poll<Option<T>> {
        if let Some(taken) = take(self) {
            return Poll::Ready(Some(taken));
        }
        let mut contents = self.contents.borrow_mut();
        // A snapshot that waits for a credit can still be taken.
        if contents.has_ended && contents.queued.is_none() {
            return Poll::Ready(None);
        }
        if !contents
            .wakers
            .iter()
            .any(|waker| waker.will_wake(context.waker()))
        {
            let evicted = (contents.wakers.len() == MAX_WAKERS).then(|| contents.wakers.remove(0));
            contents.wakers.push(context.waker().clone());
            drop(contents);
            wake(evicted);
        }
        Poll::Pending
    }
}

fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
