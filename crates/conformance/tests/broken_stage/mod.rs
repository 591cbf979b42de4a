//! A stage that is broken in one way.

mod broken_store;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use futures::lock::Mutex;
use wellwritten_conformance::{Launched, ProgramStage, Reach, Stage, VirtualTime};
use wellwritten_counter::{
    CounterComposition, Fault, FaultKind, FaultPlan, FaultPoint, Lie, WORLD,
};
use wellwritten_session::{
    Answer, Artifact, BoxedFuture, Call, Clock, ErrorCode, Id, MutationCertainty, ParticipantError,
    Reply, Request, RouteEnd, Scope, StageRestore, Transport, TransportError, U64,
};
use wellwritten_store::StoreRoute;

use broken_store::BrokenStore;

/// What is wrong with a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Nothing.
    Nothing,
    /// Every question about a status counts as progress.
    StatusIsProgress,
    /// A participant answers nothing else while it is at something.
    OneAtATime,
    /// A conflict is taken for the operation that it conflicts with.
    ConflictReplays,
    /// A repetition is answered as expired.
    ForgetsAtOnce,
    /// Every image comes as a copy.
    CopiesImages,
    /// Every image is black.
    BlackImages,
    /// The world is a step behind with its sound.
    SoundMismarked,
    /// A refusal says that something was changed.
    DishonestRefusals,
    /// Killing kills nobody.
    ImmortalParticipants,
    /// Whoever should be replaced is only called by another name.
    NobodyIsReplaced,
    /// A brain runs a tick too many, late, and admits it nowhere.
    SecretTick,
    /// The reward of a commit never arrives.
    LosesRewards,
    /// A far step raises what the participant takes for its own.
    PoisonedByFarSteps,
    /// A stimulus of any kind is taken for a spark.
    TakesAnyStimulus,
    /// The world's batch is delivered twice under two names, and the second result is given.
    MovesTwice,
    /// A route that has ended is opened again to a new participant, in silence.
    Reconnects,
    /// Time stands still.
    NoTime,
    /// Acknowledging one answer lets all go.
    AcknowledgesAll,
    /// An answer to who it is, whoever asks.
    AnswersAnyone,
    /// Nothing that is planned to go wrong at a participant does.
    NothingGoesWrong,
    /// A lie of the world is set right on the way.
    WhitewashesViews,
    /// A brain runs a tick too many once it was replaced, and admits it nowhere.
    SecretTickInAnotherLife,
    /// Whoever is to go on from a state that it would refuse goes on from the one that it gave.
    TakesAnyState,
    /// A question of an epoch that was left is answered as one of the present.
    HearsOldEpochs,
    /// An image that was shown before is the very same artifact.
    RecyclesImages,
    /// Whoever asks what became of a save hears that nothing did.
    StoreFindsNothing,
    /// What is to be saved once is saved twice.
    StoreSavesTwice,
    /// What nobody knows is told as a failure.
    StoreDeniesLosses,
    /// An older generation stands in for a damaged one, whoever asks.
    StoreHushesUpDamage,
    /// No epoch was ever used.
    StoreForgetsEpochs,
    /// The newest generation is given, whichever is asked for.
    StoreTakesTheNewest,
    /// Saves are told to have failed while they take long.
    StoreAnswersAtOnce,
}

/// A stage within the program that is broken in one way.
pub struct BrokenStage {
    inner: Rc<dyn Stage>,
    time: VirtualTime,
    what: Break,
    first: RefCell<BTreeMap<Id, Rc<dyn Transport>>>,
    /// Every image that was ever shown.
    images: Rc<RefCell<Vec<Artifact>>>,
    /// What each participant last gave as its state.
    captured: RefCell<BTreeMap<Id, Captured>>,
}

impl BrokenStage {
    pub fn new(what: Break, time: VirtualTime) -> Rc<Self> {
        Rc::new(Self {
            inner: ProgramStage::new(Reach::Frames, time.clone()),
            time,
            what,
            first: RefCell::default(),
            images: Rc::default(),
            captured: RefCell::default(),
        })
    }
}

/// A clock that nobody wakes by.
struct Standing;

#[async_trait(?Send)]
impl Clock for Standing {
    fn now_ns(&self) -> u64 {
        0
    }

    async fn sleep_ns(&self, _duration_ns: u64) {
        std::future::pending::<()>().await;
    }
}

