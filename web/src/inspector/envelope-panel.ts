import { css, html, nothing, type PropertyDeclarations, svg } from "lit";
import type { EnvelopeLayout, LayoutPart } from "#wasm/page";
import { describeEnvelope } from "../envelope.ts";
import { describeState, manifestOf, readEnvelopeFile, scaled } from "../format/envelope-file.ts";
import { sentence } from "../format/error-advice.ts";
import { formatCount, formatSize, shortDigest, shortenDigests } from "../format/quantity.ts";
import { loadWellwritten } from "../load-wellwritten.ts";
import { WellwrittenError } from "../wellwritten-error.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

const SCALE_WIDTH = 1000;

interface Opened {
  readonly name: string;
  readonly wasBase64: boolean;
  readonly layout: EnvelopeLayout;
  readonly manifest: unknown;
}

/** What a `.flysess` file holds and whether it is whole. Needs no session. */
export class EnvelopePanel extends ModelElement {
  static override properties: PropertyDeclarations = { wasmUrl: { attribute: false } };
  static override styles = [
    parts,
    css`
      .scroll {
        position: relative;
      }
      .drop {
        margin: 0 12px 12px;
        padding: 14px;
        border: 1px dashed var(--line-strong);
        border-radius: 4px;
        color: var(--ink-faint);
        text-wrap: pretty;
      }
      :host([data-over]) .drop,
      :host([data-over]) .scroll {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      .verdict {
        padding: 0 12px 6px;
        overflow-wrap: anywhere;
      }
      .scale {
        display: block;
        width: calc(100% - 24px);
        height: 16px;
        margin: 0 12px 6px;
        border-radius: 2px;
      }
      .scale .verified {
        fill: var(--trusted-fill);
      }
      .scale .unverified {
        fill: var(--pending-fill);
      }
      .scale .broken {
        fill: var(--failed-fill);
      }
      .scale .not-reached {
        fill: var(--never-written-fill);
      }
      .scale .edge {
        stroke: var(--pane);
        stroke-width: 1;
        vector-effect: non-scaling-stroke;
      }
      table {
        margin: 0 12px 6px;
        width: calc(100% - 24px);
      }
      td.bar {
        width: 30%;
        padding-right: 8px;
      }
      td.bar svg {
        display: block;
        width: 100%;
        height: 8px;
      }
      .tree {
        padding: 0 12px 10px;
      }
      details details,
      .leaf {
        padding-left: 14px;
      }
      summary {
        cursor: pointer;
      }
      .key {
        color: var(--ink-soft);
      }
      .leaf {
        overflow-wrap: anywhere;
      }
      label.button:focus-within {
        outline: 2px solid var(--accent);
        outline-offset: 1px;
      }
    `,
  ];

  declare wasmUrl: string | undefined;

