import { describe, expect, it } from "vitest";
import { hexRows } from "../src/format/hex-view.ts";

// Oracle: reading the digits of a dump back gives the bytes that went in.

function bytesOf(rows: ReturnType<typeof hexRows>): number[] {
  return rows.flatMap(({ hex }) =>
    (hex.match(/[0-9a-f]{2}/g) ?? []).map((pair) => Number.parseInt(pair, 16)),
  );
}

describe("hexRows", () => {
  it.each([0, 1, 7, 8, 9, 15, 16, 17, 255, 256])(
    "shows %i bytes, each once and in order",
    (length) => {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37 + 11) & 255);
      for (const rowBytes of [8, 16]) {
        const rows = hexRows(bytes, 0n, BigInt(length), rowBytes);
        expect(rows).toHaveLength(Math.ceil(length / rowBytes));
        expect(bytesOf(rows)).toEqual([...bytes]);
        expect(rows.map(({ text }) => text).join("")).toHaveLength(length);
      }
    },
  );

  it("would notice a byte that is shown wrongly", () => {
    const rows = hexRows(Uint8Array.of(1, 2, 3), 0n, 3n);
    expect(bytesOf(rows)).not.toEqual([1, 2, 4]);
  });

  it("aligns every row, the short last one too", () => {
    const rows = hexRows(new Uint8Array(20), 0x30000n, 0x40000n);
    expect(rows.map(({ offset }) => offset)).toEqual(["0x30000", "0x30010"]);
    expect(new Set(rows.map(({ hex }) => hex.length))).toEqual(new Set([16 * 3]));
  });

  it("shows printable ASCII and dots for the rest", () => {
    const [row] = hexRows(Uint8Array.of(0x41, 0x7e, 0x7f, 0x1f, 0x20, 0xff), 0n, 6n);
    expect(row?.text).toBe("A~.. .");
  });
});
