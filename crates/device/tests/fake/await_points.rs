//! The device goes before every poll and before every answer of an operation. Oracle: whatever happens, everything
//! ends after finitely many turns; bytes are returned only while the loss is not known, and are the right ones; every
//! refusal names the loss; and after a recovery the device works.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all, join3};
use wellwritten_device::fake::{FakeControl, FakeDevice};
use wellwritten_device::{Access, Binding, BufferBinding, GuardedDevice, Kernel};

use crate::scenarios::stage::{DUE, bytes, fill, increment};
use crate::turns::Turns;

/// How the device goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// By the program's own call.
    Called,
    /// It says so, and everything that is asked of it afterwards succeeds, copies to the host included.
    AnnouncedFirst,
    /// Everything else is answered first: scopes pop clean, mappings abort.
    AnnouncedLast,
}

/// Which answer is delivered next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    OldestFirst,
    NewestFirst,
}

type Operation = fn(GuardedDevice) -> LocalBoxFuture<'static, Result<(), String>>;

/// How often an operation ended in which way.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    succeeded: usize,
    refused: usize,
}

struct Run {
    turns: Turns,
    device: GuardedDevice,
    control: FakeControl,
    order: Order,
    steps: usize,
}

impl Run {
    /// More than any operation needs.
    const MOST_STEPS: usize = 5_000;

    fn new(order: Order) -> Self {
        let turns = Turns::default();
        let (device, control) = FakeDevice::open(turns.spawner());
        control.refuse_connections(1);
        Self {
            turns,
            device,
            control,
            order,
            steps: 0,
        }
    }

    /// One poll, or one answer where nothing can be polled; whether there was any.
    fn step(&mut self) -> Result<bool, String> {
        self.steps += 1;
        if self.steps > Self::MOST_STEPS {
            return Err("it never ends".to_owned());
        }
        if self.turns.turn() {
            return Ok(true);
        }
        let last = self.control.held().len().checked_sub(1);
        Ok(last.is_some_and(|last| {
            let index = match self.order {
                Order::OldestFirst => 0,
                Order::NewestFirst => last,
            };
            self.control.deliver(index).is_some()
        }))
    }

    /// Runs `operation` with a loss before step `at`; nothing where it ends before. What became of it otherwise.
    fn lose_at(
        &mut self,
        operation: Operation,
        at: usize,
        loss: Loss,
    ) -> Result<Option<Result<(), String>>, String> {
        let outcome = Rc::new(RefCell::new(None));
        let put = Rc::clone(&outcome);
        let running = operation(self.device.clone());
        self.turns.spawn(
            async move {
                let result = running.await;
                *put.borrow_mut() = Some(result);
            }
            .boxed_local(),
        );
        for _ in 0..at {
            if !self.step()? {
                return Ok(None);
            }
        }
        match loss {
            Loss::Called => self.device.lose(),
            Loss::AnnouncedFirst => {
                self.control.let_copies_survive();
                self.control.lose("the driver was reset");
            }
            Loss::AnnouncedLast => self.control.lose_silently(),
        }
        while self.step()? {}
        if loss == Loss::AnnouncedLast {
            self.control.announce_loss("the driver was reset");
            while self.step()? {}
        }
        let outcome = outcome.take();
        outcome
            .ok_or_else(|| "it waits for something that never comes".to_owned())
            .map(Some)
    }

    /// A device that was recovered works.
    fn works_again(&mut self) -> Result<(), String> {
        let again: Operation = |device| {
            async move {
                device.settled().await;
                device.recover().await.map_err(text)?;
                write_and_read(&device).await
            }
            .boxed_local()
        };
        let outcome = Rc::new(RefCell::new(None));
        let put = Rc::clone(&outcome);
        let running = again(self.device.clone());
        self.turns.spawn(
            async move {
                let result = running.await;
                *put.borrow_mut() = Some(result);
            }
            .boxed_local(),
        );
        while self.step()? {}
        let outcome = outcome.take();
        outcome.unwrap_or_else(|| Err("it does not work again".to_owned()))
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Loses the device at every step of `operation`, in every way.
fn lose_everywhere(operation: Operation) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for loss in [Loss::Called, Loss::AnnouncedFirst, Loss::AnnouncedLast] {
            for at in 0.. {
                let wrong = |what: String| format!("{loss:?} before step {at}, {order:?}: {what}");
                let mut run = Run::new(order);
                let Some(outcome) = run.lose_at(operation, at, loss).map_err(wrong)? else {
                    break;
                };
                match outcome {
                    Ok(()) => tally.succeeded += 1,
                    Err(refusal) if names_the_loss(&refusal) => tally.refused += 1,
                    Err(refusal) => return Err(wrong(refusal)),
                }
                run.works_again().map_err(wrong)?;
            }
        }
    }
    println!("{tally:?}");
    Ok(tally)
}

fn names_the_loss(refusal: &str) -> bool {
    refusal.contains("was lost") || refusal.contains("was recorded on device generation")
}

async fn read(device: &GuardedDevice, source: &BufferBinding, value: u32) -> Result<(), String> {
    let generation = device.generation();
    let read = device.read(source).await.map_err(text)?;
    // Asked for in the very poll in which the bytes came.
    assert_eq!(device.lost(), None, "bytes of a device known to be lost");
    assert_eq!(device.generation(), generation);
    assert_eq!(read, bytes(&[value; 64]));
    Ok(())
}

