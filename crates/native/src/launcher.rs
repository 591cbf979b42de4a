//! [`Launcher`]: starts participants, watches over them, and brings them to their end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use wellwritten_session::{
    Call, Coordinator, ErrorCode, Id, ParticipantError, ParticipantFactory, Phase, Request,
    RequestId, Role, Transport,
};

use crate::in_process_life::{start_direct, start_socket_pair};
use crate::life::{Body, Life};
use crate::obituary::Ending;
use crate::process_life::start_process;
use crate::thread_life::start_thread;
use crate::{Incarnation, LaunchError, Place, ReapOutcome, Reaped, Recipe, ThreadBudget};

/// How long a launcher waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDeadlines {
    /// From the start of a participant until it can be asked.
    pub boot: Duration,
    /// From telling a participant to stop until it is ended, and from there until it is abandoned.
    pub stop: Duration,
}

impl Default for LaunchDeadlines {
    /// 30 s and 2 s.
    fn default() -> Self {
        Self {
            boot: Duration::from_secs(30),
            stop: Duration::from_secs(2),
        }
    }
}

/// Starts the participants of one session, watches over them, and brings them to their end.
///
/// It is the [`ParticipantFactory`] of the session. Who is to run where is said by a [`Recipe`] for each participant. Once
/// it [watches](Self::watch) the session, a participant that panics, exits, is killed or does not answer ends the epoch
/// under its name, also while the session is idle. When participants are made anew, after a failure or by a reset, the
/// old ones are brought to their end first; while an epoch runs, or nothing is watched, a second life of a participant is
/// refused as a conflict.
///
/// Dropped, it ends whatever still runs: processes are killed and reaped before the drop returns. Everything about it
/// must run within a `LocalSet` of a current-thread tokio runtime with its drivers on.
///
/// ```
/// use std::rc::Rc;
///
/// use wellwritten_counter::{CounterComposition, Faults};
/// use wellwritten_native::{Launcher, Participant, ReapOutcome, Recipe, ThreadBudget, TokioClock};
/// use wellwritten_session::{CallBudgets, Coordinator, DispatchOrder, Host, Id};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let counter = CounterComposition::default();
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// tokio::task::LocalSet::new().block_on(&runtime, async {
///     // The world and two agents on a thread each, and one for the coordinator.
///     let launcher = Launcher::new(counter.session_id.clone(), ThreadBudget::new(4, 1)?);
///     let of = counter.clone();
///     let recipe = Recipe::thread(move |life| {
///         let made = of.participant(&life.participant_id, life.incarnation_id.clone(), life.life, Faults::none())?;
///         Ok(Participant::from(made))
///     });
///     launcher.set_environment(Id::parse("world")?, recipe.clone());
///     for agent in counter.agent_ids() {
///         launcher.set_agent(agent, recipe.clone());
///     }
///
///     let composition = counter.composition(DispatchOrder::Concurrent, Faults::none())?;
///     let host = Host {
///         factory: launcher.clone(),
///         clock: Rc::new(TokioClock::new()),
///         budgets: CallBudgets::default(),
///         store: None,
///         saves: Default::default(),
///         observer: None,
///     };
///     let session = Rc::new(Coordinator::new(composition, host).await?);
///     launcher.watch(&session);
///     session.bootstrap().await?;
///     session.step().await?;
///     assert_eq!(session.status().boundary, 1);
///
///     drop(session);
///     let ends = launcher.shutdown().await;
///     assert!(ends.iter().all(|end| end.outcome == ReapOutcome::Stopped));
/// #   Ok::<(), Box<dyn std::error::Error>>(())
/// })
/// # }
/// ```
pub struct Launcher {
    session_id: Id,
    deadlines: LaunchDeadlines,
    budget: RefCell<ThreadBudget>,
    environment: RefCell<Option<(Id, Recipe)>>,
    agents: RefCell<BTreeMap<Id, Recipe>>,
    lives: RefCell<BTreeMap<Id, Rc<Life>>>,
    /// Lives begun, by participant.
    begun: RefCell<BTreeMap<Id, u32>>,
    session: RefCell<Option<Weak<Coordinator>>>,
    me: Weak<Self>,
    next_request: Cell<u64>,
}

