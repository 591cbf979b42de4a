//! What all clones of a device share, and what goes on in it between calls.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;
use futures::stream::{LocalBoxStream, StreamExt as _};
use wellwritten_memory::StreamId;

use crate::connection::{Connection, DeviceHost, DeviceSignal};
use crate::device_event::DeviceEvent;
use crate::device_state::DeviceState;
use crate::spawner::Spawner;

type Observer = Rc<dyn Fn(&DeviceEvent)>;

pub(crate) struct Shared {
    pub(crate) state: RefCell<DeviceState>,
    /// Where the next generation comes from.
    pub(crate) host: Box<dyn DeviceHost>,
    /// Reads and `settled` calls to wake after a change.
    waiters: RefCell<Vec<oneshot::Sender<()>>>,
    observers: RefCell<Vec<Observer>>,
    spawner: Option<Spawner>,
    /// Windows that were dropped while the device was busy, as a host kernel may do.
    dropped_windows: RefCell<Vec<StreamId>>,
    /// Whether a background flush is already on its way.
    flush_scheduled: Cell<bool>,
}

impl Shared {
    pub(crate) fn over(
        connection: Connection,
        spawner: Option<Spawner>,
        host: Box<dyn DeviceHost>,
    ) -> Rc<Self> {
        let shared = Rc::new(Self {
            state: RefCell::new(DeviceState::new(connection.backend)),
            host,
            waiters: RefCell::default(),
            observers: RefCell::default(),
            spawner,
            dropped_windows: RefCell::default(),
            flush_scheduled: Cell::new(false),
        });
        let generation = shared.state.borrow().generation;
        Self::listen(&shared, generation, connection.signals);
        shared
    }

    /// Runs a synchronous operation, then starts waiting for the verdicts it left behind.
    pub(crate) fn act<T>(self: &Rc<Self>, operation: impl FnOnce(&mut DeviceState) -> T) -> T {
        let (result, changed) = {
            let mut state = self.state.borrow_mut();
            for stream in self.dropped_windows.take() {
                state.free_window(stream);
            }
            let before = state.memory.revision();
            let result = operation(&mut state);
            (result, state.memory.revision() != before)
        };
        Self::follow(self);
        if changed {
            self.wake();
        }
        result
    }

    /// A window is sealed or given up.
    pub(crate) fn free_window(&self, stream: StreamId) {
        match self.state.try_borrow_mut() {
            Ok(mut state) => state.free_window(stream),
            Err(_) => self.dropped_windows.borrow_mut().push(stream),
        }
    }

    /// Waits for the next change of anything.
    pub(crate) async fn change(&self) {
        let (wake, woken) = oneshot::channel();
        {
            let mut waiters = self.waiters.borrow_mut();
            if waiters.len().is_power_of_two() {
                // Reads that were dropped while nothing changed.
                waiters.retain(|waiter| !waiter.is_canceled());
            }
            waiters.push(wake);
        }
        // The sender lives in what `self` keeps alive, so this cannot be cancelled.
        let _ = woken.await;
    }

    /// Wakes whoever waits, then tells every observer, outside of every borrow.
    pub(crate) fn tell(&self, event: &DeviceEvent) {
        self.wake();
        let observers = self.observers.borrow().clone();
        for observer in observers {
            observer(event);
        }
    }

    pub(crate) fn observe(&self, observer: impl Fn(&DeviceEvent) + 'static) {
        self.observers.borrow_mut().push(Rc::new(observer));
    }

    pub(crate) fn forget_observers(&self) {
        self.observers.borrow_mut().clear();
    }

    /// The device of that generation is gone. No effect when that is known already.
    pub(crate) fn lose(&self, generation: u64, reason: &str) {
        let is_news = self.state.borrow_mut().lose(generation, reason);
        if is_news {
            self.tell(&DeviceEvent::Lost {
                generation,
                reason: reason.to_owned(),
            });
        }
    }

    /// Follows what a device says on its own: that it was lost, that something failed outside every
    /// scope.
    pub(crate) fn listen(
        shared: &Rc<Self>,
        generation: u64,
        signals: Option<LocalBoxStream<'static, DeviceSignal>>,
    ) {
        let Some(mut signals) = signals else { return };
        let weak = Rc::downgrade(shared);
        shared.spawner().spawn(async move {
            while let Some(signal) = signals.next().await {
                let Some(shared) = weak.upgrade() else { return };
                match signal {
                    DeviceSignal::Lost(reason) => {
                        shared.lose(generation, &reason);
                        return;
                    }
                    DeviceSignal::Uncaptured(failure) => {
                        let message = failure.message.clone();
                        let claimed = shared.state.borrow_mut().doubt(generation, &failure);
                        shared.tell(&DeviceEvent::Uncaptured { message, claimed });
                    }
                }
            }
        });
    }

    fn spawner(&self) -> &Spawner {
        self.spawner
            .as_ref()
            .expect("a backend with late verdicts is given a spawner")
    }

    /// Waits in the background for the verdicts that the last operation left behind, and sees to it
    /// that recorded work is submitted even if nobody asks for its result.
    fn follow(shared: &Rc<Self>) {
        let (verdicts, open_work) = {
            let mut state = shared.state.borrow_mut();
            (std::mem::take(&mut state.verdicts), state.has_open_work())
        };
        if verdicts.is_empty() && !open_work {
            return;
        }
        let spawner = shared.spawner();
        for (submission, verdict) in verdicts {
            let weak = Rc::downgrade(shared);
            spawner.spawn(async move {
                let outcome = verdict.await;
                if let Some(shared) = weak.upgrade() {
                    shared.state.borrow_mut().settle(submission, outcome);
                    shared.tell(&DeviceEvent::Settled);
                }
            });
        }
        if open_work && !shared.flush_scheduled.replace(true) {
            let weak = Rc::downgrade(shared);
            spawner.spawn(async move {
                if let Some(shared) = weak.upgrade() {
                    shared.flush_scheduled.set(false);
                    shared.state.borrow_mut().flush();
                    Self::follow(&shared);
                }
            });
        }
    }

    fn wake(&self) {
        for waiter in self.waiters.take() {
            // A read that was dropped no longer listens.
            let _ = waiter.send(());
        }
    }
}
