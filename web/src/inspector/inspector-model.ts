import { batch, signal } from "@preact/signals-core";
import type { FailureGraph } from "#wasm/page";
import type {
  FaultInfo,
  PhaseChange,
  PhaseEdge,
  SessionBuffer,
  SessionStatus,
  StoredGeneration,
  TraceRecord,
} from "#wasm/session";
import { type Advice, adviseOn } from "../format/error-advice.ts";
import type { Window } from "../format/strip-layout.ts";
import type { Session } from "../session.ts";
import { WellwrittenError } from "../wellwritten-error.ts";
import { StepRate } from "./step-rate.ts";
import { type Strip, StripCache } from "./strip-cache.ts";
import { SubmissionsPerStep } from "./submissions-per-step.ts";

/** A message across the inspector: an error with advice, or that something was done. */
export interface Notice {
  readonly tone: "error" | "done";
  readonly advice: Advice;
}

/** A range of a buffer that a person picked. */
export interface Selection {
  readonly bufferId: bigint;
  readonly label: string;
  readonly start: bigint;
  readonly end: bigint;
}

/** What came of asking for the selected bytes. */
export type Answer =
  | { readonly kind: "bytes"; readonly start: bigint; readonly bytes: Uint8Array }
  | { readonly kind: "refused"; readonly error: WellwrittenError };

/** The picture the agents see, or why it may not be shown. */
export type Frame =
  | { readonly kind: "picture"; readonly pixels: Uint8Array }
  | { readonly kind: "refused"; readonly error: WellwrittenError };

/** Bytes read for the hex view at a time. */
export const READ_BYTES = 4096n;

const NO_FAILURES: FailureGraph = { failures: [], steps: [] };
const VIEW_LABEL = "world/view";
const PATH_LENGTH = 64;
/** How long to leave a running session alone after a refresh, as a multiple of what that took. */
const REST = 3;

/**
 * What the panels of one inspector show of one session, as signals. It listens to the session's events
 * and asks for what changed, at most once a frame and never with two refreshes in flight, so that a
 * session which steps faster than the screen is not slowed to it.
 */
export class InspectorModel {
  readonly session: Session;

  readonly status = signal<SessionStatus | null>(null);
  readonly buffers = signal<readonly SessionBuffer[]>([]);
  readonly strips = signal<ReadonlyMap<bigint, Strip>>(new Map());
  readonly failures = signal<FailureGraph | null>(null);
  readonly generations = signal<readonly StoredGeneration[]>([]);
  readonly faults = signal<readonly FaultInfo[]>([]);
  readonly edges = signal<readonly PhaseEdge[]>([]);
  readonly path = signal<readonly PhaseChange[]>([]);
  readonly frame = signal<Frame | null>(null);
  readonly stepsPerSecond = signal(0);
  /** GPU submissions a step, `null` until one was taken. */
  readonly submissionsPerStep = signal<number | null>(null);
  readonly trace = signal<readonly TraceRecord[]>([]);
  readonly selection = signal<Selection | null>(null);
  readonly answer = signal<Answer | null>(null);
  readonly notice = signal<Notice | null>(null);
  /** What is being done right now, in words, or `null`. */
  readonly activity = signal<string | null>(null);
  readonly ended = signal<WellwrittenError | null>(null);

  readonly #listening = new AbortController();
  readonly #rate = new StepRate();
  readonly #submissions = new SubmissionsPerStep();
  readonly #strips = new StripCache();
  #current: readonly SessionBuffer[] = [];
  readonly #changes: PhaseChange[] = [];
  #restUntil = 0;
  #frameRequest: number | undefined;
  #refreshing = false;
  #again = false;
  #viewDrawn = "";
  #answeredAt = "";
  #wantsGenerations = true;
  #wantsFaults = true;

  constructor(session: Session) {
    this.session = session;
  }

