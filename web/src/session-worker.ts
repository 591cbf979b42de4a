import { expose, transfer } from "comlink";
import start, {
  type SessionConfig,
  StoreLink,
  WasmSession,
  type WebSessionEvent,
} from "#wasm/session";
import { type Outcome, settle, toWire } from "./outcome.ts";
import { ParticipantLauncher, type ProgramFiles } from "./participant-launcher.ts";
import type {
  MethodArguments,
  MethodResult,
  SessionMethod,
  SessionPort,
  SessionWasm,
  WorkerNotice,
} from "./session-port.ts";
import { startWasm } from "./start-wasm.ts";
import { StoreProcess } from "./store-process.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** How long a participant's program may take to start, unless told otherwise. */
const BOOT_MS = 30_000;

let session: WasmSession | undefined;
let storeProcess: StoreProcess | undefined;
let ended: WellwrittenError | undefined;

function post(notice: WorkerNotice): void {
  self.postMessage(notice);
}

/** After a panic the wasm instance is in an unknown state: say so once, with the first message. */
function end(message: string): WellwrittenError {
  if (ended === undefined) {
    ended = new WellwrittenError("SESSION_ENDED", message);
    post({ notice: "ended", error: toWire(ended) });
  }
  return ended;
}

function onEvent(event: WebSessionEvent): void {
  post({ notice: "event", event });
}

/**
 * Rust's panic hook writes its message to the console and nowhere else, just before the trap; what the
 * trap itself says ("unreachable") helps nobody.
 */
const writeToConsole = console.error;
console.error = (...args: unknown[]) => {
  const [first] = args;
  if (typeof first === "string" && first.includes("panicked at")) {
    end(first.split("\n\nStack:", 1)[0] ?? first);
  }
  writeToConsole.apply(console, args);
};

// A panic inside a spawned future surfaces here rather than in the call that started it.
self.addEventListener("error", (event) => {
  event.preventDefault();
  end(event.message);
});
self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  end(WellwrittenError.from(event.reason).message);
});

async function guarded<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  if (ended !== undefined) return { ok: false, error: toWire(ended) };
  const outcome = await settle(async () => {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof WebAssembly.RuntimeError) throw end(thrown.message);
      throw thrown;
    }
  });
  return withTransfer(outcome);
}

/** Bytes are moved, not copied; a view of part of a buffer is copied first, so that only it travels. */
function withTransfer<T>(outcome: Outcome<T>): Outcome<T> {
  if (!outcome.ok || !(outcome.value instanceof Uint8Array)) return outcome;
  const bytes: Uint8Array =
    outcome.value.byteLength === outcome.value.buffer.byteLength
      ? outcome.value
      : outcome.value.slice();
  return transfer({ ok: true, value: bytes as T }, [bytes.buffer as ArrayBuffer]);
}

/**
 * Opens the session's store in a worker of its own, so that this one never waits for a disk. Gives what makes the link to
 * it, once there is wasm to hold that.
 */
async function openStore(
  { sessionId, store, keepGenerations }: SessionConfig,
  wasmUrl: string | null,
): Promise<() => StoreLink> {
  let link: StoreLink | undefined;
  let failure: string | undefined;
  storeProcess = StoreProcess.start((message) => {
    failure = message;
    link?.end(message);
  });
  const { port1, port2 } = new MessageChannel();
  const which = {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(store === undefined ? {} : { store }),
    ...(keepGenerations === undefined ? {} : { keepGenerations }),
  };
  const report = await storeProcess.serve(which, wasmUrl, port2);
  return () => {
    link = new StoreLink(port1, report);
    if (failure !== undefined) link.end(failure);
    return link;
  };
}

const port: SessionPort = {
  open(config: SessionConfig, wasm: SessionWasm, programs: ProgramFiles) {
    return guarded(async () => {
      const wasmUrl = wasm.session;
      const [store] = await Promise.all([
        openStore(config, wasm.store),
        startWasm(start, "wellwritten_session_bg.wasm", wasmUrl === null ? {} : { wasmUrl }),
      ]);
      const launcher = new ParticipantLauncher(programs, config.budgets?.boot ?? BOOT_MS);
      const live = await WasmSession.create(config, onEvent, launcher, store());
      session = live;
      return live.sessionId;
    });
  },
  call<Name extends SessionMethod>(method: Name, args: MethodArguments<Name>) {
    return guarded(async () => {
      const live = session;
      if (live === undefined)
        throw new WellwrittenError("INVALID_PHASE", "The session is not open yet.");
      const run = live[method] as (...args: MethodArguments<Name>) => MethodResult<Name>;
      if (method !== "close") return run.apply(live, args);
      try {
        return await run.apply(live, args);
      } finally {
        storeProcess?.terminate(new WellwrittenError("CLOSED", "the session is closed"));
      }
    });
  },
};

expose(port);
