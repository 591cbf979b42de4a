import { css, html, nothing } from "lit";
import type { ReportedFailure, UnwrittenReport } from "#wasm/page";
import type { SessionBuffer } from "#wasm/session";
import { BYTE_STATES, countByState } from "../format/byte-state.ts";
import { quoted, sentence } from "../format/error-advice.ts";
import { hexRows } from "../format/hex-view.ts";
import { formatCount, formatOffset, formatSize, plural } from "../format/quantity.ts";
import type { WellwrittenError } from "../wellwritten-error.ts";
import { type Answer, READ_BYTES, type Selection } from "./inspector-model.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

const WIDE_ROW_PIXELS = 590;

/** The selected bytes: as a hex dump if they may be read, else the report of why not. */
export class ByteDetail extends ModelElement {
  static override styles = [
    parts,
    css`
      .range {
        color: var(--ink-soft);
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      pre {
        margin: 0;
        padding: 0 12px 10px;
        line-height: 17px;
      }
      pre .offset {
        color: var(--ink-faint);
      }
      pre .text {
        color: var(--ink-soft);
      }
      .report {
        margin: 0 12px 10px;
        border: 1px solid var(--failed);
        border-radius: 3px;
        background: var(--failed-wash);
      }
      .report > section {
        padding: 6px 12px;
      }
      .report > section + section {
        border-top: 1px solid color-mix(in srgb, var(--failed) 30%, transparent);
      }
      .report h3 {
        margin: 0 0 3px;
        font-size: 11px;
        font-weight: 400;
        color: var(--ink-soft);
      }
      .message {
        font-size: 12.5px;
        overflow-wrap: anywhere;
      }
      ol,
      ul {
        margin: 0;
        padding: 0;
        list-style: none;
      }
      li + li {
        margin-top: 3px;
      }
      .path li {
        display: flex;
        gap: 8px;
        align-items: baseline;
        flex-wrap: wrap;
      }
      .path li::before {
        content: "↳";
        color: var(--ink-faint);
      }
      .path li:first-child::before {
        content: "●";
        color: var(--failed);
      }
      .kind {
        padding: 0 5px;
        border: 1px solid currentColor;
        border-radius: 3px;
        color: var(--failed);
        font-size: 11px;
      }
      .source {
        padding: 4px 0 0;
        overflow-x: auto;
      }
    `,
  ];

  #rowBytes = 16;
  readonly #resized = new ResizeObserver(([entry]) => {
    const rowBytes = (entry?.contentRect.width ?? 0) >= WIDE_ROW_PIXELS ? 16 : 8;
    if (rowBytes === this.#rowBytes) return;
    this.#rowBytes = rowBytes;
    this.requestUpdate();
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.#resized.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized.disconnect();
  }

  override render() {
    const selection = this.model.selection.value;
    const buffer = selection === null ? undefined : this.model.buffer(selection.bufferId);
    if (selection === null || buffer === undefined) {
      return html`
        <div class="head"><h2>Bytes</h2>${this.expander()}</div>
        <p class="empty">
          Pick a range on a strip above. Bytes that were last written by work that succeeded open as a hex view; any
          others are refused with the failure at the root.
        </p>
      `;
    }
    return this.#selected(selection, buffer);
  }

