import { type Remote, releaseProxy, transfer, wrap } from "comlink";
import type { FailureGraph, TaintSpan } from "#wasm/page";
import type {
  AdmissionRequest,
  Admitted,
  BehaviourDigest,
  CheckpointOptions,
  CompareOptions,
  DispatchOrder,
  FaultInfo,
  FaultSpec,
  GenerationInfo,
  PhaseEdge,
  Published,
  PublishedDescriptor,
  PublishedSnapshot,
  RecordedSpan,
  ResetOptions,
  RestoreOptions,
  RestoreReport,
  SaveOutcome,
  SaveResolution,
  SeekProgress,
  SessionBuffer,
  SessionConfig,
  SessionRunOptions,
  SessionStatus,
  SoughtStatus,
  StoreChange,
  StoredGeneration,
  StoreUsage,
  SubscriptionOptions,
  TraceDiff,
  TraceRecord,
  VerifyReport,
  WebSessionEvent,
  WriterStatistics,
} from "#wasm/session";
import { IsolatedParticipants } from "./isolated-participants.ts";
import { fromWire, type Outcome, unwrap } from "./outcome.ts";
import { participantProgram, participantWasm } from "./participant-files.ts";
import type { ProgramFiles } from "./participant-launcher.ts";
import type {
  MethodArguments,
  MethodResult,
  SessionMethod,
  SessionPort,
  WorkerNotice,
} from "./session-port.ts";
import { TypedEventTarget } from "./typed-event-target.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** The detail of each event, by name. `error` is always the end of the session. */
export type SessionEvents = {
  [Type in WebSessionEvent["type"]]: Extract<WebSessionEvent, { type: Type }>;
} & { error: WellwrittenError };

/** A byte range of a buffer, and how many spans to report it as, at most. */
export interface TaintRange {
  start?: bigint;
  end?: bigint;
  /** The answer is merged to about this many spans, keeping the worst state of each. */
  spans?: number;
}

/** How to seek. */
export interface SeekOptions {
  /** Stops it at a committed boundary, within some ten milliseconds. */
  signal?: AbortSignal;
  /** Told at every boundary it passes. */
  onProgress?: (progress: SeekProgress) => void;
}

/**
 * How to open a session: the part Rust knows, and where files of this package are, where they do not lie beside its script:
 * the wasm modules of sessions, of stores and of participants, and the program that a participant's worker or frame runs.
 */
export interface SessionOptions extends SessionConfig {
  wasmUrl?: string | URL;
  storeWasmUrl?: string | URL;
  participantWasmUrl?: string | URL;
  participantProgramUrl?: string | URL;
}

const PUT_ASIDE =
  "the page was left, and gave its store back for other tabs; open the session again to go on from its last checkpoint";

/**
 * A session running in a worker of its own. Every method may be called at any time, overlapping
 * included; each rejects with a `WellwrittenError`. After `close()`, or after a panic (announced by
 * `error`), all of them reject with code `SESSION_ENDED`.
 */
export class Session extends TypedEventTarget<SessionEvents> {
  /** What the session was opened with, for opening another like it. */
  readonly config: Readonly<SessionOptions>;
  readonly #worker: Worker;
  readonly #port: Remote<SessionPort>;
  readonly #waiting = new Set<(error: WellwrittenError) => void>();
  readonly #listening = new AbortController();
  #isolated: IsolatedParticipants | undefined;
  #held: WebSessionEvent[] | null = [];
  #sessionId = "";
  #ended: WellwrittenError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(config: SessionOptions, worker: Worker) {
    super();
    this.config = config;
    this.#worker = worker;
    this.#port = wrap<SessionPort>(worker);
    const { signal } = this.#listening;
    worker.addEventListener("message", ({ data }) => this.#hear(data), { signal });
    worker.addEventListener(
      "error",
      (event) => {
        event.preventDefault();
        this.#fail(event.message || "the session's worker script could not be loaded");
      },
      { signal },
    );
    // A page that is put aside would keep its store, and the lock on it, from every other tab.
    if ("document" in globalThis && config.store !== "memory") {
      globalThis.addEventListener("pagehide", () => this.#fail(PUT_ASIDE), { signal });
    }
  }

  /** Opens a session in `worker`, which must run this package's `session-worker`. */
  static async open(options: SessionOptions, worker: Worker): Promise<Session> {
    const { wasmUrl, storeWasmUrl, participantWasmUrl, participantProgramUrl, ...config } = options;
    const session = new Session(options, worker);
    try {
      const program = address(participantProgramUrl ?? participantProgram());
      const wasm = address(participantWasmUrl ?? participantWasm());
      const programs = session.#programs(config, program, wasm);
      const opened = session.#port.open(
        withAddresses(config),
        { session: hrefOf(wasmUrl), store: hrefOf(storeWasmUrl) },
        programs.frames === null ? programs : transfer(programs, [programs.frames]),
      );
      session.#sessionId = await session.#settle(opened);
      setTimeout(() => session.#release());
      return session;
    } catch (thrown) {
      session.#dispose(
        new WellwrittenError("SESSION_ENDED", "session ended: it could not be opened"),
      );
      throw thrown;
    }
  }

