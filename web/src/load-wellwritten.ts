import start, * as glue from "#wasm/page";
import { type LoadOptions, startWasm } from "./start-wasm.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

let loading: Promise<void> | undefined;
let loaded = false;
/** What every call is told after the end: the instance is in an unknown state, and there is no other in this thread. */
let ended: WellwrittenError | undefined;
/** Tells those who wait for wasm; after the end nobody else would. */
const waiting = new Set<(error: WellwrittenError) => void>();
/** What a call threw and nobody has looked at yet: where the stack has run out, looking at it throws in its turn. */
let unseen: { readonly thrown: unknown } | undefined;

/** May be cut short where the stack runs out, and is then done again. */
function end(happened: string, context: unknown = { name: "panic", stack: null }): void {
  // What fails after the first failure is of its making.
  ended ??= new WellwrittenError(
    "INTERNAL",
    `The wasm module of this thread failed and cannot go on; reload the page. ${happened}`,
    context,
  );
  for (const reject of waiting) reject(ended);
  waiting.clear();
}

/**
 * The error to throw for what a call threw. Wasm returns its errors, which have a code; anything else went through its
 * frames without unwinding them (a trap, or the stack ran out), and left borrowed what they had borrowed.
 */
function errorFrom(thrown: unknown): WellwrittenError {
  if (unseen !== undefined) {
    const { code, message, context } = WellwrittenError.from(unseen.thrown);
    if (code === "INTERNAL") end(`${(context as { name: string }).name}: ${message}`, context);
    unseen = undefined;
  }
  return ended ?? WellwrittenError.from(thrown);
}

/**
 * Loads the wasm module of envelopes and guarded devices in this thread, once: later calls return the first call's
 * promise. A failed load (code `LOAD_FAILED`) is forgotten, so that it can be tried again. A session needs none of
 * it: its worker loads a module of its own.
 */
export function loadWellwritten(options: LoadOptions = {}): Promise<void> {
  loading ??= startWasm(start, "wellwritten_page_bg.wasm", options).then(
    () => {
      glue.onPanic((message: string) => end(message));
      loaded = true;
    },
    (thrown: unknown) => {
      loading = undefined;
      throw thrown;
    },
  );
  return loading;
}

/**
 * The wasm exports of this thread; throws `NOT_LOADED` before {@link loadWellwritten} has resolved, and the first
 * failure after the end.
 */
export function wasm(): typeof glue {
  if (!loaded) {
    throw new WellwrittenError(
      "NOT_LOADED",
      "The wasm module is not loaded in this thread yet: await loadWellwritten() first.",
    );
  }
  if (unseen !== undefined) errorFrom(unseen.thrown);
  if (ended !== undefined) throw ended;
  return glue;
}

/**
 * Calls into wasm; whatever it throws leaves as a `WellwrittenError`. What `work` throws without a code ends the module,
 * so arguments, which may have code of their own, are looked into before. After that, as after a panic, every call
 * throws the first failure (code `INTERNAL`).
 */
export function callWasm<T>(work: (exports: typeof glue) => T): T {
  const exports = wasm();
  try {
    return work(exports);
  } catch (thrown) {
    // No call may come before this: see `unseen`.
    unseen ??= { thrown };
    throw errorFrom(thrown);
  }
}

/** Frees what wasm holds for `held`; after the end there is nothing to give back, and nobody to take it. */
export function freeWasm(held: { free(): void }): void {
  if (ended === undefined) callWasm(() => held.free());
}

/** As {@link callWasm}, for work that wasm goes on with: it begins in the caller's turn, and the module's end ends the waiting. */
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
