import { expose } from "comlink";
import { afterEach, describe, expect, it } from "vitest";
import { settle } from "../src/outcome.ts";
import { Store } from "../src/store.ts";
import { StoreProcess } from "../src/store-process.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";

// Oracle: whatever happens to a store's worker, every call settles, and with a WellwrittenError if it did not succeed.
// The worker is the other end of a real MessagePort; the wasm behind it is played by `methods`.

type Methods = Record<string, (...args: never[]) => unknown>;

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function play(methods: Methods, open: (which: unknown, wasm: unknown) => unknown = () => null) {
  const { port1: opener, port2: inside } = new MessageChannel();
  ports.push(opener, inside);
  expose(
    {
      open: (which: unknown, wasm: unknown) => settle(() => open(which, wasm)),
      call: (method: string, args: never[]) => settle(() => methods[method]?.(...args)),
    },
    inside as never,
  );
  const played = { terminated: 0, told: [] as string[] };
  const errors = new EventTarget();
  opener.start();
  const worker = {
    postMessage: opener.postMessage.bind(opener),
    addEventListener: (name: string, listener: EventListener) =>
      (name === "error" ? errors : opener).addEventListener(name, listener),
    removeEventListener: (name: string, listener: EventListener) =>
      (name === "error" ? errors : opener).removeEventListener(name, listener),
    terminate: () => {
      played.terminated += 1;
      opener.close();
    },
  } as unknown as Worker;
  const process = new StoreProcess(worker, (message) => played.told.push(message));
  return { played, process, inside, errors };
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

describe("a store without a session", () => {
  it("is opened to look unless asked otherwise, and hands arguments, results and errors through", async () => {
    const opened: unknown[] = [];
    const { process } = play(
      {
        generations: () => [{ checkpointId: "one" }],
        prune: (keep: number) => ({ dropped: [`${keep}`] }),
        pin: () => Promise.reject(new WellwrittenError("STORE_READ_ONLY", "to look only")),
      },
      (which, wasm) => {
        opened.push(which, wasm);
        return null;
      },
    );
    const store = await Store.open("demo", {}, process);
    expect(opened).toEqual([{ sessionId: "demo", access: "read-only" }, null]);
    expect([store.sessionId, store.access]).toEqual(["demo", "read-only"]);
    expect(await store.generations()).toEqual([{ checkpointId: "one" }]);
    expect(await store.prune(2)).toEqual({ dropped: ["2"] });
    expect((await rejection(store.pin("one"))).code).toBe("STORE_READ_ONLY");
  });

  it("ends its worker when it cannot be opened", async () => {
    const locked = new WellwrittenError("STORE_LOCKED", "owned by another tab");
    const { played, process } = play({}, () => Promise.reject(locked));
    const opening = Store.open("demo", { access: "read-write", keepGenerations: 2 }, process);
    expect(await rejection(opening)).toMatchObject({ code: "STORE_LOCKED" });
    expect(played.terminated).toBe(1);
  });

  it("settles what waits when it is closed, and is closed once", async () => {
    const { played, process } = play({ verify: never });
    const store = await Store.open("demo", {}, process);
    const waiting = store.verify("one");
    store.close();
    store.close();
    for (const call of [waiting, store.usage()])
      expect((await rejection(call)).code).toBe("CLOSED");
    expect(played).toEqual({ terminated: 1, told: [] });
  });

  it("says why its worker ended by itself", async () => {
    const { played, process, inside } = play({ verify: never });
    const store = await Store.open("demo", {}, process);
    const waiting = store.verify("one");
    inside.postMessage({ notice: "store-ended", message: "panicked at crates/store" });
    const expected = { code: "STORE_FAILED", message: /panicked at crates\/store/ };
    expect(await rejection(waiting)).toMatchObject({ code: expected.code });
    expect((await rejection(store.usage())).message).toMatch(expected.message);
    expect(played).toEqual({ terminated: 1, told: ["panicked at crates/store"] });
  });

  it("says so where its script does not load", async () => {
    const { played, process, errors } = play({}, never);
    const opening = Store.open("demo", {}, process);
    errors.dispatchEvent(Object.assign(new Event("error", { cancelable: true }), { message: "" }));
    expect((await rejection(opening)).message).toMatch(/could not be loaded/);
    expect(played.told).toEqual(["its script could not be loaded"]);
  });
});
