import type {
  Access,
  BackendInfo,
  DeviceCounters,
  DeviceLimits,
  FailureGraph,
  GuardedDeviceOptions,
  MemoryUsage,
  TaintSpan,
  WasmBuffer,
  WasmDevice,
  WasmGraph,
  WasmKernel,
  WasmSlice,
} from "#wasm/page";
import { demand, demandNumber, demandText } from "./demand.ts";
import { awaitWasm, callWasm, freeWasm, loadWellwritten, wasm } from "./load-wellwritten.ts";
import { realBytes, realWords } from "./real-bytes.ts";
import type { LoadOptions } from "./start-wasm.ts";
import { TypedEventTarget } from "./typed-event-target.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/**
 * What a device tells unasked, and what comes with it. Listeners are called outside any call into the device, in a
 * microtask: what `lose()` tells is told after it returned.
 */
export interface DeviceEvents {
  /** A submission settled: what was pending is trusted or failed now. Not told on the CPU, where nothing is pending. */
  settled: null;
  /**
   * The device is gone and every byte on it; `reason` is what the browser said. {@link GuardedDevice.recover} helps.
   */
  lost: { reason: string };
  /** A new device generation is ready. Buffers of the one before stay lost. */
  recovered: null;
  /**
   * WebGPU reported an error outside every error scope. Nobody can say what it was, so the `claimed` submissions that
   * were in flight fail under it.
   */
  error: { message: string; claimed: number };
}

/** A kernel in WGSL, for the WebGPU backend. */
export interface WgslKernel {
  /** How reports name it. */
  label: string;
  /** The text of the shader module. Its bindings are `@group(0) @binding(0)` and on, each a storage buffer. */
  wgsl: string;
  /** The compute entry point; by default `main`. */
  entryPoint?: string;
}

/** A kernel as a function, for the CPU backend. */
export interface HostKernel {
  /** How reports name it. */
  label: string;
  /**
   * Computes the whole launch. `buffers` has the 32-bit words of each binding, in order, as copies: what is written
   * into those bound for writing is kept when the function returns, and what is written into others is dropped. An
   * error that it throws, or a promise that it returns (anything with a `then`), fails the launch. It cannot call the
   * device that runs it (`BUSY`).
   */
  run: (buffers: Uint32Array[], workgroups: [number, number, number]) => void;
}

/** One binding of a launch: `@group(0) @binding(i)` in the order given. */
export interface LaunchBinding {
  /**
   * The bytes: at least 4, a multiple of 4, from an offset that is a multiple of the device's
   * `minStorageBufferOffsetAlignment`, which is 256 almost everywhere.
   */
  slice: GuardedBuffer | Slice;
  /**
   * What the kernel does with them. The guard cannot look into a kernel and believes this. `"write"`: every byte is
   * overwritten, whatever was there. `"read"`: the result depends on them. `"read-write"`: both, and so also where only
   * some bytes are overwritten, because the others are kept.
   */
  access: Access;
}

/** Bytes of a buffer, by {@link GuardedBuffer.slice}. It owns none: freeing the buffer ends it. */
export class Slice {
  /** The buffer they are of. */
  readonly buffer: GuardedBuffer;
  /** For this package: the wasm object behind it. */
  readonly raw: WasmSlice;

  /** Use {@link GuardedBuffer.slice}. */
  constructor(buffer: GuardedBuffer, raw: WasmSlice) {
    this.buffer = buffer;
    this.raw = raw;
  }
}

/** Bytes of a device that are read through the guard or not at all. By {@link GuardedDevice.alloc}. */
export class GuardedBuffer {
  /** Never used again for another buffer, also not after a loss. */
  readonly bufferId: bigint;
  /** How reports name it. */
  readonly label: string;
  /** Its size in bytes. */
  readonly sizeBytes: number;
  readonly #buffer: WasmBuffer;
  readonly #whole: Slice;
  #freed = false;

  /** Use {@link GuardedDevice.alloc}. */
  constructor(buffer: WasmBuffer) {
    this.#buffer = buffer;
    this.bufferId = buffer.bufferId;
    this.label = buffer.label;
    this.sizeBytes = Number(buffer.sizeBytes);
    this.#whole = new Slice(this, buffer.whole());
  }

  /** All of it. */
  whole(): Slice {
    return this.#whole;
  }

