import { css, html, nothing } from "lit";
import type { SessionStatus } from "#wasm/session";
import { formatCount } from "../format/quantity.ts";
import { WellwrittenError } from "../wellwritten-error.ts";
import { brand, brandStyle } from "./brand.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

const SPEEDS = [1, 5, 10, 30, 60] as const;
const DEFAULT_SPEED = 30;

/** Where the session is, and the controls that move it. */
export class TransportBar extends ModelElement {
  static override styles = [
    parts,
    brandStyle,
    css`
      :host {
        display: block;
        border-bottom: 1px solid var(--line);
      }
      .readouts,
      .controls {
        display: flex;
        align-items: center;
        padding: 0 12px;
      }
      .readouts {
        height: 46px;
      }
      .controls {
        gap: 6px;
        padding-bottom: 8px;
        flex-wrap: wrap;
      }
      .brand {
        margin-right: 18px;
      }
      dl {
        display: flex;
        margin: 0;
        flex: 1;
        min-width: 0;
      }
      dl > div {
        padding: 0 16px;
        border-left: 1px solid var(--line);
        min-width: 0;
      }
      dt {
        font-size: 11px;
        line-height: 14px;
        color: var(--ink-faint);
      }
      dd {
        margin: 0;
        font-size: 13px;
        line-height: 17px;
        white-space: nowrap;
        overflow: hidden;
        text-overflow: ellipsis;
      }
      dd.num {
        font-size: 13px;
      }
      .boundary {
        min-width: 84px;
      }
      .boundary dd {
        font-size: 15px;
        font-weight: 600;
      }
      .phase {
        min-width: 100px;
      }
      .rate {
        min-width: 96px;
      }
      .backend {
        flex: 0 1 auto;
      }
      .bad {
        color: var(--failed);
      }
      .warn {
        color: var(--pending);
      }
      .spacer {
        flex: 1;
      }
      label {
        display: inline-flex;
        align-items: center;
        gap: 6px;
        color: var(--ink-soft);
      }
      .divider {
        width: 1px;
        height: 16px;
        background: var(--line-strong);
        margin: 0 4px;
      }
      .count {
        width: 52px;
      }
      .seed {
        width: 84px;
      }
      .run {
        min-width: 84px;
      }
      @container inspector (max-width: 1020px) {
        .readouts {
          height: auto;
          flex-wrap: wrap;
          padding-top: 8px;
          padding-bottom: 8px;
          row-gap: 8px;
        }
        .brand {
          width: 100%;
        }
        dl {
          flex-wrap: wrap;
          row-gap: 6px;
        }
        dl > div {
          padding: 0 14px 0 0;
          border-left: 0;
        }
      }
      @container inspector (max-width: 520px) {
        kbd,
        .divider,
        .spacer {
          display: none;
        }
      }
    `,
  ];

  #count = 10;
  /** Whether many steps are being taken, which Pause can stop between two of them. */
  #stepping = false;
  #speed: number | null = DEFAULT_SPEED;
  #seed = "";

  override render() {
    const status = this.model.status.value;
    return html`
      ${this.#readouts(status)}
      ${this.readonly ? nothing : this.#controls(status)}
    `;
  }

