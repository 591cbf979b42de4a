//! The guarded device for any WebGPU program.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::future_to_promise;
use wellwritten_device::{
    Access, Binding, BufferBinding, DeviceEvent, GuardedBuffer, GuardedDevice, HostKernelError,
    HostLaunch, Kernel, KernelSource, SealedGraph, Window,
};

use crate::convert::{from_js, to_js, whole_number};
use crate::error::{WebError, WebResult, WellwrittenErrorCode};
use crate::open_device::{GuardedDeviceOptions, open_device};

/// A guarded device. The package wraps it as `GuardedDevice`.
#[wasm_bindgen]
pub struct WasmDevice {
    device: GuardedDevice,
    /// Whether a launch or a replay is under way: host kernels run in the middle of it.
    running: Rc<Cell<bool>>,
}

impl WasmDevice {
    /// The device, unless a host kernel asks for it.
    fn open(&self) -> WebResult<&GuardedDevice> {
        refuse_while(&self.running)?;
        Ok(&self.device)
    }
}

/// Does what may run host kernels, which then find the device busy.
fn running<T>(flag: &Cell<bool>, work: impl FnOnce() -> T) -> WebResult<T> {
    refuse_while(flag)?;
    flag.set(true);
    let _running = Running { flag };
    Ok(work())
}

/// A launch or a replay under way, until it is dropped: whichever way `work` is left, the device is free again.
struct Running<'flag> {
    flag: &'flag Cell<bool>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.flag.set(false);
    }
}

/// A host kernel runs in the middle of a launch: it cannot call the device.
fn refuse_while(running: &Cell<bool>) -> WebResult<()> {
    if running.get() {
        return Err(WebError::new(
            WellwrittenErrorCode::Busy,
            "a host kernel cannot call the device that runs it; it has only its bindings",
        ));
    }
    Ok(())
}

/// A buffer of a device; `free()` gives its bytes back.
#[wasm_bindgen]
pub struct WasmBuffer {
    buffer: GuardedBuffer,
}

/// A range of a buffer's bytes.
#[wasm_bindgen]
pub struct WasmSlice {
    binding: BufferBinding,
}

/// A kernel of a device.
#[wasm_bindgen]
pub struct WasmKernel {
    kernel: Kernel,
}

/// A capture window that records. `free()` gives it up.
#[wasm_bindgen]
pub struct WasmWindow {
    window: Window,
    running: Rc<Cell<bool>>,
}

#[wasm_bindgen]
impl WasmWindow {
    /// Closes the window and waits until all it recorded has settled: the graph, or an error
    /// `WINDOW_DOOMED`.
    #[wasm_bindgen(unchecked_return_type = "Promise<WasmGraph>")]
    pub fn seal(self) -> WebResult<Promise> {
        refuse_while(&self.running)?;
        let running = self.running;
        let sealed = self.window.seal();
        Ok(future_to_promise(async move {
            let graph = sealed.await.map_err(WebError::from)?;
            let graph = WasmGraph { graph, running };
            Ok(graph.into())
        }))
    }
}

/// What a capture window recorded.
#[wasm_bindgen]
pub struct WasmGraph {
    graph: SealedGraph,
    running: Rc<Cell<bool>>,
}

#[wasm_bindgen]
impl WasmGraph {
    /// How reports name it.
    #[wasm_bindgen(getter)]
    pub fn label(&self) -> String {
        self.graph.label().to_owned()
    }

    /// How many writes, copies and launches it runs, those of replayed graphs included.
    #[wasm_bindgen(getter)]
    pub fn units(&self) -> usize {
        self.graph.units()
    }

    /// Runs it as one unit of work.
    pub fn replay(&self) -> WebResult<()> {
        Ok(running(&self.running, || self.graph.replay())??)
    }
}

/// The bindings of one launch: `@group(0) @binding(i)` in the order pushed.
#[wasm_bindgen]
#[derive(Default)]
pub struct WasmBindings {
    bindings: Vec<Binding>,
}

#[wasm_bindgen]
impl WasmBindings {
    /// No bindings yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds `slice` next.
    pub fn push(
        &mut self,
        slice: &WasmSlice,
        #[wasm_bindgen(unchecked_param_type = "Access")] access: JsValue,
    ) -> WebResult<()> {
        let access: Access = from_js("access", access)?;
        self.bindings
            .push(Binding::new(slice.binding.clone(), access));
        Ok(())
    }
}

#[wasm_bindgen]
impl WasmBuffer {
    /// The buffer's identity, never used again for another.
    #[wasm_bindgen(getter, js_name = bufferId)]
    pub fn buffer_id(&self) -> u64 {
        self.buffer.id().get()
    }

    /// How reports name it.
    #[wasm_bindgen(getter)]
    pub fn label(&self) -> String {
        self.buffer.label().to_owned()
    }

