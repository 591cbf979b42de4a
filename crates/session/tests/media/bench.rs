//! A session whose every word can be tampered with, and a record of what was heard where.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use futures::executor::block_on;
use wellwritten_session::{
    AgentBinding, AgentProfile, CallBudgets, Clock, Composition, Coordinator, Digest, Direct,
    DispatchOrder, EnvironmentDescriptor, ErrorCode, FailureRecord, Host, Id, ParticipantError,
    ParticipantFactory, RestoreRequest, SensoryInput, SessionEvent, Stimulus, Transport,
    WorldObservation, WriterConfig,
};
use wellwritten_store::StoreConfig;
use wellwritten_store::testing::SimulatedMedium;

use crate::agent::EchoAgent;
use crate::executors::TellingExecutor;
use crate::shared_store::SharedStore;
use crate::task::CountingTask;
use crate::world::NumberWorld;

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

pub fn digest_of(text: &str) -> Digest {
    Digest::blake3(text.as_bytes())
}

type Tamper<T> = RefCell<Box<dyn FnMut(&mut T)>>;
type Watch = Box<dyn Fn(&SessionEvent)>;

/// Shared between a test and the participants of its session.
pub struct Bench {
    /// What the world declares, changed.
    pub declare: Tamper<EnvironmentDescriptor>,
    /// What an agent declares, changed.
    pub profile: Tamper<AgentProfile>,
    /// What the world shows and sounds, changed, whenever it shows itself.
    pub tamper: Tamper<WorldObservation>,
    /// Points at which the next call fails.
    pub broken: RefCell<BTreeSet<String>>,
    /// Points at which the next call takes a few turns.
    pub slow: RefCell<BTreeMap<String, usize>>,
    pub log: RefCell<Vec<String>>,
    /// Stimuli that reached an agent before its ticks: the agent, the step, the stimulus.
    pub stimuli: RefCell<Vec<(Id, u64, Stimulus)>>,
    /// Inputs that agents were given.
    pub inputs: RefCell<Vec<SensoryInput>>,
    pub events: RefCell<Vec<SessionEvent>>,
    /// Called with every event, after it was recorded.
    pub watch: RefCell<Option<Watch>>,
    pub routes: RefCell<BTreeMap<String, Rc<Direct>>>,
    /// Judgements so far.
    pub judged: Cell<u64>,
    /// The task's word that the episode is over, at this many transitions.
    pub terminal_after: Cell<Option<u64>>,
    /// Events an executor tells in each step.
    pub told: Cell<usize>,
    /// How many decisions an executor had seen, at each decision.
    pub seen: RefCell<Vec<u64>>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            declare: RefCell::new(Box::new(|_| {})),
            profile: RefCell::new(Box::new(|_| {})),
            tamper: RefCell::new(Box::new(|_| {})),
            broken: RefCell::default(),
            slow: RefCell::default(),
            log: RefCell::default(),
            stimuli: RefCell::default(),
            inputs: RefCell::default(),
            events: RefCell::default(),
            watch: RefCell::default(),
            routes: RefCell::default(),
            judged: Cell::new(0),
            terminal_after: Cell::new(None),
            told: Cell::new(0),
            seen: RefCell::default(),
        }
    }
}

impl Bench {
    pub fn declaring(change: impl FnMut(&mut EnvironmentDescriptor) + 'static) -> Rc<Self> {
        let bench = Self::default();
        *bench.declare.borrow_mut() = Box::new(change);
        Rc::new(bench)
    }

    pub fn tamper_with(&self, change: impl FnMut(&mut WorldObservation) + 'static) {
        *self.tamper.borrow_mut() = Box::new(change);
    }

    /// Logs a point; it takes its turns, and it fails where it was told to.
    pub async fn reach(&self, participant: &str, point: &str) -> Result<(), ParticipantError> {
        let point = format!("{participant}.{point}");
        self.log.borrow_mut().push(point.clone());
        let turns = self.slow.borrow_mut().remove(&point);
        turns_pass(turns.unwrap_or(0)).await;
        if self.broken.borrow_mut().remove(&point) {
            let message = format!("injected at {point}");
            return Err(ParticipantError::uncertain(
                ErrorCode::BackendFailure,
                message,
            ));
        }
        Ok(())
    }

    pub fn break_at(&self, point: &str) {
        self.broken.borrow_mut().insert(point.to_owned());
    }

    pub fn slow_at(&self, point: &str, turns: usize) {
        self.slow.borrow_mut().insert(point.to_owned(), turns);
    }
}

