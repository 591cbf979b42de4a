import { describe, expect, it } from "vitest";

describe("importing the package where there is no DOM", () => {
  it("works, touches no global and starts nothing", async () => {
    expect(globalThis).not.toHaveProperty("document");
    const before = Object.getOwnPropertyNames(globalThis);
    const library = await import("../src/index.ts");
    expect(Object.getOwnPropertyNames(globalThis)).toEqual(before);
    expect(Object.keys(library)).toEqual(
      expect.arrayContaining([
        "createSession",
        "createGuardedDevice",
        "define",
        "openInspector",
        "loadWellwritten",
      ]),
    );
  });

  it("refuses the synchronous functions by name until wasm is loaded", async () => {
    const { decodeEnvelope, describeEnvelope, encodeEnvelope, WellwrittenError } = await import(
      "../src/index.ts"
    );
    const calls = [
      () => decodeEnvelope(new Uint8Array()),
      () => describeEnvelope(new Uint8Array()),
      () => encodeEnvelope({} as never, new Map()),
    ];
    for (const call of calls) {
      expect(call).toThrow(WellwrittenError);
      expect(call).toThrow(expect.objectContaining({ code: "NOT_LOADED" }));
    }
  });
});
