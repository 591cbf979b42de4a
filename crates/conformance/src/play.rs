//! [`Play`]: a counter session on a stage, with a tap on every route.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use wellwritten_counter::{AGENTS, CounterComposition, Faults, WORLD};
use wellwritten_session::{
    Answer, Call, CallBudgets, Coordinator, DispatchOrder, FailureRecord, Host, Id,
    ParticipantError, ParticipantFactory, Request, RequestId, SessionEvent, StoreClient,
    TraceRecord, Transport, WorkerStatus, WriterConfig,
};

use crate::store_tap::StoreTap;
use crate::tap::Tapped;
use crate::{ScenarioFailure, Stage, Tap, Verdict};

pub(crate) fn id(text: &str) -> Id {
    Id::parse(text).expect("a legal id")
}

/// One millisecond, in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;

/// How a session is set up.
pub(crate) struct Setup {
    pub composition: CounterComposition,
    pub dispatch: DispatchOrder,
    pub budgets: CallBudgets,
    pub store: StoreChoice,
}

/// What a session is given as a store.
#[derive(Default)]
pub(crate) enum StoreChoice {
    #[default]
    None,
    /// One of its own, empty.
    New,
    /// One that others had before it.
    Shared(Rc<StoreTap>),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            composition: CounterComposition::default(),
            dispatch: DispatchOrder::Concurrent,
            budgets: CallBudgets::default(),
            store: StoreChoice::None,
        }
    }
}

impl Setup {
    pub(crate) fn agents(agents: usize) -> Self {
        Self {
            composition: CounterComposition {
                agents,
                ..CounterComposition::default()
            },
            ..Self::default()
        }
    }

    pub(crate) fn faults(faults: Vec<wellwritten_counter::Fault>) -> Self {
        Self {
            composition: CounterComposition {
                faults: wellwritten_counter::FaultPlan::new(faults),
                ..CounterComposition::default()
            },
            ..Self::default()
        }
    }

    pub(crate) fn with_store(self) -> Self {
        Self {
            store: StoreChoice::New,
            ..self
        }
    }

    pub(crate) fn over(self, store: &Rc<StoreTap>) -> Self {
        Self {
            store: StoreChoice::Shared(store.clone()),
            ..self
        }
    }

    pub(crate) fn dispatched(self, dispatch: DispatchOrder) -> Self {
        Self { dispatch, ..self }
    }

    /// Short waits, so that nothing of this takes long; long enough for a busy machine, where a worker may not have its turn
    /// for a second.
    pub(crate) fn hasty(self) -> Self {
        Self {
            budgets: CallBudgets {
                probe_ns: 100 * MS,
                resolve_ns: 4_000 * MS,
                boot_ns: 1_000 * MS,
                capture_ns: 1_000 * MS,
                max_attempts: 8_192,
            },
            ..self
        }
    }
}

/// Starts participants on a stage and puts a tap on their routes.
struct Troupe {
    stage: Rc<dyn Stage>,
    composition: CounterComposition,
    tap: Rc<Tap>,
    lives: RefCell<BTreeMap<Id, u32>>,
    kills: RefCell<BTreeMap<Id, Rc<dyn Fn()>>>,
    routes: RefCell<Vec<(Id, Rc<dyn Transport>)>>,
}

impl Troupe {
    async fn launch(
        &self,
        worker: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let life = {
            let mut lives = self.lives.borrow_mut();
            let life = lives.entry(worker.clone()).or_insert(0);
            *life += 1;
            *life
        };
        let launched = self
            .stage
            .launch(&self.composition, worker, incarnation_id, life)
            .await?;
        self.kills
            .borrow_mut()
            .insert(worker.clone(), launched.kill);
        let tapped: Rc<dyn Transport> = Rc::new(Tapped {
            worker: worker.clone(),
            route: launched.route,
            tap: self.tap.clone(),
        });
        let route = (worker.clone(), tapped.clone());
        self.routes.borrow_mut().push(route);
        Ok(tapped)
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for Troupe {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.launch(&id(WORLD), incarnation_id).await
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        self.launch(agent_id, incarnation_id).await
    }
}

/// A counter session on a stage.
pub(crate) struct Play {
    pub session: Rc<Coordinator>,
    pub tap: Rc<Tap>,
    pub stage: Rc<dyn Stage>,
    store: Option<Rc<StoreTap>>,
    events: Rc<RefCell<Vec<SessionEvent>>>,
    troupe: Rc<Troupe>,
}

impl Play {
    /// A session at `Ready(0)`.
    pub(crate) async fn ready(
        stage: &Rc<dyn Stage>,
        setup: Setup,
    ) -> Result<Self, ScenarioFailure> {
        let play = Self::starting(stage, setup).await?;
        play.session.bootstrap().await?;
        Ok(play)
    }

