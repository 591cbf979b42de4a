import { css, html, nothing } from "lit";
import type { FaultInfo, FaultSpec } from "#wasm/session";
import { ModelElement } from "./model-element.ts";
import { parts } from "./theme.ts";

/** Every fault that can be injected, by name; armed ones wait for the work they are to break. */
export class FaultList extends ModelElement {
  static override styles = [
    parts,
    css`
      ul {
        margin: 0;
        padding: 0 12px 8px;
        list-style: none;
      }
      li {
        display: grid;
        grid-template-columns: 1fr auto auto;
        gap: 0 6px;
        align-items: center;
        padding: 5px 0;
      }
      li + li {
        border-top: 1px solid var(--line);
      }
      li p {
        grid-column: 1 / -1;
      }
      :host(:not([expanded])) li p {
        display: -webkit-box;
        -webkit-box-orient: vertical;
        -webkit-line-clamp: 2;
        line-clamp: 2;
        overflow: hidden;
      }
      select {
        max-width: 92px;
      }
      .armed {
        color: var(--pending);
      }
      .armed::before {
        content: "⚠ ";
      }
    `,
  ];

  readonly #chosen = new Map<string, string>();

  override render() {
    const faults = this.model.faults.value;
    const armed = faults.flatMap((fault) => fault.armedAs);
    return html`
      <div class="head">
        <h2>Faults</h2>
        <span class="note ${armed.length > 0 ? "armed" : ""}" data-testid="armed">
          ${armed.length === 0 ? "none armed" : `armed: ${armed.map(describeSpec).join(", ")}`}
        </span>${this.expander()}</div>
      <div class="scroll">
        <ul data-testid="faults">
          ${faults.map((fault) => this.#fault(fault))}
        </ul>
      </div>
    `;
  }

  #fault(fault: FaultInfo) {
    const [parameter] = fault.parameters;
    return html`<li data-testid="fault-${fault.name}" data-armed=${fault.armed}>
      <strong>${fault.name.replaceAll("-", " ")}</strong>
      ${
        parameter === undefined || this.readonly
          ? html`<span></span>`
          : html`<select
              aria-label="${parameter.name} of ${fault.name}"
              title=${parameter.description}
              data-testid="fault-${fault.name}-${parameter.name}"
              @change=${(event: Event) => this.#chosen.set(fault.name, (event.target as HTMLSelectElement).value)}
            >
              ${parameter.choices.map((choice) => html`<option value=${choice}>${choice}</option>`)}
            </select>`
      }
      ${this.readonly ? nothing : this.#action(fault)}
      <p class="note" title=${fault.description}>${fault.description}</p>
    </li>`;
  }

  #action(fault: FaultInfo) {
    if (fault.armed) {
      return html`<button data-testid="disarm-${fault.name}" @click=${() => this.#disarm(fault.name)}>Disarm</button>`;
    }
    return html`<button class=${fault.immediate ? "danger" : ""} data-testid="arm-${fault.name}" @click=${() => this.#arm(fault)}>
      ${fault.immediate ? "Inject now" : "Arm"}
    </button>`;
  }

  #arm(fault: FaultInfo): void {
    const [parameter] = fault.parameters;
    const choice = this.#chosen.get(fault.name) ?? parameter?.choices[0];
    // the catalogue offers only parameters and choices that its own specification accepts
    const spec = {
      name: fault.name,
      ...(parameter === undefined ? {} : { [parameter.name]: choice }),
    } as FaultSpec;
    const { model } = this;
    void model.act(fault.immediate ? `Doing ${fault.name}` : `Arming ${fault.name}`, () =>
      model.session.arm(spec),
    );
  }

  #disarm(name: string): void {
    const { model } = this;
    void model.act(`Disarming ${name}`, () => model.session.disarm(name));
  }
}

/** `invalid shader in field`: an armed fault in a few words. */
function describeSpec(spec: FaultSpec): string {
  const name = spec.name.replaceAll("-", " ");
  if ("kernel" in spec) return `${name} in ${spec.kernel}`;
  return "participant" in spec ? `${name} ${spec.participant}` : name;
}
