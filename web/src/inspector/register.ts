import { ByteDetail } from "./byte-detail.ts";
import { EnvelopePanel } from "./envelope-panel.ts";
import { FailureList } from "./failure-list.ts";
import { FaultList } from "./fault-list.ts";
import { GenerationList } from "./generation-list.ts";
import { GuideStrip } from "./guide-strip.ts";
import { NoticeBar } from "./notice-bar.ts";
import { PhaseMachine } from "./phase-machine.ts";
import { TaintMap } from "./taint-map.ts";
import { TaintStrip } from "./taint-strip.ts";
import { TracePanel } from "./trace-panel.ts";
import { TransportBar } from "./transport-bar.ts";
import { WellwrittenInspector } from "./wellwritten-inspector.ts";
import { WorldView } from "./world-view.ts";

const ELEMENTS: readonly (readonly [name: string, element: CustomElementConstructor])[] = [
  ["ww-byte-detail", ByteDetail],
  ["ww-envelope-panel", EnvelopePanel],
  ["ww-failure-list", FailureList],
  ["ww-fault-list", FaultList],
  ["ww-generation-list", GenerationList],
  ["ww-guide-strip", GuideStrip],
  ["ww-notice-bar", NoticeBar],
  ["ww-phase-machine", PhaseMachine],
  ["ww-taint-strip", TaintStrip],
  ["ww-taint-map", TaintMap],
  ["ww-trace-panel", TracePanel],
  ["ww-transport-bar", TransportBar],
  ["ww-world-view", WorldView],
  ["wellwritten-inspector", WellwrittenInspector],
];

/** Defines the elements, each unless its name is taken: by this call before, or by a second copy. */
export function register(): void {
  for (const [name, element] of ELEMENTS) {
    if (customElements.get(name) === undefined) customElements.define(name, element);
  }
}
