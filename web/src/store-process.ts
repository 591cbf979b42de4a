import { type Remote, releaseProxy, transfer, wrap } from "comlink";
import type { OpenReport, StoreStart } from "#wasm/session";
import { type Outcome, unwrap } from "./outcome.ts";
import {
  isStoreNotice,
  type StoreArguments,
  type StoreMethod,
  type StorePort,
  type StoreResult,
} from "./store-port.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** The worker that owns one store: started, talked to, and ended. */
export class StoreProcess {
  readonly #worker: Worker;
  readonly #port: Remote<StorePort>;
  readonly #waiting = new Set<(error: WellwrittenError) => void>();
  readonly #ended: (message: string) => void;
  #end: WellwrittenError | undefined;

  /** Takes over `worker`, which must run this package's `store-worker`; `ended` is told once if it ends by itself. */
  constructor(worker: Worker, ended: (message: string) => void) {
    this.#ended = ended;
    this.#worker = worker;
    this.#port = wrap<StorePort>(worker);
    worker.addEventListener("message", ({ data }) => {
      if (isStoreNotice(data)) this.#fail(data.message);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(event.message || "its script could not be loaded");
    });
  }

  /** Starts a worker of its own. */
  static start(ended: (message: string) => void): StoreProcess {
    const worker = new Worker(new URL("./store-worker.ts", import.meta.url), {
      type: "module",
      name: "wellwritten-store",
    });
    return new StoreProcess(worker, ended);
  }

  /** Opens a store for a session, which talks to it over `session`. */
  serve(which: StoreStart, wasmUrl: string | null, session: MessagePort): Promise<OpenReport> {
    return this.#ask((port) => port.serve(which, wasmUrl, transfer(session, [session])));
  }

  /** Opens a store to be called. */
  async open(which: StoreStart, wasmUrl: string | null): Promise<void> {
    await this.#ask((port) => port.open(which, wasmUrl));
  }

  call<Name extends StoreMethod>(
    method: Name,
    args: StoreArguments<Name>,
  ): Promise<StoreResult<Name>> {
    return this.#ask((port) => port.call(method, args) as Promise<Outcome<StoreResult<Name>>>);
  }

  /** Ends the worker, whatever it is at: its file handles and its lock are free then. */
  terminate(reason: WellwrittenError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
    this.#port[releaseProxy]();
    this.#worker.terminate();
  }

  #fail(message: string): void {
    if (this.#end !== undefined) return;
    this.terminate(new WellwrittenError("STORE_FAILED", `the store's worker ended: ${message}`));
    this.#ended(message);
  }

  /** The value of a reply; rejects at once if the worker ends before it comes, as it then never will. */
  #ask<T>(ask: (port: Remote<StorePort>) => Promise<Outcome<T>>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(this.#end);
        return;
      }
      this.#waiting.add(reject);
      ask(this.#port)
        .then((outcome) => resolve(unwrap(outcome)))
        .catch((thrown: unknown) => reject(WellwrittenError.from(thrown)))
        .finally(() => this.#waiting.delete(reject));
    });
  }
}
