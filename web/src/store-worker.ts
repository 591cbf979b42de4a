import { expose, transfer } from "comlink";
import type { OpenReport, StoreStart } from "#wasm/session";
import start, { onPanic, serveStore, WasmStore } from "#wasm/store";
import { type Outcome, settle, toWire } from "./outcome.ts";
import { startWasm } from "./start-wasm.ts";
import type {
  StoreArguments,
  StoreMethod,
  StoreNotice,
  StorePort,
  StoreResult,
} from "./store-port.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

let store: WasmStore | undefined;
let ended: WellwrittenError | undefined;

/** After a panic the wasm instance is in an unknown state: say so once, with the first message. */
function end(message: string): WellwrittenError {
  if (ended === undefined) {
    ended = new WellwrittenError("STORE_FAILED", `the store's worker ended: ${message}`);
    self.postMessage({ notice: "store-ended", message } satisfies StoreNotice);
  }
  return ended;
}

// A panic inside a spawned future surfaces here rather than in the call that started it.
self.addEventListener("error", (event) => {
  event.preventDefault();
  end(event.message);
});
self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  end(WellwrittenError.from(event.reason).message);
});

async function load(wasmUrl: string | null): Promise<void> {
  await startWasm(start, "wellwritten_store_bg.wasm", wasmUrl === null ? {} : { wasmUrl });
  onPanic((message: string) => end(message));
}

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
  if (!outcome.ok || !(outcome.value instanceof Uint8Array)) return outcome;
  return transfer(outcome, [outcome.value.buffer as ArrayBuffer]);
}

const port: StorePort = {
  serve(which: StoreStart, wasmUrl: string | null, session: MessagePort) {
    return guarded<OpenReport>(async () => {
      await load(wasmUrl);
      return serveStore(which, session);
    });
  },
  open(which: StoreStart, wasmUrl: string | null) {
    return guarded<null>(async () => {
      await load(wasmUrl);
      store = await WasmStore.open(which);
      return null;
    });
  },
  call<Name extends StoreMethod>(method: Name, args: StoreArguments<Name>) {
    return guarded(() => {
      const live = store;
      if (live === undefined) throw new WellwrittenError("INVALID_PHASE", "The store is not open.");
      const run = live[method] as (...args: StoreArguments<Name>) => StoreResult<Name>;
      return run.apply(live, args);
    });
  },
};

expose(port);
