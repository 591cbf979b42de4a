import { css, html, LitElement, nothing, type PropertyValues } from "lit";
import { createSession, type Session } from "../session.ts";
import { WellwrittenError } from "../wellwritten-error.ts";
import { brand, brandStyle } from "./brand.ts";
import type { GenerationList } from "./generation-list.ts";
import { InspectorModel } from "./inspector-model.ts";
import { tokens } from "./theme.ts";
import type { TransportBar } from "./transport-bar.ts";

/** The parts an inspector can show, in the order of its columns. */
export const PANELS = [
  "transport",
  "guide",
  "world",
  "faults",
  "trace",
  "taint",
  "bytes",
  "failures",
  "phases",
  "generations",
  "envelope",
] as const;

export type PanelName = (typeof PANELS)[number];

const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ["S", "step once"],
  ["N", "step by the count in the field"],
  ["Space or R", "run, or pause what runs"],
  ["C", "checkpoint"],
  ["Tab", "from control to control; each strip is one stop"],
  ["← →", "on a strip: the range before or after"],
  ["Enter", "on a strip: read the picked range"],
  ["+ − 0", "on a strip: zoom in, zoom out, show all"],
  ["Shift ← →", "on a zoomed strip: pan"],
  ["?", "these keys"],
];

/**
 * `<wellwritten-inspector>`: a session, stepped, broken and looked into. Constructing it does nothing;
 * what connecting starts, disconnecting ends. The session is the page's: removing the element leaves it
 * open.
 *
 * Fires `sessionchange` (detail: the new `Session`) after a person asked for a new session.
 */
export class WellwrittenInspector extends LitElement {
  static override properties = {
    session: { attribute: false },
    panels: { type: String },
    readonly: { type: Boolean },
    theme: { type: String },
    wasmUrl: { type: String, attribute: "wasm-url" },
  };
  static override styles = [
    tokens,
    brandStyle,
    css`
      :host {
        display: block;
        height: 100%;
        min-height: 320px;
      }
      :host([hidden]) {
        display: none;
      }
      .frame {
        position: relative;
        container: inspector / inline-size;
        overflow: hidden;
        height: 100%;
        background: var(--pane);
        color: var(--ink);
        font: 12px/1.45 var(--_font);
        text-align: left;
      }
      .stack {
        display: flex;
        flex-direction: column;
        height: 100%;
      }
      ww-transport-bar,
      ww-guide-strip,
      ww-notice-bar {
        flex: none;
      }
      .panes {
        position: relative;
        flex: 1 1 0;
        min-height: 0;
        display: grid;
        grid-template-columns: 304px minmax(0, 1fr) 372px;
        gap: 1px;
        background: var(--line);
      }
      .panes.two {
        grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
      }
      .panes.one {
        grid-template-columns: minmax(0, 1fr);
      }
      .column {
        display: flex;
        flex-direction: column;
        gap: 1px;
        min-width: 0;
        min-height: 0;
      }
      .column > * {
        flex: 1 1 0;
      }
      .column > ww-world-view {
        flex: none;
      }
      .column > ww-fault-list {
        flex: 1.25 1 0;
      }
      .column > ww-taint-map {
        flex: 0 1 auto;
        max-height: 56%;
      }
      .column > ww-byte-detail {
        flex: 2 1 0;
      }
      .column > ww-phase-machine {
        flex: 1.05 1 0;
      }
      .column > [expanded] {
        position: absolute;
        inset: 0;
        max-height: none;
        z-index: 1;
      }
      .brand {
        padding: 14px 12px;
        border-bottom: 1px solid var(--line);
      }
      .empty {
        padding: 24px;
        max-width: 60ch;
      }
      .keys {
        border: 1px solid var(--line-strong);
        border-radius: 6px;
        padding: 16px 20px;
        background: var(--raised);
        color: var(--ink);
      }
      .keys::backdrop {
        background: rgb(0 0 0 / 0.35);
      }
      .keys h2 {
        margin: 0 0 10px;
        font-size: 13px;
      }
      .keys dl {
        display: grid;
        grid-template-columns: auto 1fr;
        gap: 5px 16px;
        margin: 0 0 14px;
      }
      .keys dt {
        font-family: var(--_mono);
      }
      .keys dd {
        margin: 0;
        color: var(--ink-soft);
      }
      .keys button {
        font: inherit;
        color: inherit;
        height: 26px;
        padding: 0 12px;
        border: 1px solid var(--line-strong);
        border-radius: 4px;
        background: var(--pane);
      }
      :focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: 1px;
      }
      @container inspector (max-width: 1020px) {
        .stack {
          overflow-y: auto;
        }
        .panes,
        .panes.two {
          flex: none;
          grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
          min-height: 0;
        }
        .column:nth-child(2) {
          grid-row: 1;
          grid-column: 1 / -1;
        }
        .panes .column > * {
          flex: none;
          max-height: 340px;
        }
        .panes .column > ww-world-view,
        .panes .column > ww-taint-map {
          max-height: none;
        }
        .panes .column > [expanded] {
          max-height: none;
          height: 100%;
        }
      }
      @container inspector (max-width: 640px) {
        .panes,
        .panes.two {
          grid-template-columns: minmax(0, 1fr);
        }
      }
    `,
  ];