    /// A session that has not begun.
    pub(crate) async fn starting(
        stage: &Rc<dyn Stage>,
        setup: Setup,
    ) -> Result<Self, ScenarioFailure> {
        let tap = Rc::new(Tap::default());
        let troupe = Rc::new(Troupe {
            stage: stage.clone(),
            composition: setup.composition.clone(),
            tap: tap.clone(),
            lives: RefCell::default(),
            kills: RefCell::default(),
            routes: RefCell::default(),
        });
        let events: Rc<RefCell<Vec<SessionEvent>>> = Rc::default();
        let heard = events.clone();
        let store = match setup.store {
            StoreChoice::None => None,
            StoreChoice::New => Some(StoreTap::new().await?),
            StoreChoice::Shared(store) => Some(store),
        };
        let faults = Faults::new(&setup.composition.faults, None)?;
        let composition = setup.composition.composition(setup.dispatch, faults)?;
        let host = Host {
            factory: troupe.clone(),
            clock: stage.clock(),
            budgets: setup.budgets,
            store: store
                .as_ref()
                .map(|store| StoreClient::new(stage.store_route(store.clone()))),
            saves: WriterConfig::default(),
            observer: Some(Rc::new(move |event| heard.borrow_mut().push(event))),
        };
        let session = Rc::new(Coordinator::new(composition, host).await?);
        stage.spawn(Box::pin(Coordinator::watch(&session)));
        Ok(Self {
            session,
            tap,
            stage: stage.clone(),
            store,
            events,
            troupe,
        })
    }

    pub(crate) async fn steps(&self, count: u64) -> Verdict {
        for _ in 0..count {
            self.session.step().await?;
        }
        Ok(())
    }

    /// The store it was set up with.
    pub(crate) fn store(&self) -> Result<&Rc<StoreTap>, ScenarioFailure> {
        let store = self.store.as_ref();
        store.ok_or_else(|| ScenarioFailure::new("a session with a store", "one without"))
    }

    pub(crate) fn trace(&self) -> Vec<TraceRecord> {
        self.session.trace().0
    }

    /// The boundaries that were told of, in order.
    pub(crate) fn boundaries(&self) -> Vec<u64> {
        let events = self.events.borrow();
        let boundaries = events.iter().filter_map(|event| match event {
            SessionEvent::Boundary { boundary, .. } => Some(*boundary),
            _ => None,
        });
        boundaries.collect()
    }

    /// Ends a participant without a word.
    pub(crate) fn kill(&self, worker: &str) {
        let kill = self.troupe.kills.borrow().get(&id(worker)).cloned();
        if let Some(kill) = kill {
            kill();
        }
    }

    /// The newest route to a participant: whoever uses it is heard too.
    pub(crate) fn route(&self, worker: &str) -> Result<Rc<dyn Transport>, ScenarioFailure> {
        let routes = self.troupe.routes.borrow();
        let route = routes
            .iter()
            .rev()
            .find(|(name, _)| name.as_str() == worker);
        route
            .map(|(_, route)| route.clone())
            .ok_or_else(|| ScenarioFailure::new(format!("a route to {worker}"), "none"))
    }

    /// Everything the session told of, in order.
    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        self.events.borrow().clone()
    }

    /// What a participant says of itself.
    pub(crate) async fn status_of(&self, worker: &str) -> Result<WorkerStatus, ScenarioFailure> {
        let question = Request {
            request_id: RequestId(0),
            scope: None,
            call: Call::Status {},
        };
        match self.route(worker)?.call(&question).await?.outcome? {
            Answer::Status(status) => Ok(status),
            other => Err(ScenarioFailure::new("a status", other)),
        }
    }

    /// What each participant has done so far.
    pub(crate) async fn progress(&self) -> Result<Vec<u64>, ScenarioFailure> {
        let mut progress = Vec::new();
        for worker in self.workers() {
            progress.push(self.status_of(worker).await?.progress_counter.0);
        }
        Ok(progress)
    }

    /// Every worker of the composition.
    pub(crate) fn workers(&self) -> Vec<&'static str> {
        let agents = AGENTS.iter().take(self.troupe.composition.agents);
        std::iter::once(WORLD)
            .chain(agents.map(|(agent, ..)| *agent))
            .collect()
    }

    pub(crate) fn failure(&self) -> Result<FailureRecord, ScenarioFailure> {
        self.session
            .status()
            .failure
            .ok_or_else(|| ScenarioFailure::new("the epoch to have failed", self.session.phase()))
    }

    /// Sleeps until it is so, for half a minute at most.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) -> Verdict {
        until(&*self.stage.clock(), what, &mut is_so).await
    }
}

/// Sleeps until it is so, for half a minute at most.
pub(crate) async fn until(
    clock: &dyn wellwritten_session::Clock,
    what: &str,
    is_so: &mut dyn FnMut() -> bool,
) -> Verdict {
    let began_ns = clock.now_ns();
    while !is_so() {
        if clock.now_ns().saturating_sub(began_ns) > 30_000 * MS {
            return Err(ScenarioFailure::new(what, "30 seconds without it"));
        }
        clock.sleep_ns(MS).await;
    }
    Ok(())
}