  /**
   * Bytes from `start` up to, not including, `end`: whole numbers, `0 <= start <= end <= sizeBytes`. Any will do for
   * {@link GuardedDevice.taint}; reads, writes and copies want multiples of 4, and launches more.
   *
   * @throws `INVALID_ARGUMENT` for what is no whole number, `BAD_HANDLE` for a range that is not in the buffer.
   */
  slice(start: number, end: number): Slice {
    demandNumber("start", start);
    demandNumber("end", end);
    const { raw } = this.#whole;
    return callWasm(() => new Slice(this, raw.slice(start, end)));
  }

  /**
   * Gives the bytes back; the buffer and slices of it are refused with `BAD_HANDLE` from then on. Reads that were asked
   * for before still get what they asked for. Doing it again does nothing.
   */
  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    // The slices stay: they own no bytes, and it is they that say that the buffer was freed.
    freeWasm(this.#buffer);
  }
}

/**
 * A kernel, by {@link GuardedDevice.kernel}. It may be launched on any device of its backend, on every generation, and
 * is compiled once for each.
 */
export class Kernel {
  /** How reports name it. */
  readonly label: string;
  /** For this package: the wasm object behind it. */
  readonly raw: WasmKernel;

  /** Use {@link GuardedDevice.kernel}. */
  constructor(label: string, raw: WasmKernel) {
    this.label = label;
    this.raw = raw;
  }
}

/** What a capture window recorded. It keeps no buffer alive and belongs to the device generation it was made on. */
export class SealedGraph {
  /** How reports name it. */
  readonly label: string;
  /** How many writes, copies and launches it runs, those of replayed graphs included. */
  readonly units: number;
  readonly #graph: WasmGraph;

  /** Use {@link GuardedDevice.window}. */
  constructor(graph: WasmGraph) {
    this.#graph = graph;
    this.label = graph.label;
    this.units = graph.units;
  }

  /**
   * Runs everything recorded, in order, as one unit of work: it succeeds or fails as a whole, and is skipped as a whole
   * when something that it reads from outside is known not to read cleanly. Host bytes are those of the recording.
   * Does not wait; never throws for a late failure.
   *
   * @throws `BAD_HANDLE` when a buffer of it was freed, `DEVICE_LOST` when the device was lost since, also when it was
   * recovered (record anew), `CLOSED`, and `BUSY` in a host kernel. Nothing runs then.
   */
  replay(): void {
    const graph = this.#graph;
    callWasm(() => graph.replay());
  }
}

/**
 * A compute device whose reads return bytes if and only if every one of them was last written by work that succeeded.
 * It runs in the thread that made it. By {@link createGuardedDevice}.
 *
 * Work is done in the order asked for, and calls do not wait for it. What can be told before anything is encoded is
 * thrown, and changes nothing; what WebGPU reports late fails the unit of work it came from, marks the bytes which that
 * unit should have written, and is told to whoever reads them, by `UNWRITTEN`. Every method throws `CLOSED` after
 * {@link close} where it would do work, and `BUSY` when a host kernel calls the device that runs it.
 */
export class GuardedDevice extends TypedEventTarget<DeviceEvents> {
  readonly #device: WasmDevice;

  /** Use {@link createGuardedDevice}. */
  constructor(device: WasmDevice) {
    super();
    this.#device = device;
    device.observe((type: keyof DeviceEvents, message: string, claimed: number) => {
      queueMicrotask(() => {
        if (type === "lost") this.emit("lost", { reason: message });
        else if (type === "error") this.emit("error", { message, claimed });
        else this.emit(type, null);
      });
    });
  }

