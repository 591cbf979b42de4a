import type { TaintSpan, TaintState } from "#wasm/page";
import { STATES_BY_SEVERITY } from "./byte-state.ts";

/** The part of a buffer that a strip shows: bytes `start..end`, never empty. */
export interface Window {
  readonly start: bigint;
  readonly end: bigint;
}

/** A run of one state on the strip, in whole pixels `left..right`, and the bytes it stands for. */
export interface Segment {
  readonly left: number;
  readonly right: number;
  readonly state: TaintState;
  readonly span: TaintSpan;
}

/** The pixel that byte `offset` falls on. Exact for any u64, which a `number` is not. */
export function pixelOf(offset: bigint, window: Window, width: number): number {
  const length = window.end - window.start;
  const scaled = ((offset - window.start) * BigInt(Math.round(width)) * 256n) / length;
  return Number(scaled) / 256;
}

/** The byte under pixel `x`, clamped into the window. The inverse of {@link pixelOf} up to a pixel. */
export function byteAt(x: number, window: Window, width: number): bigint {
  const length = window.end - window.start;
  const at =
    window.start +
    (length * BigInt(Math.max(0, Math.round(x * 256)))) /
      BigInt(Math.max(1, Math.round(width * 256)));
  if (at < window.start) return window.start;
  return at >= window.end ? window.end - 1n : at;
}

/**
 * What to draw for the spans of a window on a strip `width` pixels wide.
 *
 * Every span gets at least one pixel, and where several fall on one pixel the most severe keeps it: a
 * single failed byte in a gigabyte stays visible. Neighbouring pixels of one state join.
 */
export function layoutStrip(spans: readonly TaintSpan[], window: Window, width: number): Segment[] {
  const pixels = Math.max(1, Math.floor(width));
  const owner: (TaintSpan | undefined)[] = new Array(pixels);
  for (const span of spans) {
    if (span.end <= window.start || span.start >= window.end) continue;
    const start = clamp(span.start, window.start, window.end);
    const end = clamp(span.end, window.start, window.end);
    const left = Math.min(pixels - 1, Math.floor(pixelOf(start, window, pixels)));
    const right = Math.max(left + 1, Math.min(pixels, Math.ceil(pixelOf(end, window, pixels))));
    for (let x = left; x < right; x += 1) {
      const held = owner[x];
      if (held === undefined || severity(span.state) > severity(held.state)) owner[x] = span;
    }
  }
  const segments: Segment[] = [];
  for (let x = 0; x < pixels; x += 1) {
    const span = owner[x];
    if (span === undefined) continue;
    const last = segments.at(-1);
    if (last !== undefined && last.span === span && last.right === x) {
      segments[segments.length - 1] = { ...last, right: x + 1 };
    } else {
      segments.push({ left: x, right: x + 1, state: span.state, span });
    }
  }
  return segments;
}

/** The window after zooming by `factor` (above 1 is closer) about byte `around`, inside the buffer. */
export function zoom(window: Window, factor: number, around: bigint, sizeBytes: bigint): Window {
  const length = window.end - window.start;
  const scaled = BigInt(Math.round(Number(length) / factor));
  const target = clamp(scaled, sizeBytes < 16n ? sizeBytes : 16n, sizeBytes);
  const before = length === 0n ? 0n : ((around - window.start) * target) / length;
  return placed(around - before, target, sizeBytes);
}

/** The window moved by `fraction` of its length, inside the buffer. */
export function pan(window: Window, fraction: number, sizeBytes: bigint): Window {
  const length = window.end - window.start;
  return placed(window.start + BigInt(Math.round(Number(length) * fraction)), length, sizeBytes);
}

function placed(start: bigint, length: bigint, sizeBytes: bigint): Window {
  const first = clamp(start, 0n, sizeBytes - length);
  return { start: first, end: first + length };
}

function clamp(value: bigint, low: bigint, high: bigint): bigint {
  if (value < low) return low;
  return value > high ? high : value;
}

function severity(state: TaintState): number {
  return STATES_BY_SEVERITY.indexOf(state);
}
