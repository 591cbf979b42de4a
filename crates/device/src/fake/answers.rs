//! Answers that are held back until somebody delivers them.

use std::cell::{Cell, RefCell};

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;

/// What a held-back answer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Question {
    /// Could the buffer be created?
    Creation,
    /// What did the error scopes of the submission catch?
    Submission,
    /// What are the bytes?
    Read,
    /// Is there an adapter and a device? Asked at a recovery.
    Connection,
    /// Has the pause before the next try of a recovery passed?
    Pause,
}

struct Held {
    question: Question,
    deliver: Box<dyn FnOnce()>,
}

/// The answers of all generations of one device, in the order in which they were asked for.
#[derive(Default)]
pub(super) struct Answers {
    held: RefCell<Vec<Held>>,
    delivered: Cell<u64>,
    /// Who wants to hear of the next answer that is held back.
    awaited: RefCell<Option<oneshot::Sender<()>>>,
}

impl Answers {
    /// A future for `answer`, which is made up when it is delivered.
    pub(super) fn hold<T: 'static>(
        &self,
        question: Question,
        answer: impl FnOnce() -> T + 'static,
    ) -> LocalBoxFuture<'static, T> {
        let (sender, receiver) = oneshot::channel();
        let deliver = Box::new(move || {
            // Nobody may listen any more, as after a loss.
            let _ = sender.send(answer());
        });
        self.held.borrow_mut().push(Held { question, deliver });
        if let Some(awaited) = self.awaited.take() {
            let _ = awaited.send(());
        }
        async move {
            match receiver.await {
                Ok(answer) => answer,
                // The device and its answers are gone: none will ever come.
                Err(oneshot::Canceled) => std::future::pending().await,
            }
        }
        .boxed_local()
    }

    pub(super) fn questions(&self) -> Vec<Question> {
        let held = self.held.borrow();
        held.iter().map(|held| held.question).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.held.borrow().len()
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered.get()
    }

    /// Delivers one; what it answered.
    pub(super) fn deliver(&self, index: usize) -> Option<Question> {
        let held = {
            let mut held = self.held.borrow_mut();
            (index < held.len()).then(|| held.remove(index))?
        };
        self.delivered.set(self.delivered.get() + 1);
        (held.deliver)();
        Some(held.question)
    }

    /// Resolves when the next answer is held back.
    pub(super) fn next(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        *self.awaited.borrow_mut() = Some(sender);
        receiver
    }
}
