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
import { callWasm, loadWellwritten, wasm } from "./load-wellwritten.ts";
import type { LoadOptions } from "./start-wasm.ts";
import { TypedEventTarget } from "./typed-event-target.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/**
 * What a device tells unasked. `error` is one that arose outside every error scope: nobody can say what it was, so the
 * `claimed` submissions that were in flight fail under it.
 */
export interface DeviceEvents {
  settled: null;
  lost: { reason: string };
  recovered: null;
  error: { message: string; claimed: number };
}

/** WGSL, for the WebGPU backend. */
export interface WgslKernel {
  label: string;
  wgsl: string;
  entryPoint?: string;
}

/** A function over the words of the bindings, for the CPU backend; what it writes into them is kept. */
export interface HostKernel {
  label: string;
  run: (buffers: Uint32Array[], workgroups: [number, number, number]) => void;
}

/** One binding of a launch: `@group(0) @binding(i)` in the order given. */
export interface LaunchBinding {
  slice: GuardedBuffer | Slice;
  access: Access;
}

/** Bytes `start..end` of a buffer. */
export class Slice {
  readonly buffer: GuardedBuffer;
  /** For this package: the wasm object behind it. */
  readonly raw: WasmSlice;

  constructor(buffer: GuardedBuffer, raw: WasmSlice) {
    this.buffer = buffer;
    this.raw = raw;
  }
}

/** Bytes of a device that are read through the guard or not at all. */
export class GuardedBuffer {
  readonly bufferId: bigint;
  readonly label: string;
  readonly sizeBytes: number;
  readonly #buffer: WasmBuffer;
  readonly #whole: Slice;
  #freed = false;

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

  /** Bytes from `start` up to, not including, `end`. */
  slice(start: number, end: number): Slice {
    return callWasm(() => new Slice(this, this.#whole.raw.slice(start, end)));
  }

  /** Gives the bytes back; the buffer and slices of it are refused by name from then on. */
  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    // The slices stay: they own no bytes, and it is they that say that the buffer was freed.
    this.#buffer.free();
  }
}

/** What a capture window recorded. It keeps no buffer alive and belongs to the device generation it was made on. */
export class SealedGraph {
  readonly label: string;
  /** How many writes, copies, launches and replays it runs. */
  readonly units: number;
  readonly #graph: WasmGraph;

  /** Use {@link GuardedDevice.window}. */
  constructor(graph: WasmGraph) {
    this.#graph = graph;
    this.label = graph.label;
    this.units = graph.units;
  }

  /**
   * Runs everything recorded, in order, as one unit: it succeeds or fails as a whole. Throws when a buffer of it was
   * freed or the device was lost since.
   */
  replay(): void {
    callWasm(() => this.#graph.replay());
  }
}

/**
 * A compute device whose reads return bytes if and only if every one of them was last written by work
 * that succeeded. It runs in the thread that made it.
 */
export class GuardedDevice extends TypedEventTarget<DeviceEvents> {
  readonly #device: WasmDevice;

  /** Use {@link createGuardedDevice}. */
  constructor(device: WasmDevice) {
    super();
    this.#device = device;
    device.observe((type: keyof DeviceEvents, message: string, claimed: number) => {
      if (type === "lost") this.emit("lost", { reason: message });
      else if (type === "error") this.emit("error", { message, claimed });
      else this.emit(type, null);
    });
  }

