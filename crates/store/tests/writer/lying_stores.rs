//! Oracle: the files on the disk. A real store on a disk that fails at any step of a commit, behind a way that loses
//! answers, stalls, panics before or after, or ends: what was acknowledged is there whole, what failed is not, nothing
//! is saved twice, and of what is not known the store can be asked.
//!
//! Replay one seed with `WELLWRITTEN_SEED=<seed> cargo test -p wellwritten-store --test writer lying -- --nocapture`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use futures::executor::block_on;
use futures::future::ready;
use wellwritten_store::testing::{Fault, SampleGeneration, SimulatedMedium};
use wellwritten_store::{
    CommitError, MediumError, OpenStore, Resolution, SaveKind, SaveOutcome, Store, StoreClient,
    StoreConfig, StoreGone, StoreReader, StoreReply, StoreRequest, StoreRoute, Writer,
    WriterConfig, serve_request,
};

use crate::random::{Random, seeds};
use crate::stage::{id, poll_once};

/// What goes wrong with one save on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// Answered, and the answer is lost.
    LosesReply,
    /// Never reaches the store.
    LosesRequest,
    PanicsBefore,
    PanicsAfter,
    /// The store does its work in several turns.
    Dawdles,
    /// The store answers another question.
    AnswersSomethingElse,
}

const LIES: [Lie; 7] = [
    Lie::Nothing,
    Lie::LosesReply,
    Lie::LosesRequest,
    Lie::PanicsBefore,
    Lie::PanicsAfter,
    Lie::Dawdles,
    Lie::AnswersSomethingElse,
];

struct LyingRoute {
    store: futures::lock::Mutex<OpenStore<SimulatedMedium>>,
    lie: Cell<Lie>,
    saves: RefCell<Vec<String>>,
}

impl LyingRoute {
    fn new(medium: &SimulatedMedium) -> Rc<Self> {
        let config = StoreConfig {
            keep_generations: 100,
        };
        let (store, _) = block_on(Store::open(medium.clone(), config)).unwrap();
        Rc::new(Self {
            store: OpenStore::Owned(store).into(),
            lie: Cell::new(Lie::Nothing),
            saves: RefCell::default(),
        })
    }
}

#[async_trait(?Send)]
impl StoreRoute for LyingRoute {
    async fn call(&self, request: StoreRequest) -> Result<StoreReply, StoreGone> {
        let lost = || StoreGone {
            reason: "lost on the way".to_owned(),
        };
        let mut lie = Lie::Nothing;
        if let StoreRequest::Save(save) = &request {
            let name = save.manifest.checkpoint_id.to_string();
            self.saves.borrow_mut().push(name);
            lie = self.lie.get();
        }
        match lie {
            Lie::LosesRequest => return Err(lost()),
            Lie::PanicsBefore => std::panic::resume_unwind(Box::new("before")),
            Lie::AnswersSomethingElse => return Ok(StoreReply::EpochUsed(Ok(true))),
            Lie::Dawdles => {
                let mut turns = 3;
                poll_fn(|context| {
                    turns -= 1;
                    context.waker().wake_by_ref();
                    if turns == 0 {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                })
                .await;
            }
            _ => {}
        }
        let reply = serve_request(&mut *self.store.lock().await, request).await;
        match lie {
            Lie::LosesReply => Err(lost()),
            Lie::PanicsAfter => std::panic::resume_unwind(Box::new("after")),
            _ => Ok(reply),
        }
    }
}

fn io_error() -> MediumError {
    MediumError::Io {
        file: "disk".to_owned(),
        name: "EIO".to_owned(),
        message: "injected".to_owned(),
    }
}

struct Scene {
    medium: SimulatedMedium,
    route: Rc<LyingRoute>,
    client: StoreClient,
    writer: Rc<Writer>,
}

impl Scene {
    fn new(queue_capacity: usize) -> Self {
        let medium = SimulatedMedium::new();
        let route = LyingRoute::new(&medium);
        let client = StoreClient::new(Rc::<LyingRoute>::clone(&route));
        let config = WriterConfig {
            queue_capacity,
            ..WriterConfig::default()
        };
        let writer = Writer::new(client.clone(), config, Rc::new(|_| {})).unwrap();
        Self {
            medium,
            route,
            client,
            writer,
        }
    }