  declare session: Session | null;
  /** Names from {@link PANELS}, separated by spaces; empty shows all. */
  declare panels: string;
  declare readonly: boolean;
  declare theme: "auto" | "dark" | "light";
  declare wasmUrl: string | undefined;

  #model: InspectorModel | null = null;
  #listening: AbortController | undefined;
  #guided = true;
  #expanded: PanelName | null = null;

  constructor() {
    super();
    this.session = null;
    this.panels = "";
    this.readonly = false;
    this.theme = "auto";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    matchMedia("(prefers-color-scheme: light)").addEventListener(
      "change",
      () => this.requestUpdate(),
      { signal },
    );
    this.addEventListener("keydown", (event) => this.#onKey(event), { signal });
    this.#attach();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#listening?.abort();
    this.#listening = undefined;
    this.#detach();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("session") && this.#model?.session !== this.session && this.isConnected) {
      this.#detach();
      this.#attach();
    }
  }

  #attach(): void {
    if (this.session == null || this.#model !== null) return;
    this.#model = new InspectorModel(this.session);
    this.#model.connect();
    this.requestUpdate();
  }

  #detach(): void {
    this.#model?.disconnect();
    this.#model = null;
  }

  /** The colours in force. */
  get scheme(): "dark" | "light" {
    if (this.theme !== "auto") return this.theme;
    return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  }

  override render() {
    return html`<div
      class="frame ${this.scheme}"
      tabindex="-1"
      role="region"
      aria-label="Wellwritten inspector"
      data-testid="inspector"
      @theme=${() => {
        this.theme = this.scheme === "dark" ? "light" : "dark";
      }}
      @keys=${() => this.#dialog()?.showModal()}
      @renew=${(event: CustomEvent<{ masterSeed?: bigint }>) => this.#renew(event)}
    >
      ${this.#model === null ? this.#withoutSession() : this.#withSession(this.#model)} ${this.#keyList()}
    </div>`;
  }

  #withoutSession() {
    return html`<div class="stack">
      <div class="brand">${brand()}</div>
      <slot name="empty"><p class="empty">No session is open. A .flysess file can be looked at without one.</p></slot>
      ${
        this.#shows("envelope")
          ? html`<div class="panes one"><div class="column">
              <ww-envelope-panel .wasmUrl=${this.wasmUrl}></ww-envelope-panel>
            </div></div>`
          : nothing
      }
    </div>`;
  }

  #withSession(model: InspectorModel) {
    const columns = [this.#left(model), this.#centre(model), this.#right(model)].filter((column) =>
      column.some((panel) => panel !== nothing),
    );
    return html`<div class="stack">
      ${
        this.#shows("transport")
          ? html`<ww-transport-bar .model=${model} ?readonly=${this.readonly}></ww-transport-bar>`
          : nothing
      }
      ${
        this.#guided && !this.readonly && this.#shows("guide")
          ? html`<ww-guide-strip
              .model=${model}
              @dismiss=${() => {
                this.#guided = false;
                this.requestUpdate();
              }}
            ></ww-guide-strip>`
          : nothing
      }
      <ww-notice-bar .model=${model} ?readonly=${this.readonly}></ww-notice-bar>
      <div class="panes ${["none", "one", "two", "three"][columns.length]}" @expand=${(event: Event) => this.#expand(event)}>
        ${columns.map((column) => html`<div class="column">${column}</div>`)}
      </div>
    </div>`;
  }

  #left(model: InspectorModel) {
    return [
      this.#shows("world")
        ? html`<ww-world-view data-panel="world" .model=${model} ?expanded=${this.#expanded === "world"}></ww-world-view>`
        : nothing,
      this.#shows("faults")
        ? html`<ww-fault-list
            data-panel="faults"
            .model=${model}
            ?readonly=${this.readonly}
            ?expanded=${this.#expanded === "faults"}
          ></ww-fault-list>`
        : nothing,
      this.#shows("trace")
        ? html`<ww-trace-panel data-panel="trace" .model=${model} ?expanded=${this.#expanded === "trace"}></ww-trace-panel>`
        : nothing,
    ];
  }

  #centre(model: InspectorModel) {
    return [
      this.#shows("taint")
        ? html`<ww-taint-map
            data-panel="taint"
            .model=${model}
            .scheme=${this.scheme}
            ?expanded=${this.#expanded === "taint"}
          ></ww-taint-map>`
        : nothing,
      this.#shows("bytes")
        ? html`<ww-byte-detail
            data-panel="bytes"
            .model=${model}
            ?readonly=${this.readonly}
            ?expanded=${this.#expanded === "bytes"}
          ></ww-byte-detail>`
        : nothing,
      this.#shows("failures")
        ? html`<ww-failure-list data-panel="failures" .model=${model} ?expanded=${this.#expanded === "failures"}></ww-failure-list>`
        : nothing,
    ];
  }

  #right(model: InspectorModel) {
    return [
      this.#shows("phases")
        ? html`<ww-phase-machine data-panel="phases" .model=${model} ?expanded=${this.#expanded === "phases"}></ww-phase-machine>`
        : nothing,
      this.#shows("generations")
        ? html`<ww-generation-list
            data-panel="generations"
            .model=${model}
            ?readonly=${this.readonly}
            ?expanded=${this.#expanded === "generations"}
          ></ww-generation-list>`
        : nothing,
      this.#shows("envelope")
        ? html`<ww-envelope-panel
            data-panel="envelope"
            .model=${model}
            .wasmUrl=${this.wasmUrl}
            ?expanded=${this.#expanded === "envelope"}
          ></ww-envelope-panel>`
        : nothing,
    ];
  }

  #keyList() {
    return html`<dialog class="keys" aria-labelledby="keys-title" data-testid="keys-dialog">
      <h2 id="keys-title">Keys, while the inspector has the focus</h2>
      <dl>${SHORTCUTS.map(([keys, does]) => html`<dt>${keys}</dt><dd>${does}</dd>`)}</dl>
      <button @click=${() => this.#dialog()?.close()}>Close</button>
    </dialog>`;
  }

  /** Moves the focus into the inspector, so that its keys work. */
  override focus(options?: FocusOptions): void {
    this.renderRoot.querySelector<HTMLElement>(".frame")?.focus(options);
  }

  #shows(panel: PanelName): boolean {
    const chosen = this.panels.trim();
    return chosen === "" || chosen.split(/\s+/).includes(panel);
  }

  #expand(event: Event): void {
    const panel = (event.target as HTMLElement).dataset.panel as PanelName | undefined;
    this.#expanded = panel === undefined || panel === this.#expanded ? null : panel;
    this.requestUpdate();
  }

  #dialog(): HTMLDialogElement | null {
    return this.renderRoot.querySelector("dialog");
  }

  #onKey(event: KeyboardEvent): void {
    const [origin] = event.composedPath();
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.defaultPrevented ||
      this.#dialog()?.open === true
    )
      return;
    if (event.key === "Escape" && this.#expanded !== null) {
      this.#expanded = null;
      this.requestUpdate();
      return;
    }
    if (origin instanceof HTMLInputElement || origin instanceof HTMLSelectElement) return;
    if (
      event.key === " " &&
      (origin instanceof HTMLButtonElement ||
        (origin instanceof HTMLElement && origin.localName === "summary"))
    )
      return;
    if (this.#command(event.key)) event.preventDefault();
  }

  /** Does what a key stands for; false if it stands for nothing now. */
  #command(key: string): boolean {
    if (key === "?") {
      this.#dialog()?.showModal();
      return true;
    }
    if (this.readonly) return false;
    const transport = this.renderRoot.querySelector<TransportBar>("ww-transport-bar");
    const generations = this.renderRoot.querySelector<GenerationList>("ww-generation-list");
    const commands: Record<string, (() => void) | undefined> = {
      s: transport === null ? undefined : () => void transport.step(1),
      n: transport === null ? undefined : () => void transport.step(),
      r: transport === null ? undefined : () => transport.toggle(),
      " ": transport === null ? undefined : () => transport.toggle(),
      c: generations === null ? undefined : () => void generations.checkpoint(),
    };
    const command = commands[key.toLowerCase()];
    command?.();
    return command !== undefined;
  }

  /** Closes the session and opens another of the same configuration, with the seed a person asked for. */
  async #renew({ detail }: CustomEvent<{ masterSeed?: bigint }>): Promise<void> {
    const old = this.session;
    const model = this.#model;
    if (old === null || model === null) return;
    try {
      await old.close().catch((thrown: unknown) => {
        const error = WellwrittenError.from(thrown);
        // It is closed all the same.
        if (error.code !== "SAVES_LOST") throw error;
        model.report(error);
      });
      const { masterSeed: _, ...config } = old.config;
      // The counting world's seeds are fixed.
      const seed = config.composition === "counter" ? {} : detail;
      this.session = await createSession({ ...config, ...seed, resume: "never" });
      this.dispatchEvent(new CustomEvent("sessionchange", { detail: this.session }));
    } catch (thrown) {
      model.report(WellwrittenError.from(thrown));
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wellwritten-inspector": WellwrittenInspector;
  }
}
