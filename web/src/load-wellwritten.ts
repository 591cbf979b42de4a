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
    const source = wasmFromDisk(wasmUrl) ?? wasmUrl;
    await init(source === undefined ? undefined : { module_or_path: source });
    loaded = true;
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WellwrittenError("LOAD_FAILED", `The wasm module could not be started: ${cause}`, {
      wasmUrl: wasmUrl === undefined ? null : String(wasmUrl),
    });
  }
}

/** What of Node this module uses, where it runs there. */
interface NodeProcess {
  getBuiltinModule?(name: "node:fs"): { readFileSync(url: URL): Uint8Array<ArrayBuffer> };
}

/**
 * The module's bytes where they are a file on this machine, which `fetch` does not read: in Node. Asking the process
 * for the file system, rather than importing it, leaves nothing for a bundler to stumble over.
 */
function wasmFromDisk(wasmUrl: string | URL | undefined): Uint8Array<ArrayBuffer> | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  const files = process?.getBuiltinModule?.("node:fs");
  if (files === undefined) return undefined;
  const beside = import.meta.url;
  const url = new URL(wasmUrl ?? "wellwritten_web_bg.wasm", beside);
  return url.protocol === "file:" ? files.readFileSync(url) : undefined;
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