fn launch(
    device: &GuardedDevice,
    kernel: &Kernel,
    bindings: &[(&BufferBinding, Access)],
) -> Result<(), String> {
    let bindings: Vec<Binding> = bindings
        .iter()
        .map(|(slice, access)| Binding::new((*slice).clone(), *access))
        .collect();
    device.launch(kernel, &bindings, [1, 1, 1]).map_err(text)
}

async fn write_and_read(device: &GuardedDevice) -> Result<(), String> {
    let a = device.alloc(256, "a").map_err(text)?;
    device.write(&a.binding(), &bytes(&[5; 64])).map_err(text)?;
    read(device, &a.binding(), 5).await
}

async fn compute(device: &GuardedDevice) -> Result<(), String> {
    let [a, b, c] = [
        device.alloc(256, "a").map_err(text)?,
        device.alloc(256, "b").map_err(text)?,
        device.alloc(256, "c").map_err(text)?,
    ];
    let (fill, next) = (
        device.kernel(fill("fill")),
        device.kernel(increment("next")),
    );
    let [a, b, c] = [a.binding(), b.binding(), c.binding()];
    // Once unproven, each launch alone; once proven, all in one submission.
    for _ in 0..2 {
        launch(device, &fill, &[(&a, Access::Write)])?;
        launch(device, &next, &[(&a, Access::Read), (&b, Access::Write)])?;
        device.copy(&b, &c).map_err(text)?;
        read(device, &c, DUE + 1).await?;
    }
    let sources = [a.clone(), c.clone()];
    let (first, (), verified) = join3(
        read(device, &b, DUE + 1),
        device.settled(),
        device.verify(&sources),
    )
    .await;
    first?;
    verified.map_err(text)
}

async fn overlapping(device: &GuardedDevice) -> Result<(), String> {
    let a = device.alloc(256, "a").map_err(text)?.clone();
    let mut reads = Vec::new();
    for round in 0..4 {
        device
            .write(&a.binding(), &bytes(&[round; 64]))
            .map_err(text)?;
        reads.push((round, device.read(&a.binding())));
    }
    let answers = join_all(reads.into_iter().map(|(round, read)| async move {
        match read.await {
            Ok(read) => {
                assert_eq!(device.lost(), None, "bytes of a device known to be lost");
                assert_eq!(read, bytes(&[round; 64]));
                Ok(())
            }
            Err(error) => Err(text(error)),
        }
    }))
    .await;
    // All of them have to name the loss: the first that does not is told.
    let refusals: Vec<String> = answers.into_iter().filter_map(Result::err).collect();
    let other = refusals.iter().find(|refusal| !names_the_loss(refusal));
    match other.or(refusals.first()) {
        Some(refusal) => Err(refusal.clone()),
        None => Ok(()),
    }
}

async fn record_and_replay(device: &GuardedDevice) -> Result<(), String> {
    let [a, b] = [
        device.alloc(256, "a").map_err(text)?,
        device.alloc(256, "b").map_err(text)?,
    ];
    let [a, b] = [a.binding(), b.binding()];
    let next = device.kernel(increment("next"));
    device.write(&a, &bytes(&[1; 64])).map_err(text)?;
    let window = device.window("window").map_err(text)?;
    launch(device, &next, &[(&a, Access::Read), (&b, Access::Write)])?;
    let graph = window.seal().await.map_err(text)?;
    read(device, &b, 2).await?;
    device.write(&a, &bytes(&[7; 64])).map_err(text)?;
    graph.replay().map_err(text)?;
    read(device, &b, 8).await
}

macro_rules! operations {
    ($($(#[$about:meta])* $name:ident: $operation:expr;)*) => {
        $(
            $(#[$about])*
            #[test]
            fn $name() {
                let tally = lose_everywhere($operation).unwrap_or_else(|wrong| panic!("{wrong}"));
                assert!(tally.succeeded > 0 && tally.refused > 20, "{tally:?}");
            }
        )*
    };
}

operations! {
    allocating_writing_and_reading: |device| {
        async move { write_and_read(&device).await }.boxed_local()
    };
    launching_copying_reading_verifying_and_settling: |device| {
        async move { compute(&device).await }.boxed_local()
    };
    overlapping_reads: |device| {
        async move { overlapping(&device).await }.boxed_local()
    };
    recording_sealing_and_replaying: |device| {
        async move { record_and_replay(&device).await }.boxed_local()
    };
    /// Of a device that is lost already; the next one goes too.
    recovering: |device| {
        async move {
            device.lose();
            device.recover().await.map_err(text)?;
            write_and_read(&device).await
        }
        .boxed_local()
    };
}

#[test]
fn an_operation_that_hangs_is_noticed() {
    let hangs: Operation = |device| {
        async move {
            device.settled().await;
            if device.lost().is_some() {
                std::future::pending::<()>().await;
            }
            write_and_read(&device).await?;
            if device.lost().is_some() {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
        .boxed_local()
    };
    let wrong = lose_everywhere(hangs).unwrap_err();
    assert!(
        wrong.contains("waits for something that never comes"),
        "{wrong}"
    );
}

#[test]
fn an_operation_that_does_not_name_the_loss_is_noticed() {
    let vague: Operation = |device| {
        async move {
            write_and_read(&device)
                .await
                .map_err(|_| "something went wrong".to_owned())
        }
        .boxed_local()
    };
    let wrong = lose_everywhere(vague).unwrap_err();
    assert!(wrong.contains("something went wrong"), "{wrong}");
}
