//! The bench a session is tested on: faults by name, a log of who did what, and every part a session needs.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use futures::executor::block_on;
use wellwritten_counter::{AGENTS, FaultKind, FaultPoint, Faults};
use wellwritten_session::{
    AgentBinding, Artifact, CallBudgets, Clock, Composition, Coordinator, Digest, Direct,
    DispatchOrder, ErrorCode, Host, Id, IdentityExecutor, ParticipantError, ParticipantFactory,
    SessionEvent, Transport, WriterConfig,
};
use wellwritten_store::StoreConfig;
use wellwritten_store::testing::SimulatedMedium;

use crate::agent::WatchedAgent;
use crate::shared_store::SharedStore;
use crate::task::CounterTask;
use crate::world::CounterWorld;

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// What happens at a named point such as `fly-a.commit`, once.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It refuses; nothing changed.
    Refuse(ErrorCode),
    /// It fails; nobody knows what changed.
    Break,
    /// It dies before it answers.
    Die,
    /// It takes this many turns.
    Delay(u32),
}

/// Shared between a test and the participants of its session.
#[derive(Default)]
pub struct Bench {
    /// What will go wrong.
    pub planned: Rc<Faults>,
    /// Where participants will die.
    pub deaths: RefCell<Vec<String>>,
    pub log: RefCell<Vec<String>>,
    pub routes: RefCell<BTreeMap<String, Rc<Direct>>>,
    pub events: RefCell<Vec<SessionEvent>>,
    /// How many steps after its production a frame is seen.
    pub view_delay: Cell<u8>,
    /// Another parser was built in.
    pub other_parser: Cell<bool>,
    /// A field of the world's identity to change: `backend`, `content`, `patch`, `format`.
    pub other_field: RefCell<String>,
    /// What the world lies about when it next answers, by field.
    pub lie: RefCell<String>,
    /// Frames as agents were given them at their last commit, in the order they committed.
    pub seen: RefCell<Vec<Artifact>>,
    /// Agents are stimulated by something that nobody is told of.
    pub wavers: Cell<bool>,
    /// Agents are built as another incarnation than was asked for.
    pub is_impostor: Cell<bool>,
}

impl Bench {
    /// Plans what happens at a point.
    pub fn plan(&self, participant: &str, at: FaultPoint, kind: FaultKind) {
        let fault = wellwritten_counter::Fault::new(id(participant), at, kind);
        self.planned.arm(fault).unwrap();
    }

    pub fn arm(&self, point: &str, fault: Fault) {
        let (participant, at) = point.split_once('.').unwrap();
        let at = serde_json::from_value(at.into()).unwrap();
        match fault {
            Fault::Refuse(code) => self.plan(participant, at, FaultKind::Refuse(code)),
            Fault::Break => self.plan(participant, at, FaultKind::Break),
            Fault::Delay(turns) => self.plan(participant, at, FaultKind::DelayTurns(turns)),
            Fault::Die => self.deaths.borrow_mut().push(point.to_owned()),
        }
    }

    /// Bytes of the world no longer read cleanly, from when they are next read.
    pub fn dirty_the_world(&self) {
        for at in [FaultPoint::Verify, FaultPoint::Capture] {
            self.plan("world", at, FaultKind::Dirty);
        }
    }

    /// Logs a point, and kills who is to die there.
    pub fn reach(&self, participant: &str, point: &str) {
        let point = format!("{participant}.{point}");
        let dies = self.deaths.borrow().contains(&point);
        if dies {
            self.deaths.borrow_mut().retain(|death| *death != point);
            self.route(participant).kill();
        }
        self.log.borrow_mut().push(point);
    }

    pub fn logged(&self) -> Vec<String> {
        self.log.borrow_mut().drain(..).collect()
    }

    pub fn route(&self, participant: &str) -> Rc<Direct> {
        self.routes.borrow().get(participant).cloned().unwrap()
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

/// A clock that only moves when someone sleeps.
#[derive(Default)]
pub struct ManualClock {
    pub now_ns: Cell<u64>,
}

#[async_trait(?Send)]
impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        // What nobody is to wait for never ends: a call that takes many turns is not uncertain here.
        if duration_ns == u64::MAX {
            std::future::pending::<()>().await;
        }
        self.now_ns.set(self.now_ns.get() + duration_ns);
        turns_pass(1).await;
    }
}

pub struct Factory {
    pub bench: Rc<Bench>,
    pub agents: usize,
}

