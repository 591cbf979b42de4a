//! The shared oracle on backends that run kernels on the host: the CPU, and the fake under several plans of delivery.

#![cfg(not(target_arch = "wasm32"))]

mod oracle;

use std::cell::Cell;
use std::rc::Rc;
use std::task::Poll;

use futures::FutureExt as _;
use futures::executor::{LocalPool, LocalSpawner};
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt as _;
use oracle::{Stage, Tally, canary, run};
use wellwritten_device::fake::{Delivery, FakeControl, FakeDevice};
use wellwritten_device::{GuardedDevice, KernelSource, Spawner};

struct OnHost {
    device: GuardedDevice,
    fake: Option<FakeControl>,
    spawner: LocalSpawner,
    /// The next launch does nothing and says that it has.
    dropping: Rc<Cell<bool>>,
}

impl OnHost {
    fn new(pool: &LocalPool, delivery: Option<Delivery>) -> Self {
        let spawner = pool.spawner();
        let dropping = Rc::default();
        let Some(delivery) = delivery else {
            let device = GuardedDevice::cpu();
            let fake = None;
            return Self {
                device,
                fake,
                spawner,
                dropping,
            };
        };
        let background = spawner.clone();
        let (device, control) = FakeDevice::open(Spawner::new(move |future| {
            background.spawn_local(future).expect("the pool is there");
        }));
        control.deliver_by(delivery);
        control.break_shader("broken", "line 1, column 1: as the oracle asked");
        let fake = Some(control);
        Self {
            device,
            fake,
            spawner,
            dropping,
        }
    }
}

impl Stage for OnHost {
    fn device(&self) -> &GuardedDevice {
        &self.device
    }

    fn spawn(&self, future: LocalBoxFuture<'static, ()>) {
        self.spawner.spawn_local(future).expect("the pool is there");
    }

    fn turn(&self) -> LocalBoxFuture<'_, ()> {
        let mut is_first = true;
        futures::future::poll_fn(move |context| {
            if std::mem::replace(&mut is_first, false) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .boxed_local()
    }

    fn fail_next_creation(&self) {
        if let Some(fake) = &self.fake
            && !fake.next_creation_fails()
        {
            fake.fail_creation_after(0);
        }
    }

    fn next_creation_fails(&self) -> bool {
        self.fake
            .as_ref()
            .is_some_and(FakeControl::next_creation_fails)
    }

    fn working(&self, mut source: KernelSource) -> KernelSource {
        let dropping = Rc::clone(&self.dropping);
        let host = source.host.take().expect("every kernel has a function");
        source.with_host(Rc::new(move |launch| {
            if dropping.take() {
                return Ok(());
            }
            host(launch)
        }))
    }

    fn broken(&self, mut source: KernelSource) -> KernelSource {
        if self.fake.is_none() {
            source.host = Some(Rc::new(|_| Err("broken".to_owned().into())));
        }
        source
    }

    fn destroy_behind_its_back(&self) -> bool {
        let Some(fake) = &self.fake else { return false };
        fake.lose("as the oracle asked");
        true
    }

    fn drop_next_launch(&self) {
        self.dropping.set(true);
    }
}

/// To replay a failure, put its seed into the range below.
fn run_many(delivery: impl Fn(u64) -> Option<Delivery>) {
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    let (seeds, steps) = if long { (400, 2000) } else { (40, 500) };
    println!("seeds 0..{seeds}, {steps} operations each; WELLWRITTEN_LONG=1 runs more");
    let mut total = Tally::default();
    for seed in 0..seeds {
        let mut pool = LocalPool::new();
        let stage = OnHost::new(&pool, delivery(seed));
        total.add(pool.run_until(run(&stage, seed, steps)));
    }
    println!("{total:?}");
    assert!(total.returned > 1000 && total.refused > 1000, "{total:?}");
    assert!(total.sealed > 50 && total.doomed > 50, "{total:?}");
    assert!(
        total.replayed > 100 && total.failed_units > 500,
        "{total:?}"
    );
    assert!(total.over_limit > 50 && total.lost > 20, "{total:?}");
    assert!(
        delivery(0).is_none() || total.failed_creations > 50,
        "{total:?}"
    );
}

fn canary_is_noticed(delivery: impl Fn(u64) -> Option<Delivery>) {
    for seed in 0..20 {
        let mut pool = LocalPool::new();
        let stage = OnHost::new(&pool, delivery(seed));
        assert!(pool.run_until(canary(&stage, seed)), "seed {seed}");
    }
}

#[test]
fn on_the_cpu() {
    run_many(|_| None);
}

#[test]
fn on_the_fake_with_answers_in_order() {
    run_many(|_| Some(Delivery::OldestFirst));
}

#[test]
fn on_the_fake_with_answers_backwards() {
    run_many(|_| Some(Delivery::NewestFirst));
}

#[test]
fn on_the_fake_with_answers_in_any_order() {
    run_many(|seed| Some(Delivery::Random { seed }));
}

#[test]
fn a_launch_that_silently_does_nothing_is_noticed() {
    canary_is_noticed(|_| None);
    canary_is_noticed(|seed| Some(Delivery::Random { seed }));
}