    /// Its size in bytes.
    #[wasm_bindgen(getter, js_name = sizeBytes)]
    pub fn size_bytes(&self) -> u64 {
        self.buffer.size_bytes()
    }

    /// All of it.
    pub fn whole(&self) -> WasmSlice {
        WasmSlice {
            binding: self.buffer.binding(),
        }
    }
}

#[wasm_bindgen]
impl WasmSlice {
    /// The bytes of this slice from `start` up to, not including, `end`.
    pub fn slice(&self, start: f64, end: f64) -> WebResult<WasmSlice> {
        let (start, end) = (whole_number("start", start)?, whole_number("end", end)?);
        self.binding
            .slice(start, end)
            .map(|binding| Self { binding })
            .map_err(|error| WebError::new(WellwrittenErrorCode::BadHandle, error.to_string()))
    }
}

#[wasm_bindgen]
impl WasmDevice {
    /// Opens a device.
    pub async fn create(
        #[wasm_bindgen(unchecked_param_type = "GuardedDeviceOptions | undefined")] options: JsValue,
    ) -> WebResult<WasmDevice> {
        let options = if options.is_undefined() {
            GuardedDeviceOptions::default()
        } else {
            from_js("options", options)?
        };
        Ok(Self {
            device: open_device(options).await?,
            running: Rc::default(),
        })
    }

