import type { TaintState } from "#wasm/page";
import type { Segment } from "../format/strip-layout.ts";

/** The colours of a strip, as the theme resolves them. */
export type StripPalette = Record<TaintState, { readonly fill: string; readonly mark: string }> & {
  readonly ink: string;
  readonly ground: string;
};

const STATES: readonly TaintState[] = ["trusted", "pending", "failed", "skipped", "never-written"];

/** The palette in force on `element`. */
export function paletteOf(element: Element): StripPalette {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const states = Object.fromEntries(
    STATES.map((state) => [state, { fill: colour(`${state}-fill`), mark: colour(state) }]),
  ) as Record<TaintState, { fill: string; mark: string }>;
  return { ...states, ink: colour("ink"), ground: colour("ground") };
}

/**
 * Draws segments on a strip of `width` x `height` device pixels. Every state has a pattern of its own
 * beside its colour: trusted is plain, pending hatched, failed crossed, skipped barred, never-written
 * dotted.
 */
export function paintStrip(
  context: CanvasRenderingContext2D,
  segments: readonly Segment[],
  palette: StripPalette,
  scale: number,
  picked: { left: number; right: number } | null,
): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  for (const { left, right, state } of segments) {
    const x = left * scale;
    const across = (right - left) * scale;
    context.fillStyle = palette[state].fill;
    context.fillRect(x, 0, across, height);
    context.save();
    context.beginPath();
    context.rect(x, 0, across, height);
    context.clip();
    mark(context, state, palette, x, across, height, scale);
    context.restore();
  }
  if (picked !== null) {
    const x = picked.left * scale;
    const across = Math.max(2 * scale, (picked.right - picked.left) * scale);
    context.strokeStyle = palette.ink;
    context.lineWidth = 2 * scale;
    context.strokeRect(x + scale, scale, Math.max(1, across - 2 * scale), height - 2 * scale);
  }
}

function mark(
  context: CanvasRenderingContext2D,
  state: TaintState,
  palette: StripPalette,
  x: number,
  across: number,
  height: number,
  scale: number,
): void {
  if (state === "trusted") return;
  context.strokeStyle = palette[state].mark;
  context.fillStyle = palette[state].mark;
  context.lineWidth = scale;
  const step = 6 * scale;
  // phase the pattern by absolute position so that neighbours of one state join without a seam
  const first = Math.floor((x - height) / step) * step;
  context.beginPath();
  for (let at = first; at < x + across + height; at += step) {
    if (state === "pending" || state === "failed") {
      context.moveTo(at, height);
      context.lineTo(at + height, 0);
    }
    if (state === "failed") {
      context.moveTo(at, 0);
      context.lineTo(at + height, height);
    }
    if (state === "skipped") {
      context.moveTo(at + scale / 2, 0);
      context.lineTo(at + scale / 2, height);
    }
    if (state === "never-written") {
      for (let y = 3 * scale; y < height; y += step)
        context.fillRect(at, y, 1.5 * scale, 1.5 * scale);
    }
  }
  context.stroke();
}