  /** Where participants' programs come from; frames are for the page to make. */
  #programs({ mode }: SessionConfig, program: URL, wasm: URL): ProgramFiles {
    const files = { program: program.href, wasm: wasm.href };
    if (mode !== "isolated" || !("document" in globalThis)) return { ...files, frames: null };
    const { port1, port2 } = new MessageChannel();
    this.#isolated = new IsolatedParticipants(port1, program, wasm);
    return { ...files, frames: port2 };
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  /** Why no call can succeed any more, or `null` while the session lives. */
  get ended(): WellwrittenError | null {
    return this.#ended ?? null;
  }

  /** Answers while a step is being computed. */
  status(): Promise<SessionStatus> {
    return this.#call("status");
  }

  /**
   * Leaves `Starting` with a fresh run, when the store already held generations of this session; the newest of them is pinned,
   * so that it stays.
   */
  begin(): Promise<SessionStatus> {
    return this.#call("begin");
  }

  /** Runs `count` whole transitions; resolves at the boundary they end on. */
  step(count = 1): Promise<SessionStatus> {
    return this.#call("step", count);
  }

  /** Steps until paused, failed or at `until`; resolves when it stops. */
  run(options: SessionRunOptions = {}): Promise<SessionStatus> {
    return this.#call("run", options);
  }

  /** Stops at the boundary that the transition in progress commits. */
  pause(): Promise<SessionStatus> {
    return this.#call("pause");
  }

  resume(): Promise<SessionStatus> {
    return this.#call("resume");
  }

  buffers(): Promise<SessionBuffer[]> {
    return this.#call("buffers");
  }

  taint(bufferId: bigint, range: TaintRange = {}): Promise<TaintSpan[]> {
    return this.#call("taint", bufferId, range.start, range.end, range.spans);
  }

  /**
   * Bytes `start..end`, waiting for work they are pending on. Rejects with code `UNWRITTEN`, the report
   * as context, if any of them was not last written by work that succeeded.
   */
  read(bufferId: bigint, start: bigint, end: bigint): Promise<Uint8Array> {
    return this.#call("read", bufferId, start, end);
  }

  /** Writes the buffer anew from what the session knows to be right, so that it reads again. */
  rewrite(bufferId: bigint): Promise<void> {
    return this.#call("rewrite", bufferId);
  }

  failures(): Promise<FailureGraph> {
    return this.#call("failures");
  }

  /**
   * Captures every participant and saves one checkpoint; resolves with what became of it, whatever that is. The session may
   * step as soon as it is captured (event `captured`). Rejects, with nothing changed, where it cannot be taken: `BUSY` where
   * as many are on their way to the store as may be.
   */
  checkpoint(options: CheckpointOptions = {}): Promise<SaveOutcome> {
    return this.#call("checkpoint", options);
  }

  /** What was saved by this session, and what is on its way to the store. */
  saves(): Promise<WriterStatistics> {
    return this.#call("saves");
  }

  /** What became of a save whose outcome was `replyLost` or `deadlineExpired`. Never saves again. */
  resolveSave(checkpointId: string): Promise<SaveResolution> {
    return this.#call("resolveSave", checkpointId);
  }

  /**
   * Goes to another boundary of the recorded run and pauses there: restores the nearest checkpoint at or before it, unless
   * it lies ahead, and repeats what was recorded. Every repeated transition must do what it did, or it rejects with
   * `DIVERGED`. Stopped by `signal`, it rejects with `CANCELLED`, paused at a committed boundary.
   */
  async seek(boundary: bigint, options: SeekOptions = {}): Promise<SoughtStatus> {
    const { signal, onProgress } = options;
    if (signal?.aborted)
      throw new WellwrittenError("CANCELLED", "the seek was stopped before it began");
    const listening = new AbortController();
    const stop = () => {
      this.#call("cancelSeeks").catch(() => {});
    };
    signal?.addEventListener("abort", stop, { signal: listening.signal });
    if (onProgress !== undefined) {
      const tell = ({ detail }: CustomEvent<SeekProgress>) => onProgress(detail);
      this.addEventListener("seeking", tell, { signal: listening.signal });
    }
    try {
      return await this.#call("seek", boundary);
    } finally {
      listening.abort();
    }
  }

