import { css, html } from "lit";
import type { InspectorModel } from "./inspector-model.ts";
import { ModelElement } from "./model-element.ts";
import { restoreGroup } from "./restore-group.ts";
import { saveCheckpoint } from "./save-checkpoint.ts";
import { parts } from "./theme.ts";

interface GuideStep {
  readonly id: string;
  readonly text: string;
  readonly does: string;
  readonly act: (model: InspectorModel) => Promise<boolean>;
}

/** The story of a session in six steps; each does what it says. */
const STEPS: readonly GuideStep[] = [
  {
    id: "step",
    text: "step",
    does: "Takes one whole transition",
    act: (model) => model.act("Stepping", () => model.session.step(1)),
  },
  {
    id: "break",
    text: "break a launch",
    does: "Arms an invalid shader in the field kernel, then steps",
    act: (model) =>
      model.act("Breaking a launch", async () => {
        await model.session.arm({ name: "invalid-shader", kernel: "field" });
        await model.session.step(1);
      }),
  },
  {
    id: "see",
    text: "see what it spoiled",
    does: "Selects the first spoiled bytes and asks for them: the read is refused with the root failure",
    act: async (model) => {
      const spoiled = model.buffers.value.find(
        ({ state }) => state === "failed" || state === "skipped",
      );
      if (spoiled === undefined) {
        model.say("Nothing is spoiled now: break a launch first.");
        return false;
      }
      const span = model.strips.value
        .get(spoiled.bufferId)
        ?.spans.find(({ state }) => state !== "trusted");
      model.select(spoiled.bufferId, span?.start, span?.end);
      await model.readSelection();
      return true;
    },
  },
  {
    id: "checkpoint",
    text: "checkpoint",
    does: "Rewrites what is spoiled, then makes the session durable",
    act: (model) =>
      model.act("Writing a checkpoint", async () => {
        const spoiled = model.buffers.value.filter(
          ({ state }) => state === "failed" || state === "skipped",
        );
        for (const { bufferId } of spoiled) await model.session.rewrite(bufferId);
        const { checkpointId } = await saveCheckpoint(model.session);
        const first =
          spoiled.length === 0
            ? ""
            : `A checkpoint holds only bytes that read cleanly, so ${spoiled.map(({ label }) => label).join(", ")} was rewritten first. `;
        model.say(`${first}Checkpoint ${checkpointId} is durable.`);
      }),
  },
  {
    id: "lose",
    text: "lose the GPU",
    does: "Destroys the device: every live byte is claimed, the epoch ends",
    act: (model) =>
      model.act("Losing the device", () => model.session.arm({ name: "device-loss" })),
  },
  {
    id: "restore",
    text: "restore",
    does: "Recovers the device and restores the whole group under a new epoch",
    act: (model) =>
      model.act("Restoring the group", async () => {
        const { checkpointId, toEpoch } = await restoreGroup(model.session);
        model.say(
          `Restored ${checkpointId} under epoch ${toEpoch}. Prove, in the trace, shows that nothing was lost.`,
        );
      }),
  },
];

/** The guided strip. Dismissing it is told to the inspector with `dismiss`. */
export class GuideStrip extends ModelElement {
  static override styles = [
    parts,
    css`
      :host {
        display: block;
      }
      nav {
        display: flex;
        align-items: center;
        gap: 4px 2px;
        min-height: 34px;
        padding: 3px 6px 3px 12px;
        border-bottom: 1px solid var(--line);
        flex-wrap: wrap;
      }
      ol {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 2px;
        margin: 0;
        padding: 0;
        list-style: none;
      }
      li {
        display: flex;
        align-items: center;
      }
      li + li::before {
        content: "";
        width: 14px;
        height: 1px;
        background: var(--line-strong);
      }
      .lead {
        margin-right: 10px;
      }
      li button {
        gap: 7px;
      }
      li button .mark {
        font: 10.5px/15px var(--_mono);
        width: 15px;
        height: 15px;
        border-radius: 50%;
        border: 1px solid var(--line-strong);
        text-align: center;
        color: var(--ink-soft);
      }
      li.done .mark {
        background: var(--trusted);
        border-color: var(--trusted);
        color: var(--pane);
      }
      li.next button {
        color: var(--ink);
        background: var(--raised-hover);
      }
      li.next .mark {
        border-color: var(--ink);
        color: var(--ink);
      }
      .dismiss {
        margin-left: auto;
      }
      @container inspector (max-width: 640px) {
        ol {
          display: grid;
          grid-template-columns: 1fr 1fr;
          justify-items: start;
        }
        li + li::before,
        .lead {
          display: none;
        }
      }
    `,
  ];

  #done = new Set<string>();

  override render() {
    const { boundary = 0n, durable } = this.model.status.value ?? {};
    // what a person did by another control counts too
    if (boundary > 0n) this.#done.add("step");
    if (durable != null) this.#done.add("checkpoint");
    const next = STEPS.find(({ id }) => !this.#done.has(id))?.id;
    const status = this.model.status.value;
    const busy =
      this.model.activity.value !== null || status === null || status.phase.kind === "starting";
    return html`<nav aria-label="Guided tour" data-testid="guide">
      <span class="note lead">Try it:</span>
      <ol>
        ${STEPS.map(
          (
            step,
            index,
          ) => html`<li class="${this.#done.has(step.id) ? "done" : ""} ${step.id === next ? "next" : ""}">
            <button
              class="quiet"
              data-testid="guide-${step.id}"
              title=${step.does}
              ?disabled=${busy}
              @click=${() => this.#do(step)}
            >
              <span class="mark" aria-hidden="true">${this.#done.has(step.id) ? "✓" : index + 1}</span>${step.text}
              ${this.#done.has(step.id) ? html`<span class="visually-hidden">(done)</span>` : ""}
            </button>
          </li>`,
        )}
      </ol>
      <button
        class="quiet dismiss"
        data-testid="guide-dismiss"
        @click=${() => this.dispatchEvent(new CustomEvent("dismiss"))}
      >
        Hide
      </button>
    </nav>`;
  }

  async #do(step: GuideStep): Promise<void> {
    if (await step.act(this.model)) this.#done.add(step.id);
    this.requestUpdate();
  }
}
