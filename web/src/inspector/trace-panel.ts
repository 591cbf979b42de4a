import { css, html, nothing } from "lit";
import type { TraceRecord } from "#wasm/session";
import { formatCount, plural, shortDigest, toJson } from "../format/quantity.ts";
import { WellwrittenError } from "../wellwritten-error.ts";
import { ModelElement } from "./model-element.ts";
import { saveFile } from "./save-file.ts";
import { parts } from "./theme.ts";
import { type Proof, proveAgainstUnbrokenRun } from "./unbroken-run.ts";

const SHOWN = 40;

/** The behaviour trace: what must be the same in every run of the same seed. */
export class TracePanel extends ModelElement {
  static override styles = [
    parts,
    css`
      table {
        margin: 0 12px;
        width: calc(100% - 24px);
      }
      .verdict {
        margin: 0 12px 8px;
        padding: 5px 9px;
        border-radius: 3px;
        border: 1px solid var(--line-strong);
        overflow-wrap: anywhere;
      }
      .verdict.equal {
        border-color: var(--trusted);
        background: var(--trusted-wash);
      }
      .verdict.differs {
        border-color: var(--failed);
        background: var(--failed-wash);
      }
    `,
  ];

  #proof: Proof | null = null;
  #provenCount = 0;

  override render() {
    const trace = this.model.trace.value;
    const busy = this.model.activity.value !== null || this.model.status.value?.running === true;
    return html`
      <div class="head">
        <h2>Trace</h2>
        <span class="note" data-testid="trace-count" data-count=${trace.length}>${plural(trace.length, "transition")}</span>
        <span class="actions">
          <button class="quiet" data-testid="export-trace" ?disabled=${trace.length === 0} @click=${() => this.#export(trace)}>
            Export
          </button>
          <button
            data-testid="prove"
            ?disabled=${busy || trace.length === 0}
            title="Run the same seed again without a break, and compare"
            @click=${() => this.#prove()}
          >
            Prove
          </button>
        </span>${this.expander()}</div>
      ${this.#verdict(trace.length)}
      <div class="scroll" tabindex="0" role="region" aria-label="Newest transitions">
        ${
          trace.length === 0
            ? html`<p class="empty">One record a transition: ticks, decisions, controls, events.</p>`
            : html`<table>
                <thead>
                  <tr>
                    <th scope="col" class="right">Step</th>
                    <th scope="col">Epoch</th>
                    <th scope="col">Controls</th>
                    <th scope="col" class="right">Events</th>
                  </tr>
                </thead>
                <tbody>
                  ${trace
                    .slice(-SHOWN)
                    .toReversed()
                    .map((record) => this.#row(record))}
                </tbody>
              </table>`
        }
      </div>
    `;
  }

  #row({ behaviour }: TraceRecord) {
    return html`<tr>
      <td class="num right">${behaviour.scope.step}</td>
      <td class="num">${behaviour.scope.epoch}</td>
      <td class="num" title=${behaviour.controlDigest}>${shortDigest(behaviour.controlDigest)}</td>
      <td class="num right">${behaviour.eventIds.length}</td>
    </tr>`;
  }

  #verdict(count: number) {
    const proof = this.#proof;
    if (proof === null) return nothing;
    const stale = count !== this.#provenCount ? " The session has moved since." : "";
    if (proof.diff.verdict === "equal") {
      return html`<p class="verdict equal" role="status" data-testid="proof" data-equal="true">
        <span class="chip trusted">equal</span> ${plural(proof.diff.compared, "transition")} compared with an unbroken run
        of the same seed on the CPU: no field differs.${stale}
      </p>`;
    }
    return html`<p class="verdict differs" role="alert" data-testid="proof" data-equal="false">
      <span class="chip failed">differs</span> ${describeDifference(proof)}${stale}
    </p>`;
  }

  #prove(): void {
    const { model } = this;
    void model.act("Running the same seed unbroken", async () => {
      this.#proof = await proveAgainstUnbrokenRun(model.session);
      this.#provenCount = model.trace.value.length;
      this.requestUpdate();
    });
  }

  #export(trace: readonly TraceRecord[]): void {
    try {
      saveFile(`${this.model.session.sessionId}.trace.json`, toJson(trace), "application/json");
    } catch (thrown) {
      this.model.report(WellwrittenError.from(thrown));
    }
  }
}

function describeDifference({ diff }: Proof): string {
  const [first] = diff.differences;
  if (diff.verdict === "nothingCompared") return "There was no transition to compare.";
  if (first === undefined) {
    return `This run has ${plural(diff.leftLength, "transition")}, the unbroken one ${formatCount(diff.rightLength)}.`;
  }
  const more = BigInt(diff.differences.length) - 1n + diff.unlisted;
  return `First at step ${first.step}: ${first.field} is ${first.left} here and ${first.right} there${more > 0n ? `; ${plural(more, "more field")}` : ""}.`;
}
