//! The guarded device on the real WebGPU of a browser, with real failures. Oracle: a read returns what
//! its own launch wrote, or names the cause; and no error or rejection escapes on the way.

#![cfg(target_arch = "wasm32")]

use std::cell::RefCell;
use std::rc::Rc;

use futures::future::join_all;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use wellwritten_device::{
    Access, BackendKind, Binding, BufferBinding, DeviceError, DeviceEvent, GuardedBuffer,
    GuardedDevice, HostKernel, Kernel, KernelSource, LimitName, ReadError, Spawner, TaintState,
    WebGpuOptions,
};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

const OLD: u32 = 512;
const DUE: u32 = 2048;

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

const SCRAMBLE: &str = "
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&state)) { return; }
    var word = state[id.x] * 2654435761u + id.x;
    word = word ^ (word >> 15u);
    state[id.x] = word * 2246822519u;
}";

/// The fourth line names something that does not exist.
const INVALID: &str = "
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    output[id.x] = no_such_name;
}";

/// Keeps every `GPUDevice` that is made, so that a test can break the real one behind our back, and
/// notes rejections that nobody handled.
const WITNESS: &str = "
if (globalThis.witness) return;
const seen = globalThis.witness = { devices: [], rejections: [], next: null };
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...rest) {
    const device = await request.apply(this, rest);
    seen.devices.push(device);
    return device;
};
const create = GPUDevice.prototype.createBuffer;
GPUDevice.prototype.createBuffer = function (descriptor) {
    if (seen.next === 'oversized' && (descriptor.usage & GPUBufferUsage.STORAGE)) {
        seen.next = null;
        descriptor.size = 2 ** 40;
    }
    return create.call(this, descriptor);
};
const map = GPUBuffer.prototype.mapAsync;
GPUBuffer.prototype.mapAsync = function (...rest) {
    if (seen.next === 'map rejects') {
        seen.next = null;
        return Promise.reject(new DOMException('as the test asked', 'OperationError'));
    }
    return map.apply(this, rest);
};
addEventListener('unhandledrejection', (event) => seen.rejections.push(String(event.reason)));
";

fn script(text: &str) -> JsValue {
    js_sys::Function::new_no_args(text)
        .call0(&JsValue::UNDEFINED)
        .expect("the test's own script runs")
}

/// A device on the real thing, and what it said on its own.
struct Browser {
    device: GuardedDevice,
    events: Rc<RefCell<Vec<DeviceEvent>>>,
}

impl Browser {
    async fn open() -> Self {
        script(WITNESS);
        let device = GuardedDevice::webgpu(WebGpuOptions::default(), Spawner::new(spawn_local))
            .await
            .expect("this browser has a WebGPU adapter");
        assert_eq!(device.backend().kind, BackendKind::Webgpu);
        let events = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&events);
        device.observe(move |event| heard.borrow_mut().push(event.clone()));
        Self { device, events }
    }

    /// No error outside the device's scopes, and no rejection that nobody handled.
    async fn close(self) {
        self.device.settled().await;
        gloo_timers::future::TimeoutFuture::new(20).await;
        let uncaptured = |event: &&DeviceEvent| matches!(event, DeviceEvent::Uncaptured { .. });
        assert_eq!(self.events.borrow().iter().find(uncaptured), None);
        let rejections = script("return witness.rejections.splice(0).join('; ')");
        assert_eq!(rejections.as_string().as_deref(), Some(""));
        self.device.close();
    }

    fn alloc(&self, count: u32, label: &str) -> GuardedBuffer {
        self.device.alloc(4 * u64::from(count), label).unwrap()
    }

    fn write(&self, target: &BufferBinding, words: &[u32]) {
        self.device.write(target, &bytes(words)).unwrap();
    }

    fn launch(&self, kernel: &Kernel, bindings: &[(&GuardedBuffer, Access)]) {
        launch(&self.device, kernel, bindings);
    }

    async fn words(&self, source: &GuardedBuffer) -> Vec<u32> {
        words(&self.device.read(&source.binding()).await.unwrap())
    }

    async fn refusal(&self, source: &GuardedBuffer) -> String {
        match self.device.read(&source.binding()).await {
            Ok(bytes) => panic!("read {:?}", words(&bytes)),
            Err(ReadError::Unwritten(report)) => report.to_string(),
            Err(other) => panic!("{other}"),
        }
    }

    /// Three buffers whose pages held a plausible old value.
    async fn recycled(&self) -> [GuardedBuffer; 3] {
        let old = ["a", "b", "c"].map(|label| self.alloc(64, label));
        for buffer in &old {
            self.write(&buffer.binding(), &[OLD; 64]);
            assert_eq!(self.words(buffer).await, [OLD; 64]);
        }
        drop(old);
        ["first", "second", "third"].map(|label| self.alloc(64, label))
    }

    fn kernel(&self, label: &str, wgsl: &str) -> Kernel {
        self.device.kernel(KernelSource::wgsl(label, wgsl))
    }

    /// A kernel that has settled clean once, so that its launches are batched.
    async fn proven(&self, label: &str, wgsl: &str) -> Kernel {
        let kernel = self.kernel(label, wgsl);
        let proof = self.alloc(128, "proof");
        self.launch(&kernel, &[(&proof, Access::Write)]);
        assert_eq!(self.words(&proof).await, [DUE; 128]);
        kernel
    }
}

