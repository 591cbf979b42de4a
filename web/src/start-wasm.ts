import { WellwrittenError } from "./wellwritten-error.ts";

/** Where a wasm module comes from; by default, beside the package's own script. */
export interface LoadOptions {
  wasmUrl?: string | URL;
}

/** What the glue of a wasm module exports by default: it fetches the module where it is given no other source. */
export type StartGlue = (options?: {
  module_or_path: string | URL | Uint8Array<ArrayBuffer>;
}) => Promise<unknown>;

/**
 * Starts a wasm module in this thread by its glue; rejects with `LOAD_FAILED`. `file` is the module's name beside
 * this script, where it is read from if that is a disk.
 */
export async function startWasm(
  glue: StartGlue,
  file: string,
  { wasmUrl }: LoadOptions,
): Promise<void> {
  try {
    const source = fromDisk(wasmUrl ?? file) ?? wasmUrl;
    await glue(source === undefined ? undefined : { module_or_path: source });
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
function fromDisk(file: string | URL): Uint8Array<ArrayBuffer> | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  const files = process?.getBuiltinModule?.("node:fs");
  if (files === undefined) return undefined;
  const beside = import.meta.url;
  const url = new URL(file, beside);
  return url.protocol === "file:" ? files.readFileSync(url) : undefined;
}