  /** Calls wasm with the device, which is looked up before: a method that was taken off its device ends nothing. */
  #call<T>(work: (device: WasmDevice) => T): T {
    const device = this.#device;
    return callWasm(() => work(device));
  }

  /** As {@link GuardedDevice.#call}, for what wasm goes on with. */
  #await<T>(work: (device: WasmDevice) => Promise<T>): Promise<T> {
    const device = this.#device;
    return awaitWasm(() => work(device));
  }

  /** What computes: `"webgpu"` or `"cpu"`, on which adapter, and why the CPU where WebGPU was hoped for. */
  backend(): BackendInfo {
    return this.#call((device) => device.backend());
  }

  /**
   * What the device grants; sizes in bytes. The CPU keeps to WebGPU's defaults, so that what runs there runs anywhere.
   */
  limits(): DeviceLimits {
    const limits = this.#call((device) => device.limits());
    // 64-bit in Rust; here they are compared with sizes, which are numbers.
    return {
      ...limits,
      maxBufferSize: Number(limits.maxBufferSize),
      maxStorageBufferBindingSize: Number(limits.maxStorageBufferBindingSize),
    };
  }

  /**
   * What the device has done since it was made. Counts only grow: the difference of two readings tells of the time
   * between.
   */
  counters(): DeviceCounters {
    return this.#call((device) => device.counters());
  }

  /** From 1; a recovered device is the next, and nothing of the one before is touched again. */
  get generation(): bigint {
    return this.#call((device) => device.generation);
  }

  /**
   * Reserves `sizeBytes` zeroed bytes: a multiple of 4, from 4 to the limit `maxBufferSize`. `label` is how reports
   * name the buffer. A reservation that the GPU refuses late, for want of memory, is told by reads of the buffer.
   *
   * @throws `INVALID_ARGUMENT` for what is no whole number, `ALIGNMENT`, `NOT_RESERVED` for no bytes, `LIMIT_EXCEEDED`
   * (its context has `limit`, `requested` and `granted`), `DEVICE_LOST`, `CLOSED`.
   */
  alloc(sizeBytes: number, options: { label?: string } = {}): GuardedBuffer {
    demandNumber("sizeBytes", sizeBytes);
    const label = labelIn(options);
    return this.#call((device) => new GuardedBuffer(device.alloc(sizeBytes, label)));
  }

  /**
   * Writes a copy of `bytes` over `target`, in order with launches: exactly as many as `target` holds, from an offset
   * and in a length that are multiples of 4.
   *
   * @throws `INVALID_ARGUMENT` for another length, anything but a `Uint8Array`, or one whose buffer was transferred away;
   * `ALIGNMENT`, `BAD_HANDLE`, `DEVICE_LOST`, `CLOSED`. Nothing is written then.
   */
  write(target: GuardedBuffer | Slice, bytes: Uint8Array): void {
    const raw = rawOf("target", target);
    const real = realBytes("bytes", bytes);
    this.#call((device) => device.write(raw, real));
  }

  /**
   * Copies `source` over `target`, in order with launches: of the same size and of another buffer, offsets and length
   * multiples of 4. Skipped, like a launch, when `source` is known not to read cleanly.
   *
   * @throws `INVALID_ARGUMENT` for another size, `ALIGNMENT`, `BINDING_CONFLICT` within one buffer, `BAD_HANDLE`,
   * `DEVICE_LOST`, `CLOSED`. Nothing is copied then.
   */
  copy(source: GuardedBuffer | Slice, target: GuardedBuffer | Slice): void {
    const [from, to] = [rawOf("source", source), rawOf("target", target)];
    this.#call((device) => device.copy(from, to));
  }

  /**
   * Makes a kernel, which is compiled when it is first launched. What is wrong with its text fails its launches, not
   * this call. {@link WgslKernel} runs on WebGPU only and {@link HostKernel} on the CPU only; the other kind is
   * refused by {@link launch}, with `INVALID_ARGUMENT`.
   *
   * @throws `INVALID_ARGUMENT` for a source that is neither.
   */
  kernel(source: WgslKernel | HostKernel): Kernel {
    demand(typeof source === "object" && source !== null, "source", source, "a kernel's source");
    const { label } = source;
    demandText("label", label);
    if ("wgsl" in source) {
      const { wgsl, entryPoint } = source;
      demandText("wgsl", wgsl);
      if (entryPoint !== undefined) demandText("entryPoint", entryPoint);
      return this.#call((device) => new Kernel(label, device.kernel(label, wgsl, entryPoint)));
    }
    const { run } = source;
    demand(typeof run === "function", "run", run, "a function, or `wgsl` a text");
    return this.#call((device) => new Kernel(label, device.hostKernel(label, guarded(run))));
  }

  /**
   * Runs `kernel` over `bindings`, in `workgroups` of x, y (default 1) and z (default 1): each a whole number from 1 to
   * the limit `maxComputeWorkgroupsPerDimension`. A kernel that has not succeeded yet goes into a submission of its
   * own, so that it cannot drop its neighbours; others are batched. Skipped when a byte it reads is known not to read
   * cleanly.
   *
   * Throws for what can be told before encoding, never for a late failure: that is told by reads of what it writes.
   *
   * @throws `LIMIT_EXCEEDED` for too many bindings or workgroups or too large a binding, `ALIGNMENT` for a binding's
   * offset or length, `BINDING_CONFLICT` for one buffer bound twice where one of the bindings writes,
   * `INVALID_ARGUMENT` for empty bindings, no workgroups or a kernel of the other backend, `BAD_HANDLE`, `DEVICE_LOST`,
   * `CLOSED`. Nothing runs then.
   */
  launch(
    kernel: Kernel,
    bindings: readonly LaunchBinding[],
    workgroups: readonly [number, number?, number?],
  ): void {
    const { WasmBindings, WasmKernel } = wasm();
    const compiled = kernel instanceof Kernel && kernel.raw;
    demand(compiled instanceof WasmKernel, "kernel", kernel, "a kernel of this package");
    demand(Array.isArray(bindings), "bindings", bindings, "an array");
    demand(
      Array.isArray(workgroups) && workgroups.length >= 1 && workgroups.length <= 3,
      "workgroups",
      workgroups,
      "an array of 1 to 3 numbers",
    );
    const [x, y = 1, z = 1] = workgroups;
    for (const [index, count] of [x, y, z].entries()) demandNumber(`workgroups[${index}]`, count);
    // Not `map`, which passes over what was never put into the array.
    const rows = Array.from(bindings, (binding: unknown, index) => {
      const is = typeof binding === "object" && binding !== null;
      demand(is, `bindings[${index}]`, binding, "an object with `slice` and `access`");
      const { slice, access } = binding as LaunchBinding;
      const wanted = '"read", "write" or "read-write"';
      demand(ACCESSES.has(access), `bindings[${index}].access`, access, wanted);
      return { raw: rawOf(`bindings[${index}].slice`, slice), access };
    });
    this.#call((device) => {
      const bound = new WasmBindings();
      for (const { raw, access } of rows) bound.push(raw, access);
      device.launch(compiled, bound, x, y, z);
    });
  }

  /**
   * The bytes as they are at this call, whatever is done to the buffer next, in an array of their own. Waits for what
   * they are pending on. Offset and length are multiples of 4.
   *
   * Rejects with `UNWRITTEN` when any of the bytes was not last written by work that succeeded; the context is the
   * report: root failures, skips, ranges. Also `ALIGNMENT`, `BAD_HANDLE`, `INVALID_ARGUMENT`, and `TRANSFER` where
   * sound bytes could not be copied out: reading again may work.
   */
  async read(source: GuardedBuffer | Slice): Promise<Uint8Array> {
    const raw = rawOf("source", source);
    return this.#await((device) => device.read(raw));
  }

  /**
   * Resolves when every submission made before this call has settled, well or badly. Does not reject for failed work.
   */
  async settled(): Promise<void> {
    return this.#await((device) => device.settled());
  }

  /**
   * The state of every byte now, without waiting: spans that cover `source` in order, in the buffer's own byte numbers.
   * With `options.spans`, at most so many (0 counts as 1): the range is cut into as many cells, and the worst state in
   * a cell stands for it, so that drawing a strip costs what its pixels cost.
   *
   * @throws `BAD_HANDLE`, `INVALID_ARGUMENT`.
   */
  taint(source: GuardedBuffer | Slice, options: { spans?: number } = {}): TaintSpan[] {
    const raw = rawOf("source", source);
    demandOptions(options);
    const { spans } = options;
    if (spans !== undefined) demandNumber("spans", spans);
    return this.#call((device) => device.taint(raw, spans));
  }

  /**
   * Opens a capture window and runs `record`, which writes, copies, launches and replays as always; all of it runs now
   * and is recorded. Reads and allocations are not. Waits until it has settled. The graph runs it again, as one unit of
   * work.
   *
   * Rejects with `WINDOW_DOOMED` when anything in it failed or was skipped, however late (the context names the work
   * and the root failure), with `BUSY` while another window of this device records, or eight wait to be sealed, with
   * `DEVICE_LOST`, `CLOSED`, and with `INVALID_ARGUMENT` when `record` is no function or returns a promise: what is
   * done after it returned would not be recorded. `INVALID_ARGUMENT` also when more than 65,536 writes, copies and
   * launches were recorded, those of replayed graphs included. What `record` throws is passed on. There is no graph then;
   * what ran has run.
   */
  async window(record: () => void, options: { label?: string } = {}): Promise<SealedGraph> {
    demand(typeof record === "function", "record", record, "a function");
    const label = labelIn(options) ?? "unnamed";
    const window = this.#call((device) => device.window(label));
    try {
      const returned: unknown = record();
      if (isThenable(returned))
        throw new WellwrittenError(
          "INVALID_ARGUMENT",
          "`record` returned a promise: a window records what is done before `record` returns.",
        );
    } catch (thrown) {
      freeWasm(window);
      throw thrown;
    }
    return new SealedGraph(await awaitWasm(() => window.seal()));
  }

  /** What live buffers hold, and what the pages under them take of the device's memory, in bytes. */
  memory(): MemoryUsage {
    return this.#call((device) => device.memory());
  }

  /** Gives pages that no buffer lies on back to the device now; otherwise they go when they have long been unused. */
  trim(): void {
    this.#call((device) => device.trim());
  }

  /**
   * Every failure held: what live bytes carry, with which bytes those are and the skipped work between, and what a
   * kernel that did not compile will fail its next launch of.
   */
  failures(): FailureGraph {
    return this.#call((device) => device.failures());
  }

  /** Destroys the real device, for tests: every live byte is claimed, reads in flight are refused with `UNWRITTEN`. */
  lose(): void {
    this.#call((device) => device.lose());
  }

  /**
   * Gets a new device as the next {@link generation}; does nothing to one that lives. Buffers and graphs of the old one
   * stay lost, kernels go on. Asks three times, waiting 0, 100 and 400 ms before, then rejects with `DEVICE_LOST`; it
   * can be tried again. `CLOSED` after {@link close}.
   */
  async recover(): Promise<void> {
    return this.#await((device) => device.recover());
  }

  /** Destroys the device for good and frees what it holds. Reads in flight are refused. Doing it again does nothing. */
  close(): void {
    this.#call((device) => device.close());
  }
}

