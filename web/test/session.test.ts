import { expose } from "comlink";
import { afterEach, describe, expect, it } from "vitest";
import { type Outcome, settle } from "../src/outcome.ts";
import { Session } from "../src/session.ts";
import type { WorkerNotice } from "../src/session-port.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";

// Oracle: whatever happens to the worker, every call settles, and with a WellwrittenError if it did not succeed.
// The worker is the other end of a real MessagePort; the wasm behind it is played by `methods`.

type Methods = Record<string, (...args: never[]) => unknown>;

interface Played {
  readonly worker: Worker;
  readonly say: (notice: WorkerNotice) => void;
  readonly crash: (message: string) => void;
  readonly terminated: () => boolean;
}

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function play(methods: Methods, open: () => unknown = () => "demo"): Played {
  const { port1: page, port2: inside } = new MessageChannel();
  ports.push(page, inside);
  expose(
    {
      open: () => settle(open),
      call: (method: string, args: never[]): Promise<Outcome<unknown>> =>
        settle(() => methods[method]?.(...args)),
    },
    inside as never,
  );
  let terminated = false;
  const errors = new EventTarget();
  page.start();
  const worker = {
    postMessage: page.postMessage.bind(page),
    addEventListener: (name: string, listener: EventListener, options?: AddEventListenerOptions) =>
      (name === "error" ? errors : page).addEventListener(name, listener, options),
    removeEventListener: (name: string, listener: EventListener) =>
      (name === "error" ? errors : page).removeEventListener(name, listener),
    terminate: () => {
      terminated = true;
      page.close();
    },
  } as unknown as Worker;
  return {
    worker,
    say: (notice) => inside.postMessage(notice),
    crash: (message) => errors.dispatchEvent(Object.assign(new Event("error"), { message })),
    terminated: () => terminated,
  };
}

async function rejection(call: Promise<unknown>): Promise<WellwrittenError> {
  const thrown: unknown = await call.then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(WellwrittenError);
  return thrown as WellwrittenError;
}

const never = () => new Promise<never>(() => undefined);
const PANIC = "panicked at crates/arena/src/world.rs:7: index out of bounds";

describe("a session over its worker", () => {
  it("hands arguments and results through, and errors with code and context", async () => {
    const { worker } = play({
      step: (count: number) => ({ boundary: BigInt(count) }),
      read: (id: bigint) => Promise.reject(new WellwrittenError("UNWRITTEN", "refused", { id })),
    });
    const session = await Session.open({}, worker);
    expect(session.sessionId).toBe("demo");
    expect(await session.step(3)).toEqual({ boundary: 3n });
    const error = await rejection(session.read(9n, 0n, 1n));
    expect(error).toMatchObject({ code: "UNWRITTEN", message: "refused", context: { id: 9n } });
  });

  it("tells what happened while it was opened once there was a turn to listen", async () => {
    const played: Played = play({}, () => {
      played.say({ notice: "event", event: { type: "ready" } });
      return "demo";
    });
    const session = await Session.open({}, played.worker);
    const heard: string[] = [];
    session.addEventListener("ready", () => heard.push("ready"));
    session.addEventListener("boundary", ({ detail }) => heard.push(`boundary ${detail.boundary}`));
    played.say({ notice: "event", event: { type: "boundary", epoch: "e1", boundary: 1n } });
    await expect.poll(() => heard).toEqual(["ready", "boundary 1"]);
  });

  it("ends with the first message of a panic: waiting calls, later calls, the event", async () => {
    const played = play({ run: never, status: never });
    const session = await Session.open({}, played.worker);
    const errors: WellwrittenError[] = [];
    session.addEventListener("error", ({ detail }) => errors.push(detail));
    const waiting = [session.run(), session.status()];
    for (const message of [PANIC, "unreachable"]) {
      played.say({
        notice: "ended",
        error: { code: "SESSION_ENDED", message, context: null, stack: null },
      });
    }
    for (const call of [...waiting, session.step()]) {
      expect(await rejection(call)).toMatchObject({
        code: "SESSION_ENDED",
        message: `session ended: ${PANIC}`,
      });
    }
    expect(errors.map(({ message }) => message)).toEqual([PANIC]);
    expect(played.terminated()).toBe(true);
    await session.close();
  });

  it("ends when the worker's script breaks", async () => {
    const played = play({ status: never });
    const session = await Session.open({}, played.worker);
    const waiting = session.status();
    played.crash("out of memory");
    expect((await rejection(waiting)).message).toBe("session ended: out of memory");
  });

  it("closes once, ends its worker and settles what waits", async () => {
    let closed = 0;
    const played = play({
      run: never,
      close: () => {
        closed += 1;
      },
    });
    const session = await Session.open({}, played.worker);
    const waiting = session.run();
    await Promise.all([session.close(), rejection(waiting)]);
    await session.close();
    expect(closed).toBe(1);
    expect(played.terminated()).toBe(true);
    expect((await rejection(session.status())).code).toBe("SESSION_ENDED");
  });

  it("is closed where saves were lost, and says which", async () => {
    const outcomes = [{ kind: "failed", checkpointId: "second" }];
    const lost = new WellwrittenError("SAVES_LOST", "second did not come to be saved", {
      outcomes,
    });
    const played = play({ close: () => Promise.reject(lost) });
    const session = await Session.open({}, played.worker);
    const closing = session.close();
    expect(await rejection(closing)).toMatchObject({ code: "SAVES_LOST", context: { outcomes } });
    expect(played.terminated()).toBe(true);
    expect((await rejection(session.status())).code).toBe("SESSION_ENDED");
  });

  it("seeks: progress while it does, and a signal stops it", async () => {
    const asked: string[] = [];
    let arrive = (_: unknown) => {};
    const played: Played = play({
      seek: (boundary: bigint) => {
        asked.push(`seek ${boundary}`);
        return new Promise((resolve) => {
          arrive = resolve;
        });
      },
      cancelSeeks: () => {
        asked.push("cancelSeeks");
      },
    });
    const session = await Session.open({}, played.worker);
    const passed: bigint[] = [];
    const controller = new AbortController();
    const say = (at: bigint) =>
      played.say({ notice: "event", event: { type: "seeking", from: 1n, at, to: 9n } });
    const seeking = session.seek(9n, {
      signal: controller.signal,
      onProgress: ({ at }) => passed.push(at),
    });
    say(1n);
    await expect.poll(() => passed).toEqual([1n]);
    controller.abort();
    await expect.poll(() => asked).toEqual(["seek 9", "cancelSeeks"]);
    arrive({ boundary: 9n });
    expect(await seeking).toEqual({ boundary: 9n });
    say(2n);
    await session.recorded();
    expect(passed, "told of this seek alone").toEqual([1n]);

    const signal = AbortSignal.abort();
    expect((await rejection(session.seek(3n, { signal }))).code).toBe("CANCELLED");
    expect(asked).toEqual(["seek 9", "cancelSeeks"]);
  });

  it("leaves nothing behind when it cannot be opened", async () => {
    const refused = new WellwrittenError("STORE_LOCKED", "owned by another tab");
    const played = play({}, () => Promise.reject(refused));
    expect(await rejection(Session.open({}, played.worker))).toMatchObject({
      code: "STORE_LOCKED",
    });
    expect(played.terminated()).toBe(true);
  });
});
