import type { TaintSpan, TaintState } from "#wasm/page";
import type { SessionBuffer } from "#wasm/session";
import type { Window } from "../format/strip-layout.ts";
import type { Session } from "../session.ts";

/** What a taint strip shows: a window of its buffer, asked for at the strip's resolution. */
export interface Strip {
  readonly window: Window;
  readonly spans: readonly TaintSpan[];
}

interface Kept {
  readonly key: string;
  readonly strip: Strip;
}

/**
 * The strips of every live buffer. A buffer in one state throughout, which is nearly every one nearly
 * always, is known from its summary; only a mixed one is asked for, and only when it changed.
 */
export class StripCache {
  readonly #windows = new Map<bigint, Window>();
  #kept = new Map<bigint, Kept>();
  #strips: ReadonlyMap<bigint, Strip> = new Map();
  /** How many pixels a strip has, hence into how many spans a buffer is worth dividing. */
  pixels = 512;

  /** The part of a buffer that its strip shows; all of it until a person zooms. */
  windowOf(buffer: SessionBuffer): Window {
    return this.#windows.get(buffer.bufferId) ?? { start: 0n, end: buffer.sizeBytes };
  }

  show(bufferId: bigint, window: Window): void {
    this.#windows.set(bufferId, window);
  }

  /** The strips as they are now: the same map and the same strips where nothing changed. */
  async refresh(
    session: Session,
    buffers: readonly SessionBuffer[],
  ): Promise<ReadonlyMap<bigint, Strip>> {
    const before = this.#kept;
    const kept = await Promise.all(buffers.map((buffer) => this.#keep(session, buffer)));
    this.#kept = new Map(buffers.map(({ bufferId }, index) => [bufferId, kept[index] as Kept]));
    for (const bufferId of this.#windows.keys()) {
      if (!this.#kept.has(bufferId)) this.#windows.delete(bufferId);
    }
    const changed =
      before.size !== this.#kept.size ||
      buffers.some(({ bufferId }, index) => before.get(bufferId) !== kept[index]);
    if (changed) {
      this.#strips = new Map(
        buffers.map(({ bufferId }, index) => [bufferId, (kept[index] as Kept).strip]),
      );
    }
    return this.#strips;
  }

  async #keep(session: Session, buffer: SessionBuffer): Promise<Kept> {
    const window = this.windowOf(buffer);
    const uniform = uniformState(buffer);
    const place = `${window.start}:${window.end}`;
    const key =
      uniform === null ? `${buffer.revision}:${place}:${this.pixels}` : `all ${uniform}:${place}`;
    const before = this.#kept.get(buffer.bufferId);
    // bytes that are pending settle without a new revision
    if (before?.key === key && (uniform !== null || buffer.pendingBytes === 0n)) return before;
    const spans =
      uniform === null
        ? await session.taint(buffer.bufferId, { ...window, spans: this.pixels })
        : [{ ...window, state: uniform }];
    return { key, strip: { window, spans } };
  }
}

/** The state of every byte of a buffer, or `null` if they differ. */
function uniformState(buffer: SessionBuffer): TaintState | null {
  const counts: readonly (readonly [TaintState, bigint])[] = [
    ["trusted", buffer.trustedBytes],
    ["pending", buffer.pendingBytes],
    ["failed", buffer.failedBytes],
    ["skipped", buffer.skippedBytes],
    ["never-written", buffer.neverWrittenBytes],
  ];
  return counts.find(([, bytes]) => bytes === buffer.sizeBytes)?.[0] ?? null;
}
