//! Oracle: a [`Model`] that counts everything anew from a list of all there ever was. Captures, refusals, answers of the
//! store, waits that are polled, dropped or never begun, and closing, in random order, must show after every call what
//! the model does; and at the end, who waits must have been woken.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store --test writer random -- --nocapture`;
//! `WELLWRITTEN_LONG=1` runs a hundred times as many.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use wellwritten_store::{
    CommitError, MediumError, Resolution, SaveKind, SaveRefusal, SaveSlot, SaveTicket, StoreReply,
    WriterEvent,
};

use crate::controlled_route::{Answer, committed, generation};
use crate::model::{Mistake, Model, Place, Save, Word};
use crate::random::{Random, seeds};
use crate::stage::{Stage, capture, id, words};

const LIMIT: u64 = 100;

/// Whether a task was woken since it was last polled.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// The background driver.
    Drives,
    /// For the outcome of one save.
    For(usize),
    /// Until everything ended.
    Closes,
}

struct Waiter {
    waits: Waits,
    begun: bool,
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Flag>,
}

struct Run {
    random: Random,
    stage: Stage,
    model: Model,
    slots: Vec<(usize, SaveSlot)>,
    tickets: Vec<(SaveTicket, Weak<Vec<u8>>)>,
    waiters: Vec<Waiter>,
    /// Whether closing has waited long enough.
    is_over: Rc<Cell<bool>>,
    seen: BTreeMap<String, u64>,
    /// Of ten captures, how many are replaceable.
    replaceable_of_ten: usize,
    /// Captures are smaller than this, most of them.
    usual_length: usize,
    /// The store answers when it could, every so many times.
    slowness: usize,
}

fn refusal(refusal: &SaveRefusal) -> &'static str {
    match refusal {
        SaveRefusal::Full { .. } => "full",
        SaveRefusal::OverBudget { .. } => "over budget",
        SaveRefusal::AlreadyQueued { .. } => "already queued",
        SaveRefusal::Closed => "closed",
        _ => "unexpected",
    }
}

impl Run {
    fn new(seed: u64, mistake: Option<Mistake>) -> Self {
        let mut random = Random::new(seed);
        let capacity = [1, 2, 2, 3, 4, 5][random.below(6)];
        let replaceable_of_ten = [2, 5, 10][random.below(3)];
        let usual_length = [20, 60][random.below(2)];
        let slowness = [1, 5][random.below(2)];
        Self {
            random,
            stage: Stage::new(capacity, LIMIT),
            model: Model::new(capacity, LIMIT, mistake),
            slots: Vec::new(),
            tickets: Vec::new(),
            waiters: Vec::new(),
            is_over: Rc::default(),
            seen: BTreeMap::new(),
            replaceable_of_ten,
            usual_length,
            slowness,
        }
    }

    fn go(&mut self, actions: usize) -> Result<(), String> {
        for action in 0..actions {
            match self.random.below(22) {
                0..=4 => self.reserve()?,
                5 | 6 if !self.slots.is_empty() => self.give_back(),
                7..=10 if !self.slots.is_empty() => self.submit()?,
                11 | 12 => self.begin_to_wait(),
                13 if !self.waiters.is_empty() => self.stop_waiting(),
                14 if action + 10 > actions => self.is_over.set(self.random.one_in(2)),
                15 if action + 10 > actions => self.wait(Waits::Closes),
                16..=18 if self.random.one_in(self.slowness) => self.answer()?,
                _ if !self.waiters.is_empty() => {
                    let index = self.random.below(self.waiters.len());
                    self.poll(index)?;
                }
                _ => {}
            }
            self.check()?;
        }
        self.finish()
    }

    fn see(&mut self, what: &str) {
        *self.seen.entry(what.to_owned()).or_default() += 1;
    }

    fn reserve(&mut self) -> Result<(), String> {
        let kind = if self.random.below(10) < self.replaceable_of_ten {
            SaveKind::Replaceable
        } else {
            SaveKind::Durable
        };
        let estimate = self.random.below(self.usual_length) as u64;
        let modelled = self.model.reserve(kind, estimate);
        match (self.stage.writer.reserve(kind, estimate), modelled) {
            (Ok(slot), Ok(number)) => self.slots.push((number, slot)),
            (Err(refused), Err(expected)) if refusal(&refused) == expected => self.see(expected),
            (reserved, expected) => return Err(format!("{reserved:?}, expected {expected:?}")),
        }
        Ok(())
    }

    fn give_back(&mut self) {
        let (number, slot) = self.slots.remove(self.random.below(self.slots.len()));
        drop(slot);
        self.model.give_back(number);
    }

