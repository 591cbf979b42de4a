import { css, html, nothing } from "lit";
import type { StoredGeneration, StoreUsage } from "#wasm/session";
import { markOf, openingText, placeText } from "../format/generation-text.ts";
import { formatCount, formatSize } from "../format/quantity.ts";
import { ModelElement } from "./model-element.ts";
import { mayRestore, restoreGroup } from "./restore-group.ts";
import { saveCheckpoint } from "./save-checkpoint.ts";
import { saveFile } from "./save-file.ts";
import { parts } from "./theme.ts";

/** The store's generations, and what can be done with one. */
export class GenerationList extends ModelElement {
  static override styles = [
    parts,
    css`
      ol {
        margin: 0;
        padding: 0 12px 8px;
        list-style: none;
      }
      li {
        display: grid;
        grid-template-columns: 14px minmax(0, max-content) 1fr max-content;
        column-gap: 8px;
        align-items: baseline;
        padding: 5px 0 3px;
        border-top: 1px solid var(--line);
      }
      li:first-child {
        border-top: 0;
      }
      .mark {
        position: relative;
        color: var(--ink-faint);
      }
      .mark[data-testid] {
        color: var(--trusted);
      }
      .id {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        font-weight: 600;
      }
      .row-actions {
        grid-column: 2 / -1;
        display: flex;
        gap: 4px;
        margin: 2px 0 0 -1px;
      }
      .row-actions button {
        height: 21px;
        padding: 0 6px;
      }
      .verdict {
        padding: 0 12px 8px;
      }
    `,
  ];

  #usage: StoreUsage | null = null;
  #estimatedAt: string | undefined;