  backend(): BackendInfo {
    return callWasm(() => this.#device.backend());
  }

  limits(): DeviceLimits {
    return callWasm(() => this.#device.limits());
  }

  counters(): DeviceCounters {
    return callWasm(() => this.#device.counters());
  }

  /** From 1; a recovered device is the next, and nothing of the one before is touched again. */
  get generation(): bigint {
    return callWasm(() => this.#device.generation);
  }

  /** Reserves `sizeBytes` zeroed bytes, a multiple of 4. */
  alloc(sizeBytes: number, options: { label?: string } = {}): GuardedBuffer {
    return callWasm(() => new GuardedBuffer(this.#device.alloc(sizeBytes, options.label)));
  }

  /** Writes `bytes`, as many as `target` holds and a multiple of 4, in order with launches. */
  write(target: GuardedBuffer | Slice, bytes: Uint8Array): void {
    callWasm(() => this.#device.write(rawOf(target), bytes));
  }

  /**
   * Copies `source` over `target`, of the same size and of another buffer, in order with launches. Skipped, like a
   * launch, when `source` is known not to read cleanly.
   */
  copy(source: GuardedBuffer | Slice, target: GuardedBuffer | Slice): void {
    callWasm(() => this.#device.copy(rawOf(source), rawOf(target)));
  }

  /** A kernel that does not compile fails its launches, not this call. */
  kernel(source: WgslKernel | HostKernel): WasmKernel {
    return callWasm(() =>
      "wgsl" in source
        ? this.#device.kernel(source.label, source.wgsl, source.entryPoint)
        : this.#device.hostKernel(source.label, source.run),
    );
  }

  /** Submits a launch. Throws for what can be told before encoding, never for a late failure. */
  launch(
    kernel: WasmKernel,
    bindings: readonly LaunchBinding[],
    workgroups: readonly [number, number?, number?],
  ): void {
    const [x, y = 1, z = 1] = workgroups;
    callWasm(({ WasmBindings }) => {
      const bound = new WasmBindings();
      try {
        for (const { slice, access } of bindings) bound.push(rawOf(slice), access);
        this.#device.launch(kernel, bound, x, y, z);
      } finally {
        bound.free();
      }
    });
  }

  /** The bytes as they are at this call, or code `UNWRITTEN` with the report as context. Waits for what they are pending on. */
  read(source: GuardedBuffer | Slice): Promise<Uint8Array> {
    return typed(() => this.#device.read(rawOf(source)));
  }

  /** Resolves when every submission so far has settled. */
  settled(): Promise<void> {
    return typed(() => this.#device.settled());
  }

  /**
   * The state of every byte, as spans that cover `source` in order. With `spans`, at most so many: neighbours are
   * merged, and the worst state of a span stands for it.
   */
  taint(source: GuardedBuffer | Slice, options: { spans?: number } = {}): TaintSpan[] {
    return callWasm(() => this.#device.taint(rawOf(source), options.spans));
  }

  /**
   * Runs `record`, which launches, writes and copies as always, and records what it did. The graph runs all of it
   * again, as one unit of work. Rejects with `WINDOW_DOOMED` when anything in it failed or was skipped, however late;
   * what `record` throws is passed on, and nothing is kept.
   */
  async window(record: () => void, options: { label?: string } = {}): Promise<SealedGraph> {
    const window = callWasm(() => this.#device.window(options.label ?? "unnamed"));
    try {
      const returned: unknown = record();
      if (returned instanceof Promise)
        throw new WellwrittenError(
          "INVALID_ARGUMENT",
          "`record` returned a promise: a window records what is done before `record` returns.",
        );
    } catch (thrown) {
      window.free();
      throw thrown;
    }
    return new SealedGraph(await typed(() => window.seal()));
  }

  /** What live buffers hold, and what the pages under them take, in bytes. */
  memory(): MemoryUsage {
    return callWasm(() => this.#device.memory());
  }

  /** Gives pages that no buffer lies on back to the device now; otherwise they go when they have long been unused. */
  trim(): void {
    callWasm(() => this.#device.trim());
  }

  failures(): FailureGraph {
    return callWasm(() => this.#device.failures());
  }

  /** Destroys the real device: for tests. Every live byte is claimed. */
  lose(): void {
    callWasm(() => this.#device.lose());
  }

  /** Gets a new device generation; buffers of the old one stay lost. */
  recover(): Promise<void> {
    return typed(() => this.#device.recover());
  }

  close(): void {
    callWasm(() => this.#device.close());
  }
}

/** Opens a guarded device in this thread, loading wasm first if it is not there yet. */
export async function createGuardedDevice(
  options: GuardedDeviceOptions & LoadOptions = {},
): Promise<GuardedDevice> {
  const { wasmUrl, ...device } = options;
  await loadWellwritten(wasmUrl === undefined ? {} : { wasmUrl });
  return new GuardedDevice(await typed(() => wasm().WasmDevice.create(device)));
}

function rawOf(source: GuardedBuffer | Slice): WasmSlice {
  return source instanceof Slice ? source.raw : source.whole().raw;
}

/** Starts the work at once, in the caller's turn, and types what it throws then or later. */
async function typed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw WellwrittenError.from(thrown);
  }
}
