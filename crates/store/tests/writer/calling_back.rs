//! Oracle: an observer that calls the writer, panics, or lets go of payloads in the middle changes nothing about what
//! happens and in what order it is told.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::{self, Arc};
use std::task::Poll;

use async_trait::async_trait;
use futures::executor::block_on;
use futures::future::{pending, ready};
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    CommitError, PayloadBytes, SaveKind, SaveOutcome, SaveRequest, SaveTicket, Store, StoreClient,
    StoreConfig, StoreGone, StoreReply, StoreRequest, StoreRoute, Writer, WriterConfig,
    WriterEvent,
};

use crate::controlled_route::ControlledRoute;
use crate::random::{Random, seeds};
use crate::stage::{capture, id, poll_once, words};

type Callback = Box<dyn Fn(&Writer, &WriterEvent)>;

/// A writer whose observer does something with it.
struct Loop {
    writer: Rc<Writer>,
    told: Rc<RefCell<Vec<String>>>,
}

impl Loop {
    fn new(client: StoreClient, config: WriterConfig, callback: Callback) -> Self {
        let told = Rc::new(RefCell::new(Vec::new()));
        let own: Rc<RefCell<Weak<Writer>>> = Rc::default();
        let observer = {
            let (told, own) = (Rc::clone(&told), Rc::clone(&own));
            move |event: WriterEvent| {
                told.borrow_mut().push(words(&event));
                let writer = own.borrow().upgrade();
                if let Some(writer) = writer {
                    callback(&writer, &event);
                }
            }
        };
        let writer = Writer::new(client, config, Rc::new(observer)).unwrap();
        *own.borrow_mut() = Rc::downgrade(&writer);
        Self { writer, told }
    }
}

fn save(writer: &Writer, kind: SaveKind, name: &str) -> Option<SaveTicket> {
    let slot = writer.reserve(kind, 10).ok()?;
    writer.submit(slot, capture(name, 10).0).ok()
}

#[test]
fn an_observer_that_saves_is_told_in_the_order_in_which_it_happened() {
    let route = Rc::new(ControlledRoute::default());
    let client = StoreClient::new(Rc::<ControlledRoute>::clone(&route));
    let callback: Callback = Box::new(|writer, event| match words(event).as_str() {
        // Before the store hears of `a`, and before whoever handed it in has its ticket.
        "queued a" => {
            assert!(poll_once(writer.driving(pending::<()>())).is_pending());
            save(writer, SaveKind::Replaceable, "b");
            assert_eq!(writer.statistics().queued, 2);
        }
        "queued b" => drop(save(writer, SaveKind::Replaceable, "c")),
        "superseded b by c" => {
            assert!(writer.ticket(&id("b")).is_none());
            assert!(writer.ticket(&id("c")).is_some());
        }
        "committed a" => drop(save(writer, SaveKind::Durable, "d")),
        _ => {}
    });
    let stage = Loop::new(client, WriterConfig::default(), callback);
    let ticket = save(&stage.writer, SaveKind::Durable, "a").unwrap();
    assert_eq!(route.saves(), [""; 0], "nothing began while it was told");
    assert!(poll_once(ticket.outcome()).is_pending());
    route.commit();
    assert!(block_on(ticket.outcome()).is_committed());
    assert!(poll_once(stage.writer.drive()).is_pending());
    route.commit();
    assert!(poll_once(stage.writer.drive()).is_pending());
    assert_eq!(
        *stage.told.borrow(),
        [
            "queued a",
            "queued b",
            "superseded b by c",
            "queued c",
            "committed a",
            "queued d",
            "committed c"
        ]
    );
    assert_eq!(route.saves(), ["a", "c", "d"]);
}

#[test]
fn an_outcome_is_seen_when_it_is_told_and_its_payloads_are_gone() {
    let route = Rc::new(ControlledRoute::default());
    let client = StoreClient::new(Rc::<ControlledRoute>::clone(&route));
    let payload: Rc<RefCell<Option<sync::Weak<Vec<u8>>>>> = Rc::default();
    let ticket: Rc<RefCell<Option<SaveTicket>>> = Rc::default();
    let looked = Rc::new(RefCell::new(0));
    let callback: Callback = {
        let (payload, ticket, looked) =
            (Rc::clone(&payload), Rc::clone(&ticket), Rc::clone(&looked));
        Box::new(move |writer, event| {
            if let WriterEvent::Ended(outcome) = event {
                let ticket = ticket.borrow();
                assert_eq!(
                    ticket.as_ref().unwrap().try_outcome().as_ref(),
                    Some(outcome)
                );
                assert!(payload.borrow().as_ref().unwrap().upgrade().is_none());
                assert_eq!(writer.statistics().held_bytes, 0);
                assert_eq!(writer.statistics().outstanding, 0);
                *looked.borrow_mut() += 1;
            }
        })
    };
    let stage = Loop::new(client, WriterConfig::default(), callback);
    let slot = stage.writer.reserve(SaveKind::Durable, 10).unwrap();
    let (request, held) = capture("a", 10);
    *payload.borrow_mut() = Some(held);
    *ticket.borrow_mut() = Some(stage.writer.submit(slot, request).unwrap());
    assert!(poll_once(stage.writer.drive()).is_pending());
    route.commit();
    assert!(poll_once(stage.writer.drive()).is_pending());
    assert_eq!(*looked.borrow(), 1);
}

