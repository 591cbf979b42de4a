//! An executor that polls one task at a time, so that anything can be made to happen between two polls.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::LocalBoxFuture;
use wellwritten_device::Spawner;

type Ready = Arc<Mutex<VecDeque<usize>>>;

/// Tasks, and which of them can go on, in the order in which they were woken.
#[derive(Clone, Default)]
pub(crate) struct Turns {
    tasks: Rc<RefCell<Vec<Option<LocalBoxFuture<'static, ()>>>>>,
    ready: Ready,
}

struct Task {
    index: usize,
    ready: Ready,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().expect("nobody panics with it");
        if !ready.contains(&self.index) {
            ready.push_back(self.index);
        }
    }
}

impl Turns {
    pub(crate) fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        let mut tasks = self.tasks.borrow_mut();
        let index = tasks.len();
        tasks.push(Some(task));
        let mut ready = self.ready.lock().expect("nobody panics with it");
        ready.push_back(index);
    }

    pub(crate) fn spawner(&self) -> Spawner {
        let turns = self.clone();
        Spawner::new(move |future| turns.spawn(future))
    }

    /// Polls the task that has been ready longest; whether there was one.
    pub(crate) fn turn(&self) -> bool {
        let next = self
            .ready
            .lock()
            .expect("nobody panics with it")
            .pop_front();
        let Some(index) = next else { return false };
        let Some(mut task) = self.tasks.borrow_mut()[index].take() else {
            return true;
        };
        let ready = Arc::clone(&self.ready);
        let waker = Waker::from(Arc::new(Task { index, ready }));
        if task.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Pending {
            self.tasks.borrow_mut()[index] = Some(task);
        }
        true
    }
}
