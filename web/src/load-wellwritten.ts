import start, * as glue from "#wasm/page";
import { type LoadOptions, startWasm } from "./start-wasm.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

let loading: Promise<void> | undefined;
let loaded = false;
/** What every call is told after a panic: the instance is in an unknown state, and there is no other in this thread. */
let ended: WellwrittenError | undefined;
/** Tells those who wait for wasm; after a panic nobody else would. */
const waiting = new Set<(error: WellwrittenError) => void>();

function end(message: string): void {
  // A panic after the first one is of its making.
  if (ended !== undefined) return;
  const happened = `The wasm module of this thread failed and cannot go on; reload the page. ${message}`;
  ended = new WellwrittenError("INTERNAL", happened, { name: "panic", stack: null });
  for (const reject of waiting) reject(ended);
  waiting.clear();
}

/**
 * Loads the wasm module of envelopes and guarded devices in this thread, once: later calls return the first call's
 * promise. A failed load (code `LOAD_FAILED`) is forgotten, so that it can be tried again. A session needs none of
 * it: its worker loads a module of its own.
 */
export function loadWellwritten(options: LoadOptions = {}): Promise<void> {
  loading ??= startWasm(start, "wellwritten_page_bg.wasm", options).then(
    () => {
      glue.onPanic(end);
      loaded = true;
    },
    (thrown: unknown) => {
      loading = undefined;
      throw thrown;
    },
  );
  return loading;
}

/** The wasm exports of this thread; throws `NOT_LOADED` before {@link loadWellwritten} has resolved. */
export function wasm(): typeof glue {
  if (!loaded) {
    throw new WellwrittenError(
      "NOT_LOADED",
      "The wasm module is not loaded in this thread yet: await loadWellwritten() first.",
    );
  }
  return glue;
}

/**
 * Calls into wasm; whatever it throws leaves as a `WellwrittenError`. After a panic (code `INTERNAL`) every call throws
 * the first one's message.
 */
export function callWasm<T>(work: (exports: typeof glue) => T): T {
  const exports = wasm();
  if (ended !== undefined) throw ended;
  try {
    return work(exports);
  } catch (thrown) {
    throw ended ?? WellwrittenError.from(thrown);
  }
}

/** As {@link callWasm}, for work that wasm goes on with: it begins in the caller's turn, and a panic ends the waiting. */
export function awaitWasm<T>(work: (exports: typeof glue) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    const done = () => waiting.delete(reject);
    try {
      callWasm(work).then(
        (value) => {
          done();
          resolve(value);
        },
        (thrown: unknown) => {
          done();
          reject(WellwrittenError.from(thrown));
        },
      );
    } catch (thrown) {
      done();
      reject(WellwrittenError.from(thrown));
    }
  });
}
