import { css, html, nothing } from "lit";
import type { GraphFailure, GraphStep } from "#wasm/page";
import { sentence } from "../format/error-advice.ts";
import { formatOffset, plural } from "../format/quantity.ts";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

/** The error graph as a list: every failure that some live byte still carries, root first. */
export class FailureList extends ModelElement {
  static override styles = [
    parts,
    css`
      ol {
        margin: 0;
        padding: 0 12px 8px;
        list-style: none;
      }
      li.failure {
        padding: 4px 0 6px;
      }
      li.failure + li.failure {
        border-top: 1px solid var(--line);
      }
      .message {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      .carriers {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 6px;
        align-items: baseline;
        margin-top: 3px;
        color: var(--ink-soft);
      }
      .carriers button {
        height: 20px;
        padding: 0 6px;
      }
      .session {
        margin: 0 12px 8px;
        padding: 6px 10px;
        border: 1px solid var(--failed);
        border-radius: 3px;
        background: var(--failed-wash);
        overflow-wrap: anywhere;
      }
    `,
  ];

  override render() {
    const graph = this.model.failures.value;
    const failure = this.model.status.value?.failure ?? null;
    const nodes = graph?.failures ?? [];
    return html`
      <div class="head">
        <h2>Failures</h2>
        <span class="note" data-testid="failure-count">
          ${nodes.length === 0 ? "no byte carries one" : `${plural(nodes.length, "failure")} carried by live bytes`}
        </span>${this.expander()}</div>
      <div class="scroll" data-testid="failures">
        ${
          failure === null
            ? nothing
            : html`<div class="session" data-testid="session-failure">
                <span class="chip failed">epoch ended</span>
                ${failure.participant === null ? nothing : html`<code>${failure.participant}</code>`}
                ${sentence(failure.error.message)} Nothing half-done runs on; restore the last durable generation.
              </div>`
        }
        ${
          nodes.length === 0 && failure === null
            ? html`<p class="empty">A failed launch, and all that it spoiled, is listed here until its bytes are written anew.</p>`
            : html`<ol>${nodes.map((node) => this.#node(node, graph?.steps ?? []))}</ol>`
        }
      </div>
    `;
  }

  #node(node: GraphFailure, steps: readonly GraphStep[]) {
    return html`<li class="failure" data-testid="failure-${node.id}">
      <span class="chip failed">root ${String(node.id)}</span> <code>${node.work}</code>
      <div class="message">${sentence(node.message)}</div>
      ${steps
        .filter(({ failure }) => failure === node.id)
        .map(
          (step) => html`<div class="soft">
          ↳ <code>${step.work}</code> skipped: needed <code>${step.needed.label}</code>, did not write <code>${step.produced.label}</code>
        </div>`,
        )}
      <div class="carriers">
        <span>carried by</span>
        ${node.carriers.map((carrier) => {
          const buffer = this.model.buffer(carrier.bufferId);
          if (buffer === undefined) return nothing;
          return html`<button
            class="num"
            @click=${() => {
              this.model.select(carrier.bufferId, carrier.start, carrier.end);
              void this.model.readSelection();
            }}
          >
            ${buffer.label} ${formatOffset(carrier.start, buffer.sizeBytes)}–${formatOffset(carrier.end, buffer.sizeBytes)}
          </button>`;
        })}
      </div>
    </li>`;
  }
}
