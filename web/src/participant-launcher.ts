import type { ParticipantStart } from "#wasm/session";
import type { FrameAnswer, FrameRequest } from "./isolated-participants.ts";
import { declarationOf, definitionIn } from "./participant-definition.ts";
import { isNotice, type ProgramStart } from "./participant-start.ts";
import { WellwrittenError } from "./wellwritten-error.ts";

/** Where the program of participants is, and who makes frames for it. */
export interface ProgramFiles {
  readonly program: string;
  readonly wasm: string;
  /** To the page, for isolated participants. */
  readonly frames: MessagePort | null;
}

/** A participant's program while it starts and runs. */
interface Program {
  /** The last of these calls counts for nothing: a program starts once, and ends once. */
  serving(): void;
  failed(message: string): void;
  end(): void;
}

/**
 * Starts, watches and ends the programs in which participants of one session run: module workers of this worker, or
 * frames of the page. Called by the session's wasm module.
 */
export class ParticipantLauncher {
  readonly #files: ProgramFiles;
  readonly #bootMs: number;
  /** By a name of their own: two lives may bear one incarnation's name, in two sessions. */
  readonly #running = new Map<string, Program>();
  readonly #names = new WeakMap<MessagePort, string>();
  #launched = 0;
  #compiled: Promise<WebAssembly.Module> | undefined;

  /** `bootMs`: how long a program may take to serve. */
  constructor(files: ProgramFiles, bootMs: number) {
    this.#files = files;
    this.#bootMs = bootMs;
    files.frames?.addEventListener("message", ({ data }: MessageEvent<FrameAnswer>) => {
      const program = this.#running.get(data.frame);
      if (data.state === "serving") program?.serving();
      else program?.failed(data.state === "failed" ? data.message : "it stopped");
    });
    files.frames?.start();
  }

  /**
   * Starts a program for a participant and gives this end of the port it serves. `ended` is told once, and why, if it ends
   * by itself afterwards.
   */
  launch(
    start: ParticipantStart,
    named: string | undefined,
    isolated: boolean,
    ended: (message: string) => void,
  ): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel();
    const module = named ?? null;
    this.#launched += 1;
    const name = `${start.incarnationId}#${this.#launched}`;
    this.#names.set(port1, name);
    return new Promise((resolve, reject) => {
      let isServing = false;
      let isOver = false;
      const late = setTimeout(
        () => program.failed(`it did not start within ${this.#bootMs} ms`),
        this.#bootMs,
      );
      const program: Program = {
        serving: () => {
          if (isServing || isOver) return;
          isServing = true;
          clearTimeout(late);
          resolve(port1);
        },
        failed: (message) => {
          if (isOver) return;
          program.end();
          if (isServing) ended(message);
          else reject(new WellwrittenError("INTERNAL", message));
        },
        end: () => {
          if (isOver) return;
          isOver = true;
          clearTimeout(late);
          this.#running.delete(name);
          stop();
        },
      };
      this.#running.set(name, program);
      const stop = isolated
        ? this.#frame(name, start, module, port2, program)
        : this.#worker(start, module, port2, program);
    });
  }

  /** Ends the program at the other end of a port for good: terminates the worker, or removes the frame. */
  end(port: MessagePort): void {
    this.#running.get(this.#names.get(port) ?? "")?.end();
  }

  /** Ends every program that runs. */
  endAll(): void {
    for (const program of [...this.#running.values()]) program.end();
  }

  /** What a participant's module defines, imported here: a copy of its own for each incarnation. */
  async define(start: ParticipantStart, module: string): Promise<[unknown, object]> {
    const url = new URL(module);
    url.hash = start.incarnationId;
    const handlers = await definitionIn(url.href, start.role);
    return [await declarationOf(handlers, start.role, start), handlers];
  }

  /** What a task's module defines. */
  task(module: string): Promise<object> {
    return definitionIn(module, "task");
  }

  #worker(
    start: ParticipantStart,
    module: string | null,
    port: MessagePort,
    program: Program,
  ): () => void {
    const worker = new Worker(this.#files.program, {
      type: "module",
      name: `wellwritten-${start.participantId}`,
    });
    worker.onmessage = ({ data }) => {
      if (!isNotice(data)) return;
      if (data.wellwritten === "serving") program.serving();
      else if (data.wellwritten === "failed") program.failed(data.message);
      else if (data.wellwritten === "stopped") program.failed("it stopped");
    };
    worker.onerror = (event) => {
      event.preventDefault();
      program.failed(event.message || "its script could not be loaded");
    };
    worker.onmessageerror = () => program.failed("it said something that cannot be read here");
    this.#compiled ??= compiled(this.#files.wasm);
    this.#compiled.then(
      (wasm) => {
        const url = module === null ? null : { url: module };
        const message: ProgramStart = { wellwritten: "start", start, wasm, module: url, port };
        worker.postMessage(message, [port]);
      },
      (thrown: unknown) => program.failed(WellwrittenError.from(thrown).message),
    );
    return () => worker.terminate();
  }

  #frame(
    frame: string,
    start: ParticipantStart,
    module: string | null,
    port: MessagePort,
    program: Program,
  ): () => void {
    const { frames } = this.#files;
    if (frames === null) {
      queueMicrotask(() =>
        program.failed("isolated participants need a page, to hold their frames"),
      );
      return () => {};
    }
    const request: FrameRequest = { ask: "launch", frame, start, module, port };
    frames.postMessage(request, [port]);
    return () => frames.postMessage({ ask: "end", frame } satisfies FrameRequest);
  }
}

async function compiled(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) {
    const message = `${url} could not be fetched: ${response.status} ${response.statusText}`;
    throw new WellwrittenError("LOAD_FAILED", message, { wasmUrl: url });
  }
  // Not compiled while it streams: that needs a content type which not every server gives.
  return WebAssembly.compile(await response.arrayBuffer());
}