    fn submit(&mut self) -> Result<(), String> {
        let (number, slot) = self.slots.remove(self.random.below(self.slots.len()));
        // Now and then a name again.
        let count = self.model.saves.len();
        let again = count > 0 && self.random.one_in(6);
        let name = if again {
            self.model.saves[self.random.below(count)].name.clone()
        } else {
            format!("s{count}")
        };
        let longest = if self.random.one_in(10) {
            120
        } else {
            self.usual_length
        };
        let length = self.random.below(longest);
        let (request, held) = capture(&name, length);
        let modelled = self.model.submit(number, &name, length as u64);
        match (self.stage.writer.submit(slot, request), modelled) {
            (Ok(ticket), Ok(_)) => self.tickets.push((ticket, held)),
            (Err(refused), Err(expected)) if refusal(&refused) == expected => {
                if held.upgrade().is_some() {
                    return Err(format!("{name} was refused and is held"));
                }
                self.see(&format!("submit {expected}"));
            }
            (submitted, expected) => return Err(format!("{submitted:?}, expected {expected:?}")),
        }
        Ok(())
    }

    fn begin_to_wait(&mut self) {
        let drives = self.tickets.is_empty() || self.random.one_in(3);
        let waits = if drives {
            Waits::Drives
        } else {
            Waits::For(self.random.below(self.tickets.len()))
        };
        self.wait(waits);
    }

    fn wait(&mut self, waits: Waits) {
        let future: Pin<Box<dyn Future<Output = ()>>> = match waits {
            Waits::Drives => Box::pin(self.stage.writer.drive()),
            Waits::For(index) => {
                let ticket = self.tickets[index].0.clone();
                Box::pin(async move { drop(ticket.outcome().await) })
            }
            Waits::Closes => {
                let writer = Rc::clone(&self.stage.writer);
                let is_over = Rc::clone(&self.is_over);
                let within = poll_fn(move |context| {
                    // As good as a clock: it looks whenever it may.
                    context.waker().wake_by_ref();
                    if is_over.get() {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                });
                Box::pin(async move { drop(writer.close(within).await) })
            }
        };
        let woken = Arc::new(Flag(true.into()));
        self.waiters.push(Waiter {
            waits,
            begun: false,
            future,
            woken,
        });
    }

    fn stop_waiting(&mut self) {
        let stopped = self.waiters.remove(self.random.below(self.waiters.len()));
        if stopped.begun {
            self.see("stopped waiting");
        }
    }

    fn poll(&mut self, index: usize) -> Result<(), String> {
        let waiter = &mut self.waiters[index];
        let waits = waiter.waits;
        if waits == Waits::Closes && !waiter.begun {
            self.model.closed = true;
        }
        waiter.begun = true;
        waiter.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&waiter.woken));
        let ready = waiter
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready();
        self.model.turn();
        let nothing_left = self.model.saves.iter().all(Save::has_ended);
        let expected = match waits {
            Waits::For(save) => self.model.saves[save].has_ended(),
            Waits::Drives => self.model.closed && nothing_left,
            Waits::Closes if nothing_left => true,
            Waits::Closes => {
                let is_over = self.is_over.get();
                if is_over {
                    self.model.give_up();
                    self.see("closed before the end");
                }
                is_over
            }
        };
        if ready != expected {
            return Err(format!("{waits:?} is ready: {ready}, expected {expected}"));
        }
        if ready {
            self.waiters.remove(index);
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<(), String> {
        let held = self.stage.route.held();
        if held.is_some() != self.model.is_held() {
            return Err(format!("the store is asked about {held:?}"));
        }
        let Some(checkpoint_id) = held else {
            return Ok(());
        };
        let word = [
            Word::Commits,
            Word::Commits,
            Word::Refuses,
            Word::CannotSay,
            Word::Gone,
            Word::Panics,
        ][self.random.below(6)];
        let unknown = CommitError::OutcomeUnknown {
            source: MediumError::Io {
                file: "manifest.json".to_owned(),
                name: "EIO".to_owned(),
                message: "injected".to_owned(),
            },
        };
        let first = self.model.saves.iter().find(|save| !save.has_ended());
        let again = first.is_some_and(|save| {
            matches!(save.place, Place::UnderWay { heard: true, .. }) && !save.is_held()
        });
        let answer = match (word, again) {
            (Word::Gone, _) => Answer::Gone,
            (Word::Panics, _) => Answer::Panics,
            (Word::Commits, false) => Answer::saved(Ok(committed(&checkpoint_id))),
            (Word::Refuses, false) => Answer::saved(Err(CommitError::ReadOnly)),
            (Word::CannotSay, false) => Answer::saved(Err(unknown)),
            (Word::Commits, true) => {
                Answer::resolved(Resolution::Committed(Box::new(generation(&checkpoint_id))))
            }
            (Word::Refuses, true) => Answer::resolved(Resolution::NotCommitted),
            (Word::CannotSay, true) => Answer::Reply(Box::new(StoreReply::Resolved(Err(unknown)))),
        };
        self.see(&format!("{word:?}"));
        self.stage.route.answer(answer);
        self.model.answer(word);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let writer = &self.stage.writer;
        expect("statistics", &writer.statistics(), &self.model.statistics())?;
        expect("estimate", &writer.estimate(), &self.model.estimate())?;
        expect("told", &*self.stage.told.borrow(), &self.model.told)?;
        expect(
            "asked to save",
            &self.stage.route.saves(),
            &self.model.heard,
        )?;
        expect(
            "asked about",
            &self.stage.route.resolves(),
            &self.model.asked_about,
        )?;
        for ((ticket, held), save) in self.tickets.iter().zip(&self.model.saves) {
            let outcome = ticket
                .try_outcome()
                .map(|outcome| words(&WriterEvent::Ended(outcome)));
            let place = match &save.place {
                Place::Ended(words) => Some(words.clone()),
                _ => None,
            };
            expect("outcome", &outcome, &place)?;
            expect("payload held", &held.upgrade().is_some(), &save.is_held())?;
            let found = writer.ticket(&id(&save.name)).is_some();
            expect("ticket", &found, &self.model.is_going(&save.name))?;
        }
        Ok(())
    }

    /// Nothing more comes. Whoever still waits is polled only where they were woken, and must come to an end.
    fn finish(&mut self) -> Result<(), String> {
        self.waiters.retain(|waiter| waiter.waits != Waits::Closes);
        loop {
            let woken = self
                .waiters
                .iter()
                .position(|one| one.woken.0.load(Ordering::SeqCst));
            if let Some(index) = woken {
                self.poll(index)?;
            } else if self.stage.route.held().is_some() {
                self.answer()?;
            } else {
                break;
            }
            self.check()?;
        }
        let drives = self.waiters.iter().any(|one| one.waits == Waits::Drives);
        let left = self.model.saves.iter().any(|save| !save.has_ended());
        if drives && left {
            return Err("it is driven, and something is left".to_owned());
        }
        if let Some(forgotten) = self.waiters.iter().find(|one| one.waits != Waits::Drives) {
            return Err(format!("{:?} was not woken", forgotten.waits));
        }
        self.slots.clear();
        let left = self.model.saves.iter().filter(|save| !save.has_ended());
        let outstanding = self.stage.writer.statistics().outstanding;
        expect("slots", &outstanding, &(left.count() as u64))
    }
}

fn expect<T: std::fmt::Debug + PartialEq>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, expected {expected:?}"))
    }
}

