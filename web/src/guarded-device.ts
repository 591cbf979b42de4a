import type {
  Access,
  BackendInfo,
  DeviceCounters,
  DeviceLimits,
  FailureGraph,
  GuardedDeviceOptions,
  TaintSpan,
  WasmBuffer,
  WasmDevice,
  WasmKernel,
  WasmSlice,
} from "#wasm/page";
import { callWasm, loadWellwritten, wasm } from "./load-wellwritten.ts";
import type { LoadOptions } from "./start-wasm.ts";
import { TypedEventTarget } from "./typed-event-target.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** What a device tells unasked. `error` is one that arose outside every launch: it claims nothing. */
export interface DeviceEvents {
  settled: null;
  lost: { reason: string };
  recovered: null;
  error: { message: string };
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
    device.observe((type: keyof DeviceEvents, message: string) => {
      if (type === "lost") this.emit("lost", { reason: message });
      else if (type === "error") this.emit("error", { message });
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

  write(target: GuardedBuffer | Slice, bytes: Uint8Array): void {
    callWasm(() => this.#device.write(rawOf(target), bytes));
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

  taint(source: GuardedBuffer | Slice): TaintSpan[] {
    return callWasm(() => this.#device.taint(rawOf(source)));
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
