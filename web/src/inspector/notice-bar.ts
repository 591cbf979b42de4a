import { css, html, nothing } from "lit";
import { formatCount } from "../format/quantity.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

/** What a person must know or decide now: an error with its advice, or how to begin. */
export class NoticeBar extends ModelElement {
  static override styles = [
    parts,
    css`
      :host {
        display: block;
        background: transparent;
      }
      .bar {
        display: flex;
        align-items: center;
        gap: 6px 12px;
        padding: 6px 6px 6px 12px;
        border-bottom: 1px solid var(--line);
        background: var(--trusted-wash);
        flex-wrap: wrap;
      }
      .bar.error {
        background: var(--failed-wash);
      }
      .bar.choice {
        background: var(--pending-wash);
      }
      .text {
        flex: 1 1 300px;
        text-wrap: pretty;
        overflow-wrap: anywhere;
      }
      .happened {
        font-weight: 600;
      }
    `,
  ];

  override render() {
    return html`${this.#choice()}${this.#notice()}`;
  }

  #choice() {
    const status = this.model.status.value;
    const resumable = status?.resumable ?? null;
    if (status?.phase.kind !== "starting" || resumable === null || this.readonly) return nothing;
    const busy = this.model.activity.value !== null;
    return html`<div class="bar choice" role="region" aria-label="How to begin" data-testid="resume-choice">
      <span class="text">
        <span class="happened">This browser already holds this session.</span>
        Its newest generation is ${resumable.checkpointId}. Nothing runs until you choose; a new run keeps it, pinned.
      </span>
      <button class="primary" data-testid="resume-latest" ?disabled=${busy} @click=${() => this.#restore()}>
        Resume from boundary ${formatCount(BigInt(resumable.boundary))} (epoch ${resumable.epoch})
      </button>
      <button data-testid="begin" ?disabled=${busy} @click=${() => this.#begin()}>Start a new run</button>
    </div>`;
  }

  #notice() {
    const notice = this.model.notice.value;
    if (notice === null) return nothing;
    const { happened, safe, todo } = notice.advice;
    const error = notice.tone === "error";
    return html`<div class="bar ${notice.tone}" role=${error ? "alert" : "status"} data-testid="notice" data-tone=${notice.tone}>
      <span class="chip ${error ? "failed" : "trusted"}">${error ? "error" : "done"}</span>
      <span class="text"><span class=${error ? "happened" : ""}>${happened}</span> ${safe} ${todo}</span>
      <button
        class="quiet"
        data-testid="dismiss-notice"
        @click=${() => {
          this.model.notice.value = null;
        }}
      >
        Dismiss
      </button>
    </div>`;
  }

  #restore(): void {
    const { model } = this;
    void model.act("Restoring the group", () => model.session.restore());
  }

  #begin(): void {
    const { model } = this;
    void model.act("Starting a new run", () => model.session.begin());
  }
}
