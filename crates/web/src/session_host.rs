//! One session and everything it needs here: a device, a store, faults, a clock, a listener.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::{Rc, Weak};

use futures::lock::Mutex;
use wasm_bindgen_futures::spawn_local;
use wellwritten_arena::{FaultBoard, FaultName, FaultSpec as ArenaFault};
use wellwritten_device::{BufferBinding, BufferId, DeviceEvent, GuardedDevice};
use wellwritten_envelope::Id;
use wellwritten_session::{
    BoxedFuture, Clock as _, Coordinator, ErrorCode, Host, ParticipantError, Phase, ResetRequest,
    RestoreReport, RestoreRequest, RunOptions, SaveOutcome, SeekCancel, SessionError, join_all,
};
use wellwritten_store::{GenerationInfo, StoreClient};

use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::fault::{FaultInfo, FaultSpec, list_faults};
use crate::launcher::Launcher;
use crate::session_composition::{Composed, LaunchedList, compose};
use crate::session_config::{CompositionChoice, ResumePolicy, SessionConfig};
use crate::session_event::{EventSink, WebSessionEvent};
use crate::session_published::{ResetOptions, Subscriptions};
use crate::session_status::SessionStatus;
use crate::store_link::StoreLink;
use crate::store_start::StoreChoice;
use crate::web_clock::WebClock;

/// One open session.
pub struct SessionHost {
    pub session_id: Id,
    pub coordinator: Rc<Coordinator>,
    pub device: GuardedDevice,
    pub faults: FaultBoard,
    pub events: EventSink,
    store: StoreLink,
    pub subscriptions: Subscriptions,
    launched: LaunchedList,
    store_choice: StoreChoice,
    master_seed: u64,
    /// Whether its participants compute on the device; otherwise nothing is on it.
    uses_device: bool,
    pub(crate) resumable: RefCell<Option<GenerationInfo>>,
    pub(crate) clock: WebClock,
    /// Calls that change the session take turns in the order they were made.
    pub(crate) turn: Mutex<()>,
    /// Saves that were lost when nobody waited for them any more.
    pub(crate) unheard: RefCell<Vec<SaveOutcome>>,
    /// How long a close waits for saves, in nanoseconds.
    pub(crate) closing_ns: u64,
    /// The seeks that were asked for and have not ended, in order.
    pub(crate) seeking: RefCell<Vec<SeekCancel>>,
    running: Cell<bool>,
    /// Counts what asked for a stop, so that a run that was still waiting for its turn hears of it.
    stops: Cell<u64>,
}

impl SessionHost {
    /// Opens the device and the store, builds the participants, and starts or resumes as configured.
    pub async fn open(
        config: SessionConfig,
        events: EventSink,
        launcher: Launcher,
        store: StoreLink,
    ) -> WebResult<Rc<Self>> {
        let launcher = Rc::new(launcher);
        let session_id = config.session_id();
        let Composed {
            composition,
            factory,
            device,
            faults,
            master_seed,
            launched,
        } = compose(&config, launcher).await?;
        let forward = events.clone();
        let coordinator = Coordinator::new(
            composition,
            Host {
                factory,
                clock: Rc::new(WebClock::of_this_thread()),
                budgets: config.budgets(),
                store: Some(store.client()),
                saves: config.saves(),
                observer: Some(Rc::new(move |event| forward.forward(event))),
            },
        )
        .await?;
        let coordinator = Rc::new(coordinator);
        // Participants elsewhere may go away between calls; in this program there is none to watch.
        spawn_local(Coordinator::watch(&coordinator));
        let generations = store.client().generations().await?.generations;
        let newest = generations.into_iter().find(|one| one.is_latest);
        let newest = newest.map(|one| one.info);
        let host = Rc::new(Self {
            session_id,
            coordinator,
            device,
            faults,
            events,
            store,
            subscriptions: Subscriptions::default(),
            launched,
            store_choice: config.store,
            master_seed,
            uses_device: matches!(config.composition, CompositionChoice::Arena),
            resumable: RefCell::new(None),
            clock: WebClock::of_this_thread(),
            turn: Mutex::new(()),
            unheard: RefCell::default(),
            closing_ns: config.closing_ns(),
            seeking: RefCell::default(),
            running: Cell::new(false),
            stops: Cell::new(0),
        });
        host.follow_device();
        match (config.resume, newest) {
            (ResumePolicy::Ask, Some(newest)) => {
                host.resumable.replace(Some(newest));
            }
            (ResumePolicy::Latest, Some(_)) => {
                host.coordinator.restore(RestoreRequest::default()).await?;
            }
            _ => {
                host.coordinator.bootstrap().await?;
            }
        }
        host.events.send(&WebSessionEvent::Ready);
        Ok(host)
    }

