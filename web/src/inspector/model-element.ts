import { html, type PropertyDeclarations } from "lit";
import type { InspectorModel } from "./inspector-model.ts";
import { SignalElement } from "./signal-element.ts";

/** A panel: renders the model it is given, and calls it for what a person asks. */
export abstract class ModelElement extends SignalElement {
  static override properties: PropertyDeclarations = {
    model: { attribute: false },
    readonly: { type: Boolean },
    expanded: { type: Boolean, reflect: true },
  };

  declare model: InspectorModel;
  /** Hides everything that would change the session. */
  declare readonly: boolean;
  /** Whether the panel has the whole inspector to itself. */
  declare expanded: boolean;

  constructor() {
    super();
    this.readonly = false;
    this.expanded = false;
  }

  /** The button at the end of a panel's head that gives it all the room, and takes it back. */
  protected expander() {
    const name = this.localName.replace("ww-", "");
    return html`<button
      class="quiet icon expander"
      data-testid="expand-${name}"
      aria-pressed=${this.expanded}
      aria-label=${this.expanded ? "Back to all panels" : "Give this panel all the room"}
      title=${this.expanded ? "Back to all panels" : "Give this panel all the room"}
      @click=${() => this.dispatchEvent(new CustomEvent("expand", { bubbles: true, composed: true }))}
    >
      <svg viewBox="0 0 12 12" width="11" height="11" fill="none" stroke="currentColor" stroke-width="1.3" aria-hidden="true">
        <path d=${this.expanded ? "M5 1v4H1M7 11V7h4" : "M7 1h4v4M5 11H1V7"}></path>
      </svg>
    </button>`;
  }
}