  #readouts(status: SessionStatus | null) {
    const phase = status?.phase.kind ?? "opening";
    const failed = phase === "failed";
    const begun = status !== null && phase !== "starting";
    const backend = status?.backend;
    return html`
      <div class="readouts">
        <div class="brand">${brand(this.model.session.sessionId)}</div>
        <dl>
          <div class="phase">
            <dt>Phase</dt>
            <dd class=${failed ? "bad" : ""} data-testid="phase" data-phase=${phase}>${title(phase)}</dd>
          </div>
          <div class="boundary">
            <dt>Boundary</dt>
            <dd class="num" data-testid="boundary">${begun ? formatCount(status.boundary) : "–"}</dd>
          </div>
          <div>
            <dt>Epoch</dt>
            <dd class="num" data-testid="epoch">${begun ? status.epoch : "–"}</dd>
          </div>
          <div class="rate">
            <dt>Rate</dt>
            <dd class=${status?.running === true ? "num" : ""} data-testid="step-rate">
              ${status?.running === true ? `${this.model.stepsPerSecond.value.toFixed(1)} steps/s` : "standing"}
            </dd>
          </div>
          <div>
            <dt>Submissions</dt>
            <dd
              class="num"
              data-testid="submissions-per-step"
              title="GPU submissions that the last steps needed, each the unit that WebGPU runs or drops as a whole"
            >
              ${submissionsText(this.model.submissionsPerStep.value)}
            </dd>
          </div>
          <div>
            <dt>Fence</dt>
            <dd class=${status?.fenced === true ? "bad" : ""} data-testid="fence">
              ${status === null ? "–" : status.fenced ? "closed" : "open"}
            </dd>
          </div>
          <div class="backend">
            <dt>Backend</dt>
            <dd data-testid="backend" data-kind=${backend?.kind ?? ""} title=${backendTitle(backend)}>
              ${backendText(backend)}
            </dd>
          </div>
        </dl>
      </div>
    `;
  }

  #controls(status: SessionStatus | null) {
    const running = status?.running === true;
    const phase = status?.phase.kind;
    const standing =
      !running &&
      (phase === "ready" || phase === "paused") &&
      this.model.activity.value === null &&
      this.model.ended.value === null;
    return html`
      <div class="controls" role="toolbar" aria-label="Transport">
        <button data-testid="step" ?disabled=${!standing} @click=${() => this.step(1)}>Step <kbd>S</kbd></button>
        <button data-testid="step-n" ?disabled=${!standing} @click=${() => this.step(this.#count)}>
          Step by <kbd>N</kbd>
        </button>
        <input
          class="num count"
          data-testid="step-count"
          aria-label="Steps to take with Step by"
          type="number"
          min="1"
          max="100000"
          .value=${String(this.#count)}
          @change=${(event: Event) => this.#setCount(event)}
        />
        <span class="divider"></span>
        ${
          running || this.#stepping
            ? html`<button class="run primary" data-testid="pause" @click=${() => this.pause()}>Pause <kbd>Space</kbd></button>`
            : html`<button class="run primary" data-testid="run" ?disabled=${!standing} @click=${() => this.run()}>
                Run <kbd>Space</kbd>
              </button>`
        }
        <label>
          at
          <select data-testid="speed" @change=${(event: Event) => this.#setSpeed(event)}>
            ${SPEEDS.map((speed) => html`<option value=${speed} ?selected=${speed === this.#speed}>${speed} steps/s</option>`)}
            <option value="max" ?selected=${this.#speed === null}>full speed</option>
          </select>
        </label>
        <button
          data-testid="resume"
          ?disabled=${phase !== "paused" || running}
          title="Paused to Ready, without stepping"
          @click=${() => this.resume()}
        >
          Resume
        </button>
        <span class="activity note" role="status" data-testid="activity">${this.model.activity.value ?? ""}</span>
        <span class="spacer"></span>
        <label>
          Seed
          <input
            class="num seed"
            data-testid="seed"
            inputmode="numeric"
            pattern="[0-9]*"
            placeholder=${status === null ? "" : String(status.masterSeed)}
            .value=${this.#seed}
            @input=${(event: Event) => {
              this.#seed = (event.target as HTMLInputElement).value;
            }}
          />
        </label>
        <button data-testid="new-session" @click=${() => this.#renew()}>New session</button>
        <button class="quiet" data-testid="theme" aria-label="Switch between dark and light" @click=${() => this.#emit("theme")}>
          Theme
        </button>
        <button class="quiet" data-testid="keys" aria-label="Keyboard shortcuts" @click=${() => this.#emit("keys")}>
          Keys <kbd>?</kbd>
        </button>
      </div>
    `;
  }

  /** Takes `count` steps; the default is the count in the field. */
  async step(count = this.#count): Promise<boolean> {
    const what = count === 1 ? "Stepping" : `Stepping ${formatCount(count)} times`;
    this.#stepping = count > 1;
    try {
      return await this.model.act(what, () => this.model.session.step(count));
    } finally {
      this.#stepping = false;
      this.requestUpdate();
    }
  }

  run(): void {
    const options = this.#speed === null ? {} : { stepsPerSecond: this.#speed };
    const { model } = this;
    // resolves when the run stops, so it is not an activity that blocks the controls
    model.session
      .run(options)
      .catch((thrown: unknown) => model.report(WellwrittenError.from(thrown)))
      .finally(() => model.refresh());
    model.refresh();
  }

  pause(): Promise<boolean> {
    return this.model.act("Pausing", () => this.model.session.pause());
  }

  resume(): Promise<boolean> {
    return this.model.act("Resuming", () => this.model.session.resume());
  }

  /** Run, or pause what runs. */
  toggle(): void {
    if (this.model.status.value?.running === true) void this.pause();
    else this.run();
  }

  #setCount(event: Event): void {
    const field = event.target as HTMLInputElement;
    const count = Math.round(field.valueAsNumber);
    this.#count = Number.isFinite(count) ? Math.min(100_000, Math.max(1, count)) : 1;
    field.value = String(this.#count);
  }

  #setSpeed(event: Event): void {
    const { value } = event.target as HTMLSelectElement;
    this.#speed = value === "max" ? null : Number(value);
    if (this.model.status.value?.running !== true) return;
    void this.pause().then(() => this.run());
  }

  #renew(): void {
    const text = this.#seed.trim();
    if (!/^[0-9]*$/.test(text) || (text !== "" && BigInt(text) >= 1n << 64n)) {
      this.model.report(
        new WellwrittenError(
          "INVALID_ARGUMENT",
          `"${text}" is not a seed: it must be a whole number below 2^64`,
        ),
      );
      return;
    }
    const detail = text === "" ? {} : { masterSeed: BigInt(text) };
    this.dispatchEvent(new CustomEvent("renew", { detail, bubbles: true, composed: true }));
  }

  #emit(name: "theme" | "keys"): void {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true }));
  }
}

function title(phase: string): string {
  return phase.charAt(0).toUpperCase() + phase.slice(1);
}

function submissionsText(perStep: number | null): string {
  if (perStep === null) return "–";
  return `${Number.isInteger(perStep) ? perStep : perStep.toFixed(1)} a step`;
}

function backendText(backend: SessionStatus["backend"] | undefined): string {
  if (backend === undefined) return "–";
  return backend.kind === "cpu" ? "CPU, bit-identical" : `WebGPU · ${backend.adapter}`;
}

function backendTitle(backend: SessionStatus["backend"] | undefined): string {
  if (backend === undefined) return "";
  return [
    backend.adapter,
    backend.kind === "webgpu" && backend.software ? "a software adapter" : "",
    backend.reason ?? "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}
