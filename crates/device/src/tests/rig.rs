//! A device under test, and the test's hands on it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::channel::mpsc::{self, UnboundedSender};
use futures::channel::oneshot;
use futures::executor::LocalPool;
use futures::future::LocalBoxFuture;
use futures::task::LocalSpawnExt as _;

use crate::connection::{Connection, DeviceHost, DeviceSignal};
use crate::kernel::{Kernel, KernelSource};
use crate::late_backend::{INVALID_WGSL, LateControl};
use crate::{
    Access, Binding, BufferBinding, DeviceError, GuardedBuffer, GuardedDevice, ReadError, Spawner,
};

pub(super) type ReadResult = Result<Vec<u8>, ReadError>;

/// Which backend a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// WebGPU's rules, verdicts held back.
    Late,
    /// The CPU backend.
    Cpu,
}

pub(super) const BOTH: [Under; 2] = [Under::Late, Under::Cpu];

/// A device, an executor, and control over what is answered when.
pub(super) struct Rig {
    pub(super) device: GuardedDevice,
    pool: RefCell<LocalPool>,
    controls: Rc<RefCell<Vec<LateControl>>>,
    signals: Rc<RefCell<Vec<UnboundedSender<DeviceSignal>>>>,
    /// Recoveries wait until this many have been let through.
    gates: Rc<RefCell<Vec<oneshot::Sender<()>>>>,
    pub(super) gated: Rc<Cell<bool>>,
    /// How many attempts at a device are refused next.
    pub(super) refusals: Rc<Cell<u32>>,
    /// How long the device paused between attempts.
    pub(super) pauses: Rc<RefCell<Vec<Duration>>>,
}

/// Makes late backends, and says no when told to.
#[derive(Clone)]
struct LateHost {
    controls: Rc<RefCell<Vec<LateControl>>>,
    signals: Rc<RefCell<Vec<UnboundedSender<DeviceSignal>>>>,
    is_gated: Rc<Cell<bool>>,
    gates: Rc<RefCell<Vec<oneshot::Sender<()>>>>,
    refusals: Rc<Cell<u32>>,
    pauses: Rc<RefCell<Vec<Duration>>>,
}

impl LateHost {
    fn made(&self) -> Connection {
        let control = LateControl::default();
        let backend = Box::new(control.backend());
        self.controls.borrow_mut().push(control);
        let (sender, receiver) = mpsc::unbounded();
        self.signals.borrow_mut().push(sender);
        Connection {
            backend,
            signals: Some(Box::pin(receiver)),
        }
    }
}

impl DeviceHost for LateHost {
    fn connect(&self) -> LocalBoxFuture<'static, Result<Connection, DeviceError>> {
        let gate = self.is_gated.get().then(|| {
            let (sender, receiver) = oneshot::channel();
            self.gates.borrow_mut().push(sender);
            receiver
        });
        let host = self.clone();
        async move {
            if let Some(gate) = gate {
                gate.await.expect("the test opens every gate");
            }
            if let Some(left) = host.refusals.get().checked_sub(1) {
                host.refusals.set(left);
                let reason = format!("no adapter, {left} refusals to come");
                return Err(DeviceError::NoAdapter { reason });
            }
            Ok(host.made())
        }
        .boxed_local()
    }

    fn pause(&self, wait: Duration) -> LocalBoxFuture<'static, ()> {
        self.pauses.borrow_mut().push(wait);
        std::future::ready(()).boxed_local()
    }
}

impl Rig {
    pub(super) fn new(under: Under) -> Self {
        match under {
            Under::Late => Self::late(),
            Under::Cpu => Self::on(|_| GuardedDevice::cpu()),
        }
    }

