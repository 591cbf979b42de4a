// Oracle: what each argument is, said by hand.

import { describe, expect, it } from "vitest";
import { demand, demandNumber, demandText } from "../src/demand.ts";
import { WellwrittenError } from "../src/wellwritten-error.ts";

const refusal = (call: () => void): unknown => {
  try {
    call();
    return null;
  } catch (thrown) {
    return thrown;
  }
};

describe("demand", () => {
  it("lets what holds pass, and refuses the rest with a code and a sentence", () => {
    expect(refusal(() => demand(true, "bytes", 1, "nothing"))).toBeNull();
    const error = refusal(() => demandNumber("sizeBytes", "16"));
    expect(error).toBeInstanceOf(WellwrittenError);
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: 'sizeBytes is the text "16"; it must be a number.',
      context: null,
    });
    expect(refusal(() => demandNumber("n", Number.NaN))).toBeNull();
    expect(refusal(() => demandText("label", ""))).toBeNull();
  });

  it.each([
    [undefined, "undefined"],
    [null, "null"],
    [true, "true"],
    [4n, "the bigint 4"],
    [() => 1, "a function"],
    [[1, 2], "an array of 2"],
    [{}, "an object of class Object"],
    [Object.create(null), "an object of class none"],
    [new Uint32Array(1), "an object of class Uint32Array"],
    [Symbol("s"), "Symbol(s)"],
    [{ constructor: { name: Symbol("s") } }, "an object that cannot be looked into"],
  ])("says what %o is", (value, words) => {
    const error = refusal(() => demandText("label", value));
    expect(error).toMatchObject({ message: `label is ${words}; it must be a text.` });
  });

  it("shows no more of a long text than its beginning", () => {
    const error = refusal(() => demandNumber("n", "x".repeat(10_000))) as WellwrittenError;
    expect(error.message.length).toBeLessThan(100);
  });
});
