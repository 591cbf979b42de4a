//! Oracle: who waits does the work, who stops waiting stops nothing, and whoever can go on is woken.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;

use async_trait::async_trait;
use futures::FutureExt;
use futures::channel::oneshot;
use futures::executor::{LocalPool, block_on};
use futures::future::pending;
use futures::task::LocalSpawnExt;
use wellwritten_store::testing::{SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    OpenStore, Resolution, SaveKind, SaveOutcome, Store, StoreClient, StoreConfig, StoreGone,
    StoreReply, StoreRequest, StoreRoute, Writer, WriterConfig, serve_request,
};

use crate::controlled_route::{Answer, generation};
use crate::stage::{Stage, capture, id, poll_once};

const MIB: u64 = 1 << 20;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn who_waits_for_the_last_saves_all_before_it() {
    let stage = Stage::new(3, MIB);
    for name in ["a", "b"] {
        stage.save(SaveKind::Durable, name, 1).unwrap();
    }
    let (last, _) = stage.save(SaveKind::Durable, "c", 1).unwrap();
    let mut outcome = Box::pin(last.outcome());
    for expected in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
        assert!(poll_once(outcome.as_mut()).is_pending());
        assert_eq!(stage.route.saves(), expected);
        stage.route.commit();
    }
    assert!(block_on(outcome).is_committed());
}