fn launch(device: &GuardedDevice, kernel: &Kernel, bindings: &[(&GuardedBuffer, Access)]) {
    let bindings: Vec<Binding> = bindings
        .iter()
        .map(|(buffer, access)| Binding::new(buffer.binding(), *access))
        .collect();
    device.launch(kernel, &bindings, [16, 1, 1]).unwrap();
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap()))
        .collect()
}

#[wasm_bindgen_test]
async fn a_shader_that_does_not_compile_between_two_good_ones() {
    let browser = Browser::open().await;
    let [first, second, third] = browser.recycled().await;
    let good = browser.kernel("good", FILL);
    let bad = browser.kernel("diffuse", INVALID);
    browser.launch(&good, &[(&first, Access::Write)]);
    browser.launch(&bad, &[(&second, Access::Write)]);
    browser.launch(&good, &[(&third, Access::Write)]);
    let pending = browser.device.taint(&second.binding()).unwrap();
    assert_eq!(pending[0].state, TaintState::Pending);

    let reads = [&first, &second, &third].map(GuardedBuffer::binding);
    let mut reads = join_all(reads.iter().map(|source| browser.device.read(source))).await;
    let [one, two, three] = [reads.remove(0), reads.remove(0), reads.remove(0)];
    assert_eq!(words(&one.unwrap()), [DUE; 64]);
    assert_eq!(words(&three.unwrap()), [DUE; 64]);
    let report = match two {
        Err(ReadError::Unwritten(report)) => report,
        other => panic!("{other:?}"),
    };
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].work, "kernel diffuse");
    assert_eq!(
        report.failures[0].message,
        "shader `diffuse` failed to compile: line 4, column 20: unresolved value 'no_such_name'"
    );
    assert!(report.steps.is_empty());

    // Known by now: refused at once, without an encoding.
    let submissions = browser.device.counters().submissions;
    browser.launch(&bad, &[(&first, Access::Write)]);
    assert!(browser.refusal(&first).await.contains("shader `diffuse`"));
    assert_eq!(browser.device.counters().submissions, submissions);

    // A rewrite recovers.
    browser.launch(&good, &[(&second, Access::Write)]);
    assert_eq!(browser.words(&second).await, [DUE; 64]);
    browser.write(&first.binding(), &[3; 64]);
    assert_eq!(browser.words(&first).await, [3; 64]);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_proven_kernel_whose_binding_is_too_small_drops_its_batch() {
    let browser = Browser::open().await;
    let good = browser.proven("good", FILL).await;
    let fixed = FILL
        .replace("array<u32>;", "array<u32, 128>;")
        .replace("arrayLength(&output)", "128u");
    let fixed = browser.proven("fixed", &fixed).await;
    let [first, second, third] = browser.recycled().await;
    browser.device.settled().await;
    let submissions = browser.device.counters().submissions;
    browser.launch(&good, &[(&first, Access::Write)]);
    browser.launch(&fixed, &[(&second, Access::Write)]);
    browser.launch(&good, &[(&third, Access::Write)]);
    for buffer in [&first, &second, &third] {
        let refusal = browser.refusal(buffer).await;
        assert!(refusal.contains("(kernel good, kernel fixed)"), "{refusal}");
        assert!(
            refusal.contains("WebGPU dropped the submission"),
            "{refusal}"
        );
        assert!(refusal.contains("fixed"), "{refusal}");
    }
    assert_eq!(browser.device.counters().submissions, submissions + 1);
    browser.launch(&good, &[(&second, Access::Write)]);
    assert_eq!(browser.words(&second).await, [DUE; 64]);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_failure_goes_down_a_chain_of_launches() {
    let browser = Browser::open().await;
    let [a, b, c] = ["a", "b", "c"].map(|label| browser.alloc(64, label));
    let bad = browser.kernel("diffuse", INVALID);
    let (second, third) = (
        browser.kernel("second", INCREMENT),
        browser.kernel("third", INCREMENT),
    );
    for settled_between in [false, true] {
        browser.launch(&bad, &[(&a, Access::Write)]);
        if settled_between {
            browser.device.settled().await;
        }
        let skipped = browser.device.counters().skipped_units;
        browser.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        browser.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);
        let newly_skipped = browser.device.counters().skipped_units - skipped;
        assert_eq!(newly_skipped, if settled_between { 2 } else { 0 });
        let refusal = browser.refusal(&c).await;
        assert!(
            refusal.starts_with("kernel diffuse: shader `diffuse` failed to compile"),
            "{refusal}"
        );
        assert!(refusal.contains("skipped kernel second"), "{refusal}");
        assert!(refusal.contains("skipped kernel third"), "{refusal}");
        browser.write(&a.binding(), &[1; 64]);
        browser.launch(&second, &[(&a, Access::Read), (&b, Access::Write)]);
        browser.launch(&third, &[(&b, Access::Read), (&c, Access::Write)]);
        assert_eq!(browser.words(&c).await, [3; 64]);
    }
    browser.close().await;
}

