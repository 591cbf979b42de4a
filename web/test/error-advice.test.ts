import { describe, expect, it } from "vitest";
import { adviseOn, quoted, sentence } from "../src/format/error-advice.ts";
import { type ErrorCode, WellwrittenError } from "../src/wellwritten-error.ts";

describe("what a person is told about an error", () => {
  it.each<ErrorCode>([
    "UNWRITTEN",
    "STORE_LOCKED",
    "DEVICE_LOST",
    "SESSION_ENDED",
    "INTERNAL",
    "ALIGNMENT",
  ])("%s: what happened, what is safe and what to do are sentences", (code) => {
    const advice = adviseOn(new WellwrittenError(code, "the read was refused"));
    expect(advice.happened).toBe("The read was refused.");
    for (const text of [advice.safe, advice.todo]) expect(text).toMatch(/^[A-Z].*\.$/);
  });

  it("tells a second tab what to do", () => {
    const { todo } = adviseOn(new WellwrittenError("STORE_LOCKED", "owned by another tab"));
    expect(todo).toBe("Close the other tab, then try again.");
  });

  it("separates the sentence from the source that a shader compiler quotes", () => {
    const message = "shader `field` failed to compile: line 12\n\n    odour = ;\n            ^\n";
    expect(sentence(message)).toBe("Shader `field` failed to compile: line 12.");
    expect(quoted(message)).toBe("    odour = ;\n            ^");
    expect(quoted("one line")).toBe("");
  });

  it("does not stay silent about an empty message", () => {
    expect(sentence("  ")).toBe("Something failed without saying what.");
    expect(sentence("Is it?")).toBe("Is it?");
  });
});