    pub(super) fn late() -> Self {
        Self::on(|rig| {
            let host = LateHost {
                controls: Rc::clone(&rig.controls),
                signals: Rc::clone(&rig.signals),
                is_gated: Rc::clone(&rig.gated),
                gates: Rc::clone(&rig.gates),
                refusals: Rc::clone(&rig.refusals),
                pauses: Rc::clone(&rig.pauses),
            };
            let first = host.made();
            let spawner = rig.pool.borrow().spawner();
            let spawner = Spawner::new(move |future: LocalBoxFuture<'static, ()>| {
                spawner.spawn_local(future).expect("the pool is there");
            });
            GuardedDevice::over(first, Some(spawner), Box::new(host))
        })
    }

    fn on(make: impl FnOnce(&Self) -> GuardedDevice) -> Self {
        let mut rig = Self {
            device: GuardedDevice::cpu(),
            pool: RefCell::new(LocalPool::new()),
            controls: Rc::default(),
            signals: Rc::default(),
            gates: Rc::default(),
            gated: Rc::default(),
            refusals: Rc::default(),
            pauses: Rc::default(),
        };
        rig.device = make(&rig);
        rig
    }

    /// The hand on the present generation's backend.
    pub(super) fn control(&self) -> LateControl {
        self.controls
            .borrow()
            .last()
            .expect("a device under WebGPU's rules")
            .clone()
    }

    /// Has the present generation's device announce something.
    pub(super) fn announce(&self, signal: DeviceSignal) {
        let signals = self.signals.borrow();
        let sender = signals.last().expect("a device under WebGPU's rules");
        sender.unbounded_send(signal).expect("the device listens");
    }

    /// Lets the oldest waiting recovery through.
    pub(super) fn open_gate(&self) {
        let gate = self.gates.borrow_mut().remove(0);
        gate.send(()).expect("a recovery waits");
        self.turn();
    }

    /// Runs everything that can run.
    pub(super) fn turn(&self) {
        self.pool.borrow_mut().run_until_stalled();
    }

    /// Answers everything, oldest first, until nothing is left to answer.
    pub(super) fn settle(&self) {
        self.turn();
        while let Some(control) = self.controls.borrow().last().cloned() {
            if control.held().is_empty() {
                break;
            }
            control.deliver(0);
            self.turn();
        }
    }

    /// Starts something in the background.
    pub(super) fn start<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Rc<RefCell<Option<T>>> {
        let result = Rc::new(RefCell::new(None));
        let put = Rc::clone(&result);
        let spawner = self.pool.borrow().spawner();
        spawner
            .spawn_local(async move {
                let value = future.await;
                *put.borrow_mut() = Some(value);
            })
            .expect("the pool is there");
        self.turn();
        result
    }

    pub(super) fn start_read(&self, source: &BufferBinding) -> Rc<RefCell<Option<ReadResult>>> {
        let (device, source) = (self.device.clone(), source.clone());
        self.start(async move { device.read(&source).await })
    }

    /// Reads, answering everything.
    pub(super) fn read(&self, source: &BufferBinding) -> ReadResult {
        let result = self.start_read(source);
        self.settle();
        result.take().expect("a read ends once all is answered")
    }

    pub(super) fn read_words(&self, source: &BufferBinding) -> Result<Vec<u32>, ReadError> {
        self.read(source).map(|bytes| words(&bytes))
    }

    /// The text of the refusal of a read that must be refused.
    pub(super) fn refusal(&self, source: &BufferBinding) -> String {
        match self.read(source) {
            Ok(bytes) => panic!("read {:?}", words(&bytes)),
            Err(error) => error.to_string(),
        }
    }

    pub(super) fn recover(&self) -> Result<(), DeviceError> {
        let device = self.device.clone();
        let result = self.start(async move { device.recover().await });
        result.take().expect("a recovery ends")
    }

    pub(super) fn alloc(&self, count: usize, label: &str) -> GuardedBuffer {
        self.device
            .alloc(4 * count as u64, label)
            .expect("an allocation within the limits")
    }

    pub(super) fn write(&self, target: &BufferBinding, new: &[u32]) {
        self.device
            .write(target, &bytes(new))
            .expect("a write of the target's length");
    }

    pub(super) fn launch(&self, kernel: &Kernel, bindings: &[(&GuardedBuffer, Access)]) {
        let bindings: Vec<Binding> = bindings
            .iter()
            .map(|(buffer, access)| Binding::new(buffer.binding(), *access))
            .collect();
        self.device
            .launch(kernel, &bindings, [1, 1, 1])
            .expect("a launch within the limits");
    }

    /// Writes `value` to every word of binding 0.
    pub(super) fn fill(&self, label: &str, value: u32) -> Kernel {
        self.device.kernel(KernelSource::host(
            label,
            Rc::new(move |launch| {
                let mut words = launch.take(0)?;
                words.fill(value);
                launch.put(0, words)
            }),
        ))
    }

    /// Copies binding 0 to binding 1, adding one to every word.
    pub(super) fn increment(&self, label: &str) -> Kernel {
        self.device.kernel(KernelSource::host(
            label,
            Rc::new(|launch| {
                let mut words = launch.take(1)?;
                for (to, from) in words.iter_mut().zip(launch.words(0)?) {
                    *to = from.wrapping_add(1);
                }
                launch.put(1, words)
            }),
        ))
    }

    /// A kernel whose shader does not compile; on the CPU, one that fails.
    pub(super) fn broken(&self, label: &str) -> Kernel {
        let mut source = KernelSource::host(
            label,
            Rc::new(|_| Err("line 3, column 5: no such name".to_owned().into())),
        );
        source.wgsl = Some(format!("{INVALID_WGSL}line 3, column 5: no such name"));
        self.device.kernel(source)
    }

    /// Launches `kernel` once over a buffer of its own and lets it settle, so that it is proven.
    pub(super) fn prove(&self, kernel: &Kernel, accesses: &[Access]) {
        let buffers: Vec<GuardedBuffer> =
            accesses.iter().map(|_| self.alloc(64, "proof")).collect();
        self.settle();
        let bindings: Vec<_> = buffers.iter().zip(accesses.iter().copied()).collect();
        self.launch(kernel, &bindings);
        self.settle();
    }
}

pub(super) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().expect("four bytes")))
        .collect()
}