#[async_trait(?Send)]
impl Stage for BrokenStage {
    fn name(&self) -> String {
        format!("{:?}", self.what)
    }

    async fn launch(
        &self,
        composition: &CounterComposition,
        worker_id: &Id,
        incarnation_id: &Id,
        life: u32,
    ) -> Result<Launched, ParticipantError> {
        let mut composition = composition.clone();
        if self.what == Break::NothingGoesWrong {
            composition.faults = FaultPlan::none();
        }
        if self.what == Break::SecretTick {
            let agent = Id::parse("fly-a").unwrap();
            let extra = Fault::new(agent, FaultPoint::Prepare, FaultKind::ExtraTicks(1));
            let mut faults = composition.faults.faults().to_vec();
            faults.push(extra.in_life(life).at_boundary(2));
            composition.faults = FaultPlan::new(faults);
        }
        if self.what == Break::SecretTickInAnotherLife {
            let agent = Id::parse("fly-a").unwrap();
            let extra = Fault::new(agent, FaultPoint::Prepare, FaultKind::ExtraTicks(1));
            let mut faults = composition.faults.faults().to_vec();
            faults.push(extra.in_life(2).at_boundary(2));
            composition.faults = FaultPlan::new(faults);
        }
        if self.what == Break::SoundMismarked {
            let mismarked = FaultKind::Lie(Lie::AudioMismarked);
            let world = Id::parse(WORLD).unwrap();
            let fault = Fault::new(world, FaultPoint::Advance, mismarked).in_life(2);
            let mut faults = composition.faults.faults().to_vec();
            faults.push(fault);
            composition.faults = FaultPlan::new(faults);
        }
        let launched = self
            .inner
            .launch(&composition, worker_id, incarnation_id, life)
            .await?;
        let spare = match self.what {
            Break::Reconnects => Some(
                self.inner
                    .launch(&composition, worker_id, incarnation_id, life)
                    .await?
                    .route,
            ),
            _ => None,
        };
        let mut route = launched.route;
        if self.what == Break::NobodyIsReplaced {
            route = self
                .first
                .borrow_mut()
                .entry(worker_id.clone())
                .or_insert(route)
                .clone();
        }
        let immortal: Rc<dyn Fn()> = Rc::new(|| {});
        let kill = match self.what {
            Break::ImmortalParticipants => immortal,
            _ => launched.kill,
        };
        Ok(Launched {
            route: Rc::new(BrokenRoute {
                inner: route,
                spare,
                worker_id: worker_id.clone(),
                incarnation_id: incarnation_id.clone(),
                what: self.what,
                statuses: Cell::new(0),
                turn: Mutex::new(()),
                seen: RefCell::default(),
                furthest: Cell::new(0),
                captured: self
                    .captured
                    .borrow_mut()
                    .entry(worker_id.clone())
                    .or_default()
                    .clone(),
                newest: RefCell::default(),
                images: self.images.clone(),
            }),
            kill,
        })
    }

    fn clock(&self) -> Rc<dyn Clock> {
        match self.what {
            Break::NoTime => Rc::new(Standing),
            _ => Rc::new(self.time.clone()),
        }
    }

    fn spawn(&self, future: BoxedFuture<'static, ()>) {
        self.time.spawn(future);
    }

    fn store_route(&self, route: Rc<dyn StoreRoute>) -> Rc<dyn StoreRoute> {
        Rc::new(BrokenStore {
            inner: route,
            what: self.what,
        })
    }

    fn survives_panics(&self) -> bool {
        false
    }
}

struct BrokenRoute {
    inner: Rc<dyn Transport>,
    spare: Option<Rc<dyn Transport>>,
    worker_id: Id,
    incarnation_id: Id,
    what: Break,
    statuses: Cell<u64>,
    turn: Mutex<()>,
    /// What was answered, by method and step.
    seen: RefCell<BTreeMap<(String, u64), Reply>>,
    furthest: Cell<u64>,
    /// The state it last gave, in whichever life.
    captured: Captured,
    /// The newest scope it answered in.
    newest: RefCell<Option<Scope>>,
    images: Rc<RefCell<Vec<Artifact>>>,
}

/// A state as it can be staged.
type Captured = Rc<RefCell<Option<StageRestore>>>;

fn key(request: &Request) -> (String, u64) {
    let step = request.scope.as_ref().map_or(0, |scope| scope.step.0);
    (request.call.method().to_owned(), step)
}

