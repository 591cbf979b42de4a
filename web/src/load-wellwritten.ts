import init, * as glue from "#wasm";
import { WellwrittenError } from "./wellwritten-error.ts";

/** Where the wasm module comes from; by default, beside the package's own script. */
export interface LoadOptions {
  wasmUrl?: string | URL;
}

let loading: Promise<void> | undefined;
let loaded = false;

/**
 * Loads the wasm module in this thread, once: later calls return the first call's promise. A failed load
 * (code `LOAD_FAILED`) is forgotten, so that it can be tried again.
 */
export function loadWellwritten(options: LoadOptions = {}): Promise<void> {
  loading ??= start(options).catch((thrown: unknown) => {
    loading = undefined;
    throw thrown;
  });
  return loading;
}

async function start({ wasmUrl }: LoadOptions): Promise<void> {
  try {
    await init(wasmUrl === undefined ? undefined : { module_or_path: wasmUrl });
    loaded = true;
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WellwrittenError("LOAD_FAILED", `The wasm module could not be started: ${cause}`, {
      wasmUrl: wasmUrl === undefined ? null : String(wasmUrl),
    });
  }
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