    /// Which backend this is, and on what.
    #[wasm_bindgen(unchecked_return_type = "BackendInfo")]
    pub fn backend(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.open()?.backend()))
    }

    /// What the device grants.
    #[wasm_bindgen(unchecked_return_type = "DeviceLimits")]
    pub fn limits(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.open()?.limits()))
    }

    /// What the device has done so far.
    #[wasm_bindgen(unchecked_return_type = "DeviceCounters")]
    pub fn counters(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.open()?.counters()))
    }

    /// Counts devices from 1: a recovered device is the next generation.
    #[wasm_bindgen(getter)]
    pub fn generation(&self) -> WebResult<u64> {
        Ok(self.open()?.generation())
    }

    /// Calls `observer(type, message, claimed)` when claims settle, the device is lost or recovered, or an
    /// error arrives outside every scope.
    pub fn observe(&self, observer: Function) {
        self.device.observe(move |event| {
            let (name, message, claimed) = match event {
                DeviceEvent::Settled => ("settled", "", 0),
                DeviceEvent::Lost { reason, .. } => ("lost", reason.as_str(), 0),
                DeviceEvent::Recovered { .. } => ("recovered", "", 0),
                DeviceEvent::Uncaptured { message, claimed } => {
                    ("error", message.as_str(), *claimed)
                }
                _ => return,
            };
            let (name, message, claimed) = (name.into(), message.into(), claimed.into());
            // What an observer throws is its own affair; the browser reports it.
            let _ = observer.call3(&JsValue::UNDEFINED, &name, &message, &claimed);
        });
    }

    /// Reserves zeroed bytes.
    pub fn alloc(&self, size_bytes: f64, label: Option<String>) -> WebResult<WasmBuffer> {
        let size_bytes = whole_number("sizeBytes", size_bytes)?;
        let buffer = self
            .open()?
            .alloc(size_bytes, label.as_deref().unwrap_or("unnamed"))?;
        Ok(WasmBuffer { buffer })
    }

    /// Writes bytes over a slice.
    pub fn write(&self, target: &WasmSlice, bytes: &[u8]) -> WebResult<()> {
        Ok(self.open()?.write(&target.binding, bytes)?)
    }

    /// Copies the bytes of a slice over a slice of another buffer.
    pub fn copy(&self, source: &WasmSlice, target: &WasmSlice) -> WebResult<()> {
        Ok(self.open()?.copy(&source.binding, &target.binding)?)
    }

    /// Opens a capture window.
    pub fn window(&self, label: &str) -> WebResult<WasmWindow> {
        let window = self.open()?.window(label)?;
        Ok(WasmWindow {
            window,
            running: Rc::clone(&self.running),
        })
    }

    /// What the buffers take.
    #[wasm_bindgen(unchecked_return_type = "MemoryUsage")]
    pub fn memory(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.open()?.memory_usage()))
    }

    /// Gives unused pages back to the device.
    pub fn trim(&self) -> WebResult<()> {
        self.open()?.trim();
        Ok(())
    }

    /// A kernel from WGSL, for the WebGPU backend.
    pub fn kernel(&self, label: &str, wgsl: &str, entry_point: Option<String>) -> WasmKernel {
        let mut source = KernelSource::wgsl(label, wgsl);
        if let Some(entry_point) = entry_point {
            source.entry_point = entry_point;
        }
        WasmKernel {
            kernel: self.device.kernel(source),
        }
    }

    /// A kernel from a function over the bindings' words, for the CPU backend.
    #[wasm_bindgen(js_name = hostKernel)]
    pub fn host_kernel(
        &self,
        label: &str,
        #[wasm_bindgen(
            unchecked_param_type = "(buffers: Uint32Array[], workgroups: [number, number, number]) => void"
        )]
        run: Function,
    ) -> WasmKernel {
        let host = Rc::new(move |launch: &mut HostLaunch<'_>| run_host_kernel(&run, launch));
        WasmKernel {
            kernel: self.device.kernel(KernelSource::host(label, host)),
        }
    }

    /// Runs a kernel over `bindings`, which it takes. Throws only for what can be told before encoding.
    pub fn launch(
        &self,
        kernel: &WasmKernel,
        bindings: WasmBindings,
        x: f64,
        y: f64,
        z: f64,
    ) -> WebResult<()> {
        let mut workgroups = [0; 3];
        for ((count, name), value) in workgroups.iter_mut().zip(["x", "y", "z"]).zip([x, y, z]) {
            // Counts above 32 bits are over every device's limit, which says so by name.
            let wanted = whole_number(&format!("workgroups in {name}"), value)?;
            *count = u32::try_from(wanted).unwrap_or(u32::MAX);
        }
        let launch = || {
            self.device
                .launch(&kernel.kernel, &bindings.bindings, workgroups)
        };
        Ok(running(&self.running, launch)??)
    }

    /// Reads a slice as it is at this call: the bytes, or an error `UNWRITTEN` whose context is the report.
    #[wasm_bindgen(unchecked_return_type = "Promise<Uint8Array>")]
    pub fn read(&self, source: &WasmSlice) -> WebResult<Promise> {
        // Not an `async fn`: its body would begin in a microtask of its own, after whatever the caller
        // does next.
        let read = self.open()?.read_array(&source.binding);
        Ok(future_to_promise(async move {
            let bytes: Uint8Array = read.await.map_err(WebError::from)?;
            Ok(bytes.into())
        }))
    }

    /// Resolves when every submission made before this call has settled.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn settled(&self) -> WebResult<Promise> {
        let settled = self.open()?.settled();
        Ok(future_to_promise(async move {
            settled.await;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// The state of every byte of a slice, in at most `spans` spans where that is given.
    #[wasm_bindgen(unchecked_return_type = "TaintSpan[]")]
    pub fn taint(&self, source: &WasmSlice, spans: Option<f64>) -> WebResult<JsValue> {
        let device = self.open()?;
        Ok(to_js(&match spans {
            None => device.taint(&source.binding)?,
            Some(spans) => {
                let spans = whole_number("spans", spans)?;
                let spans = usize::try_from(spans).unwrap_or(usize::MAX);
                device.taint_limited(&source.binding, spans)?
            }
        }))
    }

    /// Failures, what carries them, and the skipped work between.
    #[wasm_bindgen(unchecked_return_type = "FailureGraph")]
    pub fn failures(&self) -> WebResult<JsValue> {
        Ok(to_js(&self.open()?.failures()))
    }

    /// Destroys the real device: for tests.
    pub fn lose(&self) -> WebResult<()> {
        self.open()?.lose();
        Ok(())
    }

    /// Gets a new device generation.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn recover(&self) -> WebResult<Promise> {
        // As `read`: in a host kernel, a body that begins later would find that the launch is over.
        let device = self.open()?.clone();
        Ok(future_to_promise(async move {
            device.recover().await.map_err(WebError::from)?;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// Destroys the device for good.
    pub fn close(&self) -> WebResult<()> {
        self.open()?.close();
        Ok(())
    }
}

/// Runs a host kernel; `run` throws plain errors only and leaves plain arrays, as the package sees to.
fn run_host_kernel(run: &Function, launch: &mut HostLaunch<'_>) -> Result<(), HostKernelError> {
    let buffers = Array::new();
    for index in 0..launch.binding_count() {
        buffers.push(&Uint32Array::from(launch.words(index)?).into());
    }
    let workgroups: Array = launch.workgroups().into_iter().map(JsValue::from).collect();
    run.call2(&JsValue::UNDEFINED, &buffers, &workgroups)
        .map_err(|thrown| {
            let message = thrown
                .dyn_ref::<js_sys::Error>()
                .map_or_else(|| format!("{thrown:?}"), |error| error.message().into());
            HostKernelError::Failed(message)
        })?;
    for (index, buffer) in buffers.iter().enumerate() {
        if launch.access(index)?.writes() {
            let words: Uint32Array = buffer.unchecked_into();
            let (expected, found) = (launch.words(index)?.len(), words.length() as usize);
            if found != expected {
                // Its memory was transferred away: copying from it would throw.
                return Err(HostKernelError::WrongLength {
                    index,
                    expected,
                    found,
                });
            }
            launch.put(index, words.to_vec())?;
        }
    }
    Ok(())
}