/**
 * Opens a guarded device in this thread, loading wasm first if it is not there yet. `backend` is `"webgpu"`, `"cpu"`,
 * or by default `"auto"`: WebGPU where there is an adapter, otherwise the CPU, and {@link GuardedDevice.backend} says
 * why. `requiredLimits` asks for more than WebGPU's defaults, in bytes and counts.
 *
 * Rejects with `NO_ADAPTER` where WebGPU was asked for and there is none, `LIMIT_EXCEEDED` where the adapter has less
 * than required, `INVALID_ARGUMENT` for options that are none, `LOAD_FAILED` where wasm could not be started.
 */
export async function createGuardedDevice(
  options: GuardedDeviceOptions & LoadOptions = {},
): Promise<GuardedDevice> {
  demandOptions(options);
  const { wasmUrl, ...rest } = options;
  const device = withPlainLimits(rest);
  await loadWellwritten(wasmUrl === undefined ? {} : { wasmUrl });
  return new GuardedDevice(await awaitWasm(({ WasmDevice }) => WasmDevice.create(device)));
}

const ACCESSES: ReadonlySet<unknown> = new Set<Access>(["read", "write", "read-write"]);

function rawOf(what: string, source: GuardedBuffer | Slice): WasmSlice {
  const slice = source instanceof GuardedBuffer ? source.whole() : source;
  const raw: unknown = slice instanceof Slice && slice.raw;
  demand(raw instanceof wasm().WasmSlice, what, source, "a buffer or slice of this package");
  return raw;
}

