//! What a scenario is played on: a device, kernels in both forms, and the means to make things go wrong.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use wellwritten_device::{
    Access, Binding, BufferBinding, DeviceError, DeviceEvent, GuardedBuffer, GuardedDevice,
    HostKernel, HostLaunch, Kernel, KernelSource, ReadError,
};

/// Bytes that a buffer held before, as plausible as those that are due.
pub(crate) const OLD: u32 = 512;
/// Bytes that are due.
pub(crate) const DUE: u32 = 2048;
/// What is wrong with the shader of [`Stage::broken`], in the compiler's words.
pub(crate) const SAID: &str = "line 4, column 20: unresolved value 'no_such_name'";

const FILL: &str = "
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&output)) { output[id.x] = 2048u; }
}";

const INCREMENT: &str = "
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&output)) { output[id.x] = input[id.x] + 1u; }
}";

/// The fourth line names something that does not exist.
const INVALID: &str = "
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    output[id.x] = no_such_name;
}";

/// Makes failures happen that the device does not cause by itself. A scenario is played only where what it needs can
/// be done.
pub(crate) trait Forcing {
    /// Another device on the same backend.
    fn another(&self) -> LocalBoxFuture<'static, Stage>;
    /// The shader of this kernel does not compile. A backend that reads WGSL finds out by itself.
    fn break_shader(&self, _label: &str, _said: &str) {}
    /// No pipeline can be made of this kernel. A backend that makes pipelines finds out by itself.
    fn break_pipeline(&self, _label: &str, _said: &str) {}
    /// The next submission is invalid, though nobody could have known.
    fn spoil_next_submission(&self) {
        unreachable!("not played here")
    }
    /// The buffer created after `skipped` more has no memory.
    fn fail_creation_after(&self, _skipped: u64) {
        unreachable!("not played here")
    }
    /// The next mapping rejects.
    fn reject_mapping(&self) {
        unreachable!("not played here")
    }
    /// Something fails outside every scope.
    fn report_uncaptured(&self, _said: &str) {
        unreachable!("not played here")
    }
    /// The device is gone, and the program hears of it later.
    fn lose_behind_its_back(&self) {
        unreachable!("not played here")
    }
    /// The next `times` that a recovery asks, there is no device.
    fn refuse_connections(&self, _times: u32) {
        unreachable!("not played here")
    }
    /// How long recoveries paused between their tries, in milliseconds.
    fn pauses(&self) -> Vec<u64> {
        unreachable!("not played here")
    }
    /// Nothing more is answered. Where answers take their time anyway, nothing needs to be done.
    fn hold_answers(&self) {}
    /// Answers come again.
    fn release_answers(&self) {}
}

/// What is done to the answer of one read, to see whether its scenario notices. The host's runs try them all.
#[cfg_attr(
    target_arch = "wasm32",
    expect(dead_code, reason = "distorted on the host only")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distortion {
    /// Bytes that were returned are refused.
    Refuse,
    /// Bytes that were refused are returned.
    Accept,
    /// One bit of what was returned is another.
    Corrupt,
}

/// The reads of a scenario, counted; one of them may be distorted.
#[derive(Default)]
pub(crate) struct Reads {
    asked: Cell<usize>,
    distort: Cell<Option<(usize, Distortion)>>,
    is_distorted: Cell<bool>,
}

#[cfg_attr(
    target_arch = "wasm32",
    expect(dead_code, reason = "distorted on the host only")
)]
impl Reads {
    pub(crate) fn distorting(read: usize, distortion: Distortion) -> Rc<Self> {
        Rc::new(Self {
            distort: Cell::new(Some((read, distortion))),
            ..Self::default()
        })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.get()
    }

    pub(crate) fn is_distorted(&self) -> bool {
        self.is_distorted.get()
    }