  /** What is recorded of the run; `seek` goes to any boundary of it that does not lie before the oldest checkpoint. */
  recorded(): Promise<RecordedSpan> {
    return this.#call("recorded");
  }

  generations(): Promise<StoredGeneration[]> {
    return this.#call("generations");
  }

  /** How full the store's medium is; for the browser's own storage, by this whole site. */
  storeUsage(): Promise<StoreUsage> {
    return this.#call("storeUsage");
  }

  verify(checkpointId: string): Promise<VerifyReport> {
    return this.#call("verify", checkpointId);
  }

  /** Restores the whole group under a new epoch, from the newest durable generation unless named. */
  restore(options: RestoreOptions = {}): Promise<RestoreReport> {
    return this.#call("restore", options);
  }

  replaceParticipants(): Promise<SessionStatus> {
    return this.#call("replaceParticipants");
  }

  /** One generation as the bytes of a `.flysess` file, verified. */
  exportGeneration(checkpointId: string): Promise<Uint8Array> {
    return this.#call("exportGeneration", checkpointId);
  }

  /** Commits a `.flysess` file of this session; it is pinned, and restored only by its name unless the store was empty. */
  importGeneration(bytes: Uint8Array): Promise<GenerationInfo> {
    return this.#call("importGeneration", bytes);
  }

  /** Keeps a generation from being dropped by rotation and pruning. */
  pin(checkpointId: string): Promise<StoreChange> {
    return this.#call("pin", checkpointId);
  }

  unpin(checkpointId: string): Promise<StoreChange> {
    return this.#call("unpin", checkpointId);
  }

  /** Drops all but the `keep` generations that are worth most, and those that are pinned. */
  prune(keep: number): Promise<StoreChange> {
    return this.#call("prune", keep);
  }

  /** Every legal edge between phases, with what it needs. */
  phaseEdges(): Promise<PhaseEdge[]> {
    return this.#call("phaseEdges");
  }

  faults(): Promise<FaultInfo[]> {
    return this.#call("faults");
  }

  arm(fault: FaultSpec): Promise<void> {
    return this.#call("arm", fault);
  }

  /** Disarms one fault, or all of them. */
  disarm(name?: string): Promise<void> {
    return this.#call("disarm", name);
  }

  trace(range: { from?: bigint; to?: bigint } = {}): Promise<TraceRecord[]> {
    return this.#call("trace", range.from, range.to);
  }

  compareTrace(other: TraceRecord[], options: CompareOptions = {}): Promise<TraceDiff> {
    return this.#call("compareTrace", other, options);
  }

  /** Ends the episode and begins another at boundary 0, every participant built anew; pauses first where it has to. */
  reset(options: ResetOptions = {}): Promise<SessionStatus> {
    return this.#call("reset", options);
  }

  /** What the session is made of, as its participants attested it; the present revision unless named. */
  descriptor(revision?: bigint): Promise<PublishedDescriptor> {
    return this.#call("descriptor", revision);
  }

  /** The last committed boundary: agents, progress, what there is to see and hear. */
  snapshot(): Promise<PublishedSnapshot> {
    return this.#call("snapshot");
  }

  /**
   * Everything that is published from now on, until the loop over it ends or the session does. Who does not keep up gets
   * the latest snapshot only, and is told with it how many were missed (`missedBefore`), and with events how many were
   * dropped (`droppedBefore`); the session never waits.
   */
  subscribe(options: SubscriptionOptions = {}): AsyncGenerator<Published, void, void> {
    const opened = this.#call("subscribe", options);
    opened.catch(() => {});
    return this.#published(opened);
  }

