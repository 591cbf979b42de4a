//! A fake as a whole: what all its generations share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures::channel::mpsc;

use super::answers::Answers;
use super::backend::FakeBackend;
use super::control::FakeControl;
use super::faults::Faults;
use super::generation::Generation;
use super::host::FakeHost;
use crate::connection::Connection;
use crate::device::GuardedDevice;
use crate::limits::DeviceLimits;
use crate::spawner::Spawner;

/// Opens fakes.
#[derive(Debug)]
pub struct FakeDevice;

impl FakeDevice {
    /// A device under WebGPU's rules, and the hand on it. All answers are held back at first. The device outlives
    /// the control, but what is held back then is never delivered unless a [`Delivery`](super::Delivery) plan is on.
    #[must_use]
    pub fn open(spawner: Spawner) -> (GuardedDevice, FakeControl) {
        let fake = Rc::new(Fake {
            answers: Answers::default(),
            faults: RefCell::default(),
            generations: RefCell::default(),
            pauses: RefCell::default(),
            granted: Cell::new(DeviceLimits::WEBGPU_DEFAULT),
            plan: Cell::new(0),
            spawner: spawner.clone(),
        });
        let first = Fake::connect(&fake);
        let host = Box::new(FakeHost(Rc::clone(&fake)));
        let device = GuardedDevice::over(first, Some(spawner), host);
        (device, FakeControl::of(fake))
    }
}

pub(super) struct Fake {
    pub(super) answers: Answers,
    pub(super) faults: RefCell<Faults>,
    /// From the first to the present one.
    pub(super) generations: RefCell<Vec<Rc<RefCell<Generation>>>>,
    pub(super) pauses: RefCell<Vec<Duration>>,
    /// What the next generation grants.
    pub(super) granted: Cell<DeviceLimits>,
    /// Counts delivery plans: one that has been replaced stops.
    pub(super) plan: Cell<u64>,
    pub(super) spawner: Spawner,
}

impl Fake {
    /// Makes the next generation.
    pub(super) fn connect(fake: &Rc<Self>) -> Connection {
        let (sender, signals) = mpsc::unbounded();
        let generation = Generation::new(fake.granted.get(), sender);
        let generation = Rc::new(RefCell::new(generation));
        let backend = FakeBackend {
            fake: Rc::clone(fake),
            generation: Rc::clone(&generation),
        };
        fake.generations.borrow_mut().push(generation);
        Connection {
            backend: Box::new(backend),
            signals: Some(Box::pin(signals)),
        }
    }
}
