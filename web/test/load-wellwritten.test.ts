// Oracle: a module of functions instead of wasm. Its coded errors are answers; whatever else gets out of a call is the
// first and last failure, which every later call and every waiter is told.

import { beforeEach, expect, it, vi } from "vitest";

let panic: (message: string) => void;
vi.mock("#wasm/page", () => ({
  default: async () => {},
  onPanic: (listener: typeof panic) => {
    panic = listener;
  },
}));

let load: typeof import("../src/load-wellwritten.ts");
beforeEach(async () => {
  vi.resetModules();
  load = await import("../src/load-wellwritten.ts");
  await load.loadWellwritten({ wasmUrl: "data:," });
});

const raise = (thrown: unknown) => () => {
  throw thrown;
};
const refusal = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (thrown) {
    return thrown;
  }
};
const coded = () =>
  Object.assign(new Error("busy"), { name: "WellwrittenError", code: "BUSY", context: 3 });

it("a coded error is an answer like any other, and calls go on", () => {
  const error = refusal(() => load.callWasm(raise(coded())));
  expect(error).toMatchObject({ code: "BUSY", message: "busy", context: 3 });
  expect(load.callWasm(() => 5)).toBe(5);
});

it.each([
  ["the stack ran out", new RangeError("too deep"), "RangeError: too deep"],
  ["a trap", new WebAssembly.RuntimeError("unreachable"), "RuntimeError: unreachable"],
  ["no error at all", "text", "string: text"],
])("%s: the module ends, and all are told the first failure", async (_name, thrown, words) => {
  const waiter = load.awaitWasm(() => new Promise(() => {})).catch((error: unknown) => error);
  const first = refusal(() => load.callWasm(raise(thrown)));
  expect(first).toMatchObject({ code: "INTERNAL", message: expect.stringContaining(words) });
  expect(first).toMatchObject({ message: expect.stringContaining("reload the page") });
  panic("a later one");
  const work = vi.fn();
  expect(refusal(() => load.callWasm(work))).toBe(first);
  expect(await waiter).toBe(first);
  await expect(load.awaitWasm(work)).rejects.toBe(first);
  const free = vi.fn();
  load.freeWasm({ free });
  expect(work).not.toHaveBeenCalled();
  expect(free).not.toHaveBeenCalled();
});

it("a panic comes before its trap, and its words stay", () => {
  const trap = () => {
    panic("panicked at x.rs");
    throw new WebAssembly.RuntimeError("unreachable");
  };
  const first = refusal(() => load.callWasm(trap));
  expect(first).toMatchObject({ message: expect.stringContaining("panicked at x.rs") });
  expect(refusal(() => load.callWasm(() => 1))).toBe(first);
});

it("where no stack is left to look at what was thrown, the next call does, and enters nothing", async () => {
  const waiter = load.awaitWasm(() => new Promise(() => {})).catch((error: unknown) => error);
  let entered = 0;
  let cut = false;
  const work = () => {
    entered += 1;
    cut = true;
    throw new RangeError("cut");
  };
  // On the way back from where the stack ran out, one frame after another has a little more of it.
  const deep = (): void => {
    try {
      deep();
    } catch (thrown) {
      if (!cut) load.callWasm(work);
      throw thrown;
    }
  };
  expect(refusal(deep)).toBeDefined();
  const later = refusal(() => load.callWasm(work));
  expect(later).toMatchObject({ code: "INTERNAL", message: expect.stringContaining("cut") });
  expect(entered).toBe(1);
  expect(await waiter).toBe(later);
});

it("what is freed is freed in wasm, and can fail there", () => {
  const free = vi.fn();
  load.freeWasm({ free });
  expect(free).toHaveBeenCalledOnce();
  expect(refusal(() => load.freeWasm({ free: raise(coded()) }))).toMatchObject({ code: "BUSY" });
});
