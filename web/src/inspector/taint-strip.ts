import { css, html, type PropertyDeclarations } from "lit";
import type { SessionBuffer } from "#wasm/session";
import { BYTE_STATES, countByState } from "../format/byte-state.ts";
import { formatOffset, formatSize } from "../format/quantity.ts";
import {
  byteAt,
  layoutStrip,
  pan,
  pixelOf,
  type Segment,
  type Window,
  zoom,
} from "../format/strip-layout.ts";
import { ModelElement } from "./model-element.ts";
import type { Strip } from "./strip-cache.ts";
import { paintStrip, paletteOf } from "./strip-painter.ts";
import { parts } from "./theme.ts";

/** A zoom step by key or button; a wheel notch is a third of it. */
export const ZOOM_STEP = 2;

/** In CSS pixels, as in the style below. */
const STRIP_HEIGHT = 16;

/** One buffer as a strip of its bytes. Arrow keys walk its ranges, Enter asks for them. */
export class TaintStrip extends ModelElement {
  static override properties: PropertyDeclarations = {
    buffer: { attribute: false },
    scheme: { type: String },
  };
  static override styles = [
    parts,
    css`
      :host {
        display: block;
        background: transparent;
      }
      .track {
        position: relative;
        height: 16px;
        border-radius: 2px;
        overflow: hidden;
        cursor: crosshair;
        touch-action: pan-y;
      }
      .track:focus-visible {
        overflow: visible;
      }
      canvas {
        display: block;
        width: 100%;
        height: 100%;
        border-radius: 2px;
      }
    `,
  ];

  declare buffer: SessionBuffer;
  declare scheme: string;

