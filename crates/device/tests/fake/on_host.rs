//! Scenarios on the fake and on the CPU.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::rc::Rc;
use std::sync::Once;

use futures::FutureExt as _;
use futures::executor::{LocalPool, LocalSpawner};
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt as _;
use wellwritten_device::fake::{Delivery, FailureKind, FakeControl, FakeDevice};
use wellwritten_device::{GuardedDevice, Spawner};

use crate::scenarios::stage::{Forcing, Reads, Stage};

/// A scenario, ready to play.
pub(crate) type Scenario = fn(Stage) -> LocalBoxFuture<'static, ()>;

/// Where a scenario is played.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    Cpu,
    Fake(Delivery),
}

/// Every plan of delivery that scenarios are played under; `WELLWRITTEN_LONG=1` has more.
pub(crate) fn plans() -> impl Iterator<Item = On> {
    let is_long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    let random = (0..if is_long { 200 } else { 8 }).map(|seed| Delivery::Random { seed });
    [Delivery::OldestFirst, Delivery::NewestFirst]
        .into_iter()
        .chain(random)
        .map(On::Fake)
}

struct OnFake {
    control: FakeControl,
    plan: Delivery,
    spawner: LocalSpawner,
    reads: Rc<Reads>,
}

struct OnCpu {
    reads: Rc<Reads>,
}

impl OnFake {
    fn open(spawner: LocalSpawner, plan: Delivery, reads: Rc<Reads>) -> (Stage, FakeControl) {
        let background = spawner.clone();
        let (device, control) = FakeDevice::open(Spawner::new(move |future| {
            background.spawn_local(future).expect("the pool is there");
        }));
        control.deliver_by(plan);
        let forcing = Self {
            control: control.clone(),
            plan,
            spawner,
            reads: Rc::clone(&reads),
        };
        (Stage::new(device, Rc::new(forcing), reads), control)
    }
}

impl Forcing for OnFake {
    fn another(&self) -> LocalBoxFuture<'static, Stage> {
        let (stage, _) = Self::open(self.spawner.clone(), self.plan, Rc::clone(&self.reads));
        std::future::ready(stage).boxed_local()
    }

    fn break_shader(&self, label: &str, said: &str) {
        self.control.break_shader(label, said);
    }

    fn break_pipeline(&self, label: &str, said: &str) {
        self.control.break_pipeline(label, said);
    }

    fn spoil_next_submission(&self) {
        self.control
            .fail_submission(FailureKind::Validation, "spoilt");
    }

    fn fail_creation_after(&self, skipped: u64) {
        self.control.fail_creation_after(skipped);
    }

    fn reject_mapping(&self) {
        self.control.fail_read();
    }

    fn report_uncaptured(&self, said: &str) {
        self.control
            .report_uncaptured(FailureKind::Validation, said);
    }

    fn lose_behind_its_back(&self) {
        self.control.let_copies_survive();
        self.control.lose("the driver was reset");
    }

    fn refuse_connections(&self, times: u32) {
        self.control.refuse_connections(times);
    }

    fn pauses(&self) -> Vec<u64> {
        let pauses = self.control.pauses();
        let milliseconds = pauses.iter().map(std::time::Duration::as_millis);
        milliseconds
            .map(|pause| u64::try_from(pause).expect("short"))
            .collect()
    }

    fn hold_answers(&self) {
        self.control.hold_answers();
    }

    fn release_answers(&self) {
        self.control.deliver_by(self.plan);
    }
}

impl Forcing for OnCpu {
    fn another(&self) -> LocalBoxFuture<'static, Stage> {
        std::future::ready(Self::open(Rc::clone(&self.reads))).boxed_local()
    }
}

impl OnCpu {
    fn open(reads: Rc<Reads>) -> Stage {
        let forcing = Self {
            reads: Rc::clone(&reads),
        };
        Stage::new(GuardedDevice::cpu(), Rc::new(forcing), reads)
    }
}

/// How a scenario went: whether it came to its end, and how often its fake lied.
pub(crate) struct Played {
    pub(crate) result: Result<(), String>,
    pub(crate) lies: u32,
}

thread_local! {
    /// Whether a panic on this thread is what its test hopes for.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// As [`play`], where it is expected to panic: says nothing of it.
pub(crate) fn play_quietly(scenario: Scenario, on: On, reads: &Rc<Reads>, lies: u32) -> Played {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                usual(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let played = play(scenario, on, reads, lies);
    IS_QUIET.set(false);
    played
}

/// Plays a scenario; a panic in it, or a wait that never ends, is an error.
pub(crate) fn play(scenario: Scenario, on: On, reads: &Rc<Reads>, lies: u32) -> Played {
    let control: Rc<RefCell<Option<FakeControl>>> = Rc::default();
    let is_done = Rc::new(Cell::new(false));
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut pool = LocalPool::new();
        let stage = match on {
            On::Cpu => OnCpu::open(Rc::clone(reads)),
            On::Fake(plan) => {
                let (stage, fake) = OnFake::open(pool.spawner(), plan, Rc::clone(reads));
                fake.lie(lies);
                *control.borrow_mut() = Some(fake);
                stage
            }
        };
        let done = Rc::clone(&is_done);
        pool.spawner()
            .spawn_local(async move {
                scenario(stage).await;
                done.set(true);
            })
            .expect("the pool is there");
        pool.run_until_stalled();
    }));
    let result = match played {
        Ok(()) if is_done.get() => Ok(()),
        Ok(()) => Err("it waits for something that never comes".to_owned()),
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => Err(*text),
            Err(panic) => match panic.downcast::<&str>() {
                Ok(text) => Err((*text).to_owned()),
                Err(panic) => resume_unwind(panic),
            },
        },
    };
    let lies = control.borrow().as_ref().map_or(0, FakeControl::lies_told);
    Played { result, lies }
}

/// Plays a scenario, which has to come to its end.
pub(crate) fn succeeds(scenario: Scenario, on: On) {
    println!("on {on:?}");
    let reads = Rc::default();
    if let Err(error) = play(scenario, on, &reads, 0).result {
        panic!("on {on:?}: {error}");
    }
}
