import { css, html } from "lit";
import { sentence } from "../format/error-advice.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

const WIDTH = 256;
const HEIGHT = 192;

/** The picture the agents see, read through the guard: never a stale one. */
export class WorldView extends ModelElement {
  static override styles = [
    parts,
    css`
      .stage {
        position: relative;
        margin: 0 12px;
        border-radius: 3px;
        overflow: hidden;
        background: var(--ground);
      }
      canvas {
        display: block;
        width: 100%;
        aspect-ratio: 4 / 3;
        image-rendering: pixelated;
      }
      .nothing {
        position: absolute;
        inset: 0;
        display: grid;
        place-items: center;
      }
      .refused canvas {
        opacity: 0.18;
        filter: grayscale(1);
      }
      .refusal {
        position: absolute;
        inset: 0;
        display: flex;
        flex-direction: column;
        align-items: flex-start;
        justify-content: center;
        gap: 8px;
        padding: 20px;
        border: 1px solid var(--failed);
        border-radius: 3px;
        text-wrap: pretty;
      }
      .foot {
        padding: 6px 12px 10px;
      }
    `,
  ];

  #painted: Uint8Array | undefined;

  override render() {
    const frame = this.model.frame.value;
    const status = this.model.status.value;
    const refused = frame?.kind === "refused";
    return html`
      <div class="head"><h2>World</h2><span class="note">the view the agents see</span>${this.expander()}</div>
      <div class="stage ${refused ? "refused" : ""}">
        <canvas
          width=${WIDTH}
          height=${HEIGHT}
          role="img"
          data-testid="world"
          data-state=${frame === null ? "empty" : frame.kind}
          aria-label=${
            frame?.kind === "picture"
              ? `The arena at boundary ${status?.boundary ?? 0}: the odour field, food and flies`
              : "No picture of the arena"
          }
        ></canvas>
        ${
          frame === null
            ? html`<p class="nothing note">${status?.phase.kind === "starting" ? "Nothing runs yet." : "Waiting for the first picture."}</p>`
            : ""
        }
        ${
          refused
            ? html`<div class="refusal" data-testid="world-refusal">
                <span class="chip failed">may not be shown</span>
                <span>${sentence(frame.error.message)}</span>
                <button @click=${() => this.#explain()}>Show the bytes</button>
              </div>`
            : ""
        }
      </div>
      <div class="foot note num">${WIDTH} × ${HEIGHT} RGBA8, boundary ${status === null ? "–" : String(status.boundary)}</div>
    `;
  }

  protected override updated(): void {
    const frame = this.model.frame.value;
    if (frame?.kind !== "picture" || frame.pixels === this.#painted) return;
    const context = this.renderRoot.querySelector("canvas")?.getContext("2d");
    if (context == null || frame.pixels.byteLength !== WIDTH * HEIGHT * 4) return;
    this.#painted = frame.pixels;
    const pixels = new Uint8ClampedArray(
      frame.pixels.buffer as ArrayBuffer,
      frame.pixels.byteOffset,
      WIDTH * HEIGHT * 4,
    );
    context.putImageData(new ImageData(pixels, WIDTH, HEIGHT), 0, 0);
  }

  #explain(): void {
    const view = this.model.buffers.value.find((buffer) => buffer.label === "world/view");
    if (view === undefined) return;
    this.model.select(view.bufferId);
    void this.model.readSelection();
  }
}