  #selected(selection: Selection, buffer: SessionBuffer) {
    const answer = this.model.answer.value;
    const bad = this.#states(selection).find(
      ({ state }) => state !== "trusted" && state !== "pending",
    );
    return html`
      <div class="head">
        <h2>Bytes</h2>
        <span class="range num" data-testid="selected-range">
          ${buffer.label} ${formatOffset(selection.start, buffer.sizeBytes)}–${formatOffset(selection.end, buffer.sizeBytes)}
        </span>
        ${bad === undefined ? html`<span class="note">${formatSize(selection.end - selection.start)}</span>` : nothing}
        ${this.#states(selection).map(
          ({ state }) =>
            html`<span class="chip ${state}" title=${BYTE_STATES[state].meaning}>${BYTE_STATES[state].label}</span>`,
        )}
        <span class="actions">
          <button data-testid="read-bytes" @click=${() => this.model.readSelection()}>Read these bytes</button>
          ${
            this.readonly || bad === undefined
              ? nothing
              : html`<button class="primary" data-testid="rewrite" @click=${() => this.#rewrite(buffer)}>Rewrite</button>`
          }
        </span>${this.expander()}</div>
      <div class="scroll" data-testid="byte-answer" data-kind=${answer?.kind ?? "none"} tabindex="0" role="region" aria-label="Selected bytes">
        ${answer === null ? this.#invitation(bad !== undefined) : this.#answer(answer, selection, buffer)}
      </div>
    `;
  }

  /** The states inside the selection, most severe first, as the strip shows them. */
  #states(selection: Selection) {
    const spans = this.model.strips.value.get(selection.bufferId)?.spans ?? [];
    return countByState(
      spans.filter((span) => span.start < selection.end && span.end > selection.start),
    );
  }

  #invitation(bad: boolean) {
    return html`<p class="empty">
      ${
        bad
          ? "Some of these bytes were not last written by work that succeeded. Read them to see the refusal, or rewrite the buffer so that it reads again."
          : "Every one of these bytes may be read."
      }
    </p>`;
  }

  #answer(answer: Answer, selection: Selection, buffer: SessionBuffer) {
    if (answer.kind === "refused") return this.#refusal(answer.error, buffer);
    const end = answer.start + BigInt(answer.bytes.length);
    const rows = hexRows(answer.bytes, answer.start, buffer.sizeBytes, this.#rowBytes);
    return html`
      <pre data-testid="hex">${rows.map(
        (row) =>
          html`<span class="offset">${row.offset}</span>  ${row.hex}  <span class="text">${row.text}</span>${"\n"}`,
      )}</pre>
      ${
        end < selection.end || answer.start > selection.start
          ? html`<p class="pad note">
              ${formatCount(answer.bytes.length)} of ${formatCount(selection.end - selection.start)} bytes.
              <button ?disabled=${answer.start <= selection.start} @click=${() => this.model.readSelection(max(selection.start, answer.start - READ_BYTES))}>
                Before
              </button>
              <button ?disabled=${end >= selection.end} @click=${() => this.model.readSelection(end)}>After</button>
            </p>`
          : nothing
      }
    `;
  }

  #refusal(error: WellwrittenError, buffer: SessionBuffer) {
    const report = reportOf(error);
    if (report === null) {
      return html`<div class="report" role="alert" data-testid="refusal"><section>
        <p class="message">${sentence(error.message)}</p>
      </section></div>`;
    }
    return html`
      <div class="report" role="alert" data-testid="refusal">
        ${report.failures.map((failure) => this.#failure(failure, report))}
        <section>
          <h3>${plural(report.ranges.length, "range")} that may not be read</h3>
          <ul data-testid="refused-ranges">
            ${report.ranges.slice(0, 64).map(
              (range) => html`<li>
                <code>${formatOffset(range.start, buffer.sizeBytes)}–${formatOffset(range.end, buffer.sizeBytes)}</code>
                ${formatSize(range.end - range.start)} <span class="chip ${range.state}">${BYTE_STATES[range.state].label}</span>
              </li>`,
            )}
            ${report.ranges.length > 64 ? html`<li class="note">and ${report.ranges.length - 64} more</li>` : nothing}
          </ul>
        </section>
      </div>
    `;
  }

  #failure(failure: ReportedFailure, report: UnwrittenReport) {
    const steps = report.steps.filter((step) => step.failure === failure.id);
    const own = steps.length === 0;
    return html`<section>
        <h3>
          Root failure ${String(failure.id)} in <code>${failure.work}</code>${own ? ", whose own bytes these are" : ""}
        </h3>
        <div class="message" data-testid="root-failure">
          <span class="kind">${words(failure.kind)}</span> ${sentence(failure.message)}${source(failure.message)}
        </div>
      </section>
      ${
        own
          ? nothing
          : html`<section>
              <h3>Path, root first</h3>
              <ol class="path" data-testid="failure-path">
                <li><code>${failure.work}</code> failed</li>
                ${steps.map(
                  (step) => html`<li>
                    <code>${step.work}</code> was skipped: it needed <code>${step.needed.label}</code>, so it did not
                    write <code>${step.produced.label}</code>
                  </li>`,
                )}
              </ol>
            </section>`
      }`;
  }

  #rewrite(buffer: SessionBuffer): void {
    const { model } = this;
    void model.act(
      `Rewriting ${buffer.label}`,
      () => model.session.rewrite(buffer.bufferId),
      `${buffer.label} was written anew: every byte of it reads again.`,
    );
  }
}

/** The report an `UNWRITTEN` error carries. */
function reportOf(error: WellwrittenError): UnwrittenReport | null {
  return error.code === "UNWRITTEN" && error.context !== null
    ? (error.context as UnwrittenReport)
    : null;
}

/** The lines that a message quotes, as source. */
function source(message: string) {
  const lines = quoted(message);
  return lines === "" ? nothing : html`<pre class="source">${lines}</pre>`;
}

function words(kind: string): string {
  const spaced = kind.replaceAll("-", " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