#[async_trait(?Send)]
impl ParticipantFactory for Factory {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let ports: Vec<Id> = (1..=self.agents)
            .map(|port| id(&format!("p{port}")))
            .collect();
        let world = CounterWorld::new(self.bench.clone(), &ports);
        let route = Direct::environment(id("demo"), incarnation_id.clone(), Box::new(world));
        self.bench
            .routes
            .borrow_mut()
            .insert("world".to_owned(), route.clone());
        Ok(route)
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let agent = WatchedAgent::new(self.bench.clone(), agent_id.clone());
        let life = if self.bench.is_impostor.get() {
            id("incarnation-999")
        } else {
            incarnation_id.clone()
        };
        let route = Direct::agent(id("demo"), life, Box::new(agent));
        self.bench
            .routes
            .borrow_mut()
            .insert(agent_id.to_string(), route.clone());
        Ok(route)
    }
}

pub struct Rig {
    pub bench: Rc<Bench>,
    pub medium: SimulatedMedium,
    pub store: Rc<SharedStore>,
    pub clock: Rc<ManualClock>,
    pub session: Coordinator,
}

pub struct RigOptions {
    pub budgets: CallBudgets,
    pub agents: usize,
    pub dispatch: DispatchOrder,
    pub terminal_after: Option<u32>,
    pub epoch: Option<Id>,
    pub store: StoreConfig,
    pub saves: WriterConfig,
}

impl Default for RigOptions {
    fn default() -> Self {
        let budgets = CallBudgets {
            probe_ns: u64::MAX,
            resolve_ns: u64::MAX,
            boot_ns: u64::MAX,
            capture_ns: u64::MAX,
            max_attempts: u32::MAX,
        };
        Self {
            budgets,
            agents: 2,
            dispatch: DispatchOrder::Concurrent,
            terminal_after: None,
            epoch: None,
            store: StoreConfig::default(),
            saves: WriterConfig::default(),
        }
    }
}

impl Rig {
    /// A bootstrapped session at `Ready(0)`.
    pub fn ready() -> Self {
        Self::ready_with(RigOptions::default(), Rc::default())
    }

    pub fn ready_with(options: RigOptions, bench: Rc<Bench>) -> Self {
        let rig = Self::starting(options, bench, SimulatedMedium::new());
        block_on(rig.session.bootstrap()).unwrap();
        rig
    }

    pub fn starting(options: RigOptions, bench: Rc<Bench>, medium: SimulatedMedium) -> Self {
        let store = SharedStore::open(&medium, options.store);
        let clock = Rc::new(ManualClock::default());
        let agents = &AGENTS[..options.agents];
        let composition = Composition {
            session_id: id("demo"),
            episode_id: id("ep1"),
            epoch: options.epoch,
            environment_id: id("world"),
            agents: agents
                .iter()
                .enumerate()
                .map(|(index, (agent, ..))| AgentBinding {
                    agent_id: id(agent),
                    port_id: id(&format!("p{}", index + 1)),
                    executor: Box::new(IdentityExecutor),
                })
                .collect(),
            task: Box::new(CounterTask::new(bench.clone(), options.terminal_after)),
            dispatch: options.dispatch,
        };
        let host = Host {
            budgets: options.budgets,
            factory: Rc::new(Factory {
                bench: bench.clone(),
                agents: agents.len(),
            }),
            clock: clock.clone(),
            store: Some(store.client()),
            saves: options.saves,
            observer: Some({
                let bench = bench.clone();
                Rc::new(move |event| bench.events.borrow_mut().push(event))
            }),
        };
        let session = block_on(Coordinator::new(composition, host)).unwrap();
        bench.logged();
        Self {
            bench,
            medium,
            store,
            clock,
            session,
        }
    }

    pub fn steps(&self, count: u64) {
        for _ in 0..count {
            block_on(self.session.step()).unwrap();
        }
    }

    pub fn save(&self, checkpoint_id: &str) {
        let outcome = block_on(self.session.checkpoint(Some(id(checkpoint_id)))).unwrap();
        assert!(outcome.is_committed(), "{outcome:?}");
    }

    pub fn fail(&self) {
        let error = ParticipantError::uncertain(ErrorCode::BackendFailure, "the device was lost");
        self.session.fail_epoch(None, error).unwrap();
    }
}

pub fn digest_of(text: &str) -> Digest {
    Digest::blake3(text.as_bytes())
}