  /** Starts listening and asks for everything once. */
  connect(): void {
    const { signal: abort } = this.#listening;
    const on: Session["addEventListener"] = (name, listener) =>
      this.session.addEventListener(name, listener, { signal: abort });
    on("phase", ({ detail }) => this.#notePhase(detail));
    on("boundary", () => {
      this.#rate.note(performance.now());
      this.refresh();
    });
    for (const name of ["ready", "taint", "failure", "restored", "device", "stopped"] as const)
      on(name, () => this.refresh());
    for (const name of ["generation", "durable"] as const) {
      on(name, () => {
        this.#wantsGenerations = true;
        this.refresh();
      });
    }
    on("error", ({ detail }) => this.#end(detail));
    if (this.session.ended !== null) this.#end(this.session.ended);
    this.refresh();
    void this.#loadEdges();
  }

  /** The exact opposite of {@link connect}; the session itself is left alone. */
  disconnect(): void {
    this.#listening.abort();
    if (this.#frameRequest !== undefined) cancelAnimationFrame(this.#frameRequest);
    this.#frameRequest = undefined;
  }

  /** Asks for what changed, at the next frame. */
  refresh(): void {
    if (this.#listening.signal.aborted || this.#frameRequest !== undefined) return;
    if (this.#refreshing) {
      this.#again = true;
      return;
    }
    this.#frameRequest = requestAnimationFrame(() => {
      this.#frameRequest = undefined;
      if (performance.now() < this.#restUntil) this.refresh();
      else void this.#refreshNow();
    });
  }

  /**
   * Does what a person asked for. Its failure becomes a notice; `done` is shown when it succeeds.
   * Resolves with whether it succeeded.
   */
  async act(activity: string, work: () => Promise<unknown>, done?: string): Promise<boolean> {
    // a double click is one wish
    if (this.activity.value === activity) return false;
    this.activity.value = activity;
    this.notice.value = null;
    try {
      await work();
      if (done !== undefined) this.say(done);
      return true;
    } catch (thrown) {
      this.report(WellwrittenError.from(thrown));
      return false;
    } finally {
      if (this.activity.value === activity) this.activity.value = null;
      this.#wantsFaults = true;
      this.#wantsGenerations = true;
      this.refresh();
    }
  }

  say(happened: string): void {
    this.notice.value = { tone: "done", advice: { happened, safe: "", todo: "" } };
  }

  report(error: WellwrittenError): void {
    this.notice.value = { tone: "error", advice: adviseOn(error) };
  }

  buffer(bufferId: bigint): SessionBuffer | undefined {
    return this.#current.find((buffer) => buffer.bufferId === bufferId);
  }

  /** The part of a buffer that its strip shows; all of it until a person zooms. */
  windowOf(buffer: SessionBuffer): Window {
    return this.#strips.windowOf(buffer);
  }

  show(bufferId: bigint, window: Window): void {
    this.#strips.show(bufferId, window);
    this.refresh();
  }

  /** How many pixels a strip has. */
  set stripPixels(pixels: number) {
    if (pixels <= 0 || pixels === this.#strips.pixels) return;
    this.#strips.pixels = pixels;
    this.refresh();
  }

  /** Picks bytes `start..end` of a buffer, by default all of it. */
  select(bufferId: bigint, start = 0n, end?: bigint): void {
    const buffer = this.buffer(bufferId);
    if (buffer === undefined) return;
    batch(() => {
      this.selection.value = { bufferId, label: buffer.label, start, end: end ?? buffer.sizeBytes };
      this.answer.value = null;
    });
  }

  /**
   * Asks for the selected bytes: the first {@link READ_BYTES} from `from` on where they seem sound, else all
   * of them, so that the report of the refusal is complete. Refusal is an answer.
   */
  async readSelection(from?: bigint): Promise<void> {
    const selection = this.selection.value;
    if (selection === null) return;
    const start = from ?? selection.start;
    const page = start + READ_BYTES < selection.end ? start + READ_BYTES : selection.end;
    const stand = this.#standOfSelection();
    const spans = this.strips.value.get(selection.bufferId)?.spans ?? [];
    const suspect = spans.some(
      (span) =>
        span.state !== "trusted" && span.start < selection.end && span.end > selection.start,
    );
    const answer = suspect
      ? await this.#ask(selection.bufferId, selection.start, selection.end)
      : await this.#ask(selection.bufferId, start, page);
    if (this.selection.value !== selection) return;
    this.#answeredAt = stand;
    // what was suspect may have settled well meanwhile: then it is shown a page at a time like the rest
    this.answer.value =
      answer.kind === "bytes" && suspect
        ? { ...answer, bytes: answer.bytes.slice(0, Number(READ_BYTES)) }
        : answer;
  }

  /** A restore makes new buffers under the old labels: the selection goes over to the new one. */
  #followSelection(buffers: readonly SessionBuffer[]): void {
    const selection = this.selection.value;
    if (selection === null || buffers.some(({ bufferId }) => bufferId === selection.bufferId))
      return;
    const successor = buffers.find(
      ({ label, sizeBytes }) => label === selection.label && sizeBytes >= selection.end,
    );
    this.selection.value =
      successor === undefined ? null : { ...selection, bufferId: successor.bufferId };
    if (successor === undefined) this.answer.value = null;
  }

  /** What is shown of the selected bytes is asked for again when their buffer has changed since. */
  async #askAgain(): Promise<void> {
    const answer = this.answer.value;
    if (answer === null || this.#standOfSelection() === this.#answeredAt) return;
    await this.readSelection(answer.kind === "bytes" ? answer.start : undefined);
  }

  #standOfSelection(): string {
    const { bufferId } = this.selection.value ?? {};
    const buffer = bufferId === undefined ? undefined : this.buffer(bufferId);
    return `${bufferId}:${buffer?.revision}:${buffer?.state}`;
  }

  async #ask(bufferId: bigint, start: bigint, end: bigint): Promise<Answer> {
    try {
      return { kind: "bytes", start, bytes: await this.session.read(bufferId, start, end) };
    } catch (thrown) {
      return { kind: "refused", error: WellwrittenError.from(thrown) };
    }
  }

  #notePhase(change: PhaseChange): void {
    this.#changes.push(change);
    if (this.#changes.length > PATH_LENGTH) this.#changes.shift();
    this.refresh();
  }

  #end(error: WellwrittenError): void {
    batch(() => {
      this.ended.value = error;
      this.activity.value = null;
      this.report(error);
    });
  }