/// Gives other work its turn, this many times.
pub async fn turns_pass(turns: usize) {
    let mut left = turns;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A clock that never moves: nothing is ever too late, and only a short sleep ends.
struct StoppedClock;

#[async_trait(?Send)]
impl Clock for StoppedClock {
    fn now_ns(&self) -> u64 {
        0
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        if duration_ns > 1_000_000_000 {
            std::future::pending::<()>().await;
        }
        turns_pass(1).await;
    }
}

struct Factory {
    bench: Rc<Bench>,
}

impl Factory {
    fn keep(&self, name: &str, route: &Rc<Direct>) -> Rc<dyn Transport> {
        let mut routes = self.bench.routes.borrow_mut();
        routes.insert(name.to_owned(), route.clone());
        route.clone()
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for Factory {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.bench.reach("factory", "world").await?;
        let world = Box::new(NumberWorld::new(self.bench.clone()));
        let route = Direct::environment(id("demo"), incarnation_id.clone(), world);
        Ok(self.keep("world", &route))
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.bench.reach("factory", agent_id.as_str()).await?;
        let agent = Box::new(EchoAgent::new(self.bench.clone(), agent_id.clone()));
        let route = Direct::agent(id("demo"), incarnation_id.clone(), agent);
        Ok(self.keep(agent_id.as_str(), &route))
    }
}

/// A session on its bench.
pub struct Rig {
    pub bench: Rc<Bench>,
    pub store: Rc<SharedStore>,
    pub session: Rc<Coordinator>,
}

pub const AGENTS: [&str; 2] = ["fly-a", "fly-b"];

impl Rig {
    /// Bootstrapped, at `Ready(0)`.
    pub fn ready() -> Self {
        Self::ready_on(Rc::default())
    }

    pub fn ready_on(bench: Rc<Bench>) -> Self {
        let rig = Self::starting_on(bench);
        block_on(rig.session.bootstrap()).unwrap();
        rig
    }

    pub fn starting_on(bench: Rc<Bench>) -> Self {
        let store = SharedStore::open(&SimulatedMedium::new(), StoreConfig::default());
        let composed = compose(&bench, Some(store.clone()));
        Self {
            session: Rc::new(composed.unwrap()),
            bench,
            store,
        }
    }

    pub fn steps(&self, count: usize) {
        for _ in 0..count {
            block_on(self.session.step()).unwrap();
        }
    }

    /// Takes a step that must fail, in `Observing`, by the world, before anyone judged.
    pub fn refused_transition(&self) -> FailureRecord {
        let judged = self.bench.judged.get();
        self.bench.log.borrow_mut().clear();
        block_on(self.session.step()).unwrap_err();
        let record = self.session.status().failure.unwrap();
        assert_eq!(record.participant, Some(id("world")), "{record}");
        assert!(
            record.phase.to_string().starts_with("Observing("),
            "{record}"
        );
        assert_eq!(self.bench.judged.get(), judged, "nobody judges it");
        let log = self.bench.log.borrow();
        assert!(log.iter().all(|line| !line.ends_with(".commit")), "{log:?}");
        record
    }

    pub fn save(&self, checkpoint_id: &str) {
        let outcome = block_on(self.session.checkpoint(Some(id(checkpoint_id)))).unwrap();
        assert!(outcome.is_committed(), "{outcome:?}");
    }

    pub fn fail(&self) {
        let error = ParticipantError::uncertain(ErrorCode::BackendFailure, "the device was lost");
        self.session.fail_epoch(None, error).unwrap();
    }

    /// Replaces everyone, restores the newest checkpoint and stands at `Ready`.
    pub fn restore(&self) {
        block_on(self.session.replace_participants()).unwrap();
        block_on(self.session.restore(RestoreRequest::default())).unwrap();
        self.session.resume().unwrap();
    }
}

/// A session of the usual two agents.
pub fn compose(
    bench: &Rc<Bench>,
    store: Option<Rc<SharedStore>>,
) -> Result<Coordinator, wellwritten_session::SessionError> {
    let ports = ["p1", "p2"];
    let agents = AGENTS.iter().zip(ports).map(|(agent, port)| AgentBinding {
        agent_id: id(agent),
        port_id: id(port),
        executor: Box::new(TellingExecutor::new(bench.clone())),
    });
    let composition = Composition {
        session_id: id("demo"),
        episode_id: id("ep1"),
        epoch: None,
        environment_id: id("world"),
        agents: agents.collect(),
        task: Box::new(CountingTask::new(bench.clone())),
        dispatch: DispatchOrder::Concurrent,
    };
    let watching = bench.clone();
    let host = Host {
        factory: Rc::new(Factory {
            bench: bench.clone(),
        }),
        clock: Rc::new(StoppedClock),
        budgets: CallBudgets::default(),
        store: store.map(|store| store.client()),
        saves: WriterConfig::default(),
        observer: Some(Rc::new(move |event: SessionEvent| {
            watching.events.borrow_mut().push(event.clone());
            if let Some(watch) = &*watching.watch.borrow() {
                watch(&event);
            }
        })),
    };
    block_on(Coordinator::new(composition, host))
}