#[wasm_bindgen_test]
async fn pipelines_that_cannot_be_made_name_their_kernel() {
    let browser = Browser::open().await;
    let [first, second, _] = browser.recycled().await;
    let mut no_entry = KernelSource::wgsl("no entry", FILL);
    "elsewhere".clone_into(&mut no_entry.entry_point);
    let no_entry = browser.device.kernel(no_entry);
    let read_only = FILL
        .replace("read_write", "read")
        .replace("output[id.x] = 2048u;", "_ = output[id.x];");
    let read_only = browser.kernel("read only", &read_only);
    for (kernel, label, said) in [
        (&no_entry, "no entry", "elsewhere"),
        (&read_only, "read only", "binding"),
    ] {
        browser.launch(kernel, &[(&second, Access::Write)]);
        let refusal = browser.refusal(&second).await;
        let expected = format!("the pipeline of kernel `{label}` is invalid");
        assert!(refusal.contains(&expected), "{refusal}");
        assert!(refusal.to_lowercase().contains(said), "{refusal}");
    }
    // A shader that writes what the launch calls read-only.
    let writes = browser.kernel("writes", INCREMENT);
    browser.launch(&writes, &[(&second, Access::Read), (&first, Access::Read)]);
    browser.launch(&writes, &[(&first, Access::Read), (&second, Access::Write)]);
    assert_eq!(
        browser.words(&second).await,
        [1; 64],
        "the kernel itself is sound"
    );
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_launch_over_a_limit_is_refused_before_it_is_encoded() {
    let browser = Browser::open().await;
    let [first, ..] = browser.recycled().await;
    let good = browser.kernel("good", FILL);
    let before = browser.device.counters();
    let bindings = [Binding::new(first.binding(), Access::Write)];
    match browser.device.launch(&good, &bindings, [65_536, 1, 1]) {
        Err(DeviceError::Limit {
            limit: LimitName::MaxComputeWorkgroupsPerDimension,
            requested: 65_536,
            granted: 65_535,
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(browser.device.counters(), before);
    assert_eq!(browser.words(&first).await, [0; 64]);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_buffer_that_could_not_be_created_is_named_everywhere_downstream() {
    let browser = Browser::open().await;
    let fine = browser.alloc(64, "fine");
    script("witness.next = 'oversized'");
    let doomed = browser.alloc(64, "doomed");
    let [b, c] = ["b", "c"].map(|label| browser.alloc(64, label));
    let copy = browser.kernel("copy", INCREMENT);
    browser.write(&doomed.binding(), &[1; 64]);
    browser.launch(&copy, &[(&doomed, Access::Read), (&b, Access::Write)]);
    browser.launch(&copy, &[(&fine, Access::Read), (&c, Access::Write)]);
    for downstream in [&doomed, &b] {
        let refusal = browser.refusal(downstream).await;
        assert!(
            refusal.contains("buffer `doomed`: a buffer of 256 bytes could not be created"),
            "{refusal}"
        );
    }
    assert_eq!(browser.words(&c).await, [1; 64]);
    drop(doomed);
    let next = browser.alloc(64, "next");
    browser.write(&next.binding(), &[4; 64]);
    assert_eq!(browser.words(&next).await, [4; 64]);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_hundred_overlapping_reads_each_get_their_own_bytes() {
    let browser = Browser::open().await;
    let a = browser.alloc(64, "a");
    let source = a.binding();
    let mut reads = Vec::new();
    for round in 0..100 {
        browser.write(&source, &[round; 64]);
        let device = browser.device.clone();
        let source = source.clone();
        let mut read = Box::pin(async move { device.read(&source).await });
        // Begun now, whatever is written next.
        assert!(futures::poll!(&mut read).is_pending());
        reads.push(read);
    }
    for (round, read) in (0..).zip(join_all(reads).await) {
        assert_eq!(words(&read.unwrap()), [round; 64]);
    }
    browser.close().await;
}

#[wasm_bindgen_test]
async fn two_devices_do_not_hear_each_other() {
    let (one, two) = (Browser::open().await, Browser::open().await);
    let (a, b) = (one.alloc(64, "a"), two.alloc(64, "b"));
    let shared = one.kernel("shared", FILL);
    one.launch(&one.kernel("diffuse", INVALID), &[(&a, Access::Write)]);
    two.launch(&shared, &[(&b, Access::Write)]);
    assert!(one.refusal(&a).await.contains("diffuse"));
    assert_eq!(two.words(&b).await, [DUE; 64]);
    one.launch(&shared, &[(&a, Access::Write)]);
    assert_eq!(one.words(&a).await, [DUE; 64]);
    one.close().await;
    two.launch(&shared, &[(&b, Access::Write)]);
    assert_eq!(two.words(&b).await, [DUE; 64]);
    two.close().await;
}

/// Loses the device with work and reads in flight, by our own call or behind our back.
async fn lose_in_flight(lose: impl FnOnce(&Browser)) {
    let browser = Browser::open().await;
    let good = browser.proven("good", FILL).await;
    let buffers: Vec<_> = (0..10).map(|_| browser.alloc(64, "flight")).collect();
    browser.device.settled().await;
    let mut reads = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        if index % 2 == 0 {
            browser.launch(&good, &[(buffer, Access::Write)]);
        }
        let (device, source) = (browser.device.clone(), buffer.binding());
        let mut read = Box::pin(async move { device.read(&source).await });
        assert!(futures::poll!(&mut read).is_pending());
        reads.push(read);
    }
    lose(&browser);
    for read in join_all(reads).await {
        match read {
            Err(ReadError::Unwritten(report)) => {
                let text = report.to_string();
                assert!(text.contains("device generation 1 was lost"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    for buffer in &buffers {
        assert!(
            browser
                .refusal(buffer)
                .await
                .contains("generation 1 was lost")
        );
    }
    let bindings = [Binding::new(buffers[0].binding(), Access::Write)];
    assert!(matches!(
        browser.device.launch(&good, &bindings, [1, 1, 1]),
        Err(DeviceError::Lost { generation: 1, .. })
    ));

    browser.device.recover().await.unwrap();
    assert_eq!(browser.device.generation(), 2);
    let fresh = browser.alloc(64, "fresh");
    browser.launch(&good, &[(&fresh, Access::Write)]);
    assert_eq!(browser.words(&fresh).await, [DUE; 64]);
    assert!(
        browser
            .refusal(&buffers[0])
            .await
            .contains("generation 1 was lost")
    );
    let is_lost = |event: &&DeviceEvent| matches!(event, DeviceEvent::Lost { .. });
    assert_eq!(browser.events.borrow().iter().filter(is_lost).count(), 1);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn losing_the_device_in_flight() {
    lose_in_flight(|browser| browser.device.lose()).await;
}

#[wasm_bindgen_test]
async fn a_loss_that_only_the_browser_announces() {
    lose_in_flight(|_| {
        script("witness.devices.at(-1).destroy()");
    })
    .await;
}

#[wasm_bindgen_test]
async fn two_recoveries_at_once_make_one_generation() {
    let browser = Browser::open().await;
    browser.device.lose();
    let recoveries = join_all([browser.device.recover(), browser.device.recover()]).await;
    assert!(recoveries.iter().all(Result::is_ok));
    assert_eq!(browser.device.generation(), 2);
    let a = browser.alloc(64, "a");
    browser.write(&a.binding(), &[5; 64]);
    assert_eq!(browser.words(&a).await, [5; 64]);
    browser.close().await;
}

#[wasm_bindgen_test]
async fn a_mapping_that_rejects_fails_one_read() {
    let browser = Browser::open().await;
    let a = browser.alloc(64, "a");
    browser.write(&a.binding(), &[5; 64]);
    script("witness.next = 'map rejects'");
    let refused = browser.device.read(&a.binding()).await.unwrap_err();
    assert!(matches!(refused, ReadError::Transfer { .. }), "{refused}");
    assert_eq!(browser.words(&a).await, [5; 64]);
    browser.close().await;
}

fn scramble() -> HostKernel {
    Rc::new(|launch| {
        let mut state = launch.take(0)?;
        for (index, word) in (0u32..).zip(&mut state) {
            let mut mixed = word.wrapping_mul(2_654_435_761).wrapping_add(index);
            mixed ^= mixed >> 15;
            *word = mixed.wrapping_mul(2_246_822_519);
        }
        launch.put(0, state)
    })
}

fn increment() -> HostKernel {
    Rc::new(|launch| {
        let mut output = launch.take(1)?;
        for (to, from) in output.iter_mut().zip(launch.words(0)?) {
            *to = from.wrapping_add(1);
        }
        launch.put(1, output)
    })
}

#[wasm_bindgen_test]
async fn the_cpu_backend_gives_the_same_bytes() {
    let browser = Browser::open().await;
    let cpu = GuardedDevice::cpu();
    let scramble = KernelSource::wgsl("scramble", SCRAMBLE).with_host(scramble());
    let increment = KernelSource::wgsl("increment", INCREMENT).with_host(increment());
    let (scramble, increment) = (cpu.kernel(scramble), cpu.kernel(increment));
    for count in [1u32, 63, 64, 65, 1000] {
        let mut results = Vec::new();
        for device in [&browser.device, &cpu] {
            let [a, b] = ["a", "b"].map(|label| device.alloc(4 * u64::from(count), label).unwrap());
            let seed: Vec<u32> = (0..count).map(|index| index.wrapping_mul(77)).collect();
            device.write(&a.binding(), &bytes(&seed)).unwrap();
            launch(device, &scramble, &[(&a, Access::ReadWrite)]);
            launch(
                device,
                &increment,
                &[(&a, Access::Read), (&b, Access::Write)],
            );
            launch(device, &scramble, &[(&b, Access::ReadWrite)]);
            let result = device.read(&b.binding()).await.unwrap();
            assert_ne!(result, bytes(&seed));
            results.push(result);
        }
        assert_eq!(words(&results[0]).len(), count as usize);
        assert_eq!(results[0], results[1], "{count} words");
    }
    browser.close().await;
}