impl Launcher {
    /// A launcher for a session, with the usual deadlines.
    #[must_use]
    pub fn new(session_id: Id, budget: ThreadBudget) -> Rc<Self> {
        Self::with_deadlines(session_id, budget, LaunchDeadlines::default())
    }

    /// A launcher with deadlines of its own.
    #[must_use]
    pub fn with_deadlines(
        session_id: Id,
        budget: ThreadBudget,
        deadlines: LaunchDeadlines,
    ) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            session_id,
            deadlines,
            budget: RefCell::new(budget),
            environment: RefCell::new(None),
            agents: RefCell::default(),
            lives: RefCell::default(),
            begun: RefCell::default(),
            session: RefCell::new(None),
            me: me.clone(),
            next_request: Cell::new(1),
        })
    }

    /// Says how to start the world, from the next start on.
    pub fn set_environment(&self, environment_id: Id, recipe: Recipe) {
        *self.environment.borrow_mut() = Some((environment_id, recipe));
    }

    /// Says how to start an agent, from its next start on.
    pub fn set_agent(&self, agent_id: Id, recipe: Recipe) {
        self.agents.borrow_mut().insert(agent_id, recipe);
    }

    /// Tells this session when one of its participants ends or falls silent, for as long as it lives. How often it is asked
    /// after its health, and how long it may be silent, are the session's
    /// [`CallBudgets`](wellwritten_session::CallBudgets).
    pub fn watch(&self, session: &Rc<Coordinator>) {
        tokio::task::spawn_local(Coordinator::watch(session));
        *self.session.borrow_mut() = Some(Rc::downgrade(session));
        let ended: Vec<_> = self
            .all_lives()
            .into_iter()
            .filter(|life| life.has_ended())
            .collect();
        for life in ended {
            self.report_end(&life);
        }
    }

    /// Threads that are free.
    #[must_use]
    pub fn free_threads(&self) -> usize {
        self.budget.borrow().free()
    }

    /// The process a participant runs as; none where it does not run, or not as a process of its own.
    #[must_use]
    pub fn process_id(&self, participant: &Id) -> Option<u32> {
        let lives = self.lives.borrow();
        let life = lives.get(participant).filter(|life| !life.has_ended())?;
        match &life.body {
            Body::Process(process) => Some(process.process_id),
            _ => None,
        }
    }

    /// How a participant's last life ended: "exited with status 3; it said last: ...". None while it runs.
    #[must_use]
    pub fn ending(&self, participant: &Id) -> Option<String> {
        let lives = self.lives.borrow();
        let ending = lives.get(participant)?.obituary.read()?;
        Some(ending.sentence())
    }

    /// Ends a participant at once: a process by `SIGKILL`, a thread where it next waits, a part of this thread by
    /// never asking it again. The session hears of it as of any other end.
    pub fn kill(&self, participant: &Id) -> Result<(), LaunchError> {
        let life = self.lives.borrow().get(participant).cloned();
        let life = life.filter(|life| !life.has_ended());
        let life = life.ok_or_else(|| LaunchError::NotRunning {
            participant: participant.clone(),
        })?;
        life.kill();
        let stop = self.deadlines.stop;
        tokio::task::spawn_local(async move {
            // A thread that does not wait is not reached any more all the same.
            if life.obituary.wait_for(stop).await.is_none() {
                life.transport.close();
            }
        });
        Ok(())
    }

    /// Brings a participant to its end: told to stop first, ended if it does not.
    pub async fn reap(&self, participant: &Id) -> Result<Reaped, LaunchError> {
        let life = self.lives.borrow_mut().remove(participant);
        let life = life.ok_or_else(|| LaunchError::NotRunning {
            participant: participant.clone(),
        })?;
        Ok(self.retire(&life).await)
    }

    /// Brings every participant to its end, all at once; says of each how, by name.
    pub async fn shutdown(&self) -> Vec<Reaped> {
        let lives = std::mem::take(&mut *self.lives.borrow_mut());
        let retiring = lives.values().map(|life| {
            let retiring: wellwritten_session::BoxedFuture<'_, Reaped> =
                Box::pin(self.retire(life));
            retiring
        });
        wellwritten_session::join_all(retiring).await
    }

    async fn retire(&self, life: &Rc<Life>) -> Reaped {
        life.is_retiring.set(true);
        let outcome = if life.has_ended() {
            ReapOutcome::AlreadyGone
        } else if self.stops(life).await {
            ReapOutcome::Stopped
        } else {
            life.kill();
            let ending = life.obituary.wait_for(self.deadlines.stop).await;
            if ending.is_some() {
                ReapOutcome::Terminated
            } else {
                life.transport.close();
                ReapOutcome::Abandoned
            }
        };
        let participant_id = life.incarnation.participant_id.clone();
        if outcome == ReapOutcome::Abandoned {
            self.release_when_it_ends(life);
        } else {
            self.budget.borrow_mut().release(&participant_id);
        }
        Reaped {
            participant_id,
            incarnation_id: life.incarnation.incarnation_id.clone(),
            outcome,
            ending: life
                .obituary
                .read()
                .unwrap_or_else(|| Ending::new("did not end"))
                .sentence(),
        }
    }

    /// Tells it to stop, and waits until it has.
    async fn stops(&self, life: &Life) -> bool {
        let call = Call::Shutdown {
            reason: Id::parse("reaped").expect("a legal id"),
        };
        let stopping = async {
            let told = self.ask(life, call).await;
            match &life.body {
                Body::Here(None) => {
                    life.transport.close();
                    life.obituary
                        .write(Ending::new("stopped as it was told to"));
                    told
                }
                _ if told => {
                    life.obituary.wait().await;
                    true
                }
                _ => false,
            }
        };
        tokio::time::timeout(self.deadlines.stop, stopping)
            .await
            .unwrap_or(false)
    }

    /// Asks what needs no scope; whether there was an answer.
    async fn ask(&self, life: &Life, call: Call) -> bool {
        let serial = self.next_request.get();
        self.next_request.set(serial + 1);
        let request = Request {
            request_id: RequestId(serial),
            scope: None,
            call,
        };
        let reply = life.transport.call(&request).await;
        reply.is_ok_and(|reply| reply.outcome.is_ok())
    }

    /// The threads of an abandoned thread stay taken.
    fn release_when_it_ends(&self, life: &Rc<Life>) {
        let participant = &life.incarnation.participant_id;
        let threads = self.budget.borrow_mut().strand(participant);
        let (me, life) = (self.me.clone(), life.clone());
        tokio::task::spawn_local(async move {
            life.obituary.wait().await;
            if let Some(me) = me.upgrade() {
                me.budget.borrow_mut().recover(threads);
            }
        });
    }

    fn all_lives(&self) -> Vec<Rc<Life>> {
        self.lives.borrow().values().cloned().collect()
    }

    /// Whether the participants that run belong to an epoch or an episode that is over.
    fn may_replace(&self) -> bool {
        let watched = self.session.borrow();
        watched.as_ref().is_some_and(|session| {
            session.upgrade().is_none_or(|session| {
                matches!(session.phase(), Phase::Failed | Phase::Resetting { .. })
            })
        })
    }

    fn next_life(&self, participant: &Id) -> u32 {
        let mut begun = self.begun.borrow_mut();
        let life = begun.entry(participant.clone()).or_insert(0);
        *life = life.saturating_add(1);
        *life
    }

    async fn start(
        &self,
        participant: &Id,
        role: Role,
        recipe: Recipe,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, LaunchError> {
        let former = self.lives.borrow().get(participant).cloned();
        if let Some(former) = former {
            if !former.has_ended() && !self.may_replace() {
                return Err(LaunchError::AllocatedTwice {
                    participant: participant.clone(),
                });
            }
            self.lives.borrow_mut().remove(participant);
            self.retire(&former).await;
        }
        let threads = recipe.threads;
        self.budget.borrow_mut().allocate(participant, threads)?;
        let incarnation = Incarnation {
            session_id: self.session_id.clone(),
            participant_id: participant.clone(),
            incarnation_id: incarnation_id.clone(),
            life: self.next_life(participant),
            role,
            threads,
        };
        let boot = self.deadlines.boot;
        let started = match recipe.place {
            Place::Direct(make) => start_direct(incarnation, |it| make(it)),
            Place::SocketPair(make) => start_socket_pair(incarnation, |it| make(it)),
            Place::Thread(make) => {
                let started = start_thread(incarnation, make, boot).await;
                started.map_err(|late| {
                    if let Some(life) = late.life {
                        self.release_when_it_ends(&Rc::new(life));
                    }
                    late.error
                })
            }
            Place::Process(program) => start_process(incarnation, &program, boot).await,
        };
        let life = match started {
            Ok(life) => Rc::new(life),
            Err(error) => {
                self.budget.borrow_mut().release(participant);
                return Err(error);
            }
        };
        self.attend(&life);
        let transport = life.transport.clone();
        self.lives.borrow_mut().insert(participant.clone(), life);
        Ok(transport)
    }

    /// Watches over a life from its start to its end.
    fn attend(&self, life: &Rc<Life>) {
        let (me, watched) = (self.me.clone(), Rc::downgrade(life));
        let obituary = life.obituary.clone();
        tokio::task::spawn_local(async move {
            obituary.wait().await;
            if let (Some(me), Some(life)) = (me.upgrade(), watched.upgrade()) {
                me.report_end(&life);
            }
        });
    }

    /// Releases what an ended life had, and ends the epoch under its name unless its end was wanted.
    fn report_end(&self, life: &Life) {
        if life.is_retiring.get() {
            return;
        }
        self.budget
            .borrow_mut()
            .release(&life.incarnation.participant_id);
        let Some(ending) = life.obituary.read() else {
            return;
        };
        let mut error = ParticipantError::uncertain(
            ErrorCode::BackendFailure,
            format!("it {}", ending.sentence()),
        );
        if let Some(output) = ending.output {
            error = error.with_detail(serde_json::json!({ "output": output }));
        }
        let session = self.session.borrow().as_ref().and_then(Weak::upgrade);
        let participant = &life.incarnation.participant_id;
        let is_current = self
            .lives
            .borrow()
            .get(participant)
            .is_some_and(|current| current.incarnation == life.incarnation);
        if let Some(session) = session.filter(|_| is_current) {
            // Refused where there is no epoch to end: then nothing is lost by it.
            let _ = session.fail_epoch(Some(participant), error);
        }
    }
}

#[async_trait(?Send)]
impl ParticipantFactory for Launcher {
    async fn make_environment(
        &self,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let environment = self.environment.borrow().clone();
        let (environment_id, recipe) = environment.ok_or_else(|| {
            ParticipantError::refused(
                ErrorCode::IdentityMismatch,
                "there is no recipe for the environment",
            )
        })?;
        let started = self.start(&environment_id, Role::Environment, recipe, incarnation_id);
        Ok(started.await?)
    }

    async fn make_agent(
        &self,
        agent_id: &Id,
        incarnation_id: &Id,
    ) -> Result<Rc<dyn Transport>, ParticipantError> {
        let recipe = self.agents.borrow().get(agent_id).cloned();
        let recipe = recipe.ok_or_else(|| LaunchError::NoRecipe {
            participant: agent_id.clone(),
        })?;
        let started = self.start(agent_id, Role::Agent, recipe, incarnation_id);
        Ok(started.await?)
    }
}
