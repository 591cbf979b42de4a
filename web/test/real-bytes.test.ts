// Oracle: the bytes of the memory an array lies on, said by hand; what an array says of itself counts for nothing.

import { describe, expect, it } from "vitest";
import { realBytes, realWords } from "../src/real-bytes.ts";

class Liar extends Uint8Array {
  override get length(): number {
    return 16;
  }
  override get byteOffset(): number {
    return 4;
  }
}

class Heir extends Uint8Array {}

describe("realBytes", () => {
  it("gives a plain view of the same memory, whatever the array says of itself", () => {
    const memory = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const own = Object.defineProperty(memory.subarray(1, 3), "length", { value: 99 });
    const cases: [unknown, number[]][] = [
      [memory, [1, 2, 3, 4, 5, 6, 7, 8]],
      [memory.subarray(2, 5), [3, 4, 5]],
      [new Liar([7, 8]), [7, 8]],
      [own, [2, 3]],
      [new Uint8Array(), []],
      [new Heir([9, 8]), [9, 8]],
      [new Uint8Array(new SharedArrayBuffer(2)), [0, 0]],
    ];
    for (const [given, due] of cases) {
      const plain = realBytes("bytes", given);
      expect(Object.getPrototypeOf(plain)).toBe(Uint8Array.prototype);
      expect([...plain]).toEqual(due);
    }
    const plain = realBytes("bytes", memory.subarray(2, 5));
    plain[0] = 77;
    expect(memory[2]).toBe(77);
  });

  it.each([
    ["an object with the tag", { [Symbol.toStringTag]: "Uint8Array", length: 16 }],
    ["an heir of the prototype", Object.create(Uint8Array.prototype)],
    ["a proxy", new Proxy(new Uint8Array(4), {})],
    ["words", new Uint32Array(4)],
    ["clamped bytes", new Uint8ClampedArray(4)],
    ["a buffer", new ArrayBuffer(4)],
    ["a list", [1, 2, 3, 4]],
    ["text", "bytes"],
    ["nothing", undefined],
    ["null", null],
  ])("refuses %s", (_name, value) => {
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("a Uint8Array") };
    expect(() => realBytes("bytes", value)).toThrow(expect.objectContaining(refused));
  });

  it("refuses an array whose buffer was transferred away, and takes an empty one", () => {
    for (const gone of [new Uint8Array(4), new Liar(4), new Uint8Array()]) {
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("transferred") };
      expect(() => realBytes("bytes", gone)).toThrow(expect.objectContaining(refused));
    }
    expect(realBytes("bytes", new Uint8Array())).toHaveLength(0);
  });
});

describe("realWords", () => {
  it("is not told a length either, and is undefined where the memory is gone", () => {
    const words = Uint32Array.of(1, 2, 3);
    Object.defineProperty(words, "length", { value: 4 });
    expect(realWords(words)).toEqual(Uint32Array.of(1, 2, 3));
    structuredClone(words.buffer, { transfer: [words.buffer] });
    expect(realWords(words)).toBeUndefined();
  });
});