/// One waiter asks the store and is dropped; the other one was there before it and is woken by the answer.
#[test]
fn a_wait_that_is_dropped_leaves_the_work_to_others() {
    let stage = Stage::new(2, MIB);
    let (ticket, _) = stage.save(SaveKind::Durable, "a", 1).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut patient = Box::pin(ticket.outcome());
    let mut hasty = Box::pin(ticket.outcome());
    assert!(
        patient
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(poll_once(hasty.as_mut()).is_pending());
    drop(hasty);
    let before = woken.times();
    stage.route.commit();
    assert!(woken.times() > before);
    assert!(poll_once(patient).is_ready());
    assert_eq!(stage.route.saves(), ["a"], "asked once");
}

#[test]
fn all_waits_dropped_lose_nothing() {
    let stage = Stage::new(2, MIB);
    let (ticket, held) = stage.save(SaveKind::Durable, "a", 1).unwrap();
    assert!(poll_once(ticket.outcome()).is_pending());
    drop(ticket);
    stage.route.commit();
    assert!(held.upgrade().is_some(), "nobody has looked");
    assert!(poll_once(stage.writer.drive()).is_pending());
    assert!(held.upgrade().is_none());
    assert_eq!(stage.told(), ["queued a", "committed a"]);
}

#[test]
fn who_waits_for_a_superseded_save_is_woken() {
    let stage = Stage::new(2, MIB);
    stage.save(SaveKind::Replaceable, "a", 1).unwrap();
    let (bound, _) = stage.save(SaveKind::Replaceable, "b", 1).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut outcome = Box::pin(bound.outcome());
    assert!(
        outcome
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let before = woken.times();
    stage.save(SaveKind::Replaceable, "c", 1).unwrap();
    assert!(woken.times() > before);
    assert!(poll_once(outcome).is_ready());
}

#[test]
fn a_driver_that_has_nothing_to_do_is_woken_and_not_before() {
    let stage = Stage::new(2, MIB);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut driver = Box::pin(stage.writer.drive());
    assert!(
        driver
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let slot = stage.writer.reserve(SaveKind::Durable, 1).unwrap();
    assert_eq!(woken.times(), 0, "it does not spin");
    let (request, _) = capture("a", 1);
    stage.writer.submit(slot, request).unwrap();
    assert_eq!(woken.times(), 1);
    assert!(
        driver
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert_eq!(
        (stage.route.saves(), woken.times()),
        (vec!["a".to_owned()], 1)
    );
}

#[test]
fn a_writer_in_the_background_saves_and_ends_with_its_owner() {
    let mut pool = LocalPool::new();
    let Stage {
        writer,
        route,
        told,
    } = Stage::new(2, MIB);
    let driver = writer.drive();
    let mut driver = pool.spawner().spawn_local_with_handle(driver).unwrap();
    let slot = writer.reserve(SaveKind::Durable, 1).unwrap();
    writer.submit(slot, capture("a", 1).0).unwrap();
    pool.run_until_stalled();
    drop(writer);
    pool.run_until_stalled();
    assert!(
        (&mut driver).now_or_never().is_none(),
        "what was taken on is saved first"
    );
    route.commit();
    pool.run_until_stalled();
    assert_eq!(*told.borrow(), ["queued a", "committed a"]);
    assert!(driver.now_or_never().is_some());
    assert_eq!(Rc::strong_count(&route), 1, "nothing of the writer is left");
}

#[test]
fn a_driver_that_has_nothing_to_do_ends_with_the_writer() {
    let is_dropped: fn(Rc<Writer>) -> Option<Rc<Writer>> = |_| None;
    let is_closed: fn(Rc<Writer>) -> Option<Rc<Writer>> = |writer| {
        block_on(writer.close(pending()));
        Some(writer)
    };
    for end in [is_dropped, is_closed] {
        let mut pool = LocalPool::new();
        let Stage { writer, route, .. } = Stage::new(2, MIB);
        let driver = pool.spawner().spawn_local_with_handle(writer.drive());
        pool.run_until_stalled();
        let writer = end(writer);
        pool.run_until_stalled();
        assert!(driver.unwrap().now_or_never().is_some());
        drop(writer);
        assert_eq!(Rc::strong_count(&route), 1, "nothing of the writer is left");
    }
}

#[test]
fn who_stopped_waiting_is_forgotten() {
    let stage = Stage::new(2, MIB);
    let (ticket, _) = stage.save(SaveKind::Durable, "a", 1).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut outcome = Box::pin(ticket.outcome());
    for _ in 0..3 {
        assert!(
            outcome
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(Arc::strong_count(&woken), 3, "remembered once");
    }
    drop(outcome);
    assert_eq!(Arc::strong_count(&woken), 2);
}

#[test]
fn a_ticket_outlives_its_writer() {
    let Stage { writer, route, .. } = Stage::new(2, MIB);
    let slot = writer.reserve(SaveKind::Durable, 1).unwrap();
    let ticket = writer.submit(slot, capture("a", 1).0).unwrap();
    drop(writer);
    assert!(poll_once(ticket.outcome()).is_pending());
    route.commit();
    assert!(block_on(ticket.outcome()).is_committed());
}

/// Of a save that still waits, "not committed" would not be the last word.
#[test]
fn resolving_waits_for_the_save_and_then_asks_about_the_same_id() {
    let stage = Stage::new(2, MIB);
    stage.save(SaveKind::Durable, "a", 1).unwrap();
    stage.save(SaveKind::Durable, "b", 1).unwrap();
    let name = id("b");
    let mut resolution = Box::pin(stage.writer.resolve(&name));
    for answer in [Answer::Gone, Answer::Gone] {
        assert!(poll_once(resolution.as_mut()).is_pending());
        assert_eq!(stage.route.resolves(), [""; 0]);
        stage.route.answer(answer);
    }
    assert!(poll_once(resolution.as_mut()).is_pending());
    assert_eq!(stage.route.resolves(), ["b"]);
    let listed = Resolution::Committed(Box::new(generation(&name)));
    stage.route.answer(Answer::resolved(listed.clone()));
    assert_eq!(block_on(resolution), Ok(listed));
    assert_eq!(stage.route.saves(), ["a", "b"], "nothing was saved again");
}

/// Two ask the store at once: who resolves does not stop the save under way, nor wait for it.
#[test]
fn resolving_another_id_does_the_work_meanwhile() {
    let stage = Stage::new(2, MIB);
    let (ticket, _) = stage.save(SaveKind::Durable, "a", 1).unwrap();
    let name = id("z");
    let mut resolution = Box::pin(stage.writer.resolve(&name));
    assert!(poll_once(resolution.as_mut()).is_pending());
    assert_eq!(
        (stage.route.saves(), stage.route.resolves()),
        (vec!["a".to_owned()], vec!["z".to_owned()])
    );
    stage.route.commit();
    assert!(poll_once(resolution.as_mut()).is_pending());
    assert!(ticket.try_outcome().unwrap().is_committed());
    stage
        .route
        .answer(Answer::resolved(Resolution::NotCommitted));
    assert_eq!(block_on(resolution), Ok(Resolution::NotCommitted));
}

type Asked = (StoreRequest, oneshot::Sender<StoreReply>);

/// The way to a store on a thread of its own.
struct ThreadRoute(mpsc::Sender<Asked>);

#[async_trait(?Send)]
impl StoreRoute for ThreadRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let gone = |reason: &str| StoreGone {
            reason: reason.to_owned(),
        };
        let (answer, answered) = oneshot::channel();
        let sent = self.0.send((request, answer));
        sent.map_err(|_| gone("it has ended"))?;
        answered.await.map_err(|_| gone("it ended"))
    }
}

#[test]
fn a_store_on_another_thread_wakes_who_waits_and_its_end_is_a_lost_reply() {
    let (asking, asked) = mpsc::channel::<Asked>();
    let owner = thread::spawn(move || {
        let opened = block_on(Store::open(SimulatedMedium::new(), StoreConfig::default()));
        let mut store = OpenStore::Owned(opened.unwrap().0);
        for (request, answer) in asked.iter().take(3) {
            answer
                .send(block_on(serve_request(&mut store, request)))
                .unwrap();
        }
        // Takes one more request with it.
        drop(asked.recv().unwrap());
    });
    let client = StoreClient::new(Rc::new(ThreadRoute(asking)));
    let writer = Writer::new(client, WriterConfig::default(), Rc::new(|_| {})).unwrap();
    let save = |name: &str| {
        let slot = writer.reserve(SaveKind::Durable, 10).unwrap();
        let request = SampleGeneration::new(name, "e1", 10).to_save();
        block_on(writer.submit(slot, request).unwrap().outcome())
    };
    for name in ["a", "b", "c"] {
        assert!(save(name).is_committed());
    }
    for name in ["d", "e"] {
        let outcome = save(name);
        assert!(
            matches!(outcome, SaveOutcome::ReplyLost { .. }),
            "{outcome:?}"
        );
    }
    owner.join().unwrap();
}