  #opened: Opened | null = null;
  #problem: WellwrittenError | null = null;
  #listening: AbortController | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const over = (event: DragEvent) => {
      event.preventDefault();
      this.toggleAttribute("data-over", true);
    };
    this.addEventListener("dragenter", over, { signal });
    this.addEventListener("dragover", over, { signal });
    this.addEventListener("dragleave", () => this.toggleAttribute("data-over", false), { signal });
    this.addEventListener(
      "drop",
      (event) => {
        event.preventDefault();
        this.toggleAttribute("data-over", false);
        const file = event.dataTransfer?.files[0];
        if (file !== undefined) void this.open(file);
      },
      { signal },
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#listening?.abort();
  }

  override render() {
    const opened = this.#opened;
    return html`
      <div class="head">
        <h2>Envelope</h2>
        <span class="note num" data-testid="envelope-name">${opened?.name ?? ""}</span>
        <span class="actions">
          ${
            opened === null
              ? nothing
              : html`<button class="quiet" data-testid="envelope-close" @click=${() => this.#close()}>Close</button>`
          }
          <label class="button">
            Open…
            <input
              class="visually-hidden"
              type="file"
              data-testid="envelope-file"
              accept=".flysess,application/octet-stream,text/plain"
              @change=${(event: Event) => this.#choose(event)}
            />
          </label>
        </span>
        ${this.expander()}
      </div>
      <div class="scroll" data-testid="envelope" data-state=${this.#state()} tabindex="0" role="region" aria-label="Envelope">
        ${this.#problem === null ? nothing : html`<p class="verdict" role="alert">${sentence(this.#problem.message)}</p>`}
        ${
          opened === null
            ? html`<p class="drop">Drop a .flysess file here, or open one. It is decoded and verified on this page; no session is needed.</p>`
            : this.#contents(opened)
        }
      </div>
    `;
  }

  /** Reads, describes and shows a file; a damaged one is shown as far as it can be. */
  async open(file: File): Promise<void> {
    try {
      const { bytes, wasBase64 } = readEnvelopeFile(new Uint8Array(await file.arrayBuffer()));
      await loadWellwritten(this.wasmUrl === undefined ? {} : { wasmUrl: this.wasmUrl });
      const layout = describeEnvelope(bytes);
      this.#opened = { name: file.name, wasBase64, layout, manifest: manifestOf(bytes, layout) };
      this.#problem = null;
    } catch (thrown) {
      this.#opened = null;
      this.#problem = WellwrittenError.from(thrown);
    }
    this.requestUpdate();
  }

  #close(): void {
    this.#opened = null;
    this.requestUpdate();
  }

  #choose(event: Event): void {
    const field = event.target as HTMLInputElement;
    const file = field.files?.[0];
    if (file !== undefined) void this.open(file);
    // so that the same file can be chosen again
    field.value = "";
  }

  #state(): string {
    if (this.#opened === null) return "empty";
    return this.#opened.layout.refusal == null ? "verified" : "refused";
  }

  #contents({ layout, manifest, wasBase64 }: Opened) {
    const { refusal, fileBytes, soundBytes } = layout;
    return html`
      <p class="verdict" data-testid="envelope-verdict">
        ${
          refusal == null
            ? html`<span class="chip trusted">whole</span> FLYSESS1 version ${layout.version}, ${formatSize(BigInt(fileBytes))}: every
                digest verified, every rule kept.`
            : html`<span class="chip failed">refused</span> <code data-testid="envelope-rule">${refusal.rule}</code>
                <span title=${refusal.message}>${shortenDigests(sentence(refusal.message))}</span> Sound up to byte ${formatCount(BigInt(soundBytes))} of ${formatCount(BigInt(fileBytes))}.`
        }
        ${wasBase64 ? html`<span class="note">Decoded from base64 text.</span>` : nothing}
      </p>
      ${this.#scale(layout)} ${this.#payloads(layout)}
      ${
        manifest === undefined
          ? nothing
          : html`<div class="tree num" data-testid="manifest">
              <details ?open=${this.expanded}>
                <summary>manifest</summary>
                ${tree(manifest)}
              </details>
            </div>`
      }
    `;
  }

  #scale({ parts: pieces, fileBytes }: EnvelopeLayout) {
    return html`<svg class="scale" viewBox="0 0 ${SCALE_WIDTH} 16" preserveAspectRatio="none" role="img" aria-label="The parts of the file to scale">
      ${pieces.map((part) => {
        const x = scaled(part.offset, fileBytes, SCALE_WIDTH);
        const width = Math.min(
          SCALE_WIDTH - x,
          Math.max(2, scaled(part.byteLength, fileBytes, SCALE_WIDTH)),
        );
        return svg`<rect class="${part.state.is} edge" x=${x} y="0" width=${Math.max(0, width)} height="16">
          <title>${title(part)}: ${describeState(part)}</title></rect>`;
      })}
    </svg>`;
  }

  #payloads({ parts: pieces }: EnvelopeLayout) {
    const payloads = pieces.filter(({ kind }) => kind === "payload");
    const others = pieces.filter(({ kind, state }) => kind !== "payload" && state.is === "broken");
    const longest = Math.max(1, ...payloads.map(({ byteLength }) => Number(byteLength)));
    if (payloads.length + others.length === 0) return nothing;
    return html`<table data-testid="payloads" data-count=${payloads.length}>
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col" class="right">Bytes</th>
          <th scope="col"><span class="visually-hidden">To scale</span></th>
          <th scope="col">Digest</th>
        </tr>
      </thead>
      <tbody>
        ${[...others, ...payloads].map((part) => this.#row(part, longest))}
      </tbody>
    </table>`;
  }

  #row(part: LayoutPart, longest: number) {
    const { is } = part.state;
    const chip =
      is === "verified"
        ? "trusted"
        : is === "broken"
          ? "failed"
          : is === "unverified"
            ? "pending"
            : "never-written";
    const words =
      is === "verified"
        ? "verified"
        : is === "broken"
          ? "broken"
          : is === "unverified"
            ? "unverified"
            : "not reached";
    const width = (Number(part.byteLength) / longest) * 100;
    return html`<tr data-testid="part-${part.name ?? part.kind}" data-state=${is} title=${describeState(part)}>
      <td class="num">${title(part)}</td>
      <td class="num right">${formatCount(BigInt(part.byteLength))}</td>
      <td class="bar">
        <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect width=${Math.max(1, Math.min(100, width))} height="8" fill="var(--${chip}-fill)"></rect>
        </svg>
      </td>
      <td><span class="chip ${chip}">${words}</span> <span class="num note" title=${part.digest ?? ""}>${part.digest === null ? "" : shortDigest(part.digest)}</span></td>
    </tr>`;
  }
}

function title(part: LayoutPart): string {
  return part.name ?? part.kind;
}

function tree(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return leaf(value);
  return Object.entries(value).map(([key, item]) =>
    typeof item === "object" && item !== null
      ? html`<details>
          <summary><span class="key">${key}</span> <span class="note">${extent(item)}</span></summary>
          ${tree(item)}
        </details>`
      : html`<div class="leaf"><span class="key">${key}</span> ${leaf(item)}</div>`,
  );
}

function extent(value: object): string {
  return Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
}

function leaf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
