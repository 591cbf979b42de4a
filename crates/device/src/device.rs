//! The guarded device: the only way to touch device memory.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::pin;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, FutureExt as _, select};
use futures::stream::{LocalBoxStream, StreamExt as _};
use serde::Serialize;
use wellwritten_memory::{
    BufferBinding, BufferId, BufferSummary, FailureGraph, ReadRefusal, TaintSpan, Watch, Watched,
};

use crate::access::Binding;
use crate::backend::BackendInfo;
use crate::buffer::GuardedBuffer;
use crate::connection::{Connection, DeviceSignal, Reconnect};
use crate::device_state::{DeviceState, Health};
use crate::error::{DeviceError, ReadError};
use crate::kernel::{Kernel, KernelSource};
use crate::launch_check::check_words;
use crate::limits::DeviceLimits;
use crate::spawner::Spawner;

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "typescript",
    derive(tsify::Tsify),
    tsify(large_number_types_as_bigints)
)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCounters {
    /// Submissions handed to the backend.
    pub submissions: u64,
    /// Launches asked for, skipped ones included.
    pub launches: u64,
    /// Launches skipped because an input was known not to read cleanly.
    pub skipped_launches: u64,
    /// Submissions and launches that failed.
    pub failed_units: u64,
    /// Host bytes written.
    pub bytes_written: u64,
    /// Bytes returned by reads.
    pub bytes_read: u64,
}

/// Something that happened to a device outside a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceEvent {
    /// A submission settled, so claims may have changed. On the CPU verdicts come within the call
    /// that asked for the work, and this is not said.
    Settled,
    /// The device was lost.
    Lost {
        /// The generation lost, from 1.
        generation: u64,
        /// What the browser said.
        reason: String,
    },
    /// A new generation is ready; old buffers stay lost.
    Recovered {
        /// The new generation.
        generation: u64,
    },
    /// WebGPU reported an error outside every scope of this device.
    Uncaptured {
        /// What the browser said.
        message: String,
    },
}

type Observer = Rc<dyn Fn(&DeviceEvent)>;

pub(crate) struct Shared {
    state: RefCell<DeviceState>,
    /// Reads and `settled` calls to wake after a change.
    waiters: RefCell<Vec<oneshot::Sender<()>>>,
    observers: RefCell<Vec<Observer>>,
    spawner: Option<Spawner>,
    /// Whether a background flush is already on its way.
    flush_scheduled: Cell<bool>,
    reconnect: Reconnect,
}

/// A compute device whose reads return only bytes that were last written by work that succeeded.
///
/// Cheap to clone: clones are the same device.
#[derive(Clone)]
pub struct GuardedDevice {
    shared: Rc<Shared>,
}

