import type {
  GenerationInfo,
  StoreAccess,
  StoreChange,
  StoredGeneration,
  StoreUsage,
  VerifyReport,
} from "#wasm/session";
import { StoreProcess } from "./store-process.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** How to open the store of a session that is not opened here. */
export interface StoreOptions {
  /**
   * `"read-only"`, the default, looks at a store whoever owns it, and sees what its owner commits meanwhile; what would change
   * it is refused with `STORE_READ_ONLY`. `"read-write"` owns it, as a session does; rejects with `STORE_LOCKED` while
   * another one does.
   */
  access?: StoreAccess;
  /** Of an owner: generations that stay, those that are pinned not counted; default 3. */
  keepGenerations?: number;
  /** Where the wasm module of stores is, if it does not lie beside this package's script. */
  storeWasmUrl?: string | URL;
}

/** The checkpoints of one session in the browser's private storage, in a worker of their own. */
export class Store {
  readonly sessionId: string;
  readonly access: StoreAccess;
  readonly #process: StoreProcess;

  private constructor(sessionId: string, access: StoreAccess, process: StoreProcess) {
    this.sessionId = sessionId;
    this.access = access;
    this.#process = process;
  }

  /** Opens a store in `process`. */
  static async open(
    sessionId: string,
    { access = "read-only", keepGenerations, storeWasmUrl }: StoreOptions,
    process: StoreProcess,
  ): Promise<Store> {
    const which = {
      sessionId,
      access,
      ...(keepGenerations === undefined ? {} : { keepGenerations }),
    };
    const wasm =
      storeWasmUrl === undefined ? null : new URL(storeWasmUrl, globalThis.location?.href).href;
    try {
      await process.open(which, wasm);
    } catch (thrown) {
      process.terminate(new WellwrittenError("CLOSED", "the store could not be opened"));
      throw thrown;
    }
    return new Store(sessionId, access, process);
  }

  /** Every generation, newest commit first. */
  generations(): Promise<StoredGeneration[]> {
    return this.#process.call("generations", []);
  }

  /** Reads a generation's file and says whether it is whole. */
  verify(checkpointId: string): Promise<VerifyReport> {
    return this.#process.call("verify", [checkpointId]);
  }

  /** One generation as the bytes of a `.flysess` file, verified. */
  exportGeneration(checkpointId: string): Promise<Uint8Array> {
    return this.#process.call("exportGeneration", [checkpointId]);
  }

  /** Commits a `.flysess` file of this session; it is pinned, and restored only by its name unless the store was empty. */
  importGeneration(bytes: Uint8Array): Promise<GenerationInfo> {
    return this.#process.call("importGeneration", [bytes]);
  }

  /** Keeps a generation from being dropped by rotation and pruning. */
  pin(checkpointId: string): Promise<StoreChange> {
    return this.#process.call("pin", [checkpointId]);
  }

  unpin(checkpointId: string): Promise<StoreChange> {
    return this.#process.call("unpin", [checkpointId]);
  }

  /** Drops all but the `keep` generations that are worth most, and those that are pinned. */
  prune(keep: number): Promise<StoreChange> {
    return this.#process.call("prune", [keep]);
  }

  /** How full the browser's private storage is, by this whole site. */
  usage(): Promise<StoreUsage> {
    return this.#process.call("usage", []);
  }

  /** Ends the worker; its lock is free then. Safe to call twice. */
  close(): void {
    this.#process.terminate(new WellwrittenError("CLOSED", "the store is closed"));
  }
}

/** Opens the store of session `sessionId` without a session; to look at it unless `access` says otherwise. */
export function openStore(sessionId: string, options: StoreOptions = {}): Promise<Store> {
  return Store.open(
    sessionId,
    options,
    StoreProcess.start(() => {}),
  );
}