/// Does something to every image of an answer.
fn each_image(reply: &mut Reply, change: &dyn Fn(&mut Artifact)) {
    let observation = match &mut reply.outcome {
        Ok(Answer::Stepped(result)) => &mut result.observation,
        Ok(
            Answer::WorldInitialized(observation)
            | Answer::Activated {
                observation: Some(observation),
                ..
            },
        ) => observation,
        _ => return,
    };
    for view in &mut observation.sensory_views {
        change(&mut view.pixels);
    }
}

impl BrokenRoute {
    /// The request as it arrives.
    fn altered(&self, request: &Request) -> Request {
        let mut altered = request.clone();
        match (&mut altered.call, self.what) {
            (Call::Commit(commit), Break::LosesRewards) if commit.next_input.boundary.0 > 2 => {
                commit.rewards.clear();
            }
            (Call::Prepare(prepare), Break::TakesAnyStimulus) => {
                for stimulus in &mut prepare.pre_step_stimulations {
                    stimulus.kind_id = Id::parse("spark").unwrap();
                }
            }
            (Call::Acknowledge { request_ids }, Break::AcknowledgesAll) => {
                *request_ids = (1..=16).map(wellwritten_session::RequestId).collect();
            }
            (Call::Hello(hello), Break::AnswersAnyone) => {
                hello.session_id = Id::parse("demo").unwrap();
            }
            _ => {}
        }
        altered
    }

    fn refusal(&self, request: &Request, code: ErrorCode) -> Reply {
        Reply {
            request_id: request.request_id,
            worker_id: self.worker_id.clone(),
            incarnation_id: self.incarnation_id.clone(),
            scope: request.scope.clone(),
            outcome: Err(ParticipantError::refused(code, "broken")),
        }
    }

    /// Remembers what it gives as its state, and goes on from that where it would refuse another.
    async fn any_state(
        &self,
        request: &Request,
        reply: Result<Reply, TransportError>,
    ) -> Result<Reply, TransportError> {
        let mut reply = reply?;
        match (&request.call, &mut reply.outcome) {
            (
                Call::Capture { .. },
                Ok(Answer::Captured {
                    checkpoint_id,
                    compatibility_digest,
                    payload,
                    ..
                }),
            ) => {
                let given = StageRestore {
                    checkpoint_id: checkpoint_id.clone(),
                    source_scope: request.scope.clone().unwrap(),
                    compatibility_digest: *compatibility_digest,
                    payload: payload.clone(),
                };
                self.captured.replace(Some(given));
                Ok(reply)
            }
            (Call::StageRestore(asked), Err(_)) => {
                let mut again = request.clone();
                let given = self.captured.borrow().clone().unwrap();
                again.call = Call::StageRestore(given);
                again.request_id.0 += 1_000_000;
                let mut staged = self.inner.call(&again).await?;
                staged.request_id = request.request_id;
                if let Ok(Answer::Staged { checkpoint_id, .. }) = &mut staged.outcome {
                    *checkpoint_id = asked.checkpoint_id.clone();
                }
                Ok(staged)
            }
            _ => Ok(reply),
        }
    }

    /// Asks again as in the newest epoch.
    async fn any_epoch(
        &self,
        request: &Request,
        reply: Result<Reply, TransportError>,
    ) -> Result<Reply, TransportError> {
        let reply = reply?;
        let is_stale = matches!(&reply.outcome, Err(error) if error.code == ErrorCode::StaleEpoch);
        if reply.outcome.is_ok() && request.scope.is_some() {
            self.newest.replace(request.scope.clone());
        }
        let newest = self.newest.borrow().clone();
        let (true, Call::Verify {}, Some(newest)) = (is_stale, &request.call, newest) else {
            return Ok(reply);
        };
        let mut again = request.clone();
        again.scope = Some(newest);
        let mut answer = self.inner.call(&again).await?;
        answer.scope.clone_from(&request.scope);
        Ok(answer)
    }

