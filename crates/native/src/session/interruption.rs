//! [`Interruption`]: what a Ctrl-C does to a session.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use wellwritten_session::Coordinator;

/// The first Ctrl-C pauses at the next boundary; the second does not wait for it.
pub struct Interruption {
    asked: Cell<bool>,
    told: Notify,
    /// Told of the second.
    hurry: Notify,
    session: RefCell<Weak<Coordinator>>,
}

impl Interruption {
    /// Listens from here on.
    pub fn listen() -> std::io::Result<Rc<Self>> {
        let interrupts = signal(SignalKind::interrupt())?;
        let interruption = Rc::new(Self {
            asked: Cell::new(false),
            told: Notify::new(),
            hurry: Notify::new(),
            session: RefCell::default(),
        });
        tokio::task::spawn_local(interruption.clone().answer(interrupts));
        Ok(interruption)
    }

    /// Whether somebody wants it to end.
    pub fn is_asked(&self) -> bool {
        self.asked.get()
    }

    /// Waits until somebody wants it to end.
    pub async fn asked(&self) {
        while !self.asked.get() {
            self.told.notified().await;
        }
    }

    /// Waits until somebody does not want to wait for the boundary.
    pub async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// What is to be paused.
    pub fn concerns(&self, session: &Rc<Coordinator>) {
        *self.session.borrow_mut() = Rc::downgrade(session);
        if self.asked.get() {
            self.pause();
        }
    }

    async fn answer(self: Rc<Self>, mut interrupts: Signal) {
        while interrupts.recv().await.is_some() {
            if self.asked.replace(true) {
                self.hurry.notify_one();
            } else {
                self.told.notify_one();
                self.pause();
            }
        }
    }

    fn pause(&self) {
        if let Some(session) = self.session.borrow().upgrade() {
            // Refused where nothing goes on that could be paused.
            let _ = session.pause();
        }
    }
}