/**
 * Runs a host kernel so that wasm, which called it, sees nothing of what it is made of: it throws a plain error or
 * returns nothing, and leaves plain arrays. One that it transferred away has no words to keep, and one that it put in
 * another's place is not looked at.
 */
function guarded(run: HostKernel["run"]): HostKernel["run"] {
  return (buffers, workgroups) => {
    try {
      const returned: unknown = run([...buffers], workgroups);
      if (isThenable(returned))
        throw new Error("it returned a promise; a host kernel must have finished when it returns");
    } catch (thrown) {
      throw new Error(saidBy(thrown));
    }
    for (const [index, buffer] of buffers.entries()) {
      const words = realWords(buffer);
      if (words === undefined) throw new Error(`it transferred the array of binding ${index} away`);
      buffers[index] = words;
    }
  };
}

/** What was thrown, in a text; an object's own code may be asked, and may throw in its turn. */
function saidBy(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** The options with nothing in them that has code of its own, which would run in the middle of wasm. */
function withPlainLimits(options: GuardedDeviceOptions): GuardedDeviceOptions {
  for (const [name, value] of Object.entries(options))
    if (name !== "requiredLimits") demand(!isObject(value), name, value, "a plain value");
  const { requiredLimits } = options;
  if (!isObject(requiredLimits)) return options;
  demand(!Array.isArray(requiredLimits), "requiredLimits", requiredLimits, "an object");
  const limits = { ...requiredLimits };
  for (const [name, value] of Object.entries(limits))
    demand(!isObject(value), `requiredLimits.${name}`, value, "a number");
  return { ...options, requiredLimits: limits };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function demandOptions(options: unknown): void {
  demand(typeof options === "object" && options !== null, "options", options, "an object");
}

function labelIn(options: { label?: string }): string | undefined {
  demandOptions(options);
  const { label } = options;
  if (label !== undefined) demandText("label", label);
  return label;
}

function isThenable(value: unknown): boolean {
  return (
    (isObject(value) || typeof value === "function") &&
    "then" in value &&
    typeof value.then === "function"
  );
}