#[test]
fn random_sequences_show_what_the_model_does() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let seeds = seeds(4000);
    for seed in &seeds {
        let mut run = Run::new(*seed, None);
        if let Err(violation) = run.go(60) {
            panic!("seed {seed}: {violation}; replay with WELLWRITTEN_SEED={seed}");
        }
        let statistics = run.stage.writer.statistics();
        for (what, count) in [
            ("committed", statistics.committed),
            ("failed", statistics.failed),
            ("superseded", statistics.superseded),
            ("reply lost", statistics.reply_lost),
        ] {
            *seen.entry(what.to_owned()).or_default() += count;
        }
        for (what, count) in run.seen {
            *seen.entry(what).or_default() += count;
        }
    }
    println!("{} sequences: {seen:?}", seeds.len());
    if seeds.len() > 1 {
        for what in [
            "full",
            "over budget",
            "closed",
            "submit over budget",
            "submit already queued",
            "submit closed",
            "committed",
            "failed",
            "superseded",
            "reply lost",
            "Panics",
            "stopped waiting",
            "closed before the end",
        ] {
            assert!(seen.get(what) > Some(&0), "{what} was never seen");
        }
    }
}

/// Canary: a model that gets one rule wrong is told apart from the writer.
#[test]
fn every_mistake_of_a_model_is_noticed() {
    for mistake in [
        Mistake::DurableIsReplaced,
        Mistake::FlightIsReplaced,
        Mistake::PromisedTwice,
        Mistake::SlotForNewcomers,
        Mistake::SlotForWhoCameFirst,
        Mistake::FlightIsFree,
        Mistake::SupersededBytesCount,
        Mistake::QueuedIsToldFirst,
        Mistake::PanicIsLost,
        Mistake::LostIsFailed,
        Mistake::RefusedKeepsSlot,
        Mistake::HeldUntilTold,
        Mistake::LateStart,
    ] {
        let noticed = (0..4000).find(|seed| Run::new(*seed, Some(mistake)).go(60).is_err());
        println!("{mistake:?}: noticed with seed {noticed:?}");
        assert!(noticed.is_some(), "{mistake:?} was not noticed");
    }
}

/// Canary: who waits and is not woken is noticed.
#[test]
fn a_wake_that_is_lost_is_noticed() {
    let mut run = Run::new(1, None);
    run.stage.route.wakes_nobody.set(true);
    run.stage.save(SaveKind::Durable, "s0", 1).unwrap();
    run.model.reserve(SaveKind::Durable, 1).unwrap();
    run.model.submit(1, "s0", 1).unwrap();
    run.wait(Waits::Drives);
    assert_eq!(
        run.finish(),
        Err("it is driven, and something is left".to_owned())
    );
}
