import start, * as glue from "#wasm/page";
import { type LoadOptions, startWasm } from "./start-wasm.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

let loading: Promise<void> | undefined;
let loaded = false;

/**
 * Loads the wasm module of envelopes and guarded devices in this thread, once: later calls return the first call's
 * promise. A failed load (code `LOAD_FAILED`) is forgotten, so that it can be tried again. A session needs none of
 * it: its worker loads a module of its own.
 */
export function loadWellwritten(options: LoadOptions = {}): Promise<void> {
  loading ??= startWasm(start, "wellwritten_page_bg.wasm", options).then(
    () => {
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

/** Calls into wasm; whatever it throws leaves as a `WellwrittenError`. */
export function callWasm<T>(work: (exports: typeof glue) => T): T {
  const exports = wasm();
  try {
    return work(exports);
  } catch (thrown) {
    throw WellwrittenError.from(thrown);
  }
}