impl fmt::Debug for GuardedDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GuardedDevice")
            .field("backend", &self.backend())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl GuardedDevice {
    /// A device on the CPU: kernels are functions, verdicts are immediate.
    #[must_use]
    pub fn cpu() -> Self {
        Self::cpu_because(None)
    }

    /// A device on the CPU that says why it is not on WebGPU.
    #[must_use]
    pub fn cpu_because(reason: Option<String>) -> Self {
        let connection = Connection::cpu(reason.clone());
        let reconnect: Reconnect =
            Rc::new(move || std::future::ready(Ok(Connection::cpu(reason.clone()))).boxed_local());
        Self::over(connection, None, reconnect)
    }

    pub(crate) fn over(
        connection: Connection,
        spawner: Option<Spawner>,
        reconnect: Reconnect,
    ) -> Self {
        let device = Self {
            shared: Rc::new(Shared {
                state: RefCell::new(DeviceState::new(connection.backend)),
                waiters: RefCell::default(),
                observers: RefCell::default(),
                spawner,
                flush_scheduled: Cell::new(false),
                reconnect,
            }),
        };
        device.listen(device.generation(), connection.signals);
        device
    }

    /// A device on WebGPU. Waits for the browser to grant an adapter and a device.
    ///
    /// # Errors
    /// [`DeviceError::NoAdapter`] or [`DeviceError::NoDevice`]; the CPU backend is then left.
    #[cfg(target_arch = "wasm32")]
    pub async fn webgpu(
        options: crate::webgpu::WebGpuOptions,
        spawner: Spawner,
    ) -> Result<Self, DeviceError> {
        let connection = crate::webgpu::connect(&options).await?;
        let reconnect: Reconnect = Rc::new(move || {
            crate::webgpu::reconnect(options, Self::RECOVERY_ATTEMPTS).boxed_local()
        });
        Ok(Self::over(connection, Some(spawner), reconnect))
    }

    /// Which backend this is, and on what.
    #[must_use]
    pub fn backend(&self) -> BackendInfo {
        self.shared.state.borrow().memory.storage().info()
    }

    /// What the device grants.
    #[must_use]
    pub fn limits(&self) -> DeviceLimits {
        self.shared.state.borrow().memory.storage().limits()
    }

    /// Counts devices from 1: a recovered device is the next generation.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.state.borrow().generation
    }

    /// Why the device is lost, if it is.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        match &self.shared.state.borrow().health {
            Health::Lost(reason) => Some(reason.clone()),
            Health::Live | Health::Closed => None,
        }
    }

    /// What the device has done so far.
    #[must_use]
    pub fn counters(&self) -> DeviceCounters {
        self.shared.state.borrow().counters
    }

    /// Calls `observer` after every event, outside any call into the device.
    pub fn observe(&self, observer: impl Fn(&DeviceEvent) + 'static) {
        self.shared.observers.borrow_mut().push(Rc::new(observer));
    }

    /// Reserves `size_bytes` zeroed bytes (a multiple of 4, at least 4). May submit; does not wait.
    ///
    /// # Errors
    /// Sizes the device cannot grant. A creation that fails late does not show here: reads of the
    /// buffer, and of what was computed from it, name it.
    pub fn alloc(&self, size_bytes: u64, label: &str) -> Result<GuardedBuffer, DeviceError> {
        self.act(|state| state.alloc(size_bytes, label))
    }

    /// Writes `bytes` over `target`, in order with launches. Does not wait.
    ///
    /// # Errors
    /// When lengths differ, words are not whole or the buffer is gone; nothing is written then.
    pub fn write(&self, target: &BufferBinding, bytes: &[u8]) -> Result<(), DeviceError> {
        self.act(|state| state.write(target, bytes.into()))
    }

    /// Makes a kernel. Never fails: what is wrong with its source shows on the launches that use it.
    #[must_use]
    pub fn kernel(&self, source: KernelSource) -> Kernel {
        Kernel {
            source: Rc::new(source),
            compiled: Rc::default(),
        }
    }

    /// Runs `kernel` over `bindings` (`@group(0) @binding(i)`, in order). Does not wait and never
    /// fails for something WebGPU reports late: the bytes it should have written then refuse to be
    /// read. Skipped, without being encoded, when an input is known not to read cleanly.
    ///
    /// # Errors
    /// What can be told before encoding: limits, alignment, a buffer bound twice, a freed buffer.
    pub fn launch(
        &self,
        kernel: &Kernel,
        bindings: &[Binding],
        workgroups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.act(|state| state.launch(kernel, bindings, workgroups))
    }

    /// Returns the bytes, or the report of why not. Submits at the call, not when it is first polled; the
    /// future waits for everything the bytes depend on. What is done after the call, a launch, a write, even
    /// freeing the buffer, does not change what it returns; only losing the device does.
    ///
    /// # Errors
    /// [`ReadError::Unwritten`] when some byte was not last written by work that succeeded.
    pub fn read(
        &self,
        source: &BufferBinding,
    ) -> impl Future<Output = Result<Vec<u8>, ReadError>> + use<> {
        let begun = self.act(|state| {
            check_words("the length of a read", source.size_bytes())?;
            state.flush();
            let watch = state.memory.watch(source).map_err(refusal)?;
            state.check_live()?;
            let location = state.memory.locate(source)?;
            check_words("the offset of a read", location.offset)?;
            let copy = if location.size_bytes == 0 {
                std::future::ready(Ok(Vec::new())).boxed_local()
            } else {
                state.memory.storage_mut().read_back(
                    location.storage,
                    location.offset,
                    location.size_bytes,
                )
            };
            Ok::<_, ReadError>((watch, copy))
        });
        let device = self.clone();
        let buffer = source.buffer();
        async move {
            let (watch, mut copy) = begun?;
            let copied = loop {
                // A refusal that is already certain does not wait for the copy: after a loss the
                // browser may never deliver it.
                device.decided(&watch)?;
                match select(copy, pin!(device.changed())).await {
                    Either::Left((copied, _)) => break copied,
                    Either::Right(((), unfinished)) => copy = unfinished,
                }
            };
            device.resolve(&watch).await?;
            let bytes = copied.map_err(|failure| ReadError::Transfer {
                buffer,
                reason: failure.message,
            })?;
            device.shared.state.borrow_mut().counters.bytes_read += bytes.len() as u64;
            Ok(bytes)
        }
    }

    /// Waits for everything these bytes depend on at the call and says whether they would read cleanly.
    /// Copies nothing.
    ///
    /// # Errors
    /// As [`read`](Self::read), for the first binding that would be refused.
    pub fn verify(
        &self,
        bindings: &[BufferBinding],
    ) -> impl Future<Output = Result<(), ReadError>> + use<> {
        let watches = self.act(|state| {
            state.flush();
            bindings
                .iter()
                .map(|binding| state.memory.watch(binding).map_err(refusal))
                .collect::<Result<Vec<_>, ReadError>>()
        });
        let device = self.clone();
        async move {
            for watch in &watches? {
                device.resolve(watch).await?;
            }
            Ok(())
        }
    }

    /// Waits until every submission made before the call has settled. Submits what is recorded.
    pub fn settled(&self) -> impl Future<Output = ()> + use<> {
        let last = self.act(|state| {
            state.flush();
            state.in_flight.last().copied()
        });
        let device = self.clone();
        async move {
            let Some(last) = last else { return };
            while device
                .shared
                .state
                .borrow()
                .in_flight
                .first()
                .is_some_and(|oldest| *oldest <= last)
            {
                device.changed().await;
            }
        }
    }

    /// The state of every byte of `source`, as spans that cover it in order.
    ///
    /// # Errors
    /// When the buffer is not this device's, or freed.
    pub fn taint(&self, source: &BufferBinding) -> Result<Vec<TaintSpan>, DeviceError> {
        Ok(self.shared.state.borrow().memory.spans(source)?)
    }

    /// As [`taint`](Self::taint), in at most `spans` spans: neighbours are merged and the worst
    /// state of a span stands for it, so that a strip costs what its pixels cost.
    ///
    /// # Errors
    /// When the buffer is not this device's, or freed.
    pub fn taint_limited(
        &self,
        source: &BufferBinding,
        spans: usize,
    ) -> Result<Vec<TaintSpan>, DeviceError> {
        Ok(self
            .shared
            .state
            .borrow()
            .memory
            .spans_limited(source, spans)?)
    }

    /// Every live buffer.
    #[must_use]
    pub fn buffers(&self) -> Vec<BufferSummary> {
        self.shared.state.borrow().memory.buffers()
    }

    /// The whole of a live buffer by its identity, without keeping it alive.
    #[must_use]
    pub fn binding(&self, id: BufferId) -> Option<BufferBinding> {
        self.shared.state.borrow().memory.binding(id)
    }

    /// Failures, what carries them, and the skipped work between.
    #[must_use]
    pub fn failures(&self) -> FailureGraph {
        self.shared.state.borrow().memory.failure_graph()
    }

    /// Moves whenever a claim or a buffer changes.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.state.borrow().memory.revision()
    }

    /// Destroys the real device, as a driver reset would: every byte is claimed at once, reads in
    /// flight are refused by name.
    pub fn lose(&self) {
        let generation = self.generation();
        self.shared
            .state
            .borrow_mut()
            .memory
            .storage_mut()
            .destroy();
        Shared::lose(&self.shared, generation, "destroyed by the program");
    }

    /// Gets a new adapter and device as the next generation. Buffers of the old one stay lost.
    ///
    /// # Errors
    /// [`DeviceError::RecoveryFailed`] after [`RECOVERY_ATTEMPTS`](Self::RECOVERY_ATTEMPTS) tries;
    /// the device stays lost. A live device is left as it is.
    pub async fn recover(&self) -> Result<(), DeviceError> {
        if !self.needs_recovery()? {
            return Ok(());
        }
        let connection = (self.shared.reconnect)().await?;
        // While this waited the device may have been closed, or recovered by another caller whose
        // buffers already live on it: the connection just made is then one too many.
        if !self.needs_recovery()? {
            return Ok(());
        }
        let generation = {
            let mut state = self.shared.state.borrow_mut();
            state.replace_backend(connection.backend);
            state.generation
        };
        self.listen(generation, connection.signals);
        self.shared.changed(&DeviceEvent::Recovered { generation });
        Ok(())
    }

    fn needs_recovery(&self) -> Result<bool, DeviceError> {
        match &self.shared.state.borrow().health {
            Health::Live => Ok(false),
            Health::Closed => Err(DeviceError::Closed),
            Health::Lost(_) => Ok(true),
        }
    }

    /// How often [`recover`](Self::recover) asks the browser for a device before it gives up,
    /// waiting 0, 100 and 400 ms before the tries.
    pub const RECOVERY_ATTEMPTS: u32 = 3;

    /// Destroys the device for good. Every later call is refused; observers hear of it no more, since
    /// a device that its owner closed was not lost.
    pub fn close(&self) {
        self.shared.observers.borrow_mut().clear();
        self.lose();
        self.shared.state.borrow_mut().health = Health::Closed;
    }

    /// Follows what a device says on its own: that it was lost, that something failed outside every
    /// scope.
    fn listen(&self, generation: u64, signals: Option<LocalBoxStream<'static, DeviceSignal>>) {
        let Some(mut signals) = signals else { return };
        let weak = Rc::downgrade(&self.shared);
        self.shared.spawner().spawn(async move {
            while let Some(signal) = signals.next().await {
                let Some(shared) = weak.upgrade() else { return };
                match signal {
                    DeviceSignal::Lost(reason) => {
                        Shared::lose(&shared, generation, &reason);
                        return;
                    }
                    DeviceSignal::Uncaptured(message) => {
                        shared.changed(&DeviceEvent::Uncaptured { message });
                    }
                }
            }
        });
    }

    /// Waits until what `watch` looks at is decided.
    async fn resolve(&self, watch: &Watch) -> Result<(), ReadError> {
        while !self.decided(watch)? {
            self.changed().await;
        }
        Ok(())
    }

    /// Whether the bytes of `watch` are known to be sound by now; an error if known not to be.
    fn decided(&self, watch: &Watch) -> Result<bool, ReadError> {
        match self.shared.state.borrow_mut().memory.resolve(watch)? {
            Watched::Trusted => Ok(true),
            Watched::Pending(_) => Ok(false),
            Watched::Unwritten(report) => Err(ReadError::Unwritten(report)),
        }
    }

    async fn changed(&self) {
        let (wake, woken) = oneshot::channel();
        self.shared.waiters.borrow_mut().push(wake);
        // The sender lives in the device that `self` keeps alive, so this cannot be cancelled.
        let _ = woken.await;
    }

    /// Runs a synchronous operation, then starts waiting for the verdicts it left behind.
    fn act<T>(&self, operation: impl FnOnce(&mut DeviceState) -> T) -> T {
        let (result, settled) = {
            let mut state = self.shared.state.borrow_mut();
            let before = state.memory.revision();
            let result = operation(&mut state);
            (result, state.memory.revision() != before)
        };
        Shared::follow(&self.shared);
        if settled {
            self.shared.wake();
        }
        result
    }
}