  #width = 0;
  #segments: readonly Segment[] = [];
  #cursor = 0;
  #painted: { look: string; strip: Strip | undefined } = { look: "", strip: undefined };
  #drag: { x: number; window: Window; moved: boolean } | undefined;
  readonly #resized = new ResizeObserver(([entry]) => {
    this.#width = Math.floor(entry?.contentRect.width ?? 0);
    this.model.stripPixels = this.#width;
    this.requestUpdate();
  });

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized.disconnect();
  }

  protected override firstUpdated(): void {
    this.#observe();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#observe();
  }

  #observe(): void {
    const track = this.renderRoot.querySelector(".track");
    if (track !== null) this.#resized.observe(track);
  }

  override render() {
    const strip = this.model.strips.value.get(this.buffer.bufferId);
    const window = this.model.windowOf(this.buffer);
    // a zoomed window is drawn from the spans at hand until its own arrive
    this.#segments =
      strip === undefined || this.#width === 0 ? [] : layoutStrip(strip.spans, window, this.#width);
    const picked = this.#picked(window);
    const current = this.#segments[this.#cursor] ?? this.#segments[0];
    const name = `${this.buffer.label}, ${formatSize(this.buffer.sizeBytes)}`;
    return html`
      <div
        class="track"
        tabindex="0"
        role="slider"
        data-testid="strip-${this.buffer.label}"
        data-states=${this.#summary()}
        aria-label=${name}
        aria-orientation="horizontal"
        aria-valuemin="0"
        aria-valuemax=${Math.max(0, this.#segments.length - 1)}
        aria-valuenow=${Math.min(this.#cursor, Math.max(0, this.#segments.length - 1))}
        aria-valuetext=${current === undefined ? "loading" : this.#describe(current)}
        title=${current === undefined ? "" : this.#describe(current)}
        @keydown=${this.#onKey}
        @wheel=${this.#onWheel}
        @pointerdown=${this.#onDown}
        @pointermove=${this.#onMove}
        @pointerup=${this.#onUp}
        @dblclick=${(event: MouseEvent) => this.zoomBy(ZOOM_STEP * 2, this.#byteUnder(event))}
      >
        <canvas aria-hidden="true" data-picked=${picked === null ? "" : `${picked.left}:${picked.right}`}></canvas>
      </div>
    `;
  }

  protected override updated(): void {
    const canvas = this.renderRoot.querySelector("canvas");
    const context = canvas?.getContext("2d");
    if (canvas == null || context == null || this.#width === 0) return;
    const window = this.model.windowOf(this.buffer);
    const picked = this.#picked(window);
    const scale = globalThis.devicePixelRatio || 1;
    const strip = this.model.strips.value.get(this.buffer.bufferId);
    const look = [
      scale,
      this.#width,
      this.scheme,
      window.start,
      window.end,
      picked?.left,
      picked?.right,
    ].join();
    if (look === this.#painted.look && strip === this.#painted.strip) return;
    this.#painted = { look, strip };
    canvas.width = Math.round(this.#width * scale);
    canvas.height = Math.round(STRIP_HEIGHT * scale);
    paintStrip(context, this.#segments, paletteOf(this), scale, picked);
  }

  /** Zooms about `around`, by default the middle of what is shown. */
  zoomBy(factor: number, around?: bigint): void {
    const window = this.model.windowOf(this.buffer);
    const centre = around ?? (window.start + window.end) / 2n;
    this.#show(zoom(window, factor, centre, this.buffer.sizeBytes));
  }

  #show(window: Window): void {
    this.model.show(this.buffer.bufferId, window);
    this.requestUpdate();
  }

  #summary(): string {
    const spans = this.model.strips.value.get(this.buffer.bufferId)?.spans ?? [];
    return countByState(spans)
      .map(({ state, bytes }) => `${state}:${bytes}`)
      .join(" ");
  }

  #describe({ span }: Segment): string {
    const { sizeBytes } = this.buffer;
    return `${formatOffset(span.start, sizeBytes)} to ${formatOffset(span.end, sizeBytes)}, ${formatSize(span.end - span.start)} ${BYTE_STATES[span.state].label}`;
  }

  #picked(window: Window): { left: number; right: number } | null {
    const selection = this.model.selection.value;
    if (selection?.bufferId !== this.buffer.bufferId || this.#width === 0) return null;
    const left = Math.max(0, pixelOf(selection.start, window, this.#width));
    const right = Math.min(this.#width, pixelOf(selection.end, window, this.#width));
    return right <= 0 || left >= this.#width ? null : { left, right };
  }

  #pick(segment: Segment | undefined): void {
    if (segment === undefined) return;
    const { start, end } = segment.span;
    this.model.select(this.buffer.bufferId, start, end);
  }

  #byteUnder(event: MouseEvent): bigint {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return byteAt(event.clientX - box.left, this.model.windowOf(this.buffer), box.width);
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const last = this.#segments.length - 1;
    const window = this.model.windowOf(this.buffer);
    const move = (to: number) => {
      this.#cursor = Math.max(0, Math.min(last, to));
      this.#pick(this.#segments[this.#cursor]);
      this.requestUpdate();
    };
    const keys: Record<string, () => void> = {
      ArrowRight: () =>
        event.shiftKey
          ? this.#show(pan(window, 0.25, this.buffer.sizeBytes))
          : move(this.#cursor + 1),
      ArrowLeft: () =>
        event.shiftKey
          ? this.#show(pan(window, -0.25, this.buffer.sizeBytes))
          : move(this.#cursor - 1),
      Home: () => move(0),
      End: () => move(last),
      "+": () => this.zoomBy(ZOOM_STEP),
      "=": () => this.zoomBy(ZOOM_STEP),
      "-": () => this.zoomBy(1 / ZOOM_STEP),
      "0": () => this.#show({ start: 0n, end: this.buffer.sizeBytes }),
      Enter: () => {
        if (this.model.selection.value?.bufferId !== this.buffer.bufferId) move(this.#cursor);
        void this.model.readSelection();
      },
    };
    const action = keys[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };

  readonly #onWheel = {
    handleEvent: (event: WheelEvent): void => {
      // a plain wheel belongs to the page
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(ZOOM_STEP ** (-Math.sign(event.deltaY) / 3), this.#byteUnder(event));
    },
    passive: false,
  };

  readonly #onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#drag = { x: event.clientX, window: this.model.windowOf(this.buffer), moved: false };
  };

  readonly #onMove = (event: PointerEvent): void => {
    const at = this.#byteUnder(event);
    const under = this.#segments.find(({ span }) => at >= span.start && at < span.end);
    if (under !== undefined) (event.currentTarget as HTMLElement).title = this.#describe(under);
    const drag = this.#drag;
    if (drag === undefined || this.#width === 0) return;
    const moved = event.clientX - drag.x;
    if (Math.abs(moved) > 3) drag.moved = true;
    if (drag.moved) this.#show(pan(drag.window, -moved / this.#width, this.buffer.sizeBytes));
  };

  readonly #onUp = (event: PointerEvent): void => {
    const drag = this.#drag;
    this.#drag = undefined;
    if (drag === undefined || drag.moved) return;
    const x = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
    const index = this.#segments.findIndex(({ left, right }) => x >= left && x < right);
    if (index < 0) return;
    this.#cursor = index;
    this.#pick(this.#segments[index]);
  };
}
