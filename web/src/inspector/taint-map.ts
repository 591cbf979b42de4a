import { css, html, type PropertyDeclarations } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { SessionBuffer } from "#wasm/session";
import { BYTE_STATES, countByState, STATES_BY_SEVERITY } from "../format/byte-state.ts";
import { formatSize, plural } from "../format/quantity.ts";
import { ModelElement } from "./model-element.ts";
import { type TaintStrip, ZOOM_STEP } from "./taint-strip.ts";
import { parts } from "./theme.ts";

/** Every live buffer as a strip of its bytes, and what is known of each byte. */
export class TaintMap extends ModelElement {
  static override properties: PropertyDeclarations = { scheme: { type: String } };
  static override styles = [
    parts,
    css`
      .scroll {
        flex: 1 1 auto;
      }
      .legend {
        display: flex;
        gap: 12px;
        font-size: 11.5px;
        overflow: hidden;
      }
      .rows {
        display: grid;
        grid-template-columns: minmax(96px, max-content) minmax(0, 1fr) 112px;
        column-gap: 12px;
        row-gap: 3px;
        padding: 2px 12px 10px;
        align-content: start;
      }
      .row {
        display: grid;
        grid-column: 1 / -1;
        grid-template-columns: subgrid;
        align-items: center;
      }
      .name {
        display: flex;
        flex-direction: row;
        justify-content: flex-start;
        gap: 8px;
        border: 0;
        background: none;
        padding: 0;
        height: 16px;
        text-align: left;
      }
      .name:hover:not(:disabled) {
        background: none;
        text-decoration: underline;
      }
      .name .size {
        color: var(--ink-faint);
        margin-left: auto;
      }
      .name[aria-pressed="true"] {
        font-weight: 600;
      }
      @container inspector (max-width: 520px) {
        .legend {
          display: none;
        }
        .rows {
          grid-template-columns: 1fr auto;
          row-gap: 8px;
        }
        ww-taint-strip {
          grid-column: 1 / -1;
          grid-row: 2;
        }
      }
    `,
  ];

  declare scheme: string;

  override render() {
    const buffers = this.model.buffers.value;
    const picked = this.model.selection.value?.bufferId;
    return html`
      <div class="head">
        <h2>Taint map</h2>
        <span class="legend" aria-label="What the patterns mean">
          ${STATES_BY_SEVERITY.map(
            (state) =>
              html`<span class="chip ${state}" title="${BYTE_STATES[state].label}: ${BYTE_STATES[state].meaning}"
                >${BYTE_STATES[state].label}</span
              >`,
          )}
        </span>
        <span class="actions">
          ${this.#tool("zoom-out", "−", "Zoom out", (strip) => strip.zoomBy(1 / ZOOM_STEP))}
          ${this.#tool("zoom-in", "+", "Zoom in", (strip) => strip.zoomBy(ZOOM_STEP))}
          ${this.#tool("zoom-fit", "Fit", "Show the whole buffer", (strip) =>
            this.model.show(strip.buffer.bufferId, { start: 0n, end: strip.buffer.sizeBytes }),
          )}
        </span>${this.expander()}</div>
      <div class="scroll">
        ${
          buffers.length === 0
            ? html`<p class="empty">No live buffer yet: they appear when the session has started.</p>`
            : html`<div class="rows" data-testid="taint-map" aria-label=${plural(buffers.length, "live buffer")}>
                ${repeat(
                  buffers,
                  (buffer) => buffer.bufferId,
                  (buffer) => this.#row(buffer, buffer.bufferId === picked),
                )}
              </div>`
        }
      </div>
    `;
  }

  #row(buffer: SessionBuffer, picked: boolean) {
    const spans = this.model.strips.value.get(buffer.bufferId)?.spans ?? [];
    const [worst, ...rest] = countByState(spans);
    const state = worst?.state ?? buffer.state;
    const zoomed =
      this.model.windowOf(buffer).end - this.model.windowOf(buffer).start !== buffer.sizeBytes;
    return html`<div class="row">
      <button
        class="name"
        aria-pressed=${picked}
        title="Select all of ${buffer.label}, owned by ${buffer.owner}"
        data-testid="buffer-${buffer.label}"
        data-state=${buffer.state}
        @click=${() => this.#selectAll(buffer)}
      >
        <span class="num">${buffer.label}</span><span class="num size">${formatSize(buffer.sizeBytes)}</span>
      </button>
      <ww-taint-strip .model=${this.model} .buffer=${buffer} .scheme=${this.scheme}></ww-taint-strip>
      <span class="chip ${state}" data-testid="state-${buffer.label}"
        >${BYTE_STATES[state].label}${worst !== undefined && rest.length > 0 ? ` ${formatSize(worst.bytes)}` : ""}${zoomed ? " in view" : ""}</span
      >
    </div>`;
  }

  #tool(id: string, text: string, label: string, act: (strip: TaintStrip) => void) {
    const picked = this.model.selection.value?.bufferId;
    return html`<button
      class="quiet"
      data-testid=${id}
      aria-label="${label} of the selected buffer"
      title=${label}
      ?disabled=${picked === undefined}
      @click=${() => {
        const strips = [...this.renderRoot.querySelectorAll("ww-taint-strip")] as TaintStrip[];
        const strip = strips.find((candidate) => candidate.buffer.bufferId === picked);
        if (strip !== undefined) act(strip);
      }}
    >
      ${text}
    </button>`;
  }

  #selectAll(buffer: SessionBuffer): void {
    this.model.select(buffer.bufferId);
  }
}