    /// The session's store, to be asked.
    pub fn store(&self) -> StoreClient {
        self.store.client()
    }

    /// The session at a glance; answers during a step.
    pub fn status(&self) -> SessionStatus {
        SessionStatus {
            coordinator: self.coordinator.status(),
            backend: self.device.backend(),
            device_generation: self.device.generation(),
            device_lost: self.device.lost(),
            device_counters: self.device.counters(),
            taint_revision: self.device.revision(),
            running: self.running.get(),
            store: self.store_choice,
            store_report: self.store.report().clone(),
            resumable: self.resumable.borrow().clone(),
            master_seed: self.master_seed,
        }
    }

    /// Starts a fresh run in a session that waits to be told whether to resume.
    ///
    /// What could have been resumed is pinned: otherwise the third checkpoint of the new run would drop it.
    pub async fn begin(&self) -> WebResult<()> {
        let _turn = self.turn.lock().await;
        let left = self.resumable.borrow().clone();
        if let Some(left) = left {
            let store = self.store();
            store.set_pinned(&left.checkpoint_id, true).await?;
        }
        self.coordinator.bootstrap().await?;
        self.resumable.take();
        Ok(())
    }

    /// Takes `count` transitions. A paused session resumes for it and is paused again afterwards, as a
    /// debugger steps.
    pub async fn step(&self, count: u64) -> WebResult<()> {
        let _turn = self.turn.lock().await;
        let was_paused = matches!(self.coordinator.phase(), Phase::Paused { .. });
        if was_paused {
            self.coordinator.resume()?;
        }
        let mut outcome = Ok(());
        for _ in 0..count {
            outcome = patiently(&self.clock, || self.coordinator.step())
                .await
                .map(drop);
            if outcome.is_err() || !matches!(self.coordinator.phase(), Phase::Ready { .. }) {
                break;
            }
        }
        if was_paused && matches!(self.coordinator.phase(), Phase::Ready { .. }) {
            self.coordinator.pause()?;
        }
        self.explained(outcome)
    }

    /// Steps until paused, until a boundary, or until something refuses. Leaves the session paused
    /// where it stopped. Checkpoints can be taken meanwhile.
    pub async fn run(&self, options: RunOptions) -> WebResult<()> {
        if self.running.replace(true) {
            return Err(WebError::new(
                WellwrittenErrorCode::Busy,
                "the session is already running; pause it first",
            ));
        }
        let outcome = self.run_until_stopped(options).await;
        self.running.set(false);
        // Refused only where nothing runs on: starting, failed, restoring.
        let _ = self.coordinator.pause();
        outcome
    }

    async fn run_until_stopped(&self, options: RunOptions) -> WebResult<()> {
        let stops = self.stops.get();
        {
            let _turn = self.turn.lock().await;
            if self.stops.get() != stops {
                return Ok(());
            }
            if matches!(self.coordinator.phase(), Phase::Paused { .. }) {
                self.coordinator.resume()?;
            }
        }
        let outcome = self.coordinator.run(options).await;
        self.explained(outcome.map(drop))
    }

    /// The first cause: a participant that refuses because the epoch ended meanwhile is not the one to name.
    fn explained(&self, outcome: Result<(), SessionError>) -> WebResult<()> {
        outcome.map_err(|error| match (&error, self.coordinator.status().failure) {
            (SessionError::Refused { .. }, Some(record))
                if self.coordinator.phase() == Phase::Failed =>
            {
                SessionError::EpochFailed(Box::new(record)).into()
            }
            _ => error.into(),
        })
    }