  async *#published(opened: Promise<number>): AsyncGenerator<Published, void, void> {
    const subscription = await opened;
    try {
      for (;;) {
        const next = await this.#call("nextPublished", subscription).catch((thrown: unknown) => {
          if (this.#ended === undefined) throw thrown;
        });
        if (next === undefined) return;
        yield next;
      }
    } finally {
      if (this.#ended === undefined) await this.#call("unsubscribe", subscription);
    }
  }

  /** Accepts a stimulus for an agent from outside the task: applied once, before the ticks of the next step. */
  admit(request: AdmissionRequest): Promise<Admitted> {
    return this.#call("admit", request);
  }

  /** In which order agents are asked from the next step on. Behaviour is the same in each. */
  setDispatch(order: DispatchOrder): Promise<void> {
    return this.#call("setDispatch", order);
  }

  /** The trace as JSON Lines: one canonical record a line, those that are still kept, oldest first. */
  exportTrace(): Promise<string> {
    return this.#call("exportTrace");
  }

  /** One digest of all behaviour of the present timeline: runs that share it did the same, step by step. */
  behaviourDigest(): Promise<BehaviourDigest> {
    return this.#call("behaviourDigest");
  }

  /**
   * Closes the session, once saves that are under way have ended, and ends its worker; waits for them as long as
   * `budgets.close` says. Rejects with `SAVES_LOST`, naming them, where saves did not commit that nobody else was told of;
   * it is closed all the same. Safe to call twice.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#ended !== undefined) return;
    try {
      await this.#call("close");
    } finally {
      this.#dispose(new WellwrittenError("SESSION_ENDED", "session ended: it was closed"));
    }
  }

  #call<Name extends SessionMethod>(
    method: Name,
    ...args: MethodArguments<Name>
  ): Promise<MethodResult<Name>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return this.#settle(this.#port.call(method, args) as Promise<Outcome<MethodResult<Name>>>);
  }

  /** The value of a reply; rejects at once if the worker ends before it comes, as it then never will. */
  #settle<T>(reply: Promise<Outcome<T>>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      reply
        .then((outcome) => resolve(unwrap(outcome)))
        .catch((thrown: unknown) => reject(WellwrittenError.from(thrown)))
        .finally(() => this.#waiting.delete(reject));
    });
  }

  #hear(data: unknown): void {
    if (typeof data !== "object" || data === null || !("notice" in data)) return;
    const notice = data as WorkerNotice;
    if (notice.notice === "ended") this.#fail(fromWire(notice.error).message);
    else if (this.#held !== null) this.#held.push(notice.event);
    else this.#tell(notice.event);
  }

  #tell(event: WebSessionEvent): void {
    this.emit(event.type, event as never);
  }

  /** What happened while the session was opened is told once its opener had a turn to listen. */
  #release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const event of held) this.#tell(event);
  }

  /** wasm panicked or the worker broke: tell everyone who waits, then everyone who listens. */
  #fail(message: string): void {
    if (this.#ended !== undefined) return;
    this.#dispose(new WellwrittenError("SESSION_ENDED", `session ended: ${message}`));
    this.emit("error", new WellwrittenError("SESSION_ENDED", message));
  }

  #dispose(reason: WellwrittenError): void {
    // a panic may come while it is being closed
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#listening.abort();
    for (const reject of this.#waiting) reject(this.#ended);
    this.#waiting.clear();
    this.#port[releaseProxy]();
    this.#worker.terminate();
    this.#isolated?.close();
  }
}

/**
 * Opens a session in a new module worker with a wasm instance of its own. Rejects, leaving nothing
 * behind, when the store is in use elsewhere (`STORE_LOCKED`) or the configuration is refused.
 */
export function createSession(options: SessionOptions = {}): Promise<Session> {
  const worker = new Worker(new URL("./session-worker.ts", import.meta.url), {
    type: "module",
    name: "wellwritten-session",
  });
  return Session.open(options, worker);
}

/** An address as it is from anywhere; the worker's own base is another. */
function address(url: string | URL): URL {
  if (url instanceof URL) return url;
  return new URL(url, "document" in globalThis ? document.baseURI : location.href);
}

function hrefOf(url: string | URL | undefined): string | null {
  return url === undefined ? null : address(url).href;
}

/** The configuration as it can be sent, with absolute addresses of modules. */
function withAddresses(config: SessionConfig): SessionConfig {
  const { composition } = config;
  if (typeof composition !== "object") return config;
  const { environment, agents, task } = composition;
  const located = <T extends { module: string | URL }>(part: T): T => ({
    ...part,
    module: address(part.module).href,
  });
  return {
    ...config,
    composition: {
      environment: located(environment),
      agents: agents.map(located),
      task: typeof task === "string" ? task : located(task),
    },
  };
}