    fn distorted(
        &self,
        number: usize,
        source: &BufferBinding,
        answer: Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<u8>, ReadError> {
        let distortion = match self.distort.get() {
            Some((at, distortion)) if at == number => distortion,
            _ => return answer,
        };
        let is_empty = source.size_bytes() == 0;
        match (distortion, answer) {
            (Distortion::Refuse, Ok(_)) => {
                self.is_distorted.set(true);
                Err(ReadError::Transfer {
                    buffer: source.buffer(),
                    reason: "distorted".to_owned(),
                })
            }
            (Distortion::Accept, Err(_)) => {
                self.is_distorted.set(true);
                Ok(vec![
                    0;
                    usize::try_from(source.size_bytes()).expect("small")
                ])
            }
            (Distortion::Corrupt, Ok(mut bytes)) if !is_empty => {
                self.is_distorted.set(true);
                let last = bytes.len() - 1;
                bytes[last] ^= 0x80;
                Ok(bytes)
            }
            (_, answer) => answer,
        }
    }
}

type Waiters = RefCell<Vec<oneshot::Sender<()>>>;

/// A device, and what it says on its own.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) device: GuardedDevice,
    pub(crate) forcing: Rc<dyn Forcing>,
    events: Rc<RefCell<Vec<DeviceEvent>>>,
    waiters: Rc<Waiters>,
    reads: Rc<Reads>,
}

impl Stage {
    pub(crate) fn new(device: GuardedDevice, forcing: Rc<dyn Forcing>, reads: Rc<Reads>) -> Self {
        let events = Rc::new(RefCell::new(Vec::new()));
        let waiters: Rc<Waiters> = Rc::default();
        let (heard, told) = (Rc::clone(&events), Rc::clone(&waiters));
        device.observe(move |event| {
            heard.borrow_mut().push(event.clone());
            for waiter in told.take() {
                // A scenario that failed no longer listens.
                let _ = waiter.send(());
            }
        });
        Self {
            device,
            forcing,
            events,
            waiters,
            reads,
        }
    }

    /// Waits until the device says something.
    pub(crate) async fn heard(&self, wanted: impl Fn(&DeviceEvent) -> bool) -> DeviceEvent {
        loop {
            let (wake, woken) = oneshot::channel();
            self.waiters.borrow_mut().push(wake);
            if let Some(event) = self.events.borrow().iter().find(|event| wanted(event)) {
                return event.clone();
            }
            woken.await.expect("the device lives");
        }
    }

    /// How often it said so.
    pub(crate) fn count(&self, wanted: impl Fn(&DeviceEvent) -> bool) -> usize {
        self.events
            .borrow()
            .iter()
            .filter(|event| wanted(event))
            .count()
    }

    pub(crate) fn alloc(&self, count: u32, label: &str) -> GuardedBuffer {
        self.device
            .alloc(4 * u64::from(count), label)
            .expect("within the limits")
    }

    pub(crate) fn three(&self, labels: [&str; 3]) -> [GuardedBuffer; 3] {
        labels.map(|label| self.alloc(64, label))
    }

    /// Writes `value` to every word.
    pub(crate) fn write(&self, target: &GuardedBuffer, value: u32) {
        self.write_to(&target.binding(), value);
    }

    pub(crate) fn write_to(&self, target: &BufferBinding, value: u32) {
        let count = usize::try_from(target.size_bytes() / 4).expect("small");
        let words = bytes(&vec![value; count]);
        self.device.write(target, &words).expect("of its length");
    }

    pub(crate) fn launch(&self, kernel: &Kernel, bindings: &[(&GuardedBuffer, Access)]) {
        self.try_launch(kernel, bindings)
            .expect("within the limits");
    }

    pub(crate) fn try_launch(
        &self,
        kernel: &Kernel,
        bindings: &[(&GuardedBuffer, Access)],
    ) -> Result<(), DeviceError> {
        let bindings: Vec<Binding> = bindings
            .iter()
            .map(|(buffer, access)| Binding::new(buffer.binding(), *access))
            .collect();
        self.device.launch(kernel, &bindings, [16, 1, 1])
    }