  protected override updated(): void {
    // the newest one's name changes with every save
    const newest = this.model.generations.value[0]?.checkpointId ?? "";
    if (newest === this.#estimatedAt) return;
    this.#estimatedAt = newest;
    void this.#estimate();
  }

  override render() {
    const status = this.model.status.value;
    const generations = this.model.generations.value;
    const busy = this.model.activity.value !== null;
    const phase = status?.phase.kind;
    const mayCheckpoint =
      !busy && (phase === "ready" || phase === "paused") && status?.running !== true;
    return html`
      <div class="head">
        <h2>Generations</h2>
        <span class="note" data-testid="durable">
          ${status?.durable == null ? "none durable yet" : `durable at ${formatCount(status.durable.boundary)}`}
        </span>
        ${
          this.readonly
            ? nothing
            : html`<span class="actions">
                <button data-testid="checkpoint" ?disabled=${!mayCheckpoint} @click=${() => this.checkpoint()}>
                  Checkpoint <kbd>C</kbd>
                </button>
              </span>`
        }${this.expander()}</div>
      <div class="scroll" data-testid="generations" data-count=${generations.length}>
        ${
          generations.length === 0
            ? html`<p class="empty">
                A checkpoint puts every participant's state at one boundary into one file of this browser's own storage.
              </p>`
            : html`<ol>${generations.map((generation) => this.#row(generation, busy))}</ol>`
        }
      </div>
      <div class="verdict note">
        ${status === null ? "" : openingText(status.storeReport)} ${this.#usageText()}
        ${
          !this.readonly && phase === "failed"
            ? html`<button data-testid="replace-participants" ?disabled=${busy} @click=${() => this.#replace()}>
                Replace participants
              </button>`
            : nothing
        }
      </div>
    `;
  }

  #row(generation: StoredGeneration, busy: boolean) {
    const { checkpointId } = generation;
    const restorable = mayRestore(this.model.status.value?.phase.kind);
    const durable = this.model.status.value?.durable?.checkpointId === checkpointId;
    const mark = markOf(generation.abandoned, durable);
    return html`<li data-testid="generation-${checkpointId}">
      <span class="mark" data-testid=${durable ? "durable-mark" : nothing} title=${mark.title}>
        ${durable ? "◆" : "◇"}<span class="visually-hidden">${mark.word}</span>
      </span>
      <span class="num id" title="BLAKE3 ${generation.envelopeDigest}">${checkpointId}</span>
      <span class="num soft">${placeText(generation)}</span>
      <span class="num right soft">${formatSize(BigInt(generation.byteLength))}</span>
      <span class="row-actions">
        ${
          this.readonly
            ? nothing
            : html`<button
                ?disabled=${busy || !restorable}
                data-testid="restore-${checkpointId}"
                aria-label="Restore ${checkpointId}"
                title=${
                  restorable
                    ? "Restore the whole group from it, under a new epoch"
                    : "A restore is legal after a failure, or before a run has begun"
                }
                @click=${() => this.restore(checkpointId)}
              >
                Restore
              </button>`
        }
        <button
          class="quiet"
          ?disabled=${busy}
          data-testid="verify-${checkpointId}"
          aria-label="Verify ${checkpointId}"
          @click=${() => this.#verify(checkpointId)}
        >
          Verify
        </button>
        <button
          class="quiet"
          ?disabled=${busy}
          data-testid="export-${checkpointId}"
          aria-label="Export ${checkpointId}"
          title="Save as ${checkpointId}.flysess"
          @click=${() => this.#export(checkpointId)}
        >
          Export
        </button>
      </span>
    </li>`;
  }

  async checkpoint(): Promise<boolean> {
    const { model } = this;
    const status = model.status.value;
    const durable = status?.durable;
    if (
      durable != null &&
      durable.epoch === status?.epoch &&
      durable.boundary === status.boundary
    ) {
      // twice the same would only push an older generation out
      model.say(
        `Boundary ${formatCount(durable.boundary)} is durable already, as ${durable.checkpointId}.`,
      );
      return true;
    }
    const done = await model.act("Writing a checkpoint", async () => {
      const { checkpointId } = await saveCheckpoint(model.session);
      model.say(`Checkpoint ${checkpointId} is durable.`);
    });
    return done;
  }

  /** Restores the group; without an id, from the newest generation. */
  restore(checkpointId?: string): Promise<boolean> {
    const { model } = this;
    return model.act("Restoring the group", async () => {
      const report = await restoreGroup(model.session, checkpointId);
      model.say(
        `Restored ${report.checkpointId} at boundary ${formatCount(report.boundary)} under epoch ${report.toEpoch}: every participant staged, then all were activated.`,
      );
    });
  }

  #replace(): void {
    const { model } = this;
    void model.act(
      "Replacing the participants",
      () => model.session.replaceParticipants(),
      "Every participant was replaced by a fresh one. Restore a generation to continue.",
    );
  }

  #verify(checkpointId: string): void {
    const { model } = this;
    void model.act(`Verifying ${checkpointId}`, async () => {
      const report = await model.session.verify(checkpointId);
      if (report.verified)
        model.say(`${checkpointId} is whole: its length, every digest and its record agree.`);
      else {
        model.notice.value = {
          tone: "error",
          advice: {
            happened: `${checkpointId} is damaged: ${report.damage?.message ?? "it does not verify"}.`,
            safe: "Other generations are not affected.",
            todo: "Restore an older generation.",
          },
        };
      }
    });
  }

  #export(checkpointId: string): void {
    const { model } = this;
    void model.act(`Exporting ${checkpointId}`, async () => {
      saveFile(
        `${checkpointId}.flysess`,
        await model.session.exportGeneration(checkpointId),
        "application/octet-stream",
      );
    });
  }

  async #estimate(): Promise<void> {
    this.#usage = await this.model.session.storeUsage().catch(() => null);
    if (this.isConnected) this.requestUpdate();
  }

  #usageText(): string {
    if (this.#usage === null) return "";
    const { usedBytes, quotaBytes } = this.#usage;
    return quotaBytes === null
      ? `${formatSize(usedBytes)} in use`
      : `${formatSize(usedBytes)} of ${formatSize(quotaBytes)} that this site may store`;
  }
}