/// It panics out of whoever caused the event, and the writer goes on with what it had not told.
#[test]
fn an_observer_that_panics_loses_nothing_but_its_own_call() {
    let route = Rc::new(ControlledRoute::default());
    let client = StoreClient::new(Rc::<ControlledRoute>::clone(&route));
    let callback: Callback = Box::new(|_, event| {
        if words(event) == "superseded b by c" {
            // Without a message on the terminal.
            std::panic::resume_unwind(Box::new("observer"));
        }
    });
    let stage = Loop::new(client, WriterConfig::default(), callback);
    let first = save(&stage.writer, SaveKind::Replaceable, "a").unwrap();
    let second = save(&stage.writer, SaveKind::Replaceable, "b").unwrap();
    let submit = AssertUnwindSafe(|| save(&stage.writer, SaveKind::Replaceable, "c"));
    catch_unwind(submit).unwrap_err();
    assert!(second.try_outcome().is_some());
    let third = stage.writer.ticket(&id("c")).unwrap();
    for ticket in [first, third] {
        assert!(poll_once(ticket.outcome()).is_pending());
        route.commit();
        assert!(block_on(ticket.outcome()).is_committed());
    }
    assert_eq!(
        *stage.told.borrow(),
        [
            "queued a",
            "queued b",
            "superseded b by c",
            "queued c",
            "committed a",
            "committed c"
        ]
    );
}

/// It would hold them for ever: every save that ends is followed by another one.
#[test]
fn an_observer_that_always_saves_does_not_hold_who_waits() {
    let (store, _) = block_on(Store::open(SimulatedMedium::new(), StoreConfig::default())).unwrap();
    let callback: Callback = Box::new(|writer, event| {
        let queued = writer.statistics().queued;
        if matches!(event, WriterEvent::Ended(_)) && queued < 100 {
            // Refused, once the writer is closed.
            if let Ok(slot) = writer.reserve(SaveKind::Durable, 10) {
                let name = format!("s{queued}");
                let request = SampleGeneration::new(&name, "e1", 10).to_save();
                writer.submit(slot, request).unwrap();
            }
        }
    });
    let stage = Loop::new(StoreClient::local(store), WriterConfig::default(), callback);
    save(&stage.writer, SaveKind::Durable, "first").unwrap();
    assert!(poll_once(stage.writer.drive()).is_pending());
    assert_eq!(
        stage.writer.statistics().queued,
        2,
        "one ended, one was handed in"
    );
    block_on(stage.writer.close(pending()));
}

/// A store that closes the writer in the middle of a save, and then does or does not answer.
struct ClosingRoute {
    writer: RefCell<Option<Rc<Writer>>>,
    answers: bool,
}

#[async_trait(?Send)]
impl StoreRoute for ClosingRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let writer = self.writer.take().unwrap();
        let closed = poll_once(writer.close(ready(())));
        assert!(matches!(closed, Poll::Ready(outcomes) if outcomes.len() == 1));
        if !self.answers {
            pending::<()>().await;
        }
        drop(request);
        Ok(StoreReply::Saved(Err(CommitError::ReadOnly)))
    }
}

#[test]
fn a_save_that_is_given_up_while_the_store_works_ends_once() {
    for answers in [false, true] {
        let route = Rc::new(ClosingRoute {
            writer: RefCell::default(),
            answers,
        });
        let client = StoreClient::new(Rc::<ClosingRoute>::clone(&route));
        let stage = Loop::new(client, WriterConfig::default(), Box::new(|_, _| {}));
        *route.writer.borrow_mut() = Some(Rc::clone(&stage.writer));
        let slot = stage.writer.reserve(SaveKind::Durable, 10).unwrap();
        let (request, held) = capture("a", 10);
        let ticket = stage.writer.submit(slot, request).unwrap();
        let outcome = block_on(ticket.outcome());
        assert!(
            matches!(outcome, SaveOutcome::ReplyLost { .. }),
            "{outcome:?}"
        );
        assert!(held.upgrade().is_none(), "answers: {answers}");
        assert_eq!(*stage.told.borrow(), ["queued a", "reply lost a"]);
    }
}

