import { describe, expect, it } from "vitest";
import { markOf, openingText, placeText } from "../src/format/generation-text.ts";

describe("what a person is told about generations", () => {
  it("says beside the boundary that a future was abandoned", () => {
    const place = { boundary: "1200", epoch: "e1" };
    expect(placeText({ ...place, abandoned: false })).toBe("boundary 1,200, e1");
    expect(placeText({ ...place, abandoned: true })).toBe("boundary 1,200 abandoned, e1");
  });

  it("marks an abandoned generation as that, whatever was durable before", () => {
    expect(markOf(true, true).word).toBe("abandoned");
    expect(markOf(true, false).word).toBe("abandoned");
    expect(markOf(false, true).word).toBe("durable");
    expect(markOf(false, false).word).toBe("superseded");
  });

  it("says in one sentence what opening removed, kept and missed, or nothing", () => {
    const removed = [{ file: "~manifest", byteLength: "3" }];
    const kept = ["a.flysess", "b.flysess"].map((file) => ({
      file,
      reason: "no-manifest" as const,
      message: "it was there when the store had no manifest",
    }));
    expect(openingText({ removed: [], kept: [], missing: [] })).toBe("");
    expect(openingText({ removed, kept: [], missing: [] })).toBe(
      "Opening the store removed 1 leftover file.",
    );
    expect(openingText({ removed: [], kept, missing: ["c"] })).toBe(
      "Opening the store kept 2 unlisted files (a.flysess, b.flysess) and found the file of 1 generation missing (c).",
    );
    expect(openingText({ removed, kept, missing: ["c"] })).toBe(
      "Opening the store removed 1 leftover file, kept 2 unlisted files (a.flysess, b.flysess) and found the file of 1 generation missing (c).",
    );
  });
});