    fn save(&self, name: &str) -> SaveOutcome {
        let slot = self.writer.reserve(SaveKind::Durable, 100).unwrap();
        let request = SampleGeneration::new(name, "e1", 10).to_save();
        let ticket = self.writer.submit(slot, request).unwrap();
        block_on(ticket.outcome())
    }

    fn is_listed(&self, name: &str) -> bool {
        let list = block_on(self.client.generations()).unwrap();
        let mut listed = list.generations.iter();
        listed.any(|one| one.info.checkpoint_id == id(name))
    }
}

#[test]
fn every_lie_has_the_outcome_that_is_known() {
    for lie in LIES {
        let scene = Scene::new(2);
        scene.route.lie.set(lie);
        let outcome = scene.save("a");
        scene.route.lie.set(Lie::Nothing);
        let listed = scene.is_listed("a");
        let resolution = block_on(scene.writer.resolve(&id("a"))).unwrap();
        assert_eq!(
            matches!(resolution, Resolution::Committed(_)),
            listed,
            "{lie:?}"
        );
        let is_lost = matches!(outcome, SaveOutcome::ReplyLost { .. });
        let is_uncertain = matches!(
            outcome,
            SaveOutcome::Committed {
                uncertainty: Some(_),
                ..
            }
        );
        let seen = (outcome.is_committed(), is_uncertain, is_lost, listed);
        let expected = match lie {
            Lie::Nothing | Lie::Dawdles => (true, false, false, true),
            Lie::LosesReply => (false, false, true, true),
            Lie::LosesRequest | Lie::AnswersSomethingElse => (false, false, true, false),
            Lie::PanicsBefore => (false, false, false, false),
            Lie::PanicsAfter => (true, true, false, true),
        };
        assert_eq!(seen, expected, "{lie:?}: {outcome:?}");
        assert_eq!(*scene.route.saves.borrow(), ["a"], "{lie:?}: saved once");
        assert!(
            scene.save("b").is_committed(),
            "{lie:?}: the next one is saved"
        );
    }
}

/// At every operation of a commit: it fails, or it is done and fails nevertheless, or it never returns.
#[test]
fn a_failure_at_any_step_of_a_commit_is_that_saves_alone() {
    let operations = {
        let scene = Scene::new(2);
        let before = scene.medium.operations().len();
        assert!(scene.save("a").is_committed());
        scene.medium.operations().len() - before
    };
    let (mut committed, mut failed) = (0, 0);
    for step in 0..operations {
        for fault in [Fault::Fails(io_error()), Fault::HappensAndFails(io_error())] {
            let scene = Scene::new(2);
            let at = scene.medium.operations().len() + step;
            scene.medium.inject(at, fault.clone());
            let outcome = scene.save("a");
            scene.medium.heal();
            let what = format!("step {step}, {fault:?}: {outcome:?}");
            match &outcome {
                SaveOutcome::Committed { .. } => committed += 1,
                SaveOutcome::Failed { .. } => failed += 1,
                other => panic!("with a manifest that can be read all is known: {other:?}"),
            }
            assert_eq!(scene.is_listed("a"), outcome.is_committed(), "{what}");
            assert!(scene.save("b").is_committed(), "{what}");
            assert!(scene.is_listed("b"), "{what}");
        }
    }
    assert!(
        operations > 8 && committed > 0 && failed > 8,
        "{operations}: {committed}, {failed}"
    );
}

#[test]
fn a_disk_that_never_answers_holds_two_captures_and_no_one() {
    let scene = Scene::new(2);
    scene
        .medium
        .inject(scene.medium.operations().len(), Fault::Hangs);
    let submit = |name: &str| {
        let slot = scene.writer.reserve(SaveKind::Durable, 10)?;
        scene
            .writer
            .submit(slot, SampleGeneration::new(name, "e1", 10).to_save())
    };
    let tickets = [submit("a").unwrap(), submit("b").unwrap()];
    for _ in 0..10 {
        assert!(poll_once(tickets[1].outcome()).is_pending());
        assert!(submit("c").is_err());
    }
    assert_eq!(scene.writer.statistics().outstanding, 2);
    let outcomes = block_on(scene.writer.close(ready(())));
    assert!(matches!(outcomes[0], SaveOutcome::ReplyLost { .. }));
    assert!(matches!(outcomes[1], SaveOutcome::Failed { .. }));
    assert_eq!(*scene.route.saves.borrow(), ["a"]);
    // The store was left in the middle of an operation, and settles that.
    scene.medium.heal();
    assert_eq!(
        block_on(scene.client.resolve(&id("a"))),
        Ok(Resolution::NotCommitted)
    );
}

#[test]
fn random_lies_and_faults_never_make_a_false_acknowledgment() {
    let (mut committed, mut failed, mut unknown, mut found) = (0, 0, 0, 0);
    let seeds = seeds(150);
    for seed in &seeds {
        let mut random = Random::new(*seed);
        let scene = Scene::new(1 + random.below(3));
        let mut names = BTreeSet::new();
        for number in 0..12 {
            let name = format!("s{number}");
            scene.route.lie.set(LIES[random.below(LIES.len())]);
            for _ in 0..random.below(3) {
                let at = scene.medium.operations().len() + random.below(13);
                let fault = match random.below(4) {
                    0 => Fault::Fails(io_error()),
                    1 => Fault::HappensAndFails(io_error()),
                    2 => Fault::LosesTail(random.below(500)),
                    _ => Fault::FlipsBit(random.below(500)),
                };
                scene.medium.inject(at, fault);
            }
            let outcome = scene.save(&name);
            scene.medium.heal();
            scene.route.lie.set(Lie::Nothing);
            let resolution = block_on(scene.writer.resolve(&id(&name))).unwrap();
            let is_there = matches!(resolution, Resolution::Committed(_));
            let told = match &outcome {
                SaveOutcome::Committed { .. } => {
                    committed += 1;
                    Some(true)
                }
                SaveOutcome::Failed { .. } => {
                    failed += 1;
                    Some(false)
                }
                _ => {
                    unknown += 1;
                    found += usize::from(is_there);
                    None
                }
            };
            assert!(
                told.is_none_or(|told| told == is_there),
                "seed {seed}: {outcome:?}, and the store says {resolution:?}"
            );
            if is_there {
                let bytes = block_on(scene.client.read(&id(&name))).unwrap();
                assert_eq!(
                    bytes,
                    SampleGeneration::new(&name, "e1", 10).bytes,
                    "seed {seed}"
                );
                names.insert(name);
            }
        }
        let list = block_on(scene.client.generations()).unwrap();
        let listed: BTreeSet<String> = list
            .generations
            .iter()
            .map(|one| one.info.checkpoint_id.to_string())
            .collect();
        assert_eq!(listed, names, "seed {seed}");
        let saves = scene.route.saves.borrow();
        assert_eq!(
            saves.iter().collect::<BTreeSet<_>>().len(),
            saves.len(),
            "seed {seed}: each once"
        );
    }
    println!(
        "{committed} committed, {failed} failed, {unknown} unknown, of which {found} are in the store"
    );
    assert!(seeds.len() == 1 || (committed > 0 && failed > 0 && found > 0 && unknown > found));
}

/// A store that is open read-only says so, and nothing was written.
#[test]
fn a_store_that_may_not_be_written_fails_the_save() {
    let medium = SimulatedMedium::new();
    let reader = block_on(StoreReader::open(medium.clone())).unwrap();
    let writer = Writer::new(
        StoreClient::local(reader),
        WriterConfig::default(),
        Rc::new(|_| {}),
    )
    .unwrap();
    let slot = writer.reserve(SaveKind::Durable, 10).unwrap();
    let request = SampleGeneration::new("a", "e1", 10).to_save();
    let outcome = block_on(writer.submit(slot, request).unwrap().outcome());
    assert!(
        matches!(&outcome, SaveOutcome::Failed { message, .. } if *message == CommitError::ReadOnly.to_string()),
        "{outcome:?}"
    );
    assert!(medium.files().is_empty());
}
