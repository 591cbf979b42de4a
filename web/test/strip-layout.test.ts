import { describe, expect, it } from "vitest";
import type { TaintSpan, TaintState } from "#wasm/page";
import { STATES_BY_SEVERITY } from "../src/format/byte-state.ts";
import { byteAt, layoutStrip, pan, pixelOf, zoom } from "../src/format/strip-layout.ts";

// Oracle: what a strip shows at a pixel is the most severe state among the bytes that the pixel stands for.
// The model walks byte by byte; the implementation never does.

/** mulberry32: a seed replays a case exactly. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function randomSpans(next: () => number, sizeBytes: number): TaintSpan[] {
  const spans: TaintSpan[] = [];
  for (let at = 0; at < sizeBytes; ) {
    const end = Math.min(sizeBytes, at + 1 + Math.floor(next() * 40));
    const state = STATES_BY_SEVERITY[Math.floor(next() * STATES_BY_SEVERITY.length)] as TaintState;
    spans.push({ start: BigInt(at), end: BigInt(end), state });
    at = end;
  }
  return spans;
}

function modelStates(
  spans: TaintSpan[],
  start: number,
  end: number,
  width: number,
): (TaintState | undefined)[] {
  const pixels: (TaintState | undefined)[] = new Array(width);
  for (const span of spans) {
    for (let byte = Number(span.start); byte < Number(span.end); byte += 1) {
      if (byte < start || byte >= end) continue;
      const first = Math.floor(((byte - start) * width) / (end - start));
      const last = Math.ceil(((byte + 1 - start) * width) / (end - start));
      for (let pixel = first; pixel < Math.max(first + 1, last); pixel += 1) {
        const held = pixels[pixel];
        if (
          held === undefined ||
          STATES_BY_SEVERITY.indexOf(span.state) > STATES_BY_SEVERITY.indexOf(held)
        ) {
          pixels[pixel] = span.state;
        }
      }
    }
  }
  return pixels;
}

function shownStates(
  spans: TaintSpan[],
  start: number,
  end: number,
  width: number,
): (TaintState | undefined)[] {
  const pixels: (TaintState | undefined)[] = new Array(width);
  for (const segment of layoutStrip(spans, { start: BigInt(start), end: BigInt(end) }, width)) {
    pixels.fill(segment.state, segment.left, segment.right);
  }
  return pixels;
}

describe("layoutStrip", () => {
  it("shows the most severe byte under every pixel, as the byte-by-byte model does", () => {
    let compared = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const next = random(seed);
      // powers of two, so that the model's division and the implementation's fixed point round alike
      const size = 2 ** (4 + Math.floor(next() * 6));
      const width = 2 ** (3 + Math.floor(next() * 5));
      const spans = randomSpans(next, size);
      const shown = shownStates(spans, 0, size, width);
      expect(shown, `seed ${seed}: random(${seed})`).toEqual(modelStates(spans, 0, size, width));
      compared += shown.length;
    }
    expect(compared).toBeGreaterThan(1000);
  });

  it("has a model that notices a wrong answer", () => {
    const spans: TaintSpan[] = [
      { start: 0n, end: 63n, state: "trusted" },
      { start: 63n, end: 64n, state: "failed" },
    ];
    const hidden = shownStates([{ start: 0n, end: 64n, state: "trusted" }], 0, 64, 16);
    expect(hidden).not.toEqual(modelStates(spans, 0, 64, 16));
  });

  it("keeps one failed byte of 8 GiB visible", () => {
    const size = 8n << 30n;
    const at = (5n << 30n) + 3n;
    const segments = layoutStrip(
      [
        { start: 0n, end: at, state: "trusted" },
        { start: at, end: at + 1n, state: "failed" },
        { start: at + 1n, end: size, state: "trusted" },
      ],
      { start: 0n, end: size },
      300,
    );
    expect(segments.map(({ state }) => state)).toEqual(["trusted", "failed", "trusted"]);
    expect(segments[1]).toMatchObject({ left: 187, right: 188 });
  });

  it("draws nothing for spans outside the window and nothing for none", () => {
    expect(
      layoutStrip([{ start: 0n, end: 10n, state: "failed" }], { start: 10n, end: 20n }, 50),
    ).toEqual([]);
    expect(layoutStrip([], { start: 0n, end: 20n }, 50)).toEqual([]);
  });
});

describe("the scale of a strip", () => {
  it.each([2n ** 30n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n])(
    "is exact around byte %s",
    (edge) => {
      for (const offset of [edge - 1n, edge, edge + 1n]) {
        const window = { start: offset - 8n, end: offset + 8n };
        expect(pixelOf(offset, window, 160)).toBe(80);
        expect(byteAt(80, window, 160)).toBe(offset);
      }
    },
  );

  it("clamps to the window", () => {
    const window = { start: 100n, end: 200n };
    expect(byteAt(-5, window, 10)).toBe(100n);
    expect(byteAt(10, window, 10)).toBe(199n);
    expect(byteAt(1e9, window, 10)).toBe(199n);
  });
});

describe("zoom and pan", () => {
  it("keep the byte under the pointer where it is", () => {
    const window = { start: 0n, end: 4096n };
    const closer = zoom(window, 4, 1024n, 4096n);
    expect(closer.end - closer.start).toBe(1024n);
    expect(pixelOf(1024n, closer, 400)).toBe(pixelOf(1024n, window, 400));
  });

  it("never leave the buffer, and stop at 16 bytes", () => {
    expect(zoom({ start: 0n, end: 4096n }, 1 / 8, 0n, 4096n)).toEqual({ start: 0n, end: 4096n });
    const closest = zoom({ start: 0n, end: 32n }, 1000, 31n, 4096n);
    expect(closest.end - closest.start).toBe(16n);
    expect(pan({ start: 0n, end: 100n }, -1, 4096n)).toEqual({ start: 0n, end: 100n });
    expect(pan({ start: 3900n, end: 4000n }, 5, 4096n)).toEqual({ start: 3996n, end: 4096n });
    expect(zoom({ start: 0n, end: 4n }, 2, 1n, 4n)).toEqual({ start: 0n, end: 4n });
  });
});