    /// Begins to read at the call.
    pub(crate) fn read(
        &self,
        source: &BufferBinding,
    ) -> impl Future<Output = Result<Vec<u8>, ReadError>> + use<> {
        let number = self.reads.asked.replace(self.reads.asked() + 1);
        let reading = self.device.read(source);
        let (reads, source) = (Rc::clone(&self.reads), source.clone());
        async move { reads.distorted(number, &source, reading.await) }
    }

    /// Reads a whole buffer, every word of which must hold `value`.
    pub(crate) async fn holds(&self, source: &GuardedBuffer, value: u32) {
        let read = self.read(&source.binding()).await;
        let read = read.unwrap_or_else(|error| panic!("`{}`: {error}", source.label()));
        assert_eq!(read, filled(source, value), "`{}`", source.label());
    }

    /// The report on a buffer that must not read.
    pub(crate) async fn refusal(&self, source: &GuardedBuffer) -> String {
        match self.read(&source.binding()).await {
            Err(ReadError::Unwritten(report)) => report.to_string(),
            Err(other) => panic!("`{}`: {other}", source.label()),
            Ok(bytes) => panic!("`{}` read {:?}", source.label(), words(&bytes)),
        }
    }

    /// A buffer that must not read, because of all of this.
    pub(crate) async fn refused(&self, source: &GuardedBuffer, because: &[&str]) {
        let refusal = self.refusal(source).await;
        for part in because {
            assert!(refusal.contains(part), "no `{part}` in: {refusal}");
        }
    }

    /// Three buffers whose pages held a plausible old value.
    pub(crate) async fn recycled(&self) -> [GuardedBuffer; 3] {
        let old = self.three(["a", "b", "c"]);
        for buffer in &old {
            self.write(buffer, OLD);
            self.holds(buffer, OLD).await;
        }
        drop(old);
        self.three(["first", "second", "third"])
    }

    /// Writes [`DUE`] to every word of binding 0.
    pub(crate) fn fill(&self, label: &str) -> Kernel {
        self.device.kernel(fill(label))
    }

    /// Copies binding 0 to binding 1, adding one to every word.
    pub(crate) fn increment(&self, label: &str) -> Kernel {
        self.device.kernel(increment(label))
    }

    /// A kernel whose shader does not compile; on the CPU, one that fails.
    pub(crate) fn broken(&self, label: &str) -> Kernel {
        self.forcing.break_shader(label, SAID);
        let fails = Rc::new(|_: &mut HostLaunch<'_>| Err(SAID.to_owned().into()));
        self.device
            .kernel(KernelSource::wgsl(label, INVALID).with_host(fails))
    }

    /// Launches over buffers of their own and lets that settle, so that the kernel is proven.
    pub(crate) async fn prove(&self, kernel: &Kernel, accesses: &[Access]) {
        let buffers: Vec<_> = accesses.iter().map(|_| self.alloc(64, "proof")).collect();
        let bindings: Vec<_> = buffers.iter().zip(accesses.iter().copied()).collect();
        self.launch(kernel, &bindings);
        self.device.settled().await;
    }
}

/// Writes [`DUE`] to every word of binding 0.
pub(crate) fn fill(label: &str) -> KernelSource {
    let host: HostKernel = Rc::new(|launch| {
        let mut words = launch.take(0)?;
        words.fill(DUE);
        launch.put(0, words)
    });
    KernelSource::wgsl(label, FILL).with_host(host)
}

/// Copies binding 0 to binding 1, adding one to every word.
pub(crate) fn increment(label: &str) -> KernelSource {
    let host: HostKernel = Rc::new(|launch| {
        let mut output = launch.take(1)?;
        for (to, from) in output.iter_mut().zip(launch.words(0)?) {
            *to = from.wrapping_add(1);
        }
        launch.put(1, output)
    });
    KernelSource::wgsl(label, INCREMENT).with_host(host)
}

fn filled(buffer: &GuardedBuffer, value: u32) -> Vec<u8> {
    let count = usize::try_from(buffer.size_bytes() / 4).expect("small");
    bytes(&vec![value; count])
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]))
        .collect()
}
