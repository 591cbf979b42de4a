//! A device under test, and the test's hands on it.

use std::cell::RefCell;
use std::rc::Rc;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use wellwritten_device::fake::{FakeControl, FakeDevice, Question};
use wellwritten_device::{
    Access, Binding, BufferBinding, DeviceError, GuardedBuffer, GuardedDevice, HostLaunch, Kernel,
    KernelSource, ReadError, Spawner,
};

pub(crate) type ReadResult = Result<Vec<u8>, ReadError>;

/// Which backend a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    /// WebGPU's rules, verdicts held back.
    Late,
    /// The CPU backend.
    Cpu,
}

pub(crate) const BOTH: [Under; 2] = [Under::Late, Under::Cpu];

/// A device, an executor, and control over what is answered when.
pub(crate) struct Rig {
    pub(crate) device: GuardedDevice,
    pool: RefCell<LocalPool>,
    control: Option<FakeControl>,
}

impl Rig {
    pub(crate) fn new(under: Under) -> Self {
        match under {
            Under::Late => Self::late(),
            Under::Cpu => Self {
                device: GuardedDevice::cpu(),
                pool: RefCell::new(LocalPool::new()),
                control: None,
            },
        }
    }

    pub(crate) fn late() -> Self {
        let pool = LocalPool::new();
        let spawner = pool.spawner();
        let spawner = Spawner::new(move |future| {
            spawner.spawn_local(future).expect("the pool is there");
        });
        let (device, control) = FakeDevice::open(spawner);
        Self {
            device,
            pool: RefCell::new(pool),
            control: Some(control),
        }
    }

    /// The hand on the fake.
    pub(crate) fn control(&self) -> &FakeControl {
        let control = self.control.as_ref();
        control.expect("a device under WebGPU's rules")
    }

    /// Runs everything that can run.
    pub(crate) fn turn(&self) {
        self.pool.borrow_mut().run_until_stalled();
    }

    /// Answers everything, oldest first, until nothing is left to answer.
    pub(crate) fn settle(&self) {
        self.turn();
        while self
            .control
            .as_ref()
            .and_then(|control| control.deliver(0))
            .is_some()
        {
            self.turn();
        }
    }

    /// Starts something in the background.
    pub(crate) fn start<T: 'static>(
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

    pub(crate) fn start_read(&self, source: &BufferBinding) -> Rc<RefCell<Option<ReadResult>>> {
        let (device, source) = (self.device.clone(), source.clone());
        self.start(async move { device.read(&source).await })
    }

    /// Reads, answering everything.
    pub(crate) fn read(&self, source: &BufferBinding) -> ReadResult {
        let result = self.start_read(source);
        self.settle();
        result.take().expect("a read ends once all is answered")
    }

    pub(crate) fn read_words(&self, source: &BufferBinding) -> Result<Vec<u32>, ReadError> {
        self.read(source).map(|bytes| words(&bytes))
    }

    /// The text of the refusal of a read that must be refused.
    pub(crate) fn refusal(&self, source: &BufferBinding) -> String {
        match self.read(source) {
            Ok(bytes) => panic!("read {:?}", words(&bytes)),
            Err(error) => error.to_string(),
        }
    }

    /// Recovers, answering what a recovery asks and nothing else.
    pub(crate) fn recover(&self) -> Result<(), DeviceError> {
        let result = self.start_recovery();
        while result.borrow().is_none() && self.connect() {}
        result.take().expect("a recovery ends")
    }

    pub(crate) fn start_recovery(&self) -> Rc<RefCell<Option<Result<(), DeviceError>>>> {
        let device = self.device.clone();
        self.start(async move { device.recover().await })
    }

    /// Answers the oldest question of a recovery, if there is one.
    pub(crate) fn connect(&self) -> bool {
        let asked = [Question::Connection, Question::Pause];
        let answered = asked
            .into_iter()
            .any(|question| self.control().deliver_first(question).is_some());
        self.turn();
        answered
    }

    pub(crate) fn alloc(&self, count: usize, label: &str) -> GuardedBuffer {
        self.device
            .alloc(4 * count as u64, label)
            .expect("an allocation within the limits")
    }

    pub(crate) fn write(&self, target: &BufferBinding, new: &[u32]) {
        self.device
            .write(target, &bytes(new))
            .expect("a write of the target's length");
    }

    pub(crate) fn launch(&self, kernel: &Kernel, bindings: &[(&GuardedBuffer, Access)]) {
        let bindings: Vec<Binding> = bindings
            .iter()
            .map(|(buffer, access)| Binding::new(buffer.binding(), *access))
            .collect();
        self.device
            .launch(kernel, &bindings, [1, 1, 1])
            .expect("a launch within the limits");
    }

    /// Writes `value` to every word of binding 0.
    pub(crate) fn fill(&self, label: &str, value: u32) -> Kernel {
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
    pub(crate) fn increment(&self, label: &str) -> Kernel {
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
    pub(crate) fn broken(&self, label: &str) -> Kernel {
        const SAID: &str = "line 3, column 5: no such name";
        if let Some(control) = &self.control {
            control.break_shader(label, SAID);
        }
        let fails = Rc::new(|_: &mut HostLaunch<'_>| Err(SAID.to_owned().into()));
        self.device.kernel(KernelSource::host(label, fails))
    }

    /// Launches `kernel` once over a buffer of its own and lets it settle, so that it is proven.
    pub(crate) fn prove(&self, kernel: &Kernel, accesses: &[Access]) {
        let buffers: Vec<GuardedBuffer> =
            accesses.iter().map(|_| self.alloc(64, "proof")).collect();
        self.settle();
        let bindings: Vec<_> = buffers.iter().zip(accesses.iter().copied()).collect();
        self.launch(kernel, &bindings);
        self.settle();
    }
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().expect("four bytes")))
        .collect()
}