/// What a read is told when its bytes cannot be watched.
fn refusal(refusal: ReadRefusal) -> ReadError {
    match refusal {
        ReadRefusal::Unwritten(report) | ReadRefusal::Unallocated { report, .. } => {
            ReadError::Unwritten(report)
        }
        ReadRefusal::Handle(error) => error.into(),
        _ => unreachable!("the memory crate refuses a watch for no other reason"),
    }
}

impl Shared {
    fn lose(shared: &Rc<Self>, generation: u64, reason: &str) {
        if shared.state.borrow_mut().lose(generation, reason) {
            shared.changed(&DeviceEvent::Lost {
                generation,
                reason: reason.to_owned(),
            });
        }
    }

    fn spawner(&self) -> &Spawner {
        self.spawner
            .as_ref()
            .expect("a backend with late verdicts is given a spawner")
    }

    /// Waits in the background for the verdicts that the last operation left behind, and sees to it
    /// that recorded work is submitted even if nobody asks for its result.
    fn follow(shared: &Rc<Self>) {
        let (verdicts, open_work) = {
            let mut state = shared.state.borrow_mut();
            (std::mem::take(&mut state.verdicts), state.has_open_work())
        };
        if verdicts.is_empty() && !open_work {
            return;
        }
        let spawner = shared.spawner();
        for (submission, verdict) in verdicts {
            let weak = Rc::downgrade(shared);
            spawner.spawn(async move {
                let outcome = verdict.await;
                if let Some(shared) = weak.upgrade() {
                    shared.state.borrow_mut().settle(submission, outcome);
                    shared.changed(&DeviceEvent::Settled);
                }
            });
        }
        if open_work && !shared.flush_scheduled.replace(true) {
            let weak = Rc::downgrade(shared);
            spawner.spawn(async move {
                if let Some(shared) = weak.upgrade() {
                    shared.flush_scheduled.set(false);
                    shared.state.borrow_mut().flush();
                    Self::follow(&shared);
                }
            });
        }
    }

    fn wake(&self) {
        for waiter in self.waiters.take() {
            // A read that was dropped no longer listens.
            let _ = waiter.send(());
        }
    }

    fn changed(&self, event: &DeviceEvent) {
        self.wake();
        let observers = self.observers.borrow().clone();
        for observer in observers {
            observer(event);
        }
    }
}