    /// Pauses at the next committed boundary, and returns there.
    pub async fn pause(&self) -> WebResult<()> {
        self.stops.set(self.stops.get() + 1);
        self.coordinator.pause()?;
        self.stopped().await;
        let _turn = self.turn.lock().await;
        Ok(())
    }

    /// Waits until `run` has ended. Never while holding the turn: the run may be waiting for it.
    async fn stopped(&self) {
        while self.running.get() {
            self.clock.sleep_ns(1_000_000).await;
        }
    }

    /// Goes from paused to ready.
    pub async fn resume(&self) -> WebResult<()> {
        let _turn = self.turn.lock().await;
        self.coordinator.resume()?;
        Ok(())
    }

    /// The whole of a live buffer.
    pub fn binding(&self, buffer_id: u64) -> WebResult<BufferBinding> {
        BufferId::from_u64(buffer_id)
            .and_then(|id| self.device.binding(id))
            .ok_or_else(|| {
                WebError::new(
                    WellwrittenErrorCode::BadHandle,
                    format!("there is no live buffer {buffer_id}; buffers change when participants are replaced"),
                )
            })
    }

    /// Asks the owner of a buffer to do the work that wrote it again.
    pub async fn rewrite(&self, buffer_id: u64) -> WebResult<()> {
        let id = self.binding(buffer_id)?.buffer();
        let summary = self
            .device
            .buffers()
            .into_iter()
            .find(|buffer| buffer.buffer_id == id)
            .ok_or_else(|| {
                WebError::new(WellwrittenErrorCode::BadHandle, "the buffer was freed")
            })?;
        let owner = Id::parse(owner_of(&summary.label))
            .map_err(|error| WebError::new(WellwrittenErrorCode::Unsupported, error.to_string()))?;
        let _turn = self.turn.lock().await;
        patiently(&self.clock, || {
            self.coordinator.rewrite(&owner, &summary.label)
        })
        .await?;
        self.device.settled().await;
        Ok(())
    }

    /// Builds every participant anew, on a recovered device if it was lost.
    pub async fn replace_participants(&self) -> WebResult<()> {
        let _turn = self.turn.lock().await;
        self.device.recover().await?;
        patiently(&self.clock, || self.coordinator.replace_participants()).await?;
        Ok(())
    }

    /// Restores the whole group under a new epoch.
    pub async fn restore(&self, request: RestoreRequest) -> WebResult<RestoreReport> {
        let _turn = self.turn.lock().await;
        let report = patiently(&self.clock, || self.coordinator.restore(request.clone())).await?;
        self.resumable.take();
        Ok(report)
    }

    /// Ends the episode and begins another, all participants built anew.
    pub async fn reset(&self, options: ResetOptions) -> WebResult<()> {
        let _turn = self.turn.lock().await;
        let episode_id = match options.episode_id {
            Some(episode_id) => episode_id,
            None => next_episode(&self.coordinator.status().episode_id)?,
        };
        if matches!(self.coordinator.phase(), Phase::Ready { .. }) {
            self.coordinator.pause()?;
        }
        let request = ResetRequest {
            episode_id,
            epoch: options.epoch,
        };
        patiently(&self.clock, || self.coordinator.reset(request.clone())).await?;
        Ok(())
    }

    /// Arms a fault; two kinds act at once.
    pub fn arm(&self, fault: FaultSpec) -> WebResult<()> {
        let needs_device = !matches!(fault, FaultSpec::KillParticipant { .. });
        if needs_device && !self.uses_device {
            return Err(WebError::new(
                WellwrittenErrorCode::Unsupported,
                "the participants of this session do not compute on its device: no shader of it can be broken, and nothing \
                 would be lost with it"
                    .to_owned(),
            ));
        }
        match fault {
            FaultSpec::InvalidShader { kernel, once } => self.faults.arm(ArenaFault {
                name: FaultName::InvalidShader,
                kernel,
                once,
            }),
            FaultSpec::DeviceLoss => self.device.lose(),
            FaultSpec::KillParticipant { participant } => {
                self.coordinator.kill_participant(&participant)?;
            }
        }
        Ok(())
    }