    /// The reply as it arrives.
    fn distorted(&self, request: &Request, mut reply: Reply) -> Reply {
        match self.what {
            Break::StatusIsProgress => {
                if let Ok(Answer::Status(status)) = &mut reply.outcome {
                    self.statuses.set(self.statuses.get() + 1);
                    status.progress_counter.0 += self.statuses.get();
                }
            }
            Break::ConflictReplays => {
                let is_conflict =
                    matches!(&reply.outcome, Err(error) if error.code == ErrorCode::Conflict);
                let seen = self.seen.borrow().get(&key(request)).cloned();
                if let (true, Some(seen)) = (is_conflict, seen) {
                    reply.outcome = seen.outcome;
                }
            }
            Break::CopiesImages => each_image(&mut reply, &|image| {
                *image = Artifact::seal(image.bytes().to_vec(), Artifact::RGBA8);
            }),
            Break::BlackImages => each_image(&mut reply, &|image| {
                let mut bytes = image.bytes().to_vec();
                for pixel in bytes.chunks_mut(4) {
                    pixel[0] = 0;
                }
                *image = Artifact::seal(bytes, Artifact::RGBA8);
            }),
            Break::WhitewashesViews => each_image(&mut reply, &|image| {
                let mut bytes = image.bytes().to_vec();
                bytes.resize(32 * 24 * 4, 255);
                *image = Artifact::seal(bytes, Artifact::RGBA8);
            }),
            Break::RecyclesImages => each_image(&mut reply, &|image| {
                let mut images = self.images.borrow_mut();
                match images.iter().find(|old| old.digest() == image.digest()) {
                    Some(old) => *image = old.clone(),
                    None => images.push(image.clone()),
                }
            }),
            Break::DishonestRefusals => {
                if let Err(error) = &mut reply.outcome {
                    error.mutation = MutationCertainty::Applied;
                }
            }
            Break::NobodyIsReplaced => {
                if let Ok(Answer::Hello(hello)) = &mut reply.outcome {
                    hello.incarnation_id = self.incarnation_id.clone();
                }
                reply.incarnation_id = self.incarnation_id.clone();
            }
            Break::SecretTick | Break::SecretTickInAnotherLife => {
                let step = key(request).1;
                if let Ok(Answer::Prepared(prepared)) = &mut reply.outcome {
                    prepared.ticks_advanced.0 -=
                        u64::from(step == 2 && prepared.ticks_advanced.0 > 17);
                }
            }
            _ => {}
        }
        if reply.outcome.is_ok() {
            self.seen.borrow_mut().insert(key(request), reply.clone());
        }
        reply
    }
}

#[async_trait(?Send)]
impl Transport for BrokenRoute {
    async fn call(&self, request: &Request) -> Result<Reply, TransportError> {
        let asked = self.altered(request);
        let step = key(request).1;
        let is_known = self.seen.borrow().contains_key(&key(request));
        let is_step = matches!(
            request.call,
            Call::Advance(_) | Call::Prepare(_) | Call::Commit(_)
        );
        if self.what == Break::ForgetsAtOnce && is_step && is_known {
            return Ok(self.refusal(request, ErrorCode::ResultExpired));
        }
        if self.what == Break::PoisonedByFarSteps && is_step {
            if step < self.furthest.get() {
                return Ok(self.refusal(request, ErrorCode::StaleStep));
            }
            self.furthest.set(step);
        }
        let _turn = match self.what {
            Break::OneAtATime => Some(self.turn.lock().await),
            _ => None,
        };
        let mut reply = self.inner.call(&asked).await;
        if self.what == Break::TakesAnyState {
            reply = self.any_state(&asked, reply).await;
        }
        if self.what == Break::HearsOldEpochs {
            reply = self.any_epoch(&asked, reply).await;
        }
        if self.what == Break::MovesTwice && matches!(request.call, Call::Advance(_)) && is_known {
            let mut again = asked.clone();
            if let Some(scope) = &mut again.scope {
                scope.step = U64(step + 1);
            }
            if let Call::Advance(batch) = &mut again.call {
                let name = batch.batch_id.as_str().rsplit_once('-').unwrap().0;
                batch.batch_id = Id::parse(&format!("{name}-{}", step + 1)).unwrap();
            }
            again.request_id.0 += 1_000;
            let _ = self.inner.call(&again).await;
        }
        if reply.is_err()
            && let Some(spare) = &self.spare
        {
            reply = spare.call(&asked).await;
        }
        Ok(self.distorted(request, reply?))
    }

    fn close(&self) {
        self.inner.close();
    }

    fn end(&self) -> Option<&RouteEnd> {
        match self.what {
            Break::ImmortalParticipants | Break::Reconnects => None,
            _ => self.inner.end(),
        }
    }
}
