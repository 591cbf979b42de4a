import { describe, expect, it } from "vitest";
import {
  formatCount,
  formatOffset,
  formatSize,
  plural,
  shortDigest,
  shortenDigests,
  toJson,
} from "../src/format/quantity.ts";

describe("numbers as a person reads them", () => {
  it.each([
    [0n, "0 B"],
    [1023n, "1023 B"],
    [1024n, "1 KiB"],
    [1536n, "1.5 KiB"],
    [196_608n, "192 KiB"],
    [1n << 40n, "1 TiB"],
    [1n << 50n, "1024 TiB"],
  ])("size %s is %s", (size, text) => {
    expect(formatSize(size)).toBe(text);
  });

  it("groups digits, exactly for any u64", () => {
    expect(formatCount(18446744073709551615n)).toBe("18,446,744,073,709,551,615");
    expect(formatCount(999)).toBe("999");
    expect(plural(1n, "range")).toBe("1 range");
    expect(plural(0, "range")).toBe("0 ranges");
  });

  it("pads offsets to the width of the buffer", () => {
    expect(formatOffset(0n, 196_608n)).toBe("0x00000");
    expect(formatOffset(0x2fn)).toBe("0x002f");
    expect(formatOffset(1n << 32n)).toBe("0x100000000");
  });

  it("shortens a digest and nothing shorter", () => {
    expect(shortDigest("0123456789abcdef".repeat(4))).toBe("01234567…cdef");
    expect(shortDigest("0123456789abcdef")).toBe("0123456789abcdef");
  });

  it("shortens the digests in a sentence and leaves the rest", () => {
    const digest = "0123456789abcdef".repeat(4);
    expect(shortenDigests(`the file says ${digest}, they give ff`)).toBe(
      "the file says 01234567…cdef, they give ff",
    );
    expect(shortenDigests(`${digest}0`)).toBe(`${digest}0`);
  });

  it("writes u64 as decimal strings", () => {
    expect(toJson({ step: 1n << 60n }, 0)).toBe('{"step":"1152921504606846976"}');
  });
});
