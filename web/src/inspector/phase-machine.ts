import { css, html, nothing, svg } from "lit";
import type { Phase, PhaseChange, PhaseEdge } from "#wasm/session";
import { ModelElement } from "./model-element.ts";
import { DIAGRAM, edgePath, NODE, type PhasePlace, PLACES } from "./phase-layout.ts";
import { parts } from "./theme.ts";

const TRAIL = 5;
/** Where it is said that every phase leads to failed: below that node. */
const ANY_PHASE = { x: 326, y: 176 } as const;

/** The phases of a session, the legal transitions between them, where it is and how it got there. */
export class PhaseMachine extends ModelElement {
  static override styles = [
    parts,
    css`
      .diagram {
        flex: 1 1 0;
        min-height: 120px;
        padding: 0 12px;
        display: flex;
      }
      .diagram svg {
        width: 100%;
        height: 100%;
        display: block;
      }
      @container inspector (max-width: 1020px) {
        .diagram {
          flex: none;
          height: 200px;
        }
      }
      .edge {
        fill: none;
        stroke: var(--line-strong);
        stroke-width: 1;
      }
      .edge.legal {
        stroke: var(--ink-soft);
      }
      .edge.taken {
        stroke: var(--trusted);
        stroke-width: 1.6;
      }
      .edge.failing {
        stroke-dasharray: 3 3;
      }
      .any {
        fill: var(--ink-faint);
        font: 9.5px var(--_font);
        text-anchor: middle;
      }
      .node rect {
        fill: var(--raised);
        stroke: var(--line-strong);
      }
      .node text {
        fill: var(--ink-soft);
        font: 11px var(--_font);
        text-anchor: middle;
        dominant-baseline: central;
      }
      .node.current rect {
        fill: var(--ink);
        stroke: var(--ink);
      }
      .node.current text {
        fill: var(--on-ink);
        font-weight: 600;
      }
      .node.current.failed rect {
        fill: var(--failed);
        stroke: var(--failed);
      }
      .node:focus-visible {
        outline: none;
      }
      .node:focus-visible rect {
        stroke: var(--accent);
        stroke-width: 2;
      }
      .trail {
        display: flex;
        gap: 5px;
        justify-content: flex-end;
        padding: 4px 12px 9px;
        min-height: 30px;
        overflow: hidden;
        mask-image: linear-gradient(to right, transparent 8px, black 40px);
        white-space: nowrap;
        color: var(--ink-faint);
        font-size: 11.5px;
      }
      .trail .last {
        color: var(--ink);
      }
    `,
  ];

  #hovered: string | null = null;

  override render() {
    const status = this.model.status.value;
    const edges = this.model.edges.value;
    const current = status?.phase.kind ?? null;
    const path = this.model.path.value;
    const focus = this.#hovered ?? current;
    const legal = edges.filter((edge) => edge.from === focus);
    return html`
      <div class="head">
        <h2>Phase machine</h2>
        <span class="note">${edges.length === 0 ? "" : `${edges.length} legal transitions`}</span>${this.expander()}</div>
      <div class="diagram">
        <svg
          viewBox="0 0 ${DIAGRAM.width} ${DIAGRAM.height}"
          role="group"
          aria-label="Phases of the session; now ${current ?? "opening"}"
          data-testid="phase-machine"
          data-current=${current ?? ""}
        >
          <defs>
            ${["idle", "legal", "taken"].map(
              (
                kind,
              ) => svg`<marker id="head-${kind}" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
                <path d="M0 0L6 3L0 6Z" fill=${kind === "idle" ? "var(--line-strong)" : kind === "legal" ? "var(--ink-soft)" : "var(--trusted)"}/></marker>`,
            )}
          </defs>
          ${edges.map((edge) => this.#edge(edge, edges, path, focus))}
          <text class="any" x=${ANY_PHASE.x} y=${ANY_PHASE.y}>from any phase</text>
          ${PLACES.filter(
            ({ name }) =>
              edges.length === 0 || edges.some((edge) => edge.from === name || edge.to === name),
          ).map((place) => this.#node(place, current, edges))}
        </svg>
      </div>
      <div class="trail" data-testid="phase-path" aria-label="The path taken">
        ${
          this.#hovered === null
            ? trail(path).map(
                (phase, index, shown) =>
                  html`${index > 0 ? html`<span aria-hidden="true">→</span>` : nothing}<span class=${index === shown.length - 1 ? "last" : ""}
                      >${phase}</span
                    >`,
              )
            : html`<span class="last">${legal.length === 0 ? "nothing leaves this phase" : legal.map((edge) => `${edge.to}: ${edge.guard}`).join(" · ")}</span>`
        }
      </div>
    `;
  }

  #edge(
    edge: PhaseEdge,
    edges: readonly PhaseEdge[],
    path: readonly PhaseChange[],
    focus: string | null,
  ) {
    const failing = edge.to === "failed";
    // everything may fail: those edges are drawn for the phase in question only
    if (failing && edge.from !== focus) return nothing;
    const twoWay = edges.some((other) => other.from === edge.to && other.to === edge.from);
    const data = edgePath(edge.from, edge.to, twoWay);
    if (data === null) return nothing;
    const taken = this.#hovered === null && !failing && lastWas(path, edge);
    const kind = taken ? "taken" : edge.from === focus ? "legal" : "idle";
    return svg`<path class="edge ${kind} ${failing ? "failing" : ""}" d=${data} marker-end="url(#head-${kind})">
      <title>${edge.from} to ${edge.to}: ${edge.guard}</title></path>`;
  }

  #node({ name, x, y }: PhasePlace, current: string | null, edges: readonly PhaseEdge[]) {
    const leaves = edges
      .filter((edge) => edge.from === name)
      .map((edge) => `${edge.to}: ${edge.guard}`);
    const hover = (to: string | null) => () => {
      this.#hovered = to;
      this.requestUpdate();
    };
    return svg`<g class="node ${name} ${name === current ? "current" : ""}" tabindex="0" role="img"
        aria-label="${name}${name === current ? ", current" : ""}. Leads to ${leaves.join("; ") || "nothing"}"
        data-testid="phase-node-${name}"
        @mouseenter=${hover(name)} @mouseleave=${hover(null)} @focus=${hover(name)} @blur=${hover(null)}>
      <rect x=${x - NODE.width / 2} y=${y - NODE.height / 2} width=${NODE.width} height=${NODE.height} rx="3"/>
      <text x=${x} y=${y}>${name.charAt(0).toUpperCase()}${name.slice(1)}</text></g>`;
  }
}

/** Whether the newest change of phase was along this edge. */
function lastWas(path: readonly PhaseChange[], edge: PhaseEdge): boolean {
  const last = path.at(-1);
  return last !== undefined && last.from.kind === edge.from && last.to.kind === edge.to;
}

/** `ready 4`: a phase and the boundary it carries. */
function label(phase: Phase): string {
  return "boundary" in phase ? `${phase.kind} ${phase.boundary}` : phase.kind;
}

/** The last phases passed through, oldest first. */
function trail(path: readonly PhaseChange[]): string[] {
  const recent = path.slice(1 - TRAIL);
  const [first] = recent;
  return first === undefined ? [] : [label(first.from), ...recent.map(({ to }) => label(to))];
}