    /// Every fault that can be injected here.
    pub fn faults(&self) -> Vec<FaultInfo> {
        let participants = self.coordinator.status().participants;
        let names = participants
            .iter()
            .map(|participant| participant.participant_id.to_string())
            .collect();
        let mut faults = list_faults(&self.faults, names);
        faults.retain(|fault| self.uses_device || fault.name == "kill-participant");
        faults
    }

    /// Disarms every fault of that name, or every fault.
    pub fn disarm(&self, name: Option<&str>) {
        if name.is_none_or(|name| name == "invalid-shader") {
            for fault in self.faults.list() {
                let was_armed = self.faults.disarm(fault.name, fault.kernel);
                debug_assert!(was_armed, "it was listed as armed");
            }
        }
    }

    /// Waits for what is under way, then gives store and device back. An error names saves that were lost; it is closed
    /// all the same.
    pub async fn close(&self) -> WebResult<()> {
        self.cancel_seeks();
        self.stops.set(self.stops.get() + 1);
        // Refused in a phase in which no run goes on.
        let _ = self.coordinator.pause();
        self.stopped().await;
        let _turn = self.turn.lock().await;
        let saved = self.close_saves().await;
        let launched: Vec<_> = self.launched.take();
        let launched = launched.iter().filter_map(Weak::upgrade);
        let reaping = launched
            .map(|route| -> BoxedFuture<'_, ()> { Box::pin(async move { route.reap().await }) });
        join_all(reaping).await;
        self.store.close().await;
        self.device.close();
        self.events.send(&WebSessionEvent::Stopped);
        saved
    }

    /// A lost device ends the epoch at once: nothing that was on it can be read any more.
    fn follow_device(self: &Rc<Self>) {
        let host = Rc::downgrade(self);
        self.device.observe(move |event| {
            let Some(host) = host.upgrade() else { return };
            match event {
                DeviceEvent::Settled => {}
                DeviceEvent::Lost { generation, reason } => {
                    let message = format!("device generation {generation} was lost: {reason}");
                    host.events.send(&WebSessionEvent::Device {
                        message: message.clone(),
                    });
                    let error = ParticipantError::uncertain(ErrorCode::BackendFailure, message);
                    // Refused where there is no epoch to end, which is as well.
                    let _ = host.coordinator.fail_epoch(None, error);
                }
                DeviceEvent::Recovered { generation } => {
                    host.events.send(&WebSessionEvent::Device {
                        message: format!("device generation {generation} is ready"),
                    });
                }
                DeviceEvent::Uncaptured { message, .. } => {
                    host.events.send(&WebSessionEvent::Device {
                        message: format!("WebGPU reported outside every submission: {message}"),
                    });
                }
                _ => return,
            }
            host.events.send(&WebSessionEvent::Taint {
                revision: host.device.revision(),
            });
        });
    }
}

/// `ep2` after `ep1`: the number at the end, one higher.
fn next_episode(episode_id: &Id) -> WebResult<Id> {
    let text = episode_id.as_str();
    let stem = text.trim_end_matches(|character: char| character.is_ascii_digit());
    let number: u64 = text[stem.len()..].parse().unwrap_or(1);
    Id::parse(&format!("{stem}{}", number.saturating_add(1)))
        .map_err(|error| WebError::new(WellwrittenErrorCode::InvalidArgument, error.to_string()))
}

/// Who owns a buffer: the part of its label before the slash.
pub fn owner_of(label: &str) -> &str {
    label.split_once('/').map_or(label, |(owner, _)| owner)
}

/// Calls again, a moment later, while another operation of the session is under way: only the step
/// that `run` is taking can be in the way of a call that has its turn, and a step ends.
pub(crate) async fn patiently<T, F>(
    clock: &WebClock,
    mut call: impl FnMut() -> F,
) -> Result<T, SessionError>
where
    F: Future<Output = Result<T, SessionError>>,
{
    loop {
        match call().await {
            Err(SessionError::Busy { .. }) => clock.sleep_ns(1_000_000).await,
            outcome => return outcome,
        }
    }
}