  async #loadEdges(): Promise<void> {
    try {
      // from the session's worker: the page itself needs no wasm to draw a diagram
      const edges = await this.session.phaseEdges();
      if (!this.#listening.signal.aborted) this.edges.value = edges;
    } catch (thrown) {
      this.report(WellwrittenError.from(thrown));
    }
  }

  async #refreshNow(): Promise<void> {
    this.#refreshing = true;
    this.#again = false;
    const began = performance.now();
    try {
      await this.#fetch();
    } catch (thrown) {
      const error = WellwrittenError.from(thrown);
      this.#wantsGenerations = true;
      this.#wantsFaults = true;
      if (!this.#listening.signal.aborted && error.code !== "SESSION_ENDED") this.report(error);
    } finally {
      this.#refreshing = false;
      const now = performance.now();
      // a session that runs gets most of the machine: looking at it takes turns with leaving it alone
      this.#restUntil = this.status.value?.running === true ? now + REST * (now - began) : now;
      if (this.#again) this.refresh();
    }
  }

  async #fetch(): Promise<void> {
    const [status, buffers] = await Promise.all([this.session.status(), this.session.buffers()]);
    const sound = buffers.every(({ state }) => state === "trusted" || state === "pending");
    // taken before asking: what is wanted while the answers are on their way is for the next refresh
    const wantsGenerations = this.#wantsGenerations;
    const wantsFaults = this.#wantsFaults;
    this.#wantsGenerations = false;
    this.#wantsFaults = false;
    const [strips, failures, generations, faults, trace, frame] = await Promise.all([
      this.#strips.refresh(this.session, buffers),
      sound ? NO_FAILURES : this.session.failures(),
      wantsGenerations ? this.session.generations() : this.generations.value,
      wantsFaults ? this.session.faults() : this.faults.value,
      this.#fetchTrace(status),
      this.#fetchFrame(buffers),
    ]);
    if (this.#listening.signal.aborted) return;
    this.#current = buffers;
    batch(() => {
      this.status.value = status;
      this.submissionsPerStep.value = this.#submissions.note({
        epoch: status.epoch,
        boundary: status.boundary,
        submissions: status.deviceCounters.submissions,
      });
      if (this.path.value.at(-1) !== this.#changes.at(-1)) this.path.value = [...this.#changes];
      if (!looksAlike(this.buffers.value, buffers)) this.buffers.value = buffers;
      this.strips.value = strips;
      this.failures.value = failures;
      this.generations.value = generations;
      this.faults.value = faults;
      this.trace.value = trace;
      this.stepsPerSecond.value = status.running ? this.#rate.perSecond(performance.now()) : 0;
      if (frame !== undefined) this.frame.value = frame;
      this.#followSelection(buffers);
    });
    if (!status.running) await this.#askAgain();
  }

  /** Fetches only what was added, and nothing while the session runs. */
  async #fetchTrace(status: SessionStatus): Promise<readonly TraceRecord[]> {
    const known = this.trace.value;
    if (status.running) return known;
    const last = known.at(-1)?.behaviour.scope;
    if (last === undefined || last.epoch !== status.epoch) return this.session.trace();
    const from = BigInt(last.step) + 1n;
    if (from === status.boundary) return known;
    if (from > status.boundary) return this.session.trace();
    return [...known, ...(await this.session.trace({ from }))];
  }

  async #fetchFrame(buffers: readonly SessionBuffer[]): Promise<Frame | undefined> {
    const view = buffers.find((buffer) => buffer.label === VIEW_LABEL);
    if (view === undefined || this.#viewDrawn === `${view.bufferId}:${view.revision}`) {
      return undefined;
    }
    this.#viewDrawn = `${view.bufferId}:${view.revision}`;
    const answer = await this.#ask(view.bufferId, 0n, view.sizeBytes);
    return answer.kind === "bytes" ? { kind: "picture", pixels: answer.bytes } : answer;
  }
}

/** Whether two lists of buffers would be drawn alike: revisions move with every step and show nowhere. */
function looksAlike(shown: readonly SessionBuffer[], now: readonly SessionBuffer[]): boolean {
  return (
    shown.length === now.length &&
    shown.every((buffer, index) => {
      const other = now[index];
      return (
        other !== undefined &&
        buffer.bufferId === other.bufferId &&
        buffer.state === other.state &&
        buffer.sizeBytes === other.sizeBytes
      );
    })
  );
}
