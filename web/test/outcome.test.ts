import { describe, expect, it } from "vitest";
import { fromWire, settle, toWire, unwrap } from "../src/outcome.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";

// Oracle: an error that crossed a real MessagePort is told from the original by nothing a caller can see.

async function acrossPort<T>(value: T): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  try {
    return await new Promise<T>((resolve) => {
      port2.onmessage = ({ data }) => resolve(data as T);
      port1.postMessage(value);
    });
  } finally {
    port1.close();
  }
}

const REPORT = { bufferId: 3n, ranges: [{ start: 0n, end: 1n << 40n, state: "failed" }] };

describe("an error across the worker boundary", () => {
  it("keeps class, code, message and context, bigints included", async () => {
    const original = new WellwrittenError("UNWRITTEN", "bytes 0..4 may not be read", REPORT);
    const outcome = await acrossPort(await settle(() => Promise.reject(original)));
    const thrown: unknown = (() => {
      try {
        return unwrap(outcome);
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(WellwrittenError);
    expect(thrown).toBeInstanceOf(Error);
    expect(thrown).toMatchObject({
      name: "WellwrittenError",
      code: "UNWRITTEN",
      message: original.message,
      context: REPORT,
      stack: original.stack,
    });
  });

  it("would lose all of that if it were posted as it is", async () => {
    const bare = await acrossPort(new WellwrittenError("UNWRITTEN", "m", REPORT));
    expect(bare).not.toBeInstanceOf(WellwrittenError);
    expect((bare as Partial<WellwrittenError>).code).toBeUndefined();
  });

  it("adopts an error made in wasm, which has the fields and not the class", () => {
    const made = Object.assign(new Error("the store is owned by another tab"), {
      name: "WellwrittenError",
      code: "STORE_LOCKED",
      context: { sessionId: "demo" },
    });
    const adopted = WellwrittenError.from(made);
    expect(adopted).toBeInstanceOf(WellwrittenError);
    expect(adopted.code).toBe("STORE_LOCKED");
    expect(adopted.context).toEqual({ sessionId: "demo" });
    expect(WellwrittenError.from(adopted)).toBe(adopted);
  });

  it("keeps the name of a foreign error, a DOMException's above all", () => {
    const quota = new DOMException("no room", "QuotaExceededError");
    expect(WellwrittenError.from(quota)).toMatchObject({
      code: "INTERNAL",
      message: "no room",
      context: { name: "QuotaExceededError" },
    });
    expect(WellwrittenError.from("just text")).toMatchObject({
      code: "INTERNAL",
      message: "just text",
    });
  });

  it("sends a context that cannot be cloned as its text", async () => {
    const wire = toWire(new WellwrittenError("INTERNAL", "m", () => 1));
    expect(typeof (await acrossPort(wire)).context).toBe("string");
    expect(fromWire(wire).message).toBe("m");
  });

  it("hands values through untouched", async () => {
    expect(unwrap(await settle(() => 7n))).toBe(7n);
    expect(unwrap(await settle(async () => REPORT))).toBe(REPORT);
  });
});