/// Bytes whose owner calls the writer as it lets them go.
struct Bytes(Box<dyn Fn() + Send + Sync>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        b"bytes"
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    static WRITER: RefCell<Option<Rc<Writer>>> = const { RefCell::new(None) };
    static OUTCOMES: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn an_owner_of_payloads_that_calls_back_finds_everything_in_order() {
    let route = Rc::new(ControlledRoute::default());
    let client = StoreClient::new(Rc::<ControlledRoute>::clone(&route));
    let stage = Loop::new(client, WriterConfig::default(), Box::new(|_, _| {}));
    WRITER.set(Some(Rc::clone(&stage.writer)));
    save(&stage.writer, SaveKind::Replaceable, "a").unwrap();
    let bytes: PayloadBytes = Arc::new(Bytes(Box::new(|| {
        let writer = WRITER.with_borrow(Clone::clone).unwrap();
        // The capture that takes its place is there, and this one is gone.
        OUTCOMES.with_borrow_mut(|seen| {
            seen.extend([
                writer.ticket(&id("b")).is_some(),
                writer.ticket(&id("c")).is_some(),
            ]);
        });
        drop(writer.reserve(SaveKind::Replaceable, 10));
    })));
    let slot = stage.writer.reserve(SaveKind::Replaceable, 10).unwrap();
    let request = SaveRequest {
        payloads: vec![(id("world"), bytes)],
        ..capture("b", 0).0
    };
    let ticket = stage.writer.submit(slot, request).unwrap();
    save(&stage.writer, SaveKind::Replaceable, "c").unwrap();
    assert_eq!(OUTCOMES.take(), [false, true]);
    assert!(ticket.try_outcome().is_some());
    assert_eq!(stage.writer.statistics().outstanding, 2);
    WRITER.set(None);
}

/// Whatever an observer does with the writer, over a real store: every save is told once in order, the limits hold, and
/// what is in the store is what was acknowledged.
#[test]
fn observers_that_do_anything_at_random_change_no_rule() {
    let seeds = seeds(60);
    let mut nested = 0;
    for seed in &seeds {
        let medium = SimulatedMedium::new();
        let config = StoreConfig {
            keep_generations: 100,
        };
        let (store, _) = block_on(Store::open(medium, config)).unwrap();
        let client = StoreClient::local(store);
        let random = Rc::new(RefCell::new(Random::new(*seed)));
        let names = Rc::new(RefCell::new(0));
        let saved_inside = Rc::new(RefCell::new(0));
        let next = {
            let (random, names) = (Rc::clone(&random), Rc::clone(&names));
            move |writer: &Writer| {
                let replaceable = random.borrow_mut().one_in(2);
                let kind = [SaveKind::Durable, SaveKind::Replaceable][usize::from(replaceable)];
                let slot = writer.reserve(kind, 10).ok()?;
                *names.borrow_mut() += 1;
                let name = format!("s{}", names.borrow());
                let request = SampleGeneration::new(&name, "e1", 10).to_save();
                Some(writer.submit(slot, request).unwrap())
            }
        };
        let callback: Callback = {
            let (random, next) = (Rc::clone(&random), next.clone());
            let saved_inside = Rc::clone(&saved_inside);
            Box::new(move |writer, _| {
                let statistics = writer.statistics();
                assert!(statistics.outstanding <= 2 && statistics.held_bytes <= 64 << 20);
                let what = random.borrow_mut().below(4);
                match what {
                    0 if *saved_inside.borrow() < 20 => {
                        *saved_inside.borrow_mut() += usize::from(next(writer).is_some());
                    }
                    1 => drop(writer.reserve(SaveKind::Replaceable, 10)),
                    2 => assert!(poll_once(writer.driving(pending::<()>())).is_pending()),
                    _ => {}
                }
            })
        };
        let stage = Loop::new(client.clone(), WriterConfig::default(), callback);
        for _ in 0..20 {
            next(&stage.writer);
            if random.borrow_mut().one_in(3) {
                let _ = poll_once(stage.writer.drive());
            }
        }
        block_on(stage.writer.close(ready(())));
        let told = stage.told.borrow();
        let mut committed = Vec::new();
        for number in 1..=*names.borrow() {
            let name = format!("s{number}");
            let of_it: Vec<&String> = told
                .iter()
                .filter(|words| words.split(' ').nth(1) == Some(&name))
                .collect();
            assert!(
                of_it.len() == 2
                    && of_it[0].starts_with("queued")
                    && !of_it[1].starts_with("queued"),
                "seed {seed}: {of_it:?}"
            );
            if of_it[1].starts_with("committed") {
                committed.push(name);
            }
        }
        let list = block_on(client.generations()).unwrap();
        let listed: Vec<String> = list
            .generations
            .iter()
            .map(|one| one.info.checkpoint_id.to_string())
            .collect();
        assert_eq!(listed, committed, "seed {seed}");
        nested += *saved_inside.borrow();
    }
    assert!(seeds.len() == 1 || nested > 0);
}
